//go:build !linux

package demo

import (
	"errors"
	"os/exec"
)

// localUser is a user of this machine.
type localUser struct{ uid, gid int }

func harden(*exec.Cmd, *localUser) {}

// postgresUser returns an error: only on Linux does the kernel end the parts of the cluster together with this
// process.
func postgresUser() (*localUser, error) { return nil, errors.New("demo --cluster runs on Linux only") }

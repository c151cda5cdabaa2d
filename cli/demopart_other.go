//go:build !linux

package cli

import (
	"errors"
	"os/exec"
)

// localUser is a user of this machine.
type localUser struct{ uid, gid int }

func harden(*exec.Cmd, *localUser) {}

// postgresUser refuses: only Linux can end the parts of the cluster with this process, and none is to be left behind.
func postgresUser() (*localUser, error) { return nil, errors.New("demo --cluster runs on Linux only") }

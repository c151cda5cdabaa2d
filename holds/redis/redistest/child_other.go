//go:build !linux

package redistest

import "os/exec"

// dieWithParent: only Linux can have a child die with its parent; elsewhere the clean-up of the test has to do.
func dieWithParent(*exec.Cmd) {}

//go:build !linux

package sqlite

import "os/exec"

// dieWithParent: only Linux can stop a child with its parent; on other systems the test's clean-up does it.
func dieWithParent(*exec.Cmd) {}

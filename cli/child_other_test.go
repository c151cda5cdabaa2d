//go:build !linux

package cli

import "os/exec"

// dieWithParent does nothing. Only Linux can end a child process with its parent; on other systems, the test's clean-up
// ends it.
func dieWithParent(*exec.Cmd) {}

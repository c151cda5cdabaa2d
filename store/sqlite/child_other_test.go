//go:build !linux

package sqlite

import "os/exec"

// dieWithParent does nothing: only Linux can stop a child with its parent. On other systems, the cleanup of the test
// stops it.
func dieWithParent(*exec.Cmd) {}

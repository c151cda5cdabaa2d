//go:build !linux

package redistest

import "os/exec"

// dieWithParent does nothing: only Linux can kill a child with its parent. On other systems the test's cleanup ends
// the server.
func dieWithParent(*exec.Cmd) {}

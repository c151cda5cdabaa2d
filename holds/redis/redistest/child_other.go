//go:build !linux

package redistest

import "os/exec"

// dieWithParent does nothing: only Linux can kill a child when its parent dies. On other systems, the test's cleanup
// stops the server.
func dieWithParent(*exec.Cmd) {}

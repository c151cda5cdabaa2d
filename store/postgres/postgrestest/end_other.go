//go:build !linux

package postgrestest

import "os/exec"

// endWithParent does nothing: only Linux can stop the server with its parent.
func endWithParent(*exec.Cmd) {}

package redistest

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a server when the test dies, also by a timeout, so that none is left behind.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

package cli

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel kill a child process when this one dies, also by SIGKILL, so that none is left behind.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

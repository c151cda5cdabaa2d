package sqlite

import (
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill a child process when this process ends, even by SIGKILL, so that no child is left
// running.
func dieWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

package postgrestest

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel end the server when this process dies, also by SIGKILL, so that none is left behind.
func endWithParent(c *exec.Cmd) { c.SysProcAttr.Pdeathsig = syscall.SIGQUIT }

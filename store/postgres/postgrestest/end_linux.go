package postgrestest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the kernel stop the server when this process ends, even by SIGKILL, so that no server is left
// running.
func endWithParent(c *exec.Cmd) { c.SysProcAttr.Pdeathsig = syscall.SIGQUIT }

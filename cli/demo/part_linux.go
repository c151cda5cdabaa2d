package demo

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// localUser is a user of this machine.
type localUser struct{ uid, gid int }

// harden makes the kernel kill the process of c when this process ends. It also protects that process from Ctrl-C,
// which must reach only this process. The process of c runs as the user who; nil means the user of this process.
func harden(c *exec.Cmd, who *localUser) {
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if who != nil {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
}

// postgresUser returns the user for PostgreSQL, which refuses root; nil means this process's user.
func postgresUser() (*localUser, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf(
			"PostgreSQL refuses to run as root, and this machine has no postgres user: %w. Run the demo as another user",
			err,
		)
	}
	uid, err1 := strconv.Atoi(found.Uid)
	gid, err2 := strconv.Atoi(found.Gid)
	return &localUser{uid, gid}, errors.Join(err1, err2)
}

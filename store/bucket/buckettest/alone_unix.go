//go:build unix

package buckettest

import (
	"os"
	"syscall"
)

// waitAlone waits until no other process has locked the file, and then locks the file until it is closed.
func waitAlone(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }

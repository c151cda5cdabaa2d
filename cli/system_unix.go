//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFileAt opens a lock file and locks it until it is closed: the kernel frees it however the process ends. errLocked comes with the
// process that has it.
func lockFileAt(path string) (f *os.File, pid string, err error) {
	if f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, "", err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return f, "", nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		pid, err = holderOf(f), errLocked
	default:
		err = fmt.Errorf("lock %s: %w", lockFile, err)
	}
	return nil, pid, errors.Join(err, f.Close())
}

// unlockFile frees a lock at once. Closing the file alone would leave it to a program that this process is starting at this moment, which
// has the file too until it has begun.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// openFiles is how many files this process may have open, if that is known.
func openFiles() (n uint64, known bool) {
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return uint64(files.Cur), err == nil
}

// endBy ends this process by a signal, as it would have without us.
func endBy(s os.Signal) { _ = syscall.Kill(os.Getpid(), s.(syscall.Signal)) }

//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFileAt opens a lock file and locks it until it is closed. The kernel releases the lock however the process
// ends. If another process has the lock, it returns errLocked and the id of that process.
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

// unlockFile releases a lock. Closing the file is not enough: a child process that is just being started has a copy
// of the descriptor until its exec, and with it the lock.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// openFiles returns how many files this process may open, if that is known.
func openFiles() (n uint64, known bool) {
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return uint64(files.Cur), err == nil
}

// endBy ends this process with a signal, as the signal would by default.
func endBy(s os.Signal) { _ = syscall.Kill(os.Getpid(), s.(syscall.Signal)) }

//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lockFileAt opens a lock file and locks it until it is closed. The kernel releases the lock however the process ends.
// If another process holds the lock, it returns errLocked and the id of that process.
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

// unlockFile releases a lock. Closing the file is not enough: a child process that is just being started holds a copy
// of the descriptor until its exec, and with it the lock.
func unlockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// openFiles returns how many files this process may open, if that is known.
func openFiles() (n uint64, known bool) {
	var files syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return uint64(files.Cur), err == nil
}

// handBack gives the files of a directory that belong to root to the owner of the directory. An administrator may run a
// command as root while the server is stopped; the server, which runs as the owner, must be able to read the files that
// the command created. It does nothing unless this process is root and the owner is someone else.
//
// The owner could replace a file with a link to a file that root owns, so handBack does not leave the directory and
// skips files that have more than one name.
func handBack(dir string) error {
	top, err := os.Stat(dir)
	if err != nil || os.Geteuid() != 0 {
		return err
	}
	owner := top.Sys().(*syscall.Stat_t)
	if owner.Uid == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	give := func(name string) error {
		f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
		if errors.Is(err, fs.ErrNotExist) { // a running server has deleted it
			return nil
		}
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		s := info.Sys().(*syscall.Stat_t)
		if s.Uid != 0 || info.Mode().IsRegular() && s.Nlink > 1 {
			return nil
		}
		return f.Chown(int(owner.Uid), int(owner.Gid))
	}
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		return give(name)
	})
}

// endBy ends this process with a signal, as the signal would by default.
func endBy(s os.Signal) { _ = syscall.Kill(os.Getpid(), s.(syscall.Signal)) }

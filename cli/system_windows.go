package cli

import (
	"errors"
	"os"
	"syscall"
)

// errSharing is ERROR_SHARING_VIOLATION.
const errSharing = syscall.Errno(32)

// lockFileAt opens a lock file so that no other process can open it for writing until it is closed. If another process
// has opened the file, it returns errLocked and the id of that process.
func lockFileAt(path string) (f *os.File, pid string, err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, "", err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil,
		syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case err == nil:
		return os.NewFile(uintptr(handle), path), "", nil
	case !errors.Is(err, errSharing):
		return nil, "", &os.PathError{Op: "open", Path: path, Err: err}
	}
	if other, err := os.Open(path); err == nil {
		pid = holderOf(other)
		other.Close()
	}
	return nil, pid, errLocked
}

// unlockFile does nothing: closing the file releases the lock.
func unlockFile(*os.File) error { return nil }

// openFiles reports an unknown number: Windows has no such limit.
func openFiles() (n uint64, known bool) { return 0, false }

// handBack does nothing: on Windows, the files do not need a different owner.
func handBack(string) error { return nil }

// endBy ends this process with exit code 1, regardless of the signal.
func endBy(os.Signal) { os.Exit(1) }

// Package disk writes files that survive a power cut, and measures the free space of a file system.
//
// After Replace or Copy has returned, the content of the file is durable. A new name is durable only after Sync of its
// directory, which Replace calls. Only the owner can read the files (mode 0600), because the files of a data directory
// contain personal data and keys.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// NewPattern is the pattern of the files that Replace writes and then renames. A process that is killed in Replace
// leaves such a file behind.
const NewPattern = ".new-*"

// Replace writes text to the file at path. After a crash, the file contains either the old or the new content, never a
// part of either.
func Replace(path string, text []byte) error {
	partial, err := os.CreateTemp(filepath.Dir(path), NewPattern)
	if err != nil {
		return err
	}
	defer os.Remove(partial.Name())
	_, err = partial.Write(text)
	if err := errors.Join(err, partial.Sync(), partial.Close()); err != nil {
		return err
	}
	if err := os.Rename(partial.Name(), path); err != nil {
		return err
	}
	return Sync(filepath.Dir(path))
}

// Copy writes a durable copy of a file. It returns an error if the target already exists.
func Copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Sync(), out.Close())
}

// Sync makes the names in a directory durable. Windows has no such call and needs none.
func Sync(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Size returns the size of a file in bytes. It returns -1 if the file does not exist, and 1 if its size cannot be read.
// In the second case, the caller learns the reason when it tries to open the file.
func Size(path string) int64 {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return -1
	case err != nil:
		return 1
	}
	return info.Size()
}

// Regular returns an error if path is not a regular file. Reading a named pipe, for example, would block forever.
func Regular(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a file", path)
	}
	return err
}

// LastWritten returns the newest modification time of a directory and its visible files. It returns the zero time if
// the directory does not exist.
func LastWritten(dir string) (last time.Time) {
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range append(files, dir) {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// IsFull reports whether err means that the disk or the user's quota is full.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

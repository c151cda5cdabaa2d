//go:build linux || darwin || freebsd

package disk

import "syscall"

// Free returns how many bytes this user can still write to the file system of a directory. known is false if the
// system does not report it.
func Free(dir string) (bytes uint64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}

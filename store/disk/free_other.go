//go:build !linux && !darwin && !freebsd

package disk

// Free returns how many bytes this user can still write to the file system of a directory. known is false if the
// system does not report it.
func Free(string) (bytes uint64, known bool) { return 0, false }

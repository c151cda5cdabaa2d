//go:build !linux && !darwin && !freebsd

package cli

// freeBytes is how much may still be written to the file system of a directory, if that can be known.
func freeBytes(string) (free uint64, known bool) { return 0, false }

package cli

import (
	"os"

	"holdfast/store/disk"
)

// After a clean stop, a server needs some disk space to start: SQLite creates the index of its write-ahead log (-shm,
// 32 KB) again, and cannot read without it. So the data directory contains a reserve file. If the disk is full when the
// server starts, the server deletes the file to free its space.
const (
	reserveFile = "holdfast.reserve"
	reserveSize = 256 << 10
)

// keepReserve creates the reserve if it is missing. If the disk has no space for the file, the directory has no
// reserve.
func (d *dataDir) keepReserve() {
	path := d.file(reserveFile)
	if disk.Size(path) == reserveSize {
		return
	}
	if err := os.WriteFile(path, make([]byte, reserveSize), 0o600); err != nil {
		_ = os.Remove(path)
	}
}

// giveUpReserve deletes the reserve, and reports whether that freed space.
func (d *dataDir) giveUpReserve() bool { return os.Remove(d.file(reserveFile)) == nil }

package cli

import (
	"os"

	"holdfast/store/disk"
)

// After a clean stop, a server needs some disk space to start: SQLite creates the index of its write-ahead log (-shm,
// 32 KB) again, and cannot read without it. So a reserve file is in the directory. The server deletes it if the disk
// is full at the start.
const (
	reserveFile = "holdfast.reserve"
	reserveSize = 256 << 10
)

// keepReserve creates the reserve if it is missing. If the disk has no space for it, there is none.
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

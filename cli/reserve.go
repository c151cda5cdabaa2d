package cli

import (
	"os"

	"holdfast/store/disk"
)

// A server that was stopped in good order needs a little room to start: SQLite makes the index of its log (-shm) anew, 32 KB,
// without which nothing can be read. So a reserve is kept in the directory, and given up when the disk is full at a start.
const (
	reserveFile = "holdfast.reserve"
	reserveSize = 256 << 10
)

// keepReserve makes the reserve if it is not there. Where there is no room for it, there is none.
func (d *dataDir) keepReserve() {
	path := d.file(reserveFile)
	if disk.Size(path) == reserveSize {
		return
	}
	if err := os.WriteFile(path, make([]byte, reserveSize), 0o600); err != nil {
		_ = os.Remove(path)
	}
}

// giveUpReserve makes room, and reports whether there was any to be made.
func (d *dataDir) giveUpReserve() bool { return os.Remove(d.file(reserveFile)) == nil }

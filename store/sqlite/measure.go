package sqlite

import (
	"os"

	"holdfast/store"
)

var _ store.Measured = (*Store)(nil)

// Measurements implements store.Measured. The sizes are those of the files: what a deletion freed is used again, and the
// log is written over from its beginning after a checkpoint.
func (s *Store) Measurements() store.Measurements {
	return store.Measurements{
		Writes: s.writes.Counts(), Commits: s.writer.commits.Counts(), Bytes: sizeOf(s.path), LogBytes: sizeOf(s.path + "-wal"),
	}
}

// sizeOf asks for a file by name: opening the database's own would drop SQLite's locks when it is closed.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

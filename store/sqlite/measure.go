package sqlite

import (
	"os"

	"holdfast/store"
)

var _ store.Measured = (*Store)(nil)

// Measurements implements store.Measured. The sizes are those of the files. The files do not necessarily shrink: SQLite
// reuses space that a deletion freed, and overwrites the log from its beginning after a checkpoint.
func (s *Store) Measurements() store.Measurements {
	return store.Measurements{
		Writes: s.writes.Counts(), Commits: s.writer.commits.Counts(), Bytes: sizeOf(s.path),
		LogBytes: sizeOf(s.path + "-wal"),
	}
}

// sizeOf reads the size of a file by its name. It does not open the file: closing another descriptor of the database
// would drop SQLite's locks.
func sizeOf(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}

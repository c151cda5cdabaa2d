package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"holdfast/store"
)

// Backup implements store.Store. It reads one moment of the database on a connection of its own; writing goes on.
func (s *Store) Backup(ctx context.Context, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-s.reads.pool.closed:
		return store.ErrClosed
	default:
	}
	c, err := openConn(s.dsn)
	if err != nil {
		return err
	}
	defer c.close()
	return copyInto(c, path)
}

// copyInto writes the database that c sees to path, whole or not at all. ErrDuplicate if path exists.
func copyInto(c *conn, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	}
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	// SQLite takes an empty file as "not there" and would create one that others can read.
	if err := ownerOnly(partial); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	defer os.Remove(partial)
	if _, err := c.exec("VACUUM INTO ?", partial); err != nil {
		return err
	}
	if err := syncPath(partial); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if err := os.Link(partial, path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	} else if err != nil { // not every file system has links
		if err := os.Rename(partial, path); err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
		}
	}
	if err := syncPath(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return nil
}

// syncPath makes a file's content, or a directory's entries, durable.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

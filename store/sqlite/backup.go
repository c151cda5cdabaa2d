package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"holdfast/store"
)

// Backup implements store.Store. It reads one snapshot of the database. Writes continue during the backup.
func (s *Store) Backup(ctx context.Context, path string) error {
	return s.reads.use(ctx, func(ctx context.Context, c *conn) (err error) {
		// SQLite treats VACUUM INTO as a write, even though it writes to another file.
		if err := c.script("PRAGMA query_only = 0"); err != nil {
			return err
		}
		defer func() {
			if c.fault == nil { // otherwise the connection is not used again
				err = errors.Join(err, c.script("PRAGMA query_only = 1"))
			}
		}()
		return copyInto(ctx, c, path)
	})
}

// copyInto writes the database of c to path, in full or not at all. It returns ErrDuplicate if path already exists.
func copyInto(ctx context.Context, c *conn, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	}
	partial := path + ".partial"
	if err := os.Remove(partial); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	// SQLite treats an empty file as missing. If SQLite created the file itself, other users could read it.
	if err := ownerOnly(partial); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	defer os.Remove(partial)
	pages, err := oneOn(ctx, c, (*row).Int, "PRAGMA page_count")
	if err != nil {
		return err
	}
	pageSize, err := oneOn(ctx, c, (*row).Int, "PRAGMA page_size")
	if err != nil {
		return err
	}
	store.BeginStep(ctx, "copying the database", func() (done, total int64) {
		if info, err := os.Stat(partial); err == nil {
			done = info.Size()
		}
		return done, int64(pages) * int64(pageSize)
	})
	if err := c.query(ctx, func(*row) {}, "VACUUM INTO ?", partial); err != nil {
		return err
	}
	if err := syncPath(partial); err != nil {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	// A link, unlike a rename, never replaces a file that another program has put there since. Not every file system
	// has links.
	if err := os.Link(partial, path); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s", store.ErrDuplicate, path)
	} else if err != nil {
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

// Summary describes a database file that no process has open.
type Summary struct {
	ID            string // id of the database that the copy was made from
	SchemaVersion int
	Appointments  int
}

// Verify reads a whole backup without changing it, and checks it in the same way as Store.Check. path must not be a
// live database. It refuses a file that is not a Holdfast database, and a schema that is newer than this program. It
// accepts an older schema, which Open would migrate.
func Verify(ctx context.Context, path string) (Summary, error) {
	var found Summary
	path, err := filepath.Abs(path)
	if err != nil {
		return found, fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return found, fmt.Errorf(
			"%w: %s is not a backup: it does not exist, is empty or is not a file", store.ErrInvalid, path)
	}
	u := url.URL{Scheme: "file", Path: path}
	c, err := openConn(u.String() + "?mode=ro&_pragma=query_only(1)&_pragma=cell_size_check(1)")
	if err != nil {
		return found, fmt.Errorf("reading %s: %w", path, err)
	}
	defer c.close()
	if _, err := c.exec("BEGIN"); err != nil {
		return found, fmt.Errorf("reading %s: %w", path, err)
	}
	known, err := store.ReadMigrations(migrations)
	if err != nil {
		return found, err
	}
	applied, err := appliedMigrations(ctx, c)
	if err != nil {
		return found, fmt.Errorf("%s is not a database of this program: %w", path, err)
	}
	found.SchemaVersion = len(applied)
	if err := recognise(applied, known); err != nil {
		return found, fmt.Errorf("%s: %w", path, err)
	}
	if found.ID, err = databaseID(ctx, c); err != nil {
		return found, fmt.Errorf("reading %s: %w", path, err)
	}
	found.Appointments, err = oneOn(ctx, c, (*row).Int, "SELECT count(*) FROM appointments")
	if err != nil {
		return found, fmt.Errorf("reading %s: %w", path, err)
	}
	return found, check(ctx, c, known[:len(applied)])
}

func databaseID(ctx context.Context, c *conn) (string, error) {
	return oneOn(ctx, c, (*row).Text, `SELECT value FROM meta WHERE key = 'database_id'`)
}

package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/store"
	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// Restored describes the result of a restore.
type Restored struct {
	Mark     string         // mark of the database, for Opened.Newer
	Replaced string         // the directory with the files that the backup replaced; empty if there were none
	SignIns  int            // number of sign-ins in the backup; all of them were ended
	Revived  []store.APIKey // API keys that were revoked or missing before and are valid now
}

// Restore replaces the database and the keys of a data directory with those of the backup. The caller has locked the
// directory. Restore first checks a copy of the database. If its error contains "nothing was changed", the directory is
// unchanged. Restore ends all sign-ins of the backup, because some may belong to people whose accounts have been closed
// since then. If the backup was sealed, later copies are sealed for the same key.
func (b *Opened) Restore(ctx context.Context, data string, now time.Time) (done Restored, err error) {
	file := func(name string) string { return filepath.Join(data, name) }
	fresh, err := os.MkdirTemp(data, RestorePattern)
	if err != nil {
		return done, err
	}
	defer os.RemoveAll(fresh)
	check := func(ctx context.Context, s store.Store) error {
		_, unread := s.ChainLink(ctx, 0)
		return errors.Join(s.Check(ctx), unread)
	}
	if err := checkCopy(ctx, b.database, filepath.Join(fresh, DatabaseFile), check); err != nil {
		return done, fmt.Errorf("%s was not restored, and nothing was changed: %w", b.options.Path, err)
	}
	if err := done.endSignIns(ctx, filepath.Join(fresh, DatabaseFile), validKeys(ctx, data), now); err != nil {
		return done, fmt.Errorf("nothing was changed: %w", err)
	}
	if done.Replaced, err = linkReplaced(ctx, data, now); err != nil {
		return done, fmt.Errorf("nothing was changed: %w", err)
	}
	// SQLite would apply the write-ahead log of the old database to the new one.
	for _, name := range []string{DatabaseFile + "-wal", DatabaseFile + "-shm", QueueFile} {
		if err := os.Remove(file(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return done, err
		}
	}
	if b.keys != nil {
		if err := disk.Replace(file(KeysFile), b.keys); err != nil {
			return done, fmt.Errorf("write %s: %w", file(KeysFile), err)
		}
	}
	if err := os.Rename(filepath.Join(fresh, DatabaseFile), file(DatabaseFile)); err != nil {
		return done, err
	}
	// The operator has chosen this state, so RefuseRolledBack must not compare it with copies of the replaced one.
	if err := os.Remove(file(CopiedFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return done, err
	}
	if err := disk.Sync(data); err != nil {
		return done, err
	}
	if b.key != nil {
		return done, b.key.Store(data)
	}
	return done, nil
}

// endSignIns ends the sign-ins in a database, and adds to r the valid API keys that are not in valid.
func (r *Restored) endSignIns(ctx context.Context, database string, valid map[string]bool, now time.Time) error {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: database})
	if err != nil {
		return err
	}
	r.Mark = markOf(s.ID())
	const batch = 1000
	for ended := batch; ended == batch && err == nil; r.SignIns += ended {
		err = s.Write(ctx, func(tx store.Tx) (err error) {
			ended, err = tx.ForgetSignIns(ctx, now.AddDate(1000, 0, 0), batch)
			return err
		})
	}
	keys, unread := s.APIKeys(ctx)
	for _, k := range keys {
		if k.RevokedAt.IsZero() && !valid[k.ID] {
			r.Revived = append(r.Revived, k)
		}
	}
	return errors.Join(err, unread, s.Close())
}

// validKeys returns the ids of the API keys that are valid in a data directory. If its database cannot be read,
// validKeys returns none.
func validKeys(ctx context.Context, data string) map[string]bool {
	path := filepath.Join(data, DatabaseFile)
	if disk.Size(path) <= 0 {
		return nil
	}
	s, err := sqlite.Open(ctx, sqlite.Options{Path: path, SnapshotDir: filepath.Join(data, Folder)})
	if err != nil {
		return nil
	}
	defer s.Close()
	keys, _ := s.APIKeys(ctx)
	valid := map[string]bool{}
	for _, k := range keys {
		valid[k.ID] = k.RevokedAt.IsZero()
	}
	return valid
}

// linkReplaced creates a new directory with hard links to the files that a restore replaces, so that they still exist
// afterwards. It returns an empty path if there is no database.
func linkReplaced(ctx context.Context, data string, now time.Time) (string, error) {
	path := filepath.Join(data, DatabaseFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	// Opening and closing the database moves its write-ahead log into the file. A database that cannot be opened is
	// linked unchanged.
	if s, err := sqlite.Open(ctx, sqlite.Options{Path: path, SnapshotDir: filepath.Join(data, Folder)}); err == nil {
		if err := s.Close(); err != nil {
			return "", err
		}
	}
	replaced := filepath.Join(data, Folder, ReplacedPrefix+now.UTC().Format(StampFormat))
	if err := os.Mkdir(replaced, 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{DatabaseFile, DatabaseFile + "-wal", DatabaseFile + "-shm", QueueFile, KeysFile} {
		err := os.Link(filepath.Join(data, name), filepath.Join(replaced, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return replaced, disk.Sync(replaced)
}

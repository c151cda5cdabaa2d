// Package backup copies a clinic's database and keys, and restores them.
//
// # Three kinds of copy
//
// A backup is a directory (mode 0700) with the two files that cannot be rebuilt: the database and secret.key. The retry
// queue is rebuilt from the database. Backups.Create makes a backup on request. Daily makes a backup each day, verifies
// it, deletes expired backups and copies the new one to the backup destination. Follower makes incremental backups,
// which exist only at the backup destination. An incremental backup has the whole database once, and then one increment
// for each interval in which something changed.
//
// # Names
//
// The names sort by time. Other programs may rely on them:
//
//	backups/20261123T030000.000Z          a backup that a person made
//	backups/auto-20261123T030000.000Z     a daily backup; only these expire
//	backups/before-0004-20261123T….db     the snapshot before an upgrade
//	backups/replaced-20261123T…           the files that a restore replaced
//	trail-000007-1f2e3d4c/000000.step     an incremental backup, at the backup destination only
//
// # Destinations
//
// A backup destination is a directory on another disk or a bucket of S3-compatible storage (package store/bucket). If
// the data directory contains backup.pub, each file at the destination is sealed for that key in the age format and has
// the suffix .age. Copies in a bucket are always sealed.
//
// # Restoring
//
// Open prepares a backup of any kind for a restore: it downloads, unseals and replays it into a directory. Restore then
// verifies a copy and swaps it in. Before the swap, Restore changes nothing.
//
// The package has no loops: the caller calls Daily.Run and Follower.Run at their intervals.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"holdfast/store"
	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// The files of a data directory that a backup reads or a restore writes.
const (
	DatabaseFile  = "holdfast.db"
	ScriptFile    = "holdfast.sql" // the database in a backup of PostgreSQL, for psql
	KeysFile      = "secret.key"
	QueueFile     = "queue.bolt"
	RecipientFile = "backup.pub" // the public half of the backup key
	Folder        = "backups"
	MarkFile      = "last-backup" // empty; its modification time is that of the last backup
)

// Patterns of temporary files and directories in the data directory and in Folder. A process that crashes leaves them
// behind. Files and directories of the first three patterns are created only while the directory is locked. A directory
// of OpenedPattern is created without the lock, and contains a database in plain text.
const (
	PartialPattern = ".backup-*"
	SpoolPattern   = ".copy-*"
	RestorePattern = ".restore-*"
	OpenedPattern  = ".unsealed-*"
)

// StampFormat is the format of the time in the name of a backup. The time is always UTC.
const StampFormat = "20060102T150405.000Z"

// Retry is the time between a failed copy of the whole database and the next try.
const Retry = 15 * time.Minute

// ErrNone means that there is no backup yet.
var ErrNone = errors.New("there is no backup yet")

// Options configures the backups of one server.
type Options struct {
	Data   string // absolute path of the data directory, which the caller has locked
	Store  store.Store
	Plan   Plan
	Logger *slog.Logger
	// Zone returns the clinic's time zone, which determines when a day begins.
	Zone func() *time.Location
	// DatabaseBytes returns the size of the database, if it is known.
	DatabaseBytes func() (bytes uint64, known bool)
	// Notify emails the clinic to say that no backup has succeeded since last, and why.
	Notify func(ctx context.Context, last time.Time, reason string) error
}

// Backups makes the backups of one server. Its methods are safe for concurrent use.
type Backups struct {
	Options
	copied   atomic.Pointer[time.Time] // the destination has all changes up to this time; nil if there is no Follower
	backedUp atomic.Pointer[time.Time] // when the newest backup at the destination was made; nil means none is known
}

// New returns the Backups of a server. It starts nothing.
func New(o Options) *Backups { return &Backups{Options: o} }

func (b *Backups) file(name string) string { return filepath.Join(b.Data, name) }

// sqlite returns the SQLite database. It returns false if the database is PostgreSQL, which is backed up as a script
// and has no incremental backups.
func (b *Backups) sqlite() (*sqlite.Store, bool) {
	s, ok := b.Store.(*sqlite.Store)
	return s, ok
}

// NewPath returns the path for a backup that a person requests at the given time.
func (b *Backups) NewPath(now time.Time) string {
	return filepath.Join(b.file(Folder), now.UTC().Format(StampFormat))
}

// Create writes a backup into a new directory at path and verifies it. After an error, the directory does not exist.
func (b *Backups) Create(ctx context.Context, path string) (err error) {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s already exists. A backup needs a new directory: choose another path", path)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	partial, err := os.MkdirTemp(filepath.Dir(path), PartialPattern) // has mode 0700
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(partial))
		}
	}()
	name := ScriptFile
	_, isFile := b.sqlite()
	if isFile {
		name = DatabaseFile
	}
	if err := b.Store.Backup(ctx, filepath.Join(partial, name)); err != nil {
		return err
	}
	if isFile {
		if _, err := sqlite.Verify(ctx, filepath.Join(partial, name)); err != nil {
			return fmt.Errorf("the copy is damaged: %w. To check the original database, run holdfast verify", err)
		}
	}
	if err := disk.Copy(b.file(KeysFile), filepath.Join(partial, KeysFile)); err != nil {
		return err
	}
	if err := disk.Sync(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, path); err != nil {
		return err
	}
	// Only LastIn needs the mark file. The backup is complete without it.
	if err := os.WriteFile(b.file(MarkFile), nil, 0o600); err == nil {
		_ = os.Chtimes(b.file(MarkFile), time.Time{}, time.Now())
	}
	return disk.Sync(filepath.Dir(path))
}

// Last returns the time of the newest good backup. If the plan names a destination, only backups at the destination
// count. Last uses the list from the last Daily.Run and does not access the destination itself, because a network disk
// may hang. Errors: ErrNone.
func (b *Backups) Last() (time.Time, error) {
	if !b.Plan.Daily || b.Plan.Destination == "" {
		return LastIn(b.Data)
	}
	if last := b.backedUp.Load(); last != nil {
		return *last, nil
	}
	return time.Time{}, ErrNone
}

// LastCopy returns the time up to which the backup destination contains all changes. following is false if no
// incremental backups are made. The time is zero until the first one is complete.
func (b *Backups) LastCopy() (at time.Time, following bool) {
	last := b.copied.Load()
	if last == nil {
		return at, false
	}
	return *last, true
}

// LastIn returns when the last backup of a data directory was made, even if it was written to another directory. It
// reads the mark file and the names in Folder. Errors: ErrNone.
func LastIn(data string) (last time.Time, err error) {
	if mark, err := os.Stat(filepath.Join(data, MarkFile)); err == nil {
		last = mark.ModTime()
	}
	entries, err := os.ReadDir(filepath.Join(data, Folder))
	for _, e := range entries {
		if at, _, ok := parseName(e.Name()); ok && at.After(last) {
			last = at
		}
	}
	switch {
	case !last.IsZero():
		return last, nil
	case err == nil:
		err = ErrNone
	}
	return last, err
}

// NewestIn returns the path of the newest backup in a data directory. The path is empty if there is none.
func NewestIn(data string) (newest string) {
	var last time.Time
	dir := filepath.Join(data, Folder)
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if at, _, ok := parseName(e.Name()); ok && e.IsDir() && at.After(last) {
			newest, last = filepath.Join(dir, e.Name()), at
		}
	}
	return newest
}

// Package sqlite is the embedded Store: one SQLite file on the server's disk.
//
// # Durability
//
// The database runs in WAL mode with synchronous=FULL, and Open verifies both, so an acknowledged Write survives a
// crash and a power cut. Every change goes through one writer goroutine with group commit (writer.go). A fixed pool of
// connections reads (reads.go). A separate goroutine copies the write-ahead log back into the file, so that commits do
// not have to (checkpoint.go). After an I/O error, the store acknowledges no further write. It calls Options.OnFatal,
// and the process should end so that the next start recovers the database. A full disk is different: the store returns
// store.ErrFull for writes until there is space again.
//
// # The guarantee
//
// The schema, not this package, refuses a double booking, with a partial unique index and two triggers in
// migrations/0001_first.sql. They apply to any program that writes to the file. error.go translates their refusal into
// store.ErrSlotTaken. Check searches for violations by another method.
//
// # Files
//
// The log of the database (-wal, -shm) is in the same directory, and the copies taken before upgrades are in
// SnapshotDir. All files have mode 0600. Only SQLite may open the live file: closing any other descriptor of it would
// drop the locks.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/store"
	"holdfast/store/table"
)

// Options configures Open. Only Path is required.
type Options struct {
	Path string // path of the database file; its directory must exist
	// Logger receives messages about migrations and failures, never personal data. Nil discards them.
	Logger *slog.Logger
	// Readers is the number of connections for reading. 0 means 4.
	Readers int
	// QueueSize is the number of writes that may wait for their turn before Write returns ErrOverloaded. 0 means
	// 1024.
	QueueSize int
	// SnapshotDir receives a copy of the database before an upgrade. Empty means "backups" next to the database.
	SnapshotDir string
	// OnFatal is called once, when the store can no longer write. It must not block.
	OnFatal func(error)

	checkpointPages int // approximate growth of the log, in pages, between two checkpoints; 0 means 2000 (8 MB)
}

// Store is the open database. See store.Store.
type Store struct {
	table.Reads
	reads      reads
	dsn        string
	path       string
	id         string
	writes     store.Durations // durations of Write
	writer     *writer
	feed       feed
	checkpoint *checkpoint
	scrubbing  *scrubbing
	closing    sync.Once
	closeErr   error
}

var _ store.Store = (*Store)(nil)

// Open opens the database, creates it if it is missing, and migrates its schema. ctx applies only to opening the
// database. Open returns ErrDamaged if the file cannot be read as a database, and ErrSchema if its schema was weakened.
func Open(ctx context.Context, o Options) (*Store, error) {
	return open(ctx, o, migrations)
}

func open(ctx context.Context, o Options, migrations fs.FS) (_ *Store, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	if o.QueueSize <= 0 {
		o.QueueSize = 1024
	}
	if o.checkpointPages <= 0 {
		o.checkpointPages = 2000
	}
	if o.Path == "" {
		return nil, errors.New("sqlite: no path was given")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	if o.SnapshotDir == "" {
		o.SnapshotDir = filepath.Join(filepath.Dir(path), "backups")
	}
	if err := ownerOnly(path); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}

	s := &Store{dsn: dsn(path), path: path}
	write, err := openConn(s.dsn)
	if err != nil {
		return nil, opening(path, err)
	}
	defer func() {
		if err != nil {
			write.close()
		}
	}()
	if err := durable(ctx, write); err != nil {
		return nil, opening(path, err)
	}
	if err := migrate(ctx, write, migrations, o.SnapshotDir, o.Logger); err != nil {
		return nil, opening(path, err)
	}
	if err := refuseUnfinished(ctx, write); err != nil {
		return nil, opening(path, err)
	}
	if s.id, err = databaseID(ctx, write); err != nil {
		return nil, opening(path, fmt.Errorf("reading the database's id: %w", err))
	}
	if s.feed.last, err = readLastChange(ctx, write); err != nil {
		return nil, opening(path, fmt.Errorf("reading the number of the last change: %w", err))
	}
	s.reads.pool = newPool(s.dsn+"&_pragma=query_only(1)", o.Readers)
	s.Reads = table.NewReads(s.reads)
	s.checkpoint = newCheckpoint(s.dsn, o.checkpointPages, o.Logger)
	s.writer = &writer{
		conn: write, log: o.Logger, onFatal: o.OnFatal, checkpoint: s.checkpoint, feed: &s.feed,
		queue: make(chan *request, o.QueueSize), turn: make(chan struct{}, 1), done: make(chan struct{}),
	}
	due, err := needsScrub(ctx, write)
	if err != nil {
		return nil, opening(path, err)
	}
	s.scrubbing = newScrubbing()
	go s.checkpoint.run()
	go s.writer.run()
	go s.keepScrubbing(due)
	return s, nil
}

// dsn returns the data source name: the file and the settings of every connection to it. SQLite allocates the page
// cache of 8 MB only as it fills.
func dsn(path string) string {
	u := url.URL{Scheme: "file", Path: path}
	return u.String() + "?" + strings.Join([]string{
		"_pragma=busy_timeout(5000)",
		"_pragma=journal_mode(WAL)",
		"_pragma=synchronous(FULL)",
		"_pragma=secure_delete(1)",
		"_pragma=foreign_keys(1)",
		"_pragma=temp_store(MEMORY)",
		"_pragma=cache_size(-8000)",
		"_pragma=wal_autocheckpoint(0)",
		"_pragma=journal_size_limit(16777216)",
	}, "&")
}

// durable returns an error if the connection could lose acknowledged writes in a power cut. For example, SQLite
// silently does not use WAL mode on a file system without shared memory.
func durable(ctx context.Context, c *conn) error {
	mode, err := oneOn(ctx, c, (*row).Text, "PRAGMA journal_mode")
	if err != nil {
		return err
	}
	sync, err := oneOn(ctx, c, (*row).Int, "PRAGMA synchronous")
	if err != nil {
		return err
	}
	if mode != "wal" || sync != 2 {
		return fmt.Errorf("%w: journal_mode is %s and synchronous is %d; wal and 2 (FULL) are needed to preserve "+
			"acknowledged writes: put the data directory on a local disk", store.ErrUnavailable, mode, sync)
	}
	return nil
}

// ownerOnly ensures that the file exists and that only its owner can read it. SQLite gives its log the same
// permissions.
func ownerOnly(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return os.Chmod(path, 0o600)
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// Write implements store.Store.
func (s *Store) Write(ctx context.Context, fn func(store.Tx) error) error {
	began := time.Now()
	defer func() {
		s.writes.Observe(time.Since(began))
		store.SpentWriting(ctx, began)
	}()
	return s.writer.write(ctx, store.UndoneOnTrial(ctx, fn))
}

// ID implements store.Store.
func (s *Store) ID() string { return s.id }

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	_, err := one(ctx, s.reads, (*row).Int, "SELECT count(*) FROM meta")
	return err
}

// Close implements store.Store. It may be called more than once.
func (s *Store) Close() error {
	s.closing.Do(func() {
		s.scrubbing.close()
		s.writer.close()
		s.closeErr = errors.Join(s.checkpoint.close(), s.reads.pool.close(), s.writer.finish())
	})
	return s.closeErr
}

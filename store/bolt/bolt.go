// Package bolt is the embedded store.Queue: one bbolt file, queue.bolt.
//
// # Writing
//
// One goroutine writes. It takes all waiting requests, runs them in one transaction, commits with one fsync and returns
// their outcomes. The next batch gathers while the goroutine waits for the disk, so a single caller waits only for the
// disk. (With DB.Batch, bbolt's own batching, a single caller waits for a delay.) A request that fails gets its own
// error and does not affect the other requests. At most Options.Waiting requests wait; further requests get
// store.ErrOverloaded.
//
// # The file
//
//	operations    id → JSON
//	due           kind → (big-endian next-attempt ms, id)      pending ones
//	status        status → id
//	appointments  (appointment id, id)
//	finished      (big-endian ms, id)                          completed ones
//	removed       (big-endian ms, id)                          removed ones, until Prune
//	activity      (id, sequence) → JSON
//	counts        status, activity, removed → how many
//	meta          format; witness: the marker of the database that the file belongs to
//
// Each read uses an index: Take, NextDue and Counts cost the same with ten operations and with ten thousand. Each
// record ends in a checksum, because bbolt's own data pages have none.
//
// bbolt leaves replaced and deleted data on free pages until it needs the space. Erase overwrites all free pages, so
// that an erased person's data cannot be recovered. It does not change earlier copies of the file, or files that were
// moved aside as damaged. bbolt itself never shrinks a file. Open and Prune do (compact.go).
//
// # Damage
//
// bbolt maps the file into memory and trusts it: a damaged file makes it panic, or SIGBUS kills the process. So a
// program starts itself as a child process, which reads an existing file before the program opens it. This takes two
// lines:
//
//	bolt.CheckMain()                                             // first in main; returns unless this is the child
//	q, err := bolt.Open(ctx, bolt.Options{Path: p, Check: bolt.Check})
//
// Open moves a damaged file aside and creates an empty one. Quarantined returns the path of the damaged file. No
// operation is lost, because the outbox contains every unfinished operation. But an operation that is added again may
// have been attempted before. So if Rebuilt reports true, the caller adds operations with Unknown set, in one call:
// Rebuilt reports true until the first Add, even in later processes.
//
// A failing disk is different: after any write error except a full disk, the queue accepts no further write and Ping
// fails. Restart the process.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"holdfast/store"
)

var (
	// ErrInUse means that another process, or another Queue of this process, has the file open.
	ErrInUse = errors.New("the queue file is in use by another process")
	// ErrDamaged means that the file is no longer a valid queue.
	ErrDamaged = errors.New("the queue file is damaged")
	// ErrFormat means that a newer program wrote the file.
	ErrFormat = errors.New("the queue file has an unknown format")
)

// format is the format version of new files.
const format = "1"

// unfilledKey is the key in the bucket meta of a new file until the first Add.
const unfilledKey = "unfilled"

// Options configures Open. Path is required.
type Options struct {
	// Path is the file. Open creates it with mode 0600 if it is missing; its directory must exist.
	Path string
	// Logger receives messages about damage and failing disks. Nil discards them.
	Logger *slog.Logger
	// Timeout is how long Open waits for another process to release the file. 0 means 1 s.
	Timeout time.Duration
	// Waiting is the maximum number of writes that wait for their turn. 0 means 4,096.
	Waiting int
	// Check reads an existing file before Open opens it. It returns an error that wraps ErrDamaged if Open must not
	// open the file. A server sets it to the function Check. If Check is nil, Open trusts the file.
	Check func(ctx context.Context, path string) error
}

// Queue is the open file.
type Queue struct {
	db          *bbolt.DB // only the writer changes it, under swap
	swap        sync.RWMutex
	path        string
	log         *slog.Logger
	quarantined string
	rebuilt     bool

	requests chan *request
	gate     sync.RWMutex // guards closed; a request is sent under the read lock
	closed   bool
	stopped  chan struct{} // closed when the writer has finished its last request
	broken   atomic.Pointer[error]
}

var _ store.Queue = (*Queue)(nil)

// Open opens the queue, or creates an empty one. ctx limits only the check. It returns ErrInUse if another process has
// the file open, and ErrFormat if a newer program wrote it. A damaged file is not an error (see Quarantined).
func Open(ctx context.Context, o Options) (*Queue, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Second
	}
	if o.Waiting <= 0 {
		o.Waiting = 4096
	}
	q := &Queue{path: o.Path, log: o.Logger, requests: make(chan *request, o.Waiting), stopped: make(chan struct{})}
	err := q.open(ctx, o)
	if errors.Is(err, ErrDamaged) {
		aside, moveErr := moveAside(o.Path, time.Now())
		if moveErr != nil {
			return nil, fmt.Errorf("%w, and it could not be moved aside: %w", err, moveErr)
		}
		q.quarantined = aside
		q.log.Error("queue file damaged; moved aside and rebuilt", "reason", err, "kept", aside)
		err = q.open(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if err := q.shrink(compactAtStart); err != nil {
		q.log.Warn("queue: failed to compact the file", "error", err)
	}
	go q.run()
	return q, nil
}

// open checks and opens an existing file, or creates it.
func (q *Queue) open(ctx context.Context, o Options) error {
	info, err := os.Stat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("queue: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("queue: %s is not a file; choose another path, or move it away", o.Path)
	case info.Size() == 0: // a crash after the file was created, before its first page was written
	case o.Check != nil:
		if err := check(ctx, o); err != nil {
			return err
		}
	}
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(o.Path, 0o600); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
	}
	db, err := bbolt.Open(o.Path, 0o600, options(o.Timeout))
	if err != nil {
		return openError(o.Path, err)
	}
	if q.rebuilt, err = prepare(db); err != nil {
		_ = db.Close()
		return err
	}
	if q.rebuilt {
		if err := syncDirectory(o.Path); err != nil {
			_ = db.Close()
			return fmt.Errorf("queue: %w", err)
		}
	}
	q.db = db
	return q.recount()
}

// recount corrects the counts by kind if an older program wrote the file.
func (q *Queue) recount() error {
	tx, err := q.db.Begin(true)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	t := view(tx)
	if err = t.recount(); err == nil && len(t.delta) > 0 {
		return translate(tx.Commit())
	}
	return errors.Join(err, tx.Rollback())
}

// check calls Options.Check. While another process has the file open, it repeats the call until the timeout.
func check(ctx context.Context, o Options) error {
	for begun := time.Now(); ; {
		err := o.Check(ctx, o.Path)
		if !errors.Is(err, ErrInUse) || time.Since(begun) >= o.Timeout {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// openError translates bbolt's error from opening path.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: %s: stop that process, or use it to inspect the queue (holdfast queue "+
			"list)", ErrInUse, path)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum),
		errors.Is(err, berrors.ErrVersionMismatch),
		strings.HasPrefix(err.Error(), "file size too small"):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	default:
		return fmt.Errorf("queue: %s: %w", path, err)
	}
}

// prepare creates the buckets of a new file. It checks the format of an existing file. unfilled is true until the first
// Add.
func prepare(db *bbolt.DB) (unfilled bool, err error) {
	var have string
	var scrubbing bool
	err = db.View(func(tx *bbolt.Tx) error {
		if b := tx.Bucket([]byte(metaTable)); b != nil {
			have, unfilled = string(b.Get([]byte("format"))), b.Get([]byte(unfilledKey)) != nil
		}
		scrubbing = tx.Bucket([]byte(fillTable)) != nil
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("queue: %w", err)
	}
	switch {
	case have == format && !scrubbing:
		return unfilled, nil
	case have != format && have != "":
		return false, fmt.Errorf(
			"%w: %q instead of %q; start the program that wrote it, or move %s away: unfinished operations are "+
				"restored from the outbox",
			ErrFormat, have, format, db.Path(),
		)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if scrubbing { // a crash interrupted the scrub
			return tx.DeleteBucket([]byte(fillTable))
		}
		unfilled = true
		for _, name := range tableNames {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		meta := tx.Bucket([]byte(metaTable))
		return errors.Join(meta.Put([]byte("format"), []byte(format)), meta.Put([]byte(unfilledKey), []byte("1")))
	})
	if err != nil {
		return false, fmt.Errorf("queue: %w", err)
	}
	return unfilled, nil
}

// Rebuilt reports whether this Open started with an empty queue, because the file was missing or damaged, or because no
// process has called Add since then. The operations in the outbox may have been attempted before: add them in one call,
// with Unknown set.
func (q *Queue) Rebuilt() bool { return q.rebuilt }

// Quarantined returns the path of the damaged file that Open moved aside, or "". The file may contain personal data:
// delete it when it is no longer needed.
func (q *Queue) Quarantined() string { return q.quarantined }

// Ping returns nil if the queue can be read and accepts writes. It returns ErrUnavailable after a failed write. Then
// restart the process.
func (q *Queue) Ping(ctx context.Context) error {
	if err := q.fault(); err != nil {
		return err
	}
	_, err := q.Counts(ctx)
	return err
}

// Close waits for the writes already accepted and releases the file. It is idempotent.
func (q *Queue) Close() error {
	q.gate.Lock()
	if !q.closed {
		q.closed = true
		close(q.requests)
	}
	q.gate.Unlock()
	<-q.stopped
	return q.db.Close()
}

// moveAside renames a damaged file to <path>.damaged-<UTC stamp> and returns the new path.
func moveAside(path string, now time.Time) (string, error) {
	stamp := path + ".damaged-" + now.UTC().Format("20060102T150405Z")
	aside := stamp
	for n := 2; ; n++ {
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		}
		aside = fmt.Sprintf("%s-%d", stamp, n)
	}
	if err := os.Rename(path, aside); err != nil {
		return "", err
	}
	return aside, syncDirectory(path)
}

// syncDirectory makes the name of a new or renamed file durable. Windows has no such call and needs none.
func syncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Package bolt is the embedded store.Queue: one bbolt file, queue.bolt.
//
// # Writing
//
// One goroutine writes. It takes whatever is waiting, runs it in one transaction, commits with one fsync and answers
// everybody; while it waits for the disk the next batch gathers by itself, so a lone caller waits for nothing but the
// disk. (DB.Batch, bbolt's own batching, makes a lone caller wait out a delay.) A request that fails is answered alone
// and never spoils its neighbours. At most Options.Waiting requests wait; more are refused with store.ErrOverloaded.
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
// Every question is answered from the index made for it: Take, NextDue and Counts cost the same with ten operations
// and with ten thousand. Records end in a checksum, which bbolt's own data pages lack.
//
// bbolt leaves what was replaced or deleted on free pages until it needs the room. Erase overwrites them all, so that a
// person who was erased cannot be read back. Copies made earlier by WriteTo, and files moved aside as damaged, keep what
// they had. bbolt itself never makes a file smaller; Open and Prune do, see compact.go.
//
// # Damage
//
// bbolt maps the file and trusts it: on a damaged one it panics, or the process dies of SIGBUS. So a program has an
// existing file read by a child of itself before it opens it, which takes two lines:
//
//	bolt.CheckMain()                                             // first thing in main; returns unless this is the child
//	q, err := bolt.Open(ctx, bolt.Options{Path: p, Check: bolt.Check})
//
// A damaged file is moved aside and an empty one takes its place; Quarantined names it. Nothing is lost by that: the
// outbox holds every unfinished operation. But what is added again may have been attempted before, so whoever adds it
// sets Unknown when Rebuilt says so.
//
// A failing disk is another matter: after any error in writing but a full disk, no write is taken any more and Ping
// says so; the process is to be restarted.
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
	// ErrInUse: another process, or another Queue of this one, has the file.
	ErrInUse = errors.New("the queue file is in use by another process")
	// ErrDamaged: the file cannot be a queue any more.
	ErrDamaged = errors.New("the queue file is damaged")
	// ErrFormat: the file was written by a program newer than this one.
	ErrFormat = errors.New("the queue file has a format this program does not know")
)

// format is what this program writes into a new file.
const format = "1"

// Options say where the queue is and how it behaves.
type Options struct {
	// Path is the file. It is made with mode 0600 if there is none; its directory must exist.
	Path string
	// Logger is told of damage and failing disks; nil = nobody is.
	Logger *slog.Logger
	// Timeout is how long Open waits for another process to let go of the file; 0 = 1 s.
	Timeout time.Duration
	// Waiting is how many writes may wait for their turn; 0 = 4,096.
	Waiting int
	// Check reads an existing file before it is opened and returns an error that wraps ErrDamaged if it must not be.
	// A server sets it to the function Check. nil = the file is trusted.
	Check func(ctx context.Context, path string) error
}

// Queue is the open file.
type Queue struct {
	db          *bbolt.DB // changed by the writer only, under swap
	swap        sync.RWMutex
	copying     sync.Mutex // held while the whole file is read
	path        string
	log         *slog.Logger
	quarantined string
	rebuilt     bool

	requests chan *request
	gate     sync.RWMutex // closed changes under it, and requests are sent under its read side
	closed   bool
	stopped  chan struct{} // closed when the writer has answered its last request
	broken   atomic.Pointer[error]
}

var _ store.Queue = (*Queue)(nil)

// Open opens the queue, or makes an empty one. ctx bounds the check. ErrInUse if another process has the file, ErrFormat
// if a newer program wrote it; a damaged file is no error, see Quarantined.
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
		q.log.Warn("queue: file not compacted", "error", err)
	}
	go q.run()
	return q, nil
}

// open checks and opens the file as it is, or makes it.
func (q *Queue) open(ctx context.Context, o Options) error {
	info, err := os.Stat(o.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("queue: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("queue: %s is not a file; name another or move it away", o.Path)
	case info.Size() == 0: // a crash between making the file and writing its first page
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

// recount puts the counts by kind right, where an older program wrote the file.
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

// check asks Options.Check, for as long as another process may still let go of the file.
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

// openError says what bbolt's refusal to open path means.
func openError(path string, err error) error {
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return fmt.Errorf("%w: %s: stop that process, or ask it (holdfast queue list)", ErrInUse, path)
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch),
		strings.HasPrefix(err.Error(), "file size too small"):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	default:
		return fmt.Errorf("queue: %s: %w", path, err)
	}
}

// prepare makes the buckets of a new file, which is then fresh, and reads the format of an old one.
func prepare(db *bbolt.DB) (fresh bool, err error) {
	var have string
	var scrubbing bool
	err = db.View(func(tx *bbolt.Tx) error {
		if b := tx.Bucket([]byte(metaTable)); b != nil {
			have = string(b.Get([]byte("format")))
		}
		scrubbing = tx.Bucket([]byte(fillTable)) != nil
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("queue: %w", err)
	}
	switch {
	case have == format && !scrubbing:
		return false, nil
	case have != format && have != "":
		return false, fmt.Errorf("%w: %q instead of %q; start the program that wrote it, or move %s away: unfinished operations come back from the outbox",
			ErrFormat, have, format, db.Path())
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if scrubbing { // a crash in the middle of it
			return tx.DeleteBucket([]byte(fillTable))
		}
		for _, name := range tableNames {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte(metaTable)).Put([]byte("format"), []byte(format))
	})
	if err != nil {
		return false, fmt.Errorf("queue: %w", err)
	}
	return !scrubbing, nil
}

// Rebuilt reports whether the queue began empty with this Open, because there was no file or a damaged one. What the
// outbox still holds may have been attempted before: it is to be added with Unknown set.
func (q *Queue) Rebuilt() bool { return q.rebuilt }

// Quarantined is the path of the damaged file that Open moved aside, or empty. It may hold personal data: it is to be
// deleted once nobody needs it.
func (q *Queue) Quarantined() string { return q.quarantined }

// Ping answers nil if the queue can be read and still takes writes. ErrUnavailable after a failed write: restart.
func (q *Queue) Ping(ctx context.Context) error {
	if err := q.fault(); err != nil {
		return err
	}
	_, err := q.Counts(ctx)
	return err
}

// Close waits for the writes already accepted and lets go of the file. It is idempotent.
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

// moveAside renames a damaged file to <path>.damaged-<UTC stamp> and says what it is called now.
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

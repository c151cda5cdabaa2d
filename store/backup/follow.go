package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"holdfast/store"
	"holdfast/store/bucket"
	"holdfast/store/disk"
	"holdfast/store/sqlite"
)

// # How changes reach the backup destination
//
// The Follower writes one incremental backup at a time: the whole database, then an increment with the changed pages
// for each interval. If the machine is lost, at most the bookings of the last interval are lost. The Follower starts
// another incremental backup when the server starts, at the time of the daily backup, and when the later increments
// together are maxGrowth larger than the first.
//
// The Follower first writes an increment to a file in the data directory, sealed if there is a key. So a hung
// destination delays only the next increment, and never a booking. In a directory, the file gets its final name only
// after it has been read back.

const (
	maxGrowth   = 16 << 20        // bytes by which the later increments may exceed the first
	slowPut     = 5 * time.Minute // time after which the log reports that the destination hangs
	finishLimit = 8 * time.Second // time limit for the last increment of a server that stops
)

// chain is the incremental backup that the Follower writes.
type chain struct {
	set       string // its name at the destination
	path      string // as the operator would write it
	begun     time.Time
	next      int        // number of the next increment
	after     string     // digest of the last increment
	file      string     // name of the last increment
	bytes     int64      // size of the last increment, in bytes
	first     int64      // size of the first increment
	since     int64      // total size of the later increments
	keys      []byte     // the content of KeysFile at the last increment
	recipient string     // the public key that it is sealed for; empty if it is not sealed
	unknown   *increment // an increment whose put has an unknown outcome; nil means none
}

// increment is an increment that is being sent to the destination.
type increment struct {
	spool  string // its file in the data directory
	bytes  int64
	sum    []byte // SHA-256 of the file
	file   string // its name in the set
	digest string
	at     time.Time // the increment contains every change up to this time
	moment sqlite.Moment
	keys   []byte // the content of KeysFile
}

// Follower writes incremental backups. Only one goroutine may use it at a time.
type Follower struct {
	*Backups
	destination destination
	number      int // number of the last chain that was started, even if that failed
	denied      bool
	pages       *sqlite.Pages
	mark        string
	slow        *time.Timer // runs while the Follower waits for the destination
	chain       *chain      // nil means none
	retryAt     time.Time   // when the next chain may be started
	full        error       // the last error from starting a chain, if the disk was full
	failing     bool
	loggedAt    time.Time
	undeletedAt time.Time // when the log last reported an expired chain that was not deleted
}

// Follower returns the writer of incremental backups. It returns nil if the plan has no incremental backups, or if the
// database is PostgreSQL, which has its own backup tools. The caller closes the Follower.
func (b *Backups) Follower() *Follower {
	if b.Plan.Destination == "" || b.Plan.Every == 0 {
		return nil
	}
	s, ok := b.sqlite()
	if !ok {
		b.Logger.Info("--backup-every ignored: it applies to SQLite only")
		return nil
	}
	b.copied.Store(new(time.Time))
	f := &Follower{Backups: b, destination: b.Plan.destination(b.Data), pages: s.Pages(), mark: markOf(s.ID())}
	f.slow = time.AfterFunc(slowPut, func() {
		f.Logger.Error("backup destination not responding; incremental backup waiting", "destination", f.destination)
	})
	f.slow.Stop()
	return f
}

// Close releases the Follower's connection to the database.
func (f *Follower) Close() error {
	f.slow.Stop()
	return f.pages.Close()
}

// Run writes the next increment if the data has changed. Call it once per Plan.Every. If Run fails repeatedly, it logs
// this every 15 minutes.
func (f *Follower) Run(ctx context.Context, now time.Time) {
	f.slow.Reset(slowPut)
	defer f.slow.Stop()
	err := f.follow(ctx, now)
	switch {
	case ctx.Err() != nil:
	case err == nil && f.failing:
		f.failing = false
		f.Logger.Info("incremental backup resumed", "destination", f.destination)
	case err != nil && (!f.failing || now.Sub(f.loggedAt) >= Retry):
		f.failing, f.loggedAt = true, now
		f.Logger.Error("incremental backup failed; retrying", "in", f.Plan.Every, "copied_until", f.copiedUntil(),
			"error", err)
	}
}

// Finish writes the last increment of a server that stops, within 8 seconds. ended is the context of the server. If it
// ended because the storage failed, Finish writes nothing: the changes that it reads may not be on the disk.
func (f *Follower) Finish(ended context.Context) {
	if f.chain == nil || !errors.Is(context.Cause(ended), context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), finishLimit)
	defer cancel()
	defer f.slow.Stop()
	to, err := f.destination.recipient(f.Data)
	lost := false
	if err == nil {
		lost, err = f.isLost(ctx)
	}
	if lost || err == nil && f.chain.recipient != publicOf(to) {
		return // the next server start begins another chain
	}
	if err == nil {
		err = f.extend(ctx, f.chain, to, false)
	}
	if err != nil {
		f.Logger.Error("final incremental backup failed", "copied_until", f.copiedUntil(), "error", err)
	}
}

// copiedUntil returns, for the log, the time up to which the backup destination contains all changes.
func (f *Follower) copiedUntil() any {
	if last, _ := f.LastCopy(); !last.IsZero() {
		return last
	}
	return "nothing yet"
}

// follow copies the latest changes to the destination: it extends the chain or starts another one.
func (f *Follower) follow(ctx context.Context, now time.Time) error {
	to, err := f.destination.recipient(f.Data)
	if err != nil {
		return err
	}
	if f.chain != nil {
		lost, err := f.isLost(ctx)
		if err != nil {
			return err
		}
		if lost || f.chain.recipient != publicOf(to) {
			f.drop()
			f.retryAt = time.Time{}
		}
	}
	if f.chain == nil {
		return f.startFirst(ctx, to, now)
	}
	if !now.Before(f.retryAt) && (f.Plan.due(f.chain.begun, now, f.Zone()) || f.chain.since > f.chain.first+maxGrowth) {
		err := f.start(ctx, to)
		if err == nil || ctx.Err() != nil {
			return err
		}
		f.retryAt = now.Add(Retry)
		f.Logger.Warn("failed to start a new incremental backup; continuing the current one and retrying",
			"in", Retry, "error", err)
	}
	return f.extend(ctx, f.chain, to, false)
}

// startFirst starts a chain if there is none. If the disk was full the last time, startFirst waits for Retry, because
// each attempt reads and writes the whole database.
func (f *Follower) startFirst(ctx context.Context, to *age.X25519Recipient, now time.Time) error {
	if now.Before(f.retryAt) {
		return f.full
	}
	err := f.start(ctx, to)
	if errors.Is(err, store.ErrFull) || disk.IsFull(err) {
		f.retryAt, f.full = now.Add(Retry), err
	}
	return err
}

// isLost reports whether the last increment is missing at the destination.
func (f *Follower) isLost(ctx context.Context) (bool, error) {
	found, err := f.destination.has(ctx, f.chain.set, f.chain.file, f.chain.bytes)
	return err == nil && !found, err
}

// drop ends the chain and removes its spooled increment, if there is one.
func (f *Follower) drop() {
	if f.chain != nil && f.chain.unknown != nil {
		_ = os.Remove(f.chain.unknown.spool)
	}
	f.chain = nil
}

// publicOf returns a recipient as a string, or "" for nil.
func publicOf(to *age.X25519Recipient) string {
	if to == nil {
		return ""
	}
	return to.String()
}

// start starts a chain with its first increment. It deletes the expired chains first, because they may fill the
// destination. It deletes expired chains again afterwards.
func (f *Follower) start(ctx context.Context, to *age.X25519Recipient) error {
	f.expire(ctx)
	if err := f.requireSpool(); err != nil {
		return err
	}
	names, err := f.destination.sets(ctx)
	if err != nil {
		return err
	}
	last := f.number // a set with this number may still appear, even if it is not listed
	for _, name := range names {
		if number, _, ok := parseIncrementalName(name); ok {
			last = max(last, number)
		}
	}
	set := incrementalName(last+1, f.mark)
	c := &chain{set: set, path: f.destination.path(set), begun: time.Now(), recipient: publicOf(to)}
	if err := f.destination.begin(set); err != nil {
		return err
	}
	f.number = last + 1
	err = f.extend(ctx, c, to, true)
	if err == nil {
		err = f.destination.finish() // the new name is durable before an old chain is deleted
	}
	if err != nil {
		unknown := errors.Is(err, errUnknown)
		if unknown || bucket.Refused(err) { // the whole database has already been read
			f.retryAt, f.full = time.Now().Add(Retry), err
		}
		if c.unknown != nil {
			_ = os.Remove(c.unknown.spool)
		}
		if unknown || bucket.Refused(err) {
			return err // an object in a bucket is complete or missing, so there is nothing to remove
		}
		return errors.Join(err, f.destination.remove(ctx, set))
	}
	f.drop()
	f.chain = c
	f.Logger.Info("incremental backup started with a copy of the whole database", "path", c.path, "every", f.Plan.Every,
		"sealed", to != nil)
	f.expire(ctx)
	return nil
}

// expire deletes the expired incremental backups. A failure does not delay other work, so expire only logs it.
func (f *Follower) expire(ctx context.Context) {
	all, err := f.destination.incrementals(ctx)
	if err != nil {
		return // start gets the same error and returns it
	}
	now, denied := time.Now(), false
	for _, old := range f.Plan.Keep.expiredIncrementals(all, f.mark, now, f.Zone()) {
		if failed := f.destination.remove(ctx, filepath.Base(old.Path)); errors.Is(failed, bucket.ErrDenied) {
			denied = true
		} else {
			err = errors.Join(err, failed)
		}
	}
	if denied && !f.denied {
		f.denied = true
		f.Logger.Info("failed to delete expired incremental backups from the backup destination: access denied",
			"destination", f.destination)
	}
	if err != nil && now.Sub(f.undeletedAt) >= Retry {
		f.undeletedAt = now
		f.Logger.Warn("failed to delete expired incremental backups", "error", err)
	}
}

// requireSpool returns store.ErrFull if the spooled copy of the whole database would fill the server's disk.
func (b *Backups) requireSpool() error {
	free, known := disk.Free(b.Data)
	bytes, measured := b.DatabaseBytes()
	if least := bytes + 64<<20; known && measured && free < least {
		return fmt.Errorf("%w: a copy of the whole database (%d MB) needs %d MB of free space, but only %d MB is free",
			store.ErrFull, bytes>>20, least>>20, free>>20)
	}
	return nil
}

// extend adds the next increment to a chain. The increment contains the whole database, or the pages that have changed
// since the last increment. If nothing has changed, extend adds no increment. If the outcome of the last put is
// unknown, extend first repeats it with the same bytes: the first upload may still arrive and replace the second.
func (f *Follower) extend(ctx context.Context, c *chain, to *age.X25519Recipient, whole bool) error {
	if c.unknown != nil {
		if err := f.send(ctx, c, c.unknown); err != nil {
			return err
		}
		_ = os.Remove(c.unknown.spool)
		c.unknown = nil
	}
	made, err := f.spool(ctx, c, to, whole)
	if err != nil {
		return err
	}
	if made.moment.Changed > 0 || !bytes.Equal(made.keys, c.keys) {
		err = f.send(ctx, c, made)
	} else {
		f.confirm(made)
	}
	if errors.Is(err, errUnknown) {
		c.unknown = made
		return err
	}
	return errors.Join(err, os.Remove(made.spool))
}

// spool reads the next increment from the database into a file in the data directory.
func (f *Follower) spool(ctx context.Context, c *chain, to *age.X25519Recipient, whole bool) (_ *increment, err error) {
	made := &increment{at: time.Now(), file: incrementName(c.next, to != nil)}
	if made.keys, err = os.ReadFile(f.file(KeysFile)); err != nil {
		return nil, err
	}
	spool, err := os.CreateTemp(f.Data, SpoolPattern)
	if err != nil {
		return nil, err
	}
	made.spool = spool.Name()
	written := sha256.New()
	head := incrementHead{Set: c.set, Number: c.next, Made: made.at.UTC(), After: c.after, Keys: made.keys}
	f.slow.Stop()
	made.moment, made.digest, err = writeIncrement(io.MultiWriter(spool, written), to, head,
		func(each func(int, []byte) error) (sqlite.Moment, error) {
			return f.pages.Read(ctx, whole, each)
		})
	f.slow.Reset(slowPut)
	if err := errors.Join(err, spool.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(made.spool))
	}
	made.sum, made.bytes = written.Sum(nil), disk.Size(made.spool)
	return made, nil
}

// send uploads an increment to the destination.
func (f *Follower) send(ctx context.Context, c *chain, made *increment) error {
	if err := noteSent(f.Data, f.destination.String(), c.set, made.file); err != nil {
		return err
	}
	if err := f.destination.put(ctx, made.spool, c.set, made.file, made.sum, made.at); err != nil {
		return fmt.Errorf("%s was not written: %w", filepath.Join(c.path, made.file), err)
	}
	c.add(made)
	f.confirm(made)
	return nil
}

// confirm records that every change up to this increment is at the destination.
func (f *Follower) confirm(made *increment) {
	f.pages.Keep(made.moment)
	f.copied.Store(&made.at)
}

// add records that an increment is at the destination.
func (c *chain) add(made *increment) {
	c.file, c.bytes, c.after, c.keys = made.file, made.bytes, made.digest, made.keys
	if c.next == 0 {
		c.first = c.bytes
	} else {
		c.since += c.bytes
	}
	c.next++
}

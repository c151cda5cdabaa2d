package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"holdfast/engine/timed"
	"holdfast/store"
	"holdfast/store/bucket"
	"holdfast/store/sqlite"
)

// # Copies of every minute
//
// Where a backup destination is named, the server keeps a trail in it: the whole database once, and then each minute the pages that have changed,
// each time as a file of its own, a step. Whoever loses the machine loses a minute of bookings. A trail ends with the server, with the
// next daily backup, or when its steps have become more than what they follow; then the next begins.
//
// A step is read out of the database into a file of the data directory first, sealed already where there is a key: a backup destination that
// hangs then holds up nothing but the next step. It gets its name there when it was read back.

const (
	maxSteps  = 16 << 20        // bytes by which the steps of a trail may be more than its first
	slowStep  = 5 * time.Minute // after which the log says that the backup destination hangs
	lastStep  = 8 * time.Second // that the step of a server that stops may take; less than keepersPatience
	spoolFile = ".copy-*"
)

// trail is the one that a server keeps.
type trail struct {
	set       string // its name at the backup destination
	path      string // how a person names it
	begun     time.Time
	next      int       // number of the next step
	after     string    // digest of the last
	file      string    // of the last, in the set
	bytes     int64     // of that file
	first     int64     // bytes of the first step
	since     int64     // bytes of the others
	keys      []byte    // secret.key, as the last step has it
	recipient string    // that it is sealed for; empty: none
	unsure    *madeStep // that may have been put, or come to be; nil: none
}

// trailKeeper keeps one trail after another.
type trailKeeper struct {
	*house
	plan        backupPlan
	second      place
	number      int  // of the last trail that was begun, or tried to be
	stays       bool // it was said that what is past its days stays
	pages       *sqlite.Pages
	mark        string
	slow        *time.Timer // runs while the backup destination is waited for, and not while the database is read
	trail       *trail      // nil: none
	retryAt     time.Time   // when the next may be begun, after one that could not be
	full        error       // why none could be begun where there is none: there was no room
	failing     bool
	saidAt      time.Time
	undeletedAt time.Time // when it was last said that an old trail was not deleted
}

// keepTrail keeps trails at the backup destination until ctx ends, if one is named and they are wanted. PostgreSQL has its own means.
func (h *house) keepTrail(ctx context.Context, plan backupPlan) {
	if plan.second == "" || plan.every == 0 {
		return
	}
	s, ok := h.store.(*sqlite.Store)
	if !ok {
		h.log.Info("--backup-every ignored: it applies to SQLite only")
		return
	}
	h.copied.Store(new(time.Time))
	k := h.newTrailKeeper(s, plan)
	timed.Every(ctx, plan.every, func(now time.Time) { k.look(ctx, now) })
	k.finish(ctx)
	if err := k.pages.Close(); err != nil {
		h.log.Warn("connection for copies not closed", "error", err)
	}
}

func (h *house) newTrailKeeper(s *sqlite.Store, plan backupPlan) *trailKeeper {
	k := &trailKeeper{house: h, plan: plan, second: plan.place(h.dir.path), pages: s.Pages(), mark: trailMark(s.ID())}
	k.slow = time.AfterFunc(slowStep, func() {
		k.log.Error("backup destination does not respond; copies wait", "place", k.second)
	})
	k.slow.Stop()
	return k
}

// lastCopy is up to when the backup destination has everything; kept is false where no trail is kept, and the time is zero until there is one.
func (h *house) lastCopy() (at time.Time, kept bool) {
	last := h.copied.Load()
	if last == nil {
		return at, false
	}
	return *last, true
}

// look makes the next step, and says what stands in its way, once every quarter of an hour.
func (k *trailKeeper) look(ctx context.Context, now time.Time) {
	k.slow.Reset(slowStep)
	defer k.slow.Stop()
	err := k.follow(ctx, now)
	switch {
	case ctx.Err() != nil:
	case err == nil && k.failing:
		k.failing = false
		k.log.Info("copies to the backup destination resumed", "place", k.second)
	case err != nil && (!k.failing || now.Sub(k.saidAt) >= retryBackup):
		k.failing, k.saidAt = true, now
		last, _ := k.lastCopy()
		k.log.Error("copy of changes failed; retrying", "in", k.plan.every, "copied until", last, "error", err)
	}
}

// finish makes the last step of a server that stops, so that the backup destination has all of it. After a failure of the storage there is none:
// what can be read then is not known to be on the disk.
func (k *trailKeeper) finish(ended context.Context) {
	if k.trail == nil || !errors.Is(context.Cause(ended), context.Canceled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ended), lastStep)
	defer cancel()
	defer k.slow.Stop()
	recipient, err := k.second.sealer(k.dir)
	lost := false
	if err == nil {
		lost, err = k.isLost(ctx)
	}
	if lost || err == nil && k.trail.recipient != sealedFor(recipient) {
		return // the next start begins another
	}
	if err == nil {
		err = k.step(ctx, k.trail, recipient, false)
	}
	if err != nil {
		last, _ := k.lastCopy()
		k.log.Error("last changes not copied before the stop", "copied until", last, "error", err)
	}
}

// follow brings the backup destination up to now: with the next step of the trail there is, or with a new one.
func (k *trailKeeper) follow(ctx context.Context, now time.Time) error {
	recipient, err := k.second.sealer(k.dir)
	if err != nil {
		return err
	}
	if k.trail != nil {
		lost, err := k.isLost(ctx)
		if err != nil {
			return err
		}
		if lost || k.trail.recipient != sealedFor(recipient) {
			k.drop()
			k.retryAt = time.Time{}
		}
	}
	if k.trail == nil {
		return k.beginFirst(ctx, recipient, now)
	}
	if !now.Before(k.retryAt) && (k.plan.due(k.trail.begun, now, k.engine.Clinic.Zone()) || k.trail.since > k.trail.first+maxSteps) {
		err := k.begin(ctx, recipient)
		if err == nil || ctx.Err() != nil {
			return err
		}
		// The one there is goes on meanwhile.
		k.retryAt = now.Add(retryBackup)
		k.log.Warn("new trail not started; the current one continues", "again in", retryBackup, "error", err)
	}
	return k.step(ctx, k.trail, recipient, false)
}

// beginFirst makes a trail where there is none. Where there was no room for it, it does not read and write the whole database each minute only to find
// that there still is none.
func (k *trailKeeper) beginFirst(ctx context.Context, recipient *age.X25519Recipient, now time.Time) error {
	if now.Before(k.retryAt) {
		return k.full
	}
	err := k.begin(ctx, recipient)
	if errors.Is(err, store.ErrFull) || noRoom(err) {
		k.retryAt, k.full = now.Add(retryBackup), err
	}
	return err
}

// isLost reports whether the last step is not where it was put.
func (k *trailKeeper) isLost(ctx context.Context) (bool, error) {
	there, err := k.second.hasStep(ctx, k.trail.set, k.trail.file, k.trail.bytes)
	return err == nil && !there, err
}

// drop forgets the trail there is: the next is begun.
func (k *trailKeeper) drop() {
	if k.trail != nil && k.trail.unsure != nil {
		_ = os.Remove(k.trail.unsure.spool)
	}
	k.trail = nil
}

func sealedFor(recipient *age.X25519Recipient) string {
	if recipient == nil {
		return ""
	}
	return recipient.String()
}

// begin makes a trail with its first step. Those that are not kept go before it, where they may be what fills the place, and after it.
func (k *trailKeeper) begin(ctx context.Context, recipient *age.X25519Recipient) error {
	k.expireTrails(ctx)
	if err := k.roomForSpool(); err != nil {
		return err
	}
	names, err := k.second.sets(ctx)
	if err != nil {
		return err
	}
	last := 0
	for _, name := range names {
		if number, _, ok := parseTrailName(name); ok {
			last = max(last, number)
		}
	}
	last = max(last, k.number) // what was put under that number may still come, and a list may lack it
	set := trailName(last+1, k.mark)
	t := &trail{set: set, path: k.second.path(set), begun: time.Now(), recipient: sealedFor(recipient)}
	if err := k.second.beginTrail(set); err != nil {
		return err
	}
	k.number = last + 1
	err = k.step(ctx, t, recipient, true)
	if err == nil {
		err = k.second.finish() // the trail's own name, before one that it takes the place of goes
	}
	if err != nil {
		unsure := errors.Is(err, errUnsure)
		if unsure || bucket.Refused(err) { // after the whole database was read
			k.retryAt, k.full = time.Now().Add(retryBackup), err
		}
		if t.unsure != nil {
			_ = os.Remove(t.unsure.spool)
		}
		if unsure || bucket.Refused(err) {
			return err // what comes of it is whole, or nothing does
		}
		return errors.Join(err, k.second.remove(ctx, set))
	}
	k.drop()
	k.trail = t
	k.log.Info("trail started with a copy of the whole database", "trail", t.path, "every", k.plan.every, "sealed", recipient != nil)
	k.expireTrails(ctx)
	return nil
}

// expireTrails deletes those that are not kept. One that cannot be deleted is in nobody's way but the disk's, so it is only said.
func (k *trailKeeper) expireTrails(ctx context.Context) {
	all, err := k.second.trails(ctx)
	if err != nil {
		return // begin says it
	}
	now, denied := time.Now(), false
	for _, old := range k.plan.keep.expendableTrails(all, k.mark, now, k.engine.Clinic.Zone()) {
		if failed := k.second.remove(ctx, filepath.Base(old.path)); errors.Is(failed, bucket.ErrDenied) {
			denied = true
		} else {
			err = errors.Join(err, failed)
		}
	}
	if denied && !k.stays {
		k.stays = true
		k.log.Info("expired trails kept at the backup destination: no right to delete", "place", k.second)
	}
	if err != nil && now.Sub(k.undeletedAt) >= retryBackup {
		k.undeletedAt = now
		k.log.Warn("expired trails not deleted", "error", err)
	}
}

// roomForSpool refuses to begin a trail that would fill the disk of the server.
func (h *house) roomForSpool() error {
	free, known := freeBytes(h.dir.path)
	m, measured := h.engine.Measurements()
	if least := uint64(m.Bytes) + 64<<20; known && measured && free < least {
		return fmt.Errorf("%w: to copy the database of %d MB as a whole, %d MB have to be free beside it, and %d MB are",
			store.ErrFull, m.Bytes>>20, least>>20, free>>20)
	}
	return nil
}

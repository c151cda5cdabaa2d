// Package presence tracks which specialists can take on-demand sessions, and manages these sessions.
//
// # Two copies
//
// The live state (package holds) contains the online specialists, their heartbeats and their loads, so a heartbeat does
// not cost a database operation. The database contains a mirror of this state. The mirror is written when a specialist
// goes online or offline and, for heartbeats, once a minute in a single statement. After a start, or when the live
// state has been lost, Seed fills the live state from the mirror and sets the heartbeats to the current time. So each
// specialist who was online has the whole stale period to send a heartbeat. Reconciliation repairs the live state from
// the database.
//
// # Sessions
//
// All available specialists receive a request, and the first specialist to accept it gets the session. The transaction
// that accepts a request checks the capacity; the live load is only a hint. A request that no specialist accepts
// expires.
package presence

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Presence tracks which specialists are online, how busy they are, and their on-demand sessions. It is safe for
// concurrent use.
type Presence struct {
	store    store.Store
	holds    holds.Backend
	log      *slog.Logger
	clinic   *clinic.Clinic
	events   record.Publisher
	presence presenceState
	waits    atomic.Bool   // ExpireSessions found no open session, and waits for one
	opened   chan struct{} // signals an open session to it
}

// New returns a Presence with these options. Call Seed before the first request.
func New(s store.Store, h holds.Backend, log *slog.Logger, c *clinic.Clinic, events record.Publisher,
	o Options) *Presence {
	return &Presence{store: s, holds: h, log: log, clinic: c, events: events,
		presence: presenceState{options: o.withDefaults(), settling: make(chan struct{}, 1)},
		opened:   make(chan struct{}, 1)}
}

// Options contains the time limits for presence. The zero value of each field means its default. While the server runs,
// the clinic's settings can replace StaleAfter and can turn off the heartbeat requirement (RequirePing).
type Options struct {
	StaleAfter time.Duration // a heartbeat older than this takes a specialist offline; default 90 s
	Sweep      time.Duration // how often heartbeats are checked; default 30 s
	Mirror     time.Duration // how often heartbeats are written to the database, in one statement; default 60 s
	Reconcile  time.Duration // how often the live state is repaired from the database; default 300 s
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.StaleAfter, 90 * time.Second}, {&o.Sweep, 30 * time.Second}, {&o.Mirror, time.Minute},
		{&o.Reconcile, 5 * time.Minute}} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	return o
}

// presenceState is the presence state that this process holds in memory.
type presenceState struct {
	options Options
	beacon  beacon
	turns   turns
	// loads lets session changes run concurrently, but reconciliation only by itself. No session may begin or end while
	// reconciliation counts the sessions and updates the live loads. Otherwise, reconciliation would set a wrong load.
	loads sync.RWMutex

	seeded   atomic.Pointer[string] // the storage that was seeded last
	settling chan struct{}          // full while settle is seeding
	switches atomic.Uint64          // the number of times that the storage mode has changed
}

// StorageSwitches returns the number of times that the live state has switched to another storage mode since startup.
// The mode is checked once a second, so switching back and forth within one second is not counted.
func (pr *Presence) StorageSwitches() uint64 { return pr.presence.switches.Load() }

// turns serializes each specialist's presence changes, so that both copies change in the same order and a sweep bases
// its decision on the current state. These locks are held across a commit, so code that must be fast does not acquire
// them.
type turns [64]sync.Mutex

// take waits for the specialist's turn and returns the function that ends it.
func (t *turns) take(specialistID string) (done func()) {
	h := fnv.New32a()
	io.WriteString(h, specialistID)
	turn := &t[h.Sum32()%uint32(len(t))]
	turn.Lock()
	return turn.Unlock
}

// Status is one specialist's presence: the live state and the times of the last changes.
type Status struct {
	holds.Present
	LastOnlineAt, LastOfflineAt time.Time // zero if never
	LastChange                  string    // as in store.PresenceChange; empty if never, and in the result of a change
}

// staleAfter returns the maximum age of a heartbeat, or 0 if the clinic does not require heartbeats.
func (pr *Presence) staleAfter() time.Duration {
	s := pr.clinic.Settings()
	switch {
	case s.RequirePing != nil && !*s.RequirePing:
		return 0
	case s.StaleAfterSeconds > 0:
		return time.Duration(s.StaleAfterSeconds) * time.Second
	}
	return pr.presence.options.StaleAfter
}

// GoOnline makes a specialist available for on-demand sessions. It sets the heartbeat to the current time; otherwise,
// the next sweep would take the specialist offline again. Errors: store.ErrNotFound, holds.ErrDeactivated.
func (pr *Presence) GoOnline(ctx context.Context, specialistID string) (Status, error) {
	defer pr.presence.turns.take(specialistID)()
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return Status{}, err
	}
	if !p.Active {
		return Status{}, holds.ErrDeactivated
	}
	now := record.Now()
	mirror, err := pr.changePresence(ctx, specialistID, "online", now, func(m *store.PresenceMirror) bool {
		if m.Online {
			return false
		}
		m.Online, m.Deactivated, m.LastOnlineAt, m.LastHeartbeatAt = true, false, now, now
		return true
	})
	if err != nil {
		return Status{}, err
	}
	changed, err := pr.holds.Online(ctx, specialistID, p.MaxSessions)
	if errors.Is(err, holds.ErrDeactivated) { // the live copy missed the activation
		if _, err = pr.holds.Activate(ctx, specialistID); err == nil {
			_, err = pr.holds.Online(ctx, specialistID, p.MaxSessions)
			changed = true
		}
	}
	if err != nil {
		return Status{}, err
	}
	if changed {
		pr.publishPresence(ctx, specialistID, "online")
	}
	return pr.presenceOf(ctx, &p, mirror)
}

// GoOffline takes a specialist offline. The specialist receives no more sessions, but those in progress continue.
// Errors: store.ErrNotFound.
func (pr *Presence) GoOffline(ctx context.Context, specialistID string) (Status, error) {
	defer pr.presence.turns.take(specialistID)()
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return Status{}, err
	}
	mirror, err := pr.takeOffline(ctx, specialistID, "offline")
	if err != nil {
		return Status{}, err
	}
	return pr.presenceOf(ctx, &p, mirror)
}

// takeOffline changes both copies, the durable one first: if that fails, nothing has changed. The caller must have
// taken the specialist's turn.
func (pr *Presence) takeOffline(ctx context.Context, specialistID, change string) (store.PresenceMirror, error) {
	mirror, err := pr.mirrorOffline(ctx, specialistID, change)
	if err != nil {
		return mirror, err
	}
	changed, err := pr.holds.Offline(ctx, specialistID)
	pr.presence.beacon.drop()
	if changed {
		pr.publishPresence(ctx, specialistID, "offline")
	}
	return mirror, err
}

// mirrorOffline records in the mirror and in the log that an online specialist has gone offline.
func (pr *Presence) mirrorOffline(ctx context.Context, specialistID, change string) (store.PresenceMirror, error) {
	now := record.Now()
	return pr.changePresence(ctx, specialistID, change, now, func(m *store.PresenceMirror) bool {
		if !m.Online {
			return false
		}
		m.Online, m.LastOfflineAt = false, now
		return true
	})
}

// Beat renews the heartbeat of a specialist who is online. It does not cost a database operation. Errors:
// store.ErrNotFound, holds.ErrOffline, holds.ErrDeactivated.
func (pr *Presence) Beat(ctx context.Context, specialistID string) error {
	s := pr.clinic.Current()
	p, ok := s.SpecialistByID[specialistID]
	if !ok {
		return store.ErrNotFound
	}
	if !p.Active {
		return holds.ErrDeactivated
	}
	err := pr.holds.Beat(ctx, specialistID)
	if errors.Is(err, holds.ErrOffline) && !pr.isSettled() {
		pr.settle(ctx)
		err = pr.holds.Beat(ctx, specialistID)
	}
	return err
}

// Of returns the presence of one specialist. Errors: store.ErrNotFound.
func (pr *Presence) Of(ctx context.Context, specialistID string) (Status, error) {
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return Status{}, err
	}
	pr.settle(ctx)
	mirrors, err := pr.store.PresenceMirrors(ctx)
	if err != nil {
		return Status{}, err
	}
	log, err := pr.store.PresenceLog(ctx, specialistID, 1)
	if err != nil {
		return Status{}, err
	}
	now, err := pr.presenceOf(ctx, &p, mirrorOf(mirrors, specialistID))
	if len(log) > 0 {
		now.LastChange = log[0].Change
	}
	return now, err
}

// presenceOf combines the mirror with the live state. The maximum and the active flag come from the schedule, because
// the live state does not contain specialists who have never been online.
func (pr *Presence) presenceOf(ctx context.Context, p *store.Specialist, m store.PresenceMirror) (Status, error) {
	live, err := pr.holds.Present(ctx, p.ID)
	live.Max, live.Deactivated = p.MaxSessions, !p.Active
	if live.HeartbeatAt.IsZero() {
		live.HeartbeatAt = m.LastHeartbeatAt
	}
	return Status{Present: live, LastOnlineAt: m.LastOnlineAt, LastOfflineAt: m.LastOfflineAt}, err
}

// Available lists the specialists who can take a session now, least busy first, at most limit of them (0 = all).
func (pr *Presence) Available(ctx context.Context, limit int) ([]holds.Present, error) {
	pr.settle(ctx)
	return pr.holds.Available(ctx, pr.staleAfter(), limit)
}

// Online lists all online specialists, by id.
func (pr *Presence) Online(ctx context.Context) ([]holds.Present, error) {
	pr.settle(ctx)
	return pr.holds.Everyone(ctx)
}

// beaconTTL is how long Beacon reuses a count.
const beaconTTL = 10 * time.Second

// beacon caches the public count of available specialists.
type beacon struct {
	mu      sync.Mutex
	count   int
	at      time.Time // zero if nothing is cached
	dropped uint64    // the number of times that the cache was cleared
}

// drop clears the cache. A count that began before drop was called is not cached.
func (b *beacon) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.dropped = time.Time{}, b.dropped+1
}

// Recount makes the next Beacon call count again, because another node has changed which specialists are online.
func (pr *Presence) Recount() { pr.presence.beacon.drop() }

// Beacon returns how many specialists can take a session now. The count is public and at most beaconTTL old. If a
// specialist goes online or offline, is deactivated or gets a different maximum, the next call counts again.
func (pr *Presence) Beacon(ctx context.Context) (int, error) {
	pr.settle(ctx)
	now := time.Now()
	pr.presence.beacon.mu.Lock()
	count, fresh := pr.presence.beacon.count, !pr.presence.beacon.at.IsZero() &&
		now.Sub(pr.presence.beacon.at) < beaconTTL
	dropped := pr.presence.beacon.dropped
	pr.presence.beacon.mu.Unlock()
	if fresh {
		return count, nil
	}
	count, err := pr.holds.Count(ctx, pr.staleAfter())
	if err != nil {
		return 0, err
	}
	pr.presence.beacon.mu.Lock()
	if pr.presence.beacon.dropped == dropped {
		pr.presence.beacon.count, pr.presence.beacon.at = count, now
	}
	pr.presence.beacon.mu.Unlock()
	return count, nil
}

// changePresence commits one change to the mirror together with its log line. edit reports whether it changed anything.
// If it did not, nothing is written.
func (pr *Presence) changePresence(ctx context.Context, specialistID, change string, now time.Time,
	edit func(*store.PresenceMirror) bool) (store.PresenceMirror, error) {
	var m store.PresenceMirror
	err := pr.store.Write(ctx, func(tx store.Tx) error {
		mirrors, err := tx.PresenceMirrors(ctx)
		if err != nil {
			return err
		}
		m = mirrorOf(mirrors, specialistID)
		if !edit(&m) {
			return nil
		}
		if err := tx.PutPresence(ctx, m); err != nil {
			return err
		}
		return tx.AppendPresence(ctx, store.PresenceChange{At: now, SpecialistID: specialistID, Change: change})
	})
	return m, err
}

func mirrorOf(all []store.PresenceMirror, specialistID string) store.PresenceMirror {
	for _, m := range all {
		if m.SpecialistID == specialistID {
			return m
		}
	}
	return store.PresenceMirror{SpecialistID: specialistID}
}

func (pr *Presence) publishPresence(ctx context.Context, specialistID, change string) {
	pr.events.Publish(ctx, holds.Event{Kind: holds.EventPresence, Span: holds.Span{SpecialistID: specialistID},
		Reason: holds.Reason(change)})
}

// FollowActive updates presence when a specialist is deactivated, activated or archived. A deactivated specialist is no
// longer available. A reactivated specialist who was online before is online again, and has a full stale period to send
// a heartbeat. If FollowActive fails, reconciliation repairs the state later.
func (pr *Presence) FollowActive(ctx context.Context, p store.Specialist) {
	defer pr.presence.turns.take(p.ID)()
	defer pr.presence.beacon.drop() // the active flag or the maximum may have changed
	if err := pr.setActive(ctx, p); err != nil {
		pr.log.Error("failed to reconcile presence; retrying", "specialist", p.ID, "error", err)
	}
}

// setActive updates both copies from the schedule. The caller must have taken the specialist's turn.
func (pr *Presence) setActive(ctx context.Context, p store.Specialist) error {
	set, change := pr.holds.Activate, "activated"
	if !p.Active {
		set, change = pr.holds.Deactivate, "deactivated"
	}
	changed, err := set(ctx, p.ID)
	if err == nil {
		err = pr.holds.SetMax(ctx, p.ID, p.MaxSessions)
	}
	if err != nil || !changed {
		return err
	}
	pr.presence.beacon.drop()
	changes, err := pr.mirrorActive(ctx, p)
	pr.publishPresence(ctx, p.ID, change)
	if slices.Contains(changes, "online") {
		pr.publishPresence(ctx, p.ID, "online")
	}
	return err
}

// mirrorActive writes a specialist's active flag to the mirror and the change lines to the log, and returns the
// changes. In the mirror, a deactivated specialist who was online stays online, so that activation can restore this.
func (pr *Presence) mirrorActive(ctx context.Context, p store.Specialist) (changes []string, err error) {
	now := record.Now()
	err = pr.store.Write(ctx, func(tx store.Tx) error {
		mirrors, err := tx.PresenceMirrors(ctx)
		if err != nil {
			return err
		}
		m := mirrorOf(mirrors, p.ID)
		if changes = nil; m.Deactivated == !p.Active {
			return nil
		}
		m.Deactivated = !p.Active
		switch {
		case m.Deactivated:
			changes = []string{"deactivated"}
			if m.Online {
				m.LastOfflineAt = now
			}
		case m.Online:
			changes = []string{"activated", "online"}
			m.LastOnlineAt, m.LastHeartbeatAt = now, now
		default:
			changes = []string{"activated"}
		}
		if err := tx.PutPresence(ctx, m); err != nil {
			return err
		}
		for _, change := range changes {
			if err := tx.AppendPresence(ctx, store.PresenceChange{At: now,
				SpecialistID: p.ID, Change: change}); err != nil {
				return err
			}
		}
		return nil
	})
	return changes, err
}

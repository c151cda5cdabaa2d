// Package presence is who can take an on-demand session, and the sessions themselves.
//
// # Two copies
//
// The live state (package holds) has who is online, their heartbeats and their load; a heartbeat costs no database operation.
// The database has a mirror of it, written when somebody goes online or offline and, for heartbeats, once a minute in one
// statement. After a start, or when the live state was lost, the mirror seeds it with heartbeats of now, so whoever was
// online has the whole stale period to be heard of again. A reconciliation heals the one from the other.
//
// # Sessions
//
// A request is told to everybody who is available; the first to accept has it. Capacity is decided in the transaction that
// accepts; the live load is a hint. What nobody answers lapses.
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

// Presence is who is online, how busy they are, and the on-demand sessions they take. It is safe for concurrent use.
type Presence struct {
	store     store.Store
	holds     holds.Backend
	log       *slog.Logger
	clinic    *clinic.Clinic
	events    record.Publisher
	presence  presenceState
	requested chan struct{} // a session was asked for
}

// New returns a Presence with these times. Call Seed before the first request.
func New(s store.Store, h holds.Backend, log *slog.Logger, c *clinic.Clinic, events record.Publisher, o Options) *Presence {
	return &Presence{store: s, holds: h, log: log, clinic: c, events: events, presence: presenceState{options: o.withDefaults()}, requested: make(chan struct{}, 1)}
}

// Options are the times of presence; the zero value of each is its default. RequirePing and StaleAfter can be
// changed while running by the clinic's settings.
type Options struct {
	StaleAfter time.Duration // a heartbeat older than this takes a specialist offline; default 90 s
	Sweep      time.Duration // how often that is looked at; default 30 s
	Mirror     time.Duration // how often heartbeats are written to the database, in one statement; default 60 s
	Reconcile  time.Duration // how often the live state is healed from the database; default 300 s
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.StaleAfter, 90 * time.Second}, {&o.Sweep, 30 * time.Second}, {&o.Mirror, time.Minute}, {&o.Reconcile, 5 * time.Minute}} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	return o
}

// presenceState is what the engine itself keeps of presence.
type presenceState struct {
	options Options
	beacon  beacon
	turns   turns
	// loads lets changes of sessions pass together and reconciliation alone: between counting the sessions and setting
	// the live loads none may begin or end, or healing would be what makes a load wrong.
	loads sync.RWMutex

	seeded   atomic.Pointer[string] // the storage that was seeded last
	switches atomic.Uint64          // how often another storage mode was seen than before
}

// StorageSwitches says how often the live state went to another storage since the start. It is looked at once a second, so
// a switch there and back within one is not seen.
func (pr *Presence) StorageSwitches() uint64 { return pr.presence.switches.Load() }

// turns lets one change of a specialist's presence pass at a time, so that the two copies of it change in the same order
// and a sweep decides on what is so now. These locks are held across a commit; nothing that must be quick takes them.
type turns [64]sync.Mutex

// take waits for the specialist's turn and returns what ends it.
func (t *turns) take(specialistID string) (done func()) {
	h := fnv.New32a()
	io.WriteString(h, specialistID)
	turn := &t[h.Sum32()%uint32(len(t))]
	turn.Lock()
	return turn.Unlock
}

// Status is what is known of one specialist: the live state and when the last changes were.
type Status struct {
	holds.Present
	LastOnlineAt, LastOfflineAt time.Time // zero if never
	LastChange                  string    // as in store.PresenceChange; empty if never, and in the answer to a change
}

// staleAfter is how old a heartbeat may be; 0 where the clinic does not ask for heartbeats.
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

// GoOnline says that a specialist can take on-demand sessions. It seeds the heartbeat, or the next sweep would take the
// specialist offline again. store.ErrNotFound, holds.ErrDeactivated.
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
	if errors.Is(err, holds.ErrDeactivated) { // the live copy has missed the activation
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

// GoOffline says that a specialist takes no more sessions; those in progress go on. store.ErrNotFound.
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

// takeOffline changes both copies, the durable one first: if that fails, nothing has changed. The specialist's turn has
// been taken.
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

// mirrorOffline writes to the mirror and the log that a specialist who was online is not.
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

// Beat renews the heartbeat of a specialist who is online. It costs no database operation. store.ErrNotFound,
// holds.ErrOffline, holds.ErrDeactivated.
func (pr *Presence) Beat(ctx context.Context, specialistID string) error {
	s := pr.clinic.Current()
	p, ok := s.SpecialistByID[specialistID]
	if !ok {
		return store.ErrNotFound
	}
	if !p.Active {
		return holds.ErrDeactivated
	}
	return pr.holds.Beat(ctx, specialistID)
}

// Presence returns what is known of one specialist. store.ErrNotFound.
func (pr *Presence) Of(ctx context.Context, specialistID string) (Status, error) {
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return Status{}, err
	}
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

// presenceOf adds the live state. What the schedule decides is said as the schedule has it: who was never online is
// unknown to the live state.
func (pr *Presence) presenceOf(ctx context.Context, p *store.Specialist, m store.PresenceMirror) (Status, error) {
	live, err := pr.holds.Present(ctx, p.ID)
	live.Max, live.Deactivated = p.MaxSessions, !p.Active
	if live.HeartbeatAt.IsZero() {
		live.HeartbeatAt = m.LastHeartbeatAt
	}
	return Status{Present: live, LastOnlineAt: m.LastOnlineAt, LastOfflineAt: m.LastOfflineAt}, err
}

// Available lists who can take a session now, the least busy first; at most limit (0 = all).
func (pr *Presence) Available(ctx context.Context, limit int) ([]holds.Present, error) {
	return pr.holds.Available(ctx, pr.staleAfter(), limit)
}

// Online lists all who are online, by id.
func (pr *Presence) Online(ctx context.Context) ([]holds.Present, error) {
	return pr.holds.Everyone(ctx)
}

// beaconTTL is how long one answer of Beacon is given to everybody.
const beaconTTL = 10 * time.Second

// beacon remembers the public answer.
type beacon struct {
	mu      sync.Mutex
	count   int
	at      time.Time // zero: nothing is remembered
	dropped uint64    // how often it was forgotten
}

// drop forgets the answer, and lets nobody remember one that was counted before.
func (b *beacon) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.at, b.dropped = time.Time{}, b.dropped+1
}

// Recount has the next Beacon count again, because another node has changed who is online.
func (pr *Presence) Recount() { pr.presence.beacon.drop() }

// Beacon is the public answer to "can a specialist take a session now": how many can, at most beaconTTL old. A specialist who goes
// online or offline, is deactivated or gets another maximum is counted again at once.
func (pr *Presence) Beacon(ctx context.Context) (int, error) {
	now := time.Now()
	pr.presence.beacon.mu.Lock()
	count, fresh := pr.presence.beacon.count, !pr.presence.beacon.at.IsZero() && now.Sub(pr.presence.beacon.at) < beaconTTL
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

// changePresence commits one change of the mirror with its line in the log. edit reports whether it is one; if not,
// nothing is written.
func (pr *Presence) changePresence(ctx context.Context, specialistID, change string, now time.Time, edit func(*store.PresenceMirror) bool) (store.PresenceMirror, error) {
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
	pr.events.Publish(ctx, holds.Event{Kind: holds.EventPresence, Span: holds.Span{SpecialistID: specialistID}, Reason: holds.Reason(change)})
}

// FollowActive keeps presence in step when a specialist is switched off or on, or archived: who is switched off is no longer
// there for anybody, and who is switched on again is online if they were before, with a whole stale period to be heard of.
// What fails here reconciliation does later.
func (pr *Presence) FollowActive(ctx context.Context, p store.Specialist) {
	defer pr.presence.turns.take(p.ID)()
	defer pr.presence.beacon.drop() // the switch or the maximum may have changed
	if err := pr.setActive(ctx, p); err != nil {
		pr.log.Error("presence not reconciled; retrying", "specialist", p.ID, "error", err)
	}
}

// setActive brings both copies in step with the schedule. The specialist's turn has been taken.
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

// mirrorActive writes the switch of a specialist to the mirror and its lines in the log, and returns what changed. That the
// specialist was online stays in the mirror while they are switched off, so that switching on restores it.
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
			if err := tx.AppendPresence(ctx, store.PresenceChange{At: now, SpecialistID: p.ID, Change: change}); err != nil {
				return err
			}
		}
		return nil
	})
	return changes, err
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// PresenceOptions are the times of presence; the zero value of each is its default. RequirePing and StaleAfter can be
// changed while running by the clinic's settings.
type PresenceOptions struct {
	StaleAfter time.Duration // a heartbeat older than this takes a specialist offline; default 90 s
	Sweep      time.Duration // how often that is looked at; default 30 s
	Mirror     time.Duration // how often heartbeats are written to the database, in one statement; default 60 s
	Reconcile  time.Duration // how often the live state is healed from the database; default 300 s
}

func (o PresenceOptions) withDefaults() PresenceOptions {
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

// Presence is what is known of one specialist: the live state and when the last changes were.
type Presence struct {
	holds.Present
	LastOnlineAt, LastOfflineAt time.Time // zero if never
}

// staleAfter is how old a heartbeat may be; 0 where the clinic does not ask for heartbeats.
func (e *Engine) staleAfter() time.Duration {
	s := e.Settings()
	switch {
	case s.RequirePing != nil && !*s.RequirePing:
		return 0
	case s.StaleAfterSeconds > 0:
		return time.Duration(s.StaleAfterSeconds) * time.Second
	}
	return e.options.Presence.StaleAfter
}

// GoOnline says that a specialist can take on-demand sessions. It seeds the heartbeat, or the next sweep would take the
// specialist offline again. store.ErrNotFound, holds.ErrDeactivated.
func (e *Engine) GoOnline(ctx context.Context, specialistID string) (Presence, error) {
	p, err := e.Specialist(specialistID)
	if err != nil {
		return Presence{}, err
	}
	if !p.Active {
		return Presence{}, holds.ErrDeactivated
	}
	now := e.now()
	mirror, err := e.changePresence(ctx, specialistID, "online", now, func(m *store.PresenceMirror) bool {
		changed := !m.Online
		m.Online, m.LastHeartbeatAt = true, now
		if changed {
			m.LastOnlineAt = now
		}
		return changed
	})
	if err != nil {
		return Presence{}, err
	}
	if _, err := e.holds.Online(ctx, specialistID, p.MaxSessions); err != nil {
		return Presence{}, err
	}
	e.publishPresence(ctx, specialistID, "online")
	return e.presenceOf(ctx, mirror)
}

// GoOffline says that a specialist takes no more sessions; those in progress go on. store.ErrNotFound.
func (e *Engine) GoOffline(ctx context.Context, specialistID string) (Presence, error) {
	if _, err := e.Specialist(specialistID); err != nil {
		return Presence{}, err
	}
	mirror, err := e.takeOffline(ctx, specialistID, "offline")
	if err != nil {
		return Presence{}, err
	}
	return e.presenceOf(ctx, mirror)
}

func (e *Engine) takeOffline(ctx context.Context, specialistID, change string) (store.PresenceMirror, error) {
	now := e.now()
	mirror, err := e.changePresence(ctx, specialistID, change, now, func(m *store.PresenceMirror) bool {
		if !m.Online {
			return false
		}
		m.Online, m.LastOfflineAt = false, now
		return true
	})
	if err != nil {
		return mirror, err
	}
	changed, err := e.holds.Offline(ctx, specialistID)
	if changed {
		e.publishPresence(ctx, specialistID, "offline")
	}
	return mirror, err
}

// Beat renews the heartbeat of a specialist who is online. It costs no database operation. store.ErrNotFound,
// holds.ErrOffline, holds.ErrDeactivated.
func (e *Engine) Beat(ctx context.Context, specialistID string) error {
	s := e.schedule.current.Load()
	p, ok := s.specialists[specialistID]
	if !ok {
		return store.ErrNotFound
	}
	if !p.Active {
		return holds.ErrDeactivated
	}
	return e.holds.Beat(ctx, specialistID)
}

// Presence returns what is known of one specialist. store.ErrNotFound.
func (e *Engine) Presence(ctx context.Context, specialistID string) (Presence, error) {
	if _, err := e.Specialist(specialistID); err != nil {
		return Presence{}, err
	}
	mirrors, err := e.store.PresenceMirrors(ctx)
	if err != nil {
		return Presence{}, err
	}
	return e.presenceOf(ctx, mirrorOf(mirrors, specialistID))
}

func (e *Engine) presenceOf(ctx context.Context, m store.PresenceMirror) (Presence, error) {
	live, err := e.holds.Present(ctx, m.SpecialistID)
	return Presence{Present: live, LastOnlineAt: m.LastOnlineAt, LastOfflineAt: m.LastOfflineAt}, err
}

// Available lists who can take a session now, the least busy first; at most limit (0 = all).
func (e *Engine) Available(ctx context.Context, limit int) ([]holds.Present, error) {
	return e.holds.Available(ctx, e.staleAfter(), limit)
}

// Online lists all who are online, by id.
func (e *Engine) Online(ctx context.Context) ([]holds.Present, error) { return e.holds.Everyone(ctx) }

// beaconTTL is how long one answer of Beacon is given to everybody.
const beaconTTL = 10 * time.Second

// beacon remembers the public answer.
type beacon struct {
	mu    sync.Mutex
	count int
	at    time.Time
}

// Beacon is the public answer to "is anybody there": how many can take a session, at most beaconTTL old.
func (e *Engine) Beacon(ctx context.Context) (int, error) {
	now := time.Now()
	e.beacon.mu.Lock()
	count, fresh := e.beacon.count, !e.beacon.at.IsZero() && now.Sub(e.beacon.at) < beaconTTL
	e.beacon.mu.Unlock()
	if fresh {
		return count, nil
	}
	count, err := e.holds.Count(ctx, e.staleAfter())
	if err != nil {
		return 0, err
	}
	e.beacon.mu.Lock()
	e.beacon.count, e.beacon.at = count, now
	e.beacon.mu.Unlock()
	return count, nil
}

// changePresence commits one change of the mirror with its line in the log. edit reports whether it is a change; the row
// is written in any case where it is new.
func (e *Engine) changePresence(ctx context.Context, specialistID, change string, now time.Time, edit func(*store.PresenceMirror) bool) (store.PresenceMirror, error) {
	var m store.PresenceMirror
	err := e.store.Write(ctx, func(tx store.Tx) error {
		mirrors, err := tx.PresenceMirrors(ctx)
		if err != nil {
			return err
		}
		m = mirrorOf(mirrors, specialistID)
		changed := edit(&m)
		if err := tx.PutPresence(ctx, m); err != nil || !changed {
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

func (e *Engine) publishPresence(ctx context.Context, specialistID, change string) {
	e.publish(ctx, holds.Event{Kind: holds.EventPresence, Span: holds.Span{SpecialistID: specialistID}, Reason: holds.Reason(change)})
}

// followActive keeps presence in step when a specialist is switched off or on: who is switched off is taken offline and
// signed out.
func (e *Engine) followActive(ctx context.Context, p store.Specialist) {
	set, change := e.holds.Activate, "activated"
	if !p.Active {
		set, change = e.holds.Deactivate, "deactivated"
	}
	changed, err := set(ctx, p.ID)
	if err == nil {
		err = e.holds.SetMax(ctx, p.ID, p.MaxSessions)
	}
	if err == nil && changed {
		_, err = e.changePresence(ctx, p.ID, change, e.now(), func(m *store.PresenceMirror) bool {
			m.Deactivated = !p.Active
			m.Online = m.Online && p.Active
			return true
		})
		e.publishPresence(ctx, p.ID, change)
	}
	if err != nil {
		e.log.Error("the presence of a specialist was not brought in step; reconciliation tries again", "specialist", p.ID, "error", err)
	}
}

// seedPresence fills the live state from the database, before anybody is served.
func (e *Engine) seedPresence(ctx context.Context) error {
	mirrors, err := e.store.PresenceMirrors(ctx)
	if err != nil {
		return err
	}
	loads, err := e.store.Loads(ctx)
	if err != nil {
		return err
	}
	all := make([]holds.Present, 0, len(mirrors))
	for _, m := range mirrors {
		p, err := e.Specialist(m.SpecialistID)
		if err != nil {
			continue // archived
		}
		all = append(all, holds.Present{
			SpecialistID: m.SpecialistID, Online: m.Online && p.Active, Deactivated: !p.Active, HeartbeatAt: m.LastHeartbeatAt,
			Load: loads[m.SpecialistID], Max: p.MaxSessions,
		})
	}
	if err := e.holds.Seed(ctx, all); err != nil {
		return err
	}
	return e.holds.SetLoads(ctx, loads)
}

// keepPresence runs the sweeps until ctx ends.
func (e *Engine) keepPresence(ctx context.Context) {
	o := e.options.Presence
	sweep, mirror, reconcile := time.NewTicker(o.Sweep), time.NewTicker(o.Mirror), time.NewTicker(o.Reconcile)
	defer sweep.Stop()
	defer mirror.Stop()
	defer reconcile.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-sweep.C:
			err = e.sweepPresence(ctx)
		case <-mirror.C:
			err = e.mirrorHeartbeats(ctx)
		case <-reconcile.C:
			err = e.reconcilePresence(ctx)
		}
		if err != nil && ctx.Err() == nil {
			e.log.Warn("a sweep of presence was given up and nothing was changed by it; the next one tries again", "error", err)
		}
	}
}

// sweepPresence takes those offline whose heartbeat is stale. If the live state cannot be read it changes nothing: a
// hiccup must never take everybody offline. A node that serves from its own memory because Redis is away knows only
// its own heartbeats and does not sweep.
func (e *Engine) sweepPresence(ctx context.Context) error {
	stale := e.staleAfter()
	if stale == 0 || e.holds.Mode() == "fallback" {
		return nil
	}
	now := time.Now()
	everyone, err := e.holds.Everyone(ctx)
	if err != nil {
		return fmt.Errorf("read who is online: %w", err)
	}
	for _, p := range everyone {
		if now.Sub(p.HeartbeatAt) < stale {
			continue
		}
		if _, err := e.takeOffline(ctx, p.SpecialistID, "auto_offline"); err != nil {
			return err
		}
	}
	return nil
}

// mirrorHeartbeats writes all heartbeats to the database in one statement.
func (e *Engine) mirrorHeartbeats(ctx context.Context) error {
	if e.holds.Mode() == "fallback" {
		return nil
	}
	everyone, err := e.holds.Everyone(ctx)
	if err != nil || len(everyone) == 0 {
		return err
	}
	beats := make(map[string]time.Time, len(everyone))
	for _, p := range everyone {
		beats[p.SpecialistID] = p.HeartbeatAt
	}
	return e.store.Write(ctx, func(tx store.Tx) error { return tx.MirrorHeartbeats(ctx, beats) })
}

// reconcilePresence heals the live state from the database: loads are counted anew, who is missing is added, and who is
// online here but not there goes offline, unless that changed while this was reading.
func (e *Engine) reconcilePresence(ctx context.Context) error {
	began := time.Now()
	everyone, err := e.holds.Everyone(ctx)
	if err != nil {
		return err
	}
	mirrors, err := e.store.PresenceMirrors(ctx)
	if err != nil {
		return err
	}
	for _, p := range everyone {
		if !mirrorOf(mirrors, p.SpecialistID).Online && p.HeartbeatAt.Before(began.Add(-time.Second)) {
			if _, err := e.holds.Offline(ctx, p.SpecialistID); err != nil && !errors.Is(err, holds.ErrOffline) {
				return err
			}
		}
	}
	return e.seedPresence(ctx)
}

package presence

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// The live state of presence is kept true by sweeps: who is no longer heard from goes offline, heartbeats are mirrored to
// the database, and the database heals what the live state has wrong.

// Run runs the sweeps until ctx ends.
func (pr *Presence) Run(ctx context.Context) {
	o := pr.presence.options
	sweep, mirror, reconcile, watch := time.NewTicker(o.Sweep), time.NewTicker(o.Mirror), time.NewTicker(o.Reconcile), time.NewTicker(time.Second)
	defer sweep.Stop()
	defer mirror.Stop()
	defer reconcile.Stop()
	defer watch.Stop()
	clock, mode := wallClock{seen: time.Now()}, pr.holds.Mode()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case now := <-sweep.C:
			// After a step of the wall clock every heartbeat looks old, until each has come once more.
			if stale := pr.staleAfter(); !clock.stepped(now, stale) {
				err = pr.sweepPresence(ctx, stale)
			}
		case <-mirror.C:
			err = pr.mirrorHeartbeats(ctx)
		case <-reconcile.C:
			err = pr.reconcilePresence(ctx)
		case <-watch.C:
			if now := pr.holds.Mode(); now != mode {
				mode = now
				pr.presence.switches.Add(1)
			}
			// Another storage serves, or the same one may have lost what it had, and knows nothing or what was so before.
			if seeded := pr.presence.seeded.Load(); seeded == nil || pr.storage() != *seeded {
				err = pr.reconcilePresence(ctx)
			}
		}
		if err != nil && ctx.Err() == nil {
			pr.log.Warn("presence sweep failed; retrying", "error", err)
		}
	}
}

// wallClock notices that somebody set the clock. Heartbeats are instants of it.
type wallClock struct {
	seen, step time.Time
}

// stepped reports whether the wall clock was set within this time before now.
func (c *wallClock) stepped(now time.Time, within time.Duration) bool {
	elapsed, shown := now.Sub(c.seen), now.Round(0).Sub(c.seen.Round(0)) // Round(0) leaves the monotonic reading out
	c.seen = now
	if (shown - elapsed).Abs() > time.Second {
		c.step = now
	}
	return !c.step.IsZero() && now.Sub(c.step) < within
}

// storage names what serves the live state, since it last may have lost something.
func (pr *Presence) storage() string { return pr.holds.Mode() + " " + pr.holds.Epoch() }

// Seed fills the live state from the database: who is missing is added, nobody's heartbeat is moved, and the
// loads are counted anew. Who was online and is missing is heard of as of now: while nothing served, nobody could be
// heard, so the silence is ours and they have the whole stale period to break it.
func (pr *Presence) Seed(ctx context.Context) error {
	storage := pr.storage() // first: what takes over meanwhile is seeded as well
	mirrors, err := pr.store.PresenceMirrors(ctx)
	if err != nil {
		return err
	}
	pr.presence.loads.Lock()
	defer pr.presence.loads.Unlock()
	loads, err := pr.store.Loads(ctx)
	if err != nil {
		return err
	}
	specialists, now := pr.clinic.Schedule().Specialists, record.Now()
	all := make([]holds.Present, 0, len(specialists))
	for i := range specialists {
		p := &specialists[i]
		m := mirrorOf(mirrors, p.ID)
		if m == (store.PresenceMirror{SpecialistID: p.ID}) && p.Active {
			continue // was never here
		}
		heard := m.LastHeartbeatAt
		if m.Online {
			heard = now
		}
		all = append(all, holds.Present{
			SpecialistID: p.ID, Online: m.Online, Deactivated: !p.Active, HeartbeatAt: heard,
			Load: loads[p.ID], Max: p.MaxSessions,
		})
	}
	if err := pr.holds.Seed(ctx, all); err != nil {
		return err
	}
	if err := pr.holds.SetLoads(ctx, loads); err != nil {
		return err
	}
	pr.presence.seeded.Store(&storage)
	return nil
}

// sweepPresence takes those offline whose heartbeat is older than stale. If the live state cannot be read it changes
// nothing: a hiccup must never take everybody offline. A node that serves from its own memory because Redis is away
// knows only its own heartbeats and does not sweep.
func (pr *Presence) sweepPresence(ctx context.Context, stale time.Duration) error {
	if stale == 0 || pr.isAlone() {
		return nil
	}
	everyone, err := pr.holds.Everyone(ctx)
	if err != nil {
		return fmt.Errorf("read who is online: %w", err)
	}
	for i := range everyone {
		if err := pr.autoOffline(ctx, everyone[i].SpecialistID, stale); err != nil {
			return fmt.Errorf("take %s offline: %w", everyone[i].SpecialistID, err)
		}
	}
	return nil
}

// isAlone reports whether this node knows only what reached this node.
func (pr *Presence) isAlone() bool {
	apart, ok := pr.holds.(holds.Apart)
	return ok && apart.Alone()
}

// autoOffline takes one specialist offline who is not heard of. Any node does it: the live state decides by its own clock, and says to
// one of them that it was the one. Should the database not hear of it, reconciliation brings the specialist back, and the next
// sweep tries again.
func (pr *Presence) autoOffline(ctx context.Context, specialistID string, stale time.Duration) error {
	defer pr.presence.turns.take(specialistID)()
	changed, err := pr.holds.OfflineUnheard(ctx, specialistID, stale)
	if err != nil || !changed {
		return err
	}
	pr.presence.beacon.drop()
	_, err = pr.mirrorOffline(ctx, specialistID, "auto_offline")
	pr.publishPresence(ctx, specialistID, "offline")
	return err
}

// mirrorHeartbeats writes all heartbeats to the database in one statement.
func (pr *Presence) mirrorHeartbeats(ctx context.Context) error {
	if pr.isAlone() {
		return nil
	}
	everyone, err := pr.holds.Everyone(ctx)
	if err != nil || len(everyone) == 0 {
		return err
	}
	beats := make(map[string]time.Time, len(everyone))
	for i := range everyone {
		beats[everyone[i].SpecialistID] = everyone[i].HeartbeatAt
	}
	return pr.store.Write(ctx, func(tx store.Tx) error { return tx.MirrorHeartbeats(ctx, beats) })
}

// reconcilePresence heals the live state from the database: who is online here and not there goes offline, who is missing
// is added, capacities and switches are set as the schedule has them, and the loads are counted anew.
func (pr *Presence) reconcilePresence(ctx context.Context) error {
	before, err := pr.holds.Everyone(ctx)
	if err != nil {
		return err
	}
	mirrors, err := pr.store.PresenceMirrors(ctx)
	if err != nil {
		return err
	}
	for i := range before {
		if id := before[i].SpecialistID; !mirrorOf(mirrors, id).Online || !pr.isKnown(id) {
			if err := pr.healOnline(ctx, id); err != nil {
				return err
			}
		}
	}
	specialists := pr.clinic.Schedule().Specialists
	for i := range specialists {
		if err := pr.healActive(ctx, specialists[i].ID); err != nil {
			return err
		}
	}
	if err := pr.Seed(ctx); err != nil {
		return err
	}
	return pr.tellMissing(ctx, before)
}

func (pr *Presence) isKnown(specialistID string) bool {
	_, err := pr.clinic.Specialist(specialistID)
	return err == nil
}

// healOnline takes one specialist offline who should not be online, if that is still so in the specialist's turn. Who is
// switched off stays in the set of those online, for when they are switched on again.
func (pr *Presence) healOnline(ctx context.Context, specialistID string) error {
	defer pr.presence.turns.take(specialistID)()
	mirrors, err := pr.store.PresenceMirrors(ctx)
	if err != nil || mirrorOf(mirrors, specialistID).Online && pr.isKnown(specialistID) {
		return err
	}
	_, err = pr.takeOffline(ctx, specialistID, "offline")
	return err
}

// healActive sets the switch and the capacity of one specialist as the schedule has them now.
func (pr *Presence) healActive(ctx context.Context, specialistID string) error {
	defer pr.presence.turns.take(specialistID)()
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return nil // archived meanwhile
	}
	return pr.setActive(ctx, p)
}

// tellMissing publishes who is online now and was not before.
func (pr *Presence) tellMissing(ctx context.Context, before []holds.Present) error {
	known := make(map[string]bool, len(before))
	for i := range before {
		known[before[i].SpecialistID] = true
	}
	after, err := pr.holds.Everyone(ctx)
	if err != nil {
		return err
	}
	for i := range after {
		if id := after[i].SpecialistID; !known[id] {
			pr.publishPresence(ctx, id, "online")
		}
	}
	return nil
}

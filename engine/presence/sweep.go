package presence

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Sweeps correct the presence state. They take specialists offline whose heartbeats have stopped, copy heartbeats to
// the database, and repair the live state from the database.

// Run runs the sweeps until ctx is done.
func (pr *Presence) Run(ctx context.Context) {
	o := pr.presence.options
	sweep, mirror, reconcile, watch := time.NewTicker(o.Sweep), time.NewTicker(o.Mirror), time.NewTicker(o.Reconcile),
		time.NewTicker(time.Second)
	defer sweep.Stop()
	defer mirror.Stop()
	defer reconcile.Stop()
	defer watch.Stop()
	clock, mode := wallClock{seen: time.Now()}, pr.holds.Mode()
	_, moves := pr.holds.(holds.Apart)
	lasts := mode == "memory" && !moves // the memory of this process is never lost or replaced while it runs
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case now := <-sweep.C:
			// After the wall clock has been set, every heartbeat can look old until the specialist sends the next one.
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
			if err = pr.trySettle(ctx); err == nil && lasts {
				watch.Stop()
			}
		}
		if err != nil && ctx.Err() == nil {
			pr.log.Warn("failed to check for missed heartbeats; retrying", "error", err)
		}
	}
}

// wallClock detects when the wall clock is set. Heartbeats are wall-clock times.
type wallClock struct {
	seen, step time.Time
}

// stepped reports whether the wall clock was set less than within before now.
func (c *wallClock) stepped(now time.Time, within time.Duration) bool {
	elapsed, shown := now.Sub(c.seen), now.Round(0).Sub(c.seen.Round(0)) // Round(0) removes the monotonic reading
	c.seen = now
	if (shown - elapsed).Abs() > time.Second {
		c.step = now
	}
	return !c.step.IsZero() && now.Sub(c.step) < within
}

// storage identifies the storage that currently serves the live state, and its epoch. The result changes when the live
// state might have been lost.
func (pr *Presence) storage() string { return pr.holds.Mode() + " " + pr.holds.Epoch() }

// isSettled reports whether the storage now in use has been seeded. If not, another storage is in use, or the same one
// may have lost its state, so its presence is empty or outdated.
func (pr *Presence) isSettled() bool {
	seeded := pr.presence.seeded.Load()
	return seeded != nil && pr.storage() == *seeded
}

// trySettle reconciles a storage that has not been seeded. Callers that arrive in the meantime wait for the first
// caller to finish.
func (pr *Presence) trySettle(ctx context.Context) error {
	if pr.isSettled() {
		return nil
	}
	select {
	case pr.presence.settling <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-pr.presence.settling }()
	if pr.isSettled() {
		return nil
	}
	return pr.reconcilePresence(ctx)
}

// settle is trySettle for a reader of the live state, so that the reader does not find every specialist offline after a
// storage switch. If settle fails, the reader gets the live state unchanged, and Run retries within a second. The
// caller must not have taken a specialist's turn.
func (pr *Presence) settle(ctx context.Context) {
	if err := pr.trySettle(ctx); err != nil {
		pr.log.Debug("failed to seed presence; retrying", "error", err)
	}
}

// Seed fills the live state from the database. It adds missing specialists, leaves existing heartbeats unchanged, and
// sets the loads to a new count of the sessions. For a specialist who was online and is missing, it sets the heartbeat
// to the current time: no storage could receive heartbeats in the meantime, so the specialist has the full stale period
// to send one.
func (pr *Presence) Seed(ctx context.Context) error {
	storage := pr.storage() // read first, so that a storage that takes over during Seed is seeded as well
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
			continue // this specialist has no presence yet
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
	pr.presence.beacon.drop()
	return nil
}

// sweepPresence takes specialists offline whose heartbeat is older than stale. If it cannot read the live state, it
// changes nothing, because a brief failure must never take every specialist offline. A node that serves from its own
// memory because Redis is unreachable has only the heartbeats that it received itself, and does not sweep.
func (pr *Presence) sweepPresence(ctx context.Context, stale time.Duration) error {
	if stale == 0 || pr.isAlone() {
		return nil
	}
	everyone, err := pr.holds.Everyone(ctx)
	if err != nil {
		return fmt.Errorf("read the online specialists: %w", err)
	}
	for i := range everyone {
		if err := pr.autoOffline(ctx, everyone[i].SpecialistID, stale); err != nil {
			return fmt.Errorf("take %s offline: %w", everyone[i].SpecialistID, err)
		}
	}
	return nil
}

// isAlone reports whether this node's live state contains only the presence changes that this node received itself.
func (pr *Presence) isAlone() bool {
	apart, ok := pr.holds.(holds.Apart)
	return ok && apart.Alone()
}

// autoOffline takes one specialist offline whose heartbeat is older than stale. Any node can do this: the live state
// decides by its own clock, and reports the change to exactly one node. If the write to the database fails,
// reconciliation brings the specialist back online, and a later sweep takes them offline again.
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

// mirrorHeartbeats writes all heartbeats to the database in a single statement.
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

// reconcilePresence repairs the live state from the database. It takes specialists offline who are online only in the
// live state, adds missing specialists, sets capacities and active flags from the schedule, and recounts the loads.
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

// healOnline takes a specialist offline who should not be online, if that is still the case once healOnline has the
// specialist's turn. A deactivated specialist stays in the online set, so that activation can restore them.
func (pr *Presence) healOnline(ctx context.Context, specialistID string) error {
	defer pr.presence.turns.take(specialistID)()
	mirrors, err := pr.store.PresenceMirrors(ctx)
	if err != nil || mirrorOf(mirrors, specialistID).Online && pr.isKnown(specialistID) {
		return err
	}
	_, err = pr.takeOffline(ctx, specialistID, "offline")
	return err
}

// healActive sets one specialist's active flag and capacity to the schedule's current values.
func (pr *Presence) healActive(ctx context.Context, specialistID string) error {
	defer pr.presence.turns.take(specialistID)()
	p, err := pr.clinic.Specialist(specialistID)
	if err != nil {
		return nil // archived in the meantime
	}
	return pr.setActive(ctx, p)
}

// tellMissing publishes the specialists who are online now but were not online before.
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

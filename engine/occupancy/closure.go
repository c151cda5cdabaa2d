package occupancy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

const (
	// ClosedFor is how long a refusal remains in effect.
	ClosedFor = 10 * time.Minute
	// closedAtLeast is how old a refusal must be before a listing can remove it. A listing that still contains a slot
	// shortly after the slot was refused is out of date, and would cause the same slot to be offered and refused again.
	closedAtLeast = time.Minute
	// maxClosed is the maximum number of closures. The oldest refusal is deleted first.
	maxClosed = 1000
)

// closures contains the recent refusals.
type closures struct {
	mu      sync.Mutex
	all     []store.Closure // the oldest refusal first; shared, must not be changed
	changed chan struct{}   // buffered, one element: recompute when the next closure expires
}

// believed reports whether a refusal is still in effect. A refusal in the future was recorded before the clock was set
// back.
func believed(c *store.Closure, now time.Time) bool { return now.Sub(c.Since).Abs() < ClosedFor }

func (k *closures) list() []store.Closure {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all
}

// over adds these specialists' closures to the taken time, preserving its order.
func (k *closures) over(taken []store.Taken, specialistIDs []string) []store.Taken {
	all := k.list()
	if len(all) == 0 {
		return taken
	}
	before, now := len(taken), time.Now()
	for i := range all {
		if c := &all[i]; believed(c, now) && slices.Contains(specialistIDs, c.SpecialistID) {
			taken = append(taken[:len(taken):len(taken)], store.Taken{
				AppointmentID: c.ID, SpecialistID: c.SpecialistID, SlotStart: c.Start, SlotEnd: c.End,
				BusyStart: c.Start, BusyEnd: c.End,
			})
		}
	}
	if len(taken) > before {
		slices.SortStableFunc(taken, func(a, b store.Taken) int {
			return cmp.Or(cmp.Compare(a.SpecialistID, b.SpecialistID), Compare(a, b))
		})
	}
	return taken
}

// Closed lists the closures currently in effect, oldest refusal first.
func (tm *Time) Closed() []store.Closure {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(tm.closed.list()), func(c store.Closure) bool { return !believed(&c, now) })
}

// CloseTime closes the time of an appointment that the practice-management system refused because the time is already
// taken in that system.
func (tm *Time) CloseTime(ctx context.Context, specialistID, appointmentID string, start, end time.Time) {
	c := store.Closure{ID: appointmentID, SpecialistID: specialistID, Start: start, End: end,
		Since: time.Now().UTC().Truncate(time.Millisecond)}
	err := tm.store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error {
		all, err := tx.Closures(ctx)
		if err != nil {
			return err
		}
		for i := 0; i <= len(all)-maxClosed; i++ {
			if err := tx.DeleteClosure(ctx, all[i].ID); err != nil {
				return err
			}
		}
		return tx.PutClosure(ctx, c)
	})
	if err != nil {
		tm.log.Error("failed to close a refused slot; the slot may be offered again", "appointment", appointmentID,
			"error", err)
	}
}

// deleteClosures deletes the closures for which drop returns true.
func (tm *Time) deleteClosures(ctx context.Context, drop func(*store.Closure) bool) error {
	var ids []string
	for _, c := range tm.closed.list() {
		if drop(&c) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return tm.store.Write(context.WithoutCancel(ctx), func(tx store.Tx) error {
		for _, id := range ids {
			if err := tx.DeleteClosure(ctx, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// OpenListed deletes closures whose time is open again in a listing from the practice-management system. openings are
// the specialist's openings. asked is when the listing was requested.
func (tm *Time) OpenListed(ctx context.Context, specialistID string, openings []Interval, asked time.Time) {
	err := tm.deleteClosures(ctx, func(c *store.Closure) bool {
		return c.SpecialistID == specialistID && asked.Sub(c.Since) >= closedAtLeast &&
			slices.ContainsFunc(openings, func(o Interval) bool {
				return c.Start.Equal(o.From) || o.From.Before(c.Start) && !o.To.Before(c.End)
			})
	})
	if err != nil {
		tm.log.Warn("failed to remove a closure; the time stays closed until the next attempt", "specialist",
			specialistID, "error", err)
	}
}

// ReadClosures loads the closures from the database.
func (tm *Time) ReadClosures(ctx context.Context) error {
	all, err := tm.store.Closures(ctx)
	if err != nil {
		return fmt.Errorf("read the closures: %w", err)
	}
	tm.closed.mu.Lock()
	tm.closed.all = all
	tm.closed.mu.Unlock()
	select {
	case tm.closed.changed <- struct{}{}:
	default:
	}
	return nil
}

// FollowClosures applies changes to these specialists' closures and notifies all pages to reload the time.
func (tm *Time) FollowClosures(ctx context.Context, specialistIDs []string) {
	if err := tm.ReadClosures(ctx); err != nil {
		tm.log.Error("failed to load closures; refused times may be listed", "error", err)
	}
	for _, id := range specialistIDs {
		generation := tm.clinic.MoveGenerations(tm.clinic.Serves(id)...)
		tm.events.Publish(ctx, holds.Event{Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: id},
			Generation: generation})
	}
}

// OpenClosed deletes closures that are older than ClosedFor, until ctx is done.
func (tm *Time) OpenClosed(ctx context.Context) {
	for {
		now := time.Now()
		wait := ClosedFor
		for _, c := range tm.closed.list() {
			if believed(&c, now) {
				wait = min(wait, max(c.Since.Add(ClosedFor).Sub(now), 0))
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-tm.closed.changed:
			timer.Stop()
			continue
		case now = <-timer.C:
		}
		if err := tm.deleteClosures(ctx, func(c *store.Closure) bool {
			return !believed(c, now)
		}); err != nil && ctx.Err() == nil {
			tm.log.Warn("failed to publish expired closures; open pages still show these times as closed", "error", err)
			// the closure is no longer in effect; only the open pages have yet to be notified
			pause := time.NewTimer(10 * time.Second)
			select {
			case <-ctx.Done():
			case <-pause.C:
			}
			pause.Stop()
		}
	}
}

// WithClosed adds these specialists' closures to their taken time.
func (tm *Time) WithClosed(taken []store.Taken, specialistIDs []string) []store.Taken {
	return tm.closed.over(taken, specialistIDs)
}

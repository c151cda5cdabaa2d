package booking

import (
	"context"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/holds"
	"holdfast/store"
)

// # Every page receives every booking
//
// The live state publishes EventConfirm when the hold of a booking ends. That event can be lost: the node that booked
// might stop before it ends the hold, and the live state does not accept the event while it is moving to another
// backend. The change feed contains every booking. So for each booking in the feed, a node waits for the event and
// publishes EventBooked to its own pages if the event does not arrive.

// confirmWait is how long a booking can be in the feed before its EventConfirm arrives. Moving the live state to
// another backend takes less time.
const confirmWait = time.Second

// confirms tracks the bookings in the feed whose EventConfirm has not yet reached this node.
type confirms struct {
	mu      sync.Mutex
	waiting map[string]expected // keyed by appointment id
	woken   chan struct{}       // buffered for one signal
	seen    *timed.Map[confirmKey, struct{}]
}

type expected struct {
	taken store.Taken
	owner holds.Owner
	due   time.Time
}

// confirmKey identifies a booking by the fields in its event.
type confirmKey struct {
	specialistID string
	slotStart    int64
	seat         int
}

func newConfirms() *confirms {
	return &confirms{waiting: make(map[string]expected), woken: make(chan struct{}, 1),
		seen: timed.NewMap[confirmKey, struct{}](time.Minute, 1<<12)}
}

// FollowBooking applies a change from the feed: it waits for the EventConfirm of a booking or a move, and stops waiting
// if the appointment ends.
func (bk *Booking) FollowBooking(c *store.Change) {
	if !c.Moved() {
		return
	}
	f := bk.confirms
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, c.ID)
	if c.After == nil {
		return
	}
	key := confirmKey{c.After.SpecialistID, c.After.SlotStart.UnixMilli(), c.After.Seat}
	if _, seen := f.seen.Get(key); seen { // the event arrived before the feed entry
		return
	}
	f.waiting[c.ID] = expected{taken: *c.After, owner: record.SpelledOwner(c.Owner), due: time.Now().Add(confirmWait)}
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// Confirmed records that this node's pages received EventConfirm for a span. A visit's span covers several
// appointments.
func (bk *Booking) Confirmed(s *holds.Span) {
	f := bk.confirms
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.Put(confirmKey{s.SpecialistID, s.SlotStart.UnixMilli(), s.Seat}, struct{}{}, time.Now())
	for id, x := range f.waiting {
		if x.taken.SpecialistID == s.SpecialistID && x.taken.Seat == s.Seat &&
			!x.taken.SlotStart.Before(s.SlotStart) && !x.taken.SlotEnd.After(s.SlotEnd) {
			delete(f.waiting, id)
		}
	}
}

// overdue removes and returns the bookings whose event did not arrive in time. wait is the time until the next booking
// is due, or negative if there is none.
func (f *confirms) overdue(now time.Time) (list []expected, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = -1
	for id, x := range f.waiting {
		left := x.due.Sub(now)
		switch {
		case left <= 0:
			list = append(list, x)
			delete(f.waiting, id)
		case wait < 0 || left < wait:
			wait = left
		}
	}
	return list, wait
}

// ConfirmFromFeed publishes EventBooked for bookings whose EventConfirm does not arrive, until ctx is done.
func (bk *Booking) ConfirmFromFeed(ctx context.Context) {
	for ctx.Err() == nil {
		list, wait := bk.confirms.overdue(time.Now())
		for i := range list {
			x := &list[i]
			bk.events.Publish(ctx, holds.Event{
				Kind: holds.EventBooked, Span: availability.TakenSpan(&x.taken),
				Resources: holds.IDs(x.taken.Resources), Owner: x.owner,
			})
		}
		timed.Sleep(ctx, wait, bk.confirms.woken)
	}
}

// AnnounceConfirm publishes EventConfirm for a time that was booked without a hold.
func (bk *Booking) AnnounceConfirm(ctx context.Context, span holds.Span) {
	bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: span})
}

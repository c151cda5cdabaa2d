package booking

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/holds"
	"holdfast/store"
)

// # Every page receives every booking, and no free time is shown as booked
//
// The live state publishes EventConfirm when the hold of a booking ends. That event can be lost: the node that booked
// might stop before it ends the hold, and the live state does not accept the event while it is moving to another
// backend. The change feed contains every booking. So for each booking in the feed, a node waits for the event and
// publishes EventBooked to its own pages if the event does not arrive.
//
// The event can also be late. If the booking has ended in the meantime, its EventCancel came first, from the feed, and
// the pages would show the time as booked. So after an EventConfirm for a time that has become free in the feed, a node
// waits for the feed. If no other booking of this time arrives, and the database has none, the node publishes
// EventCancel once more.

const (
	// confirmWait is how long a booking can be in the feed before its EventConfirm arrives, and the reverse. Moving the
	// live state to another backend takes less time.
	confirmWait = time.Second
	// confirmLate is how late an EventConfirm can be.
	confirmLate = 10 * time.Minute
)

// confirms compares the bookings in the feed with the EventConfirms that reach this node.
type confirms struct {
	mu      sync.Mutex
	waiting map[string]expected // bookings whose EventConfirm has not arrived, keyed by appointment id
	woken   chan struct{}       // buffered for one signal
	seen    *timed.Map[confirmKey, struct{}]

	ended  map[string][]expected // times that are free again, earliest end first, keyed by specialist
	doubts []doubt               // EventConfirms for such times, earliest first
}

// expected is a booking in the feed. The pages must have its event by due. Of an ended booking, due is the end.
type expected struct {
	taken store.Taken
	owner holds.Owner
	due   time.Time
}

// doubt is an EventConfirm that was late, unless the feed contains a booking of its time before due.
type doubt struct {
	confirmKey
	due time.Time
}

// confirmKey identifies a booking by the fields in its event.
type confirmKey struct {
	specialistID string
	slotStart    int64
	seat         int
}

func keyOf(t *store.Taken) confirmKey {
	return confirmKey{t.SpecialistID, t.SlotStart.UnixMilli(), t.Seat}
}

// isIn reports whether a span covers the booking. A visit's span covers several.
func (x *expected) isIn(s *holds.Span) bool {
	return x.taken.SpecialistID == s.SpecialistID && x.taken.Seat == s.Seat &&
		!x.taken.SlotStart.Before(s.SlotStart) && !x.taken.SlotEnd.After(s.SlotEnd)
}

// event returns the event about the booking with this kind.
func (x *expected) event(kind holds.EventKind) holds.Event {
	return holds.Event{Kind: kind, Span: availability.TakenSpan(&x.taken), Resources: holds.IDs(x.taken.Resources),
		Owner: x.owner}
}

func newConfirms() *confirms {
	return &confirms{waiting: make(map[string]expected), woken: make(chan struct{}, 1),
		seen: timed.NewMap[confirmKey, struct{}](time.Minute, 1<<12), ended: make(map[string][]expected)}
}

// FollowBooking applies a change from the feed: it waits for the EventConfirm of a booking or a move, and stops waiting
// if the appointment ends. Call it before the EventCancel of the change is published.
func (bk *Booking) FollowBooking(c *store.Change) {
	if !c.Moved() {
		return
	}
	f, now := bk.confirms, time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.waiting, c.ID)
	if c.Before != nil && !c.Before.Overbook {
		id := c.Before.SpecialistID
		f.ended[id] = append(slices.DeleteFunc(f.ended[id], func(x expected) bool {
			return now.Sub(x.due) > confirmLate || keyOf(&x.taken) == keyOf(c.Before)
		}), expected{*c.Before, record.SpelledOwner(c.Owner), now})
	}
	if c.After == nil {
		return
	}
	key := keyOf(c.After)
	f.ended[key.specialistID] = slices.DeleteFunc(f.ended[key.specialistID], func(x expected) bool {
		return keyOf(&x.taken) == key
	})
	if _, seen := f.seen.Get(key); seen { // the event arrived before the feed entry
		return
	}
	f.waiting[c.ID] = expected{*c.After, record.SpelledOwner(c.Owner), now.Add(confirmWait)}
	f.wake()
}

// Confirmed records that this node's pages received EventConfirm for a span.
func (bk *Booking) Confirmed(s *holds.Span) {
	f, now := bk.confirms, time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.Put(confirmKey{s.SpecialistID, s.SlotStart.UnixMilli(), s.Seat}, struct{}{}, now)
	for id, x := range f.waiting {
		if x.isIn(s) {
			delete(f.waiting, id)
		}
	}
	for i := range f.ended[s.SpecialistID] {
		if x := &f.ended[s.SpecialistID][i]; x.isIn(s) {
			f.doubts = append(f.doubts, doubt{keyOf(&x.taken), now.Add(confirmWait)})
			f.wake()
		}
	}
}

// wake makes ConfirmFromFeed compute again when the next event is due.
func (f *confirms) wake() {
	select {
	case f.woken <- struct{}{}:
	default:
	}
}

// overdue returns the bookings whose EventConfirm did not arrive in time, and the ended bookings for whose time an
// EventConfirm arrived, which may have been late. It returns each once. wait is the time until the next one is due, or
// negative if there is none.
func (f *confirms) overdue(now time.Time) (booked, ended []expected, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = -1
	for id, x := range f.waiting {
		left := x.due.Sub(now)
		switch {
		case left <= 0:
			booked = append(booked, x)
			delete(f.waiting, id)
		case wait < 0 || left < wait:
			wait = left
		}
	}
	for len(f.doubts) > 0 {
		first := f.doubts[0]
		if left := first.due.Sub(now); left > 0 {
			if wait < 0 || left < wait {
				wait = left
			}
			break
		}
		f.doubts = f.doubts[1:]
		for _, x := range f.ended[first.specialistID] { // unless it has been booked again
			if keyOf(&x.taken) == first.confirmKey {
				ended = append(ended, x)
			}
		}
	}
	return booked, ended, wait
}

// ConfirmFromFeed publishes EventBooked for bookings whose EventConfirm does not arrive, and EventCancel after an
// EventConfirm that arrives after the end of its booking, until ctx is done.
func (bk *Booking) ConfirmFromFeed(ctx context.Context) {
	for ctx.Err() == nil {
		booked, ended, wait := bk.confirms.overdue(time.Now())
		for i := range booked {
			bk.events.Publish(ctx, booked[i].event(holds.EventBooked))
		}
		for i := range ended {
			bk.endAgain(ctx, &ended[i])
		}
		timed.Sleep(ctx, wait, bk.confirms.woken)
	}
}

// endAgain publishes EventCancel for an ended booking, unless its time is booked again in the database: this node's
// feed may be late. If the database cannot be read, the booking is overdue again after confirmWait.
func (bk *Booking) endAgain(ctx context.Context, x *expected) {
	key := keyOf(&x.taken)
	list, _, err := bk.store.Appointments(ctx, store.AppointmentFilter{SpecialistID: key.specialistID,
		From: x.taken.SlotStart, To: x.taken.SlotStart.Add(time.Millisecond), Status: store.Confirmed, Limit: 500})
	isBooked := slices.ContainsFunc(list, func(a store.Appointment) bool {
		return a.SlotStart.Equal(x.taken.SlotStart) && a.Seat == key.seat
	})
	switch {
	case err != nil:
		bk.confirms.doubtAgain(key)
	case !isBooked && bk.confirms.isFree(key):
		bk.events.Publish(ctx, x.event(holds.EventCancel))
	}
}

// doubtAgain makes an ended booking overdue again after confirmWait.
func (f *confirms) doubtAgain(key confirmKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubts = append(f.doubts, doubt{key, time.Now().Add(confirmWait)})
	f.wake()
}

// isFree reports whether the feed contains no later booking of an ended booking's time. Then the pages must have the
// event of the next booking, even if a late EventConfirm has arrived before.
func (f *confirms) isFree(key confirmKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	isFree := slices.ContainsFunc(f.ended[key.specialistID], func(x expected) bool { return keyOf(&x.taken) == key })
	if isFree {
		f.seen.Delete(key)
	}
	return isFree
}

// AnnounceConfirm publishes EventConfirm for a time that was booked without a hold.
func (bk *Booking) AnnounceConfirm(ctx context.Context, span holds.Span) {
	bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: span})
}

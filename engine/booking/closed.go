package booking

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/upstream"
	"holdfast/holds"
	"holdfast/store"
)

// # Time that the practice system refused
//
// What the practice system has taken and Holdfast does not know looks free here. When it refuses a slot for that, the
// stretch is closed for a while, like a booked one: it is not listed, not offered to agents, and cannot be held or booked.
// It opens again when the practice system lists it, and after closedFor in any case, since nobody tells us when it is free.
// An agent's booking goes past it: the practice system itself is asked before anything is promised.

const (
	// closedFor bounds how long a refusal is believed.
	closedFor = 10 * time.Minute
	// closedAtLeast is how old a refusal must be for a listing to count against it: a list that still has a slot a moment
	// after it was refused is behind, and would have the same slot offered and refused again.
	closedAtLeast = time.Minute
	// maxClosed bounds the memory; the oldest refusal is forgotten first.
	maxClosed = 1000
)

// closedTime is what was refused lately.
type closedTime struct {
	mu  sync.Mutex
	all []closedStretch // oldest first
}

type closedStretch struct {
	store.Taken
	since time.Time
}

// Over adds what is closed of these specialists to what is taken, and keeps its order.
func (c *closedTime) over(taken []store.Taken, specialistIDs []string) []store.Taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.all) == 0 {
		return taken
	}
	before, now := len(taken), time.Now()
	for _, each := range c.all {
		if now.Sub(each.since) < closedFor && slices.Contains(specialistIDs, each.SpecialistID) {
			taken = append(taken[:len(taken):len(taken)], each.Taken)
		}
	}
	if len(taken) > before {
		slices.SortStableFunc(taken, func(a, b store.Taken) int {
			return cmp.Or(cmp.Compare(a.SpecialistID, b.SpecialistID), CompareTaken(a, b))
		})
	}
	return taken
}

// remove opens the stretches of which drop says so, and reports whether there were any.
func (c *closedTime) remove(drop func(closedStretch) bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.all)
	c.all = slices.DeleteFunc(c.all, drop)
	return len(c.all) < before
}

// CloseTime closes the stretch of an appointment that the practice system refused because it is taken there.
func (bk *Booking) CloseTime(specialistID, appointmentID string, start, end time.Time) {
	c := closedStretch{since: time.Now(), Taken: store.Taken{
		AppointmentID: appointmentID, SpecialistID: specialistID, SlotStart: start, SlotEnd: end, BusyStart: start, BusyEnd: end,
	}}
	bk.closed.mu.Lock()
	if len(bk.closed.all) >= maxClosed {
		bk.closed.all = slices.Delete(bk.closed.all, 0, 1)
	}
	bk.closed.all = append(bk.closed.all, c)
	bk.closed.mu.Unlock()
	bk.tellClosed(specialistID)
	time.AfterFunc(closedFor, func() {
		bk.openTime(specialistID, func(c closedStretch) bool { return time.Since(c.since) >= closedFor })
	})
}

// openTime opens what drop says of one specialist.
func (bk *Booking) openTime(specialistID string, drop func(closedStretch) bool) {
	if bk.closed.remove(func(c closedStretch) bool { return c.SpecialistID == specialistID && drop(c) }) {
		bk.tellClosed(specialistID)
	}
}

// OpenListed opens what a listing of the practice system, asked for at an instant, has again.
func (bk *Booking) OpenListed(specialistID string, o *upstream.Opening, asked time.Time) {
	end := o.Start.Add(time.Duration(o.Minutes) * time.Minute)
	bk.openTime(specialistID, func(c closedStretch) bool {
		covers := c.SlotStart.Equal(o.Start) || o.Start.Before(c.SlotStart) && !end.Before(c.SlotEnd)
		return covers && asked.Sub(c.since) >= closedAtLeast
	})
}

// tellClosed has everybody list the time of a specialist anew.
func (bk *Booking) tellClosed(specialistID string) {
	generation := bk.clinic.MoveGenerations(bk.clinic.Serves(specialistID)...)
	bk.clinic.Publish(context.Background(), holds.Event{Kind: holds.EventAvailability, Span: holds.Span{SpecialistID: specialistID}, Generation: generation})
}

// OpenAll opens every closed stretch: nobody is to be told any more.
func (bk *Booking) OpenAll() { bk.closed.remove(func(closedStretch) bool { return true }) }

// WithClosed adds to the taken time of these specialists what is closed to them.
func (bk *Booking) WithClosed(taken []store.Taken, specialistIDs []string) []store.Taken {
	return bk.closed.over(taken, specialistIDs)
}

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// In these tests, patients and the desk use two nodes, which must behave like one server.

// TestHoldExcludesAtAllNodes: a hold excludes other clients on every node, and every node receives its event.
func TestHoldExcludesAtAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	watch, err := second.Booking.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	request := func(n int) booking.HoldRequest {
		return booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: c.start, Client: enginetest.Client(n)}
	}
	h, err := first.Booking.Hold(t.Context(), request(1))
	if err != nil {
		t.Fatal(err)
	}
	var held *holds.HeldError
	if _, err := second.Booking.Hold(t.Context(), request(2)); !errors.As(err, &held) {
		t.Errorf("at the other node: got %v, want a HeldError", err)
	}
	again, err := second.Booking.Hold(t.Context(), request(1))
	if err != nil || again.ID != h.ID {
		t.Errorf("its own client at the other node: got %+v, %v; want the hold %s", again, err, h.ID)
	}
	events, err := watch.Next(t.Context(), nil)
	if err != nil || len(events) == 0 || events[0].Kind != holds.EventHold || events[0].HoldID != h.ID {
		t.Errorf("the event at the other node: got %+v, %v; want the hold", events, err)
	}
}

// TestRepeatFindsItsOwnHold: a request without a client id is in progress on one node and has its hold there. A retry
// of the request reaches the other node. The first request's hold blocks other requests, but not the retry.
func TestRepeatFindsItsOwnHold(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	once := func(key string) *record.Once {
		return &record.Once{Scope: "a key on a route", Key: key, Answer: func(any) (int, []byte) {
			return 201, []byte("{}")
		}}
	}
	held, err := first.Booking.Live().Claim(t.Context(), holds.Claim{
		Span: holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: c.start,
			SlotEnd:   c.start.Add(30 * time.Minute),
			BusyStart: c.start, BusyEnd: c.start.Add(30 * time.Minute)},
		Seats: []int{0}, Owner: booking.ClaimOwner(holds.Owner{}, once("first")), TTL: booking.BookingTTL,
		MaxLife: booking.BookingTTL,
	})
	if err != nil {
		t.Fatal(err)
	}
	book := func(n *node, key string) (store.Appointment, error) {
		r := enginetest.BookingOf(1, "checkup")
		r.Client, r.Source, r.SlotStart, r.Once = "", store.SourceStaff, c.start, once(key)
		return n.Booking.Book(t.Context(), r)
	}
	var other *holds.HeldError
	if _, err := book(second, "second"); !errors.As(err, &other) {
		t.Errorf("a second request: got %v, want a HeldError", err)
	}
	a, err := book(second, "first")
	if err != nil || a.SpecialistID != held.SpecialistID {
		t.Fatalf("the repeat: got %+v, %v; want the booking", a, err)
	}
	c.agree()
	if _, err := book(first, "first"); !errors.Is(err, store.ErrSlotTaken) && !errors.Is(err, store.ErrDuplicate) {
		t.Errorf("the first request: got %v, want an error that it is booked", err)
	}
	if answer, err := first.Record.Recall(t.Context(), once("first")); err != nil || answer == nil ||
		answer.Status != 201 {
		t.Errorf("the answer at the first node: got %+v, %v", answer, err)
	}
}

// TestEveryNodePublishesEveryBooking: the pages of both nodes receive a booking. If the event of its hold is lost,
// because the node that booked stopped before it ended the hold, the pages receive the booking through the change feed.
func TestEveryNodePublishesEveryBooking(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	var watches []holds.Watch
	for _, n := range c.all {
		watch, err := n.Booking.Watch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		watches = append(watches, watch)
	}
	booked := c.all[0].mustBook(t, 1, c.start)
	lost := booked
	lost.ID, lost.Owner = record.NewID(), enginetest.Client(2).Owner().String()
	lost.SlotStart, lost.SlotEnd = booked.SlotStart.Add(2*time.Hour), booked.SlotEnd.Add(2*time.Hour)
	lost.BusyStart, lost.BusyEnd = lost.SlotStart, lost.SlotEnd
	if err := c.all[0].store.Write(t.Context(), func(tx store.Tx) error {
		return tx.InsertAppointment(t.Context(), lost)
	}); err != nil {
		t.Fatal(err)
	}
	for n, watch := range watches {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		times := make(map[time.Time]int)
		for times[lost.SlotStart] == 0 {
			events, err := watch.Next(ctx, nil)
			if err != nil {
				t.Fatalf("node %d: %v; got %v, want both bookings", n, err, times)
			}
			for _, e := range events {
				switch e.Kind {
				case holds.EventBooked:
					if e.SlotStart == lost.SlotStart && (e.SpecialistID != "ada" ||
						!e.Owner.Is(enginetest.Client(2).Owner())) {
						t.Errorf("node %d: got %+v, want the booking of client 2", n, e)
					}
					times[e.SlotStart]++
				case holds.EventConfirm:
					times[e.SlotStart]++
				}
			}
		}
		if times[booked.SlotStart] == 0 || times[lost.SlotStart] != 1 {
			t.Errorf("node %d: got %v, want both bookings", n, times)
		}
	}
}

// TestLateConfirmLeavesTimeFree: the EventConfirm of a booking arrives after the booking was cancelled. On both nodes,
// the last event about its time says that the time is free. The time of a booking that has not ended stays booked, also
// if a node has received the end of an earlier booking and is late with the next one.
func TestLateConfirmLeavesTimeFree(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	cancelled := first.mustBook(t, 1, c.start)
	kept := first.mustBook(t, 2, c.start.Add(time.Hour))
	again := first.mustBook(t, 3, c.start.Add(2*time.Hour))
	if _, err := second.Booking.Cancel(t.Context(), booking.CancelRequest{ID: cancelled.ID,
		Actor: "system"}); err != nil {
		t.Fatal(err)
	}
	c.agree()
	earlier := store.Taken{AppointmentID: "earlier", SpecialistID: "ada", SlotStart: again.SlotStart,
		SlotEnd: again.SlotEnd, Seat: again.Seat}
	for _, n := range c.all {
		n.Booking.FollowBooking(&store.Change{ID: earlier.AppointmentID, Before: &earlier})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var watches []holds.Watch
	for _, n := range c.all {
		watch, err := n.Booking.Watch(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer watch.Close()
		watches = append(watches, watch)
	}
	for _, a := range []store.Appointment{kept, again, cancelled} {
		span := holds.Span{AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat,
			SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd}
		late := holds.Event{Kind: holds.EventConfirm, At: time.Now(), Span: span}
		if err := first.Booking.Live().Publish(ctx, late); err != nil {
			t.Fatal(err)
		}
	}
	for n, watch := range watches {
		last := make(map[time.Time]holds.EventKind)
		for last[cancelled.SlotStart] != holds.EventCancel {
			events, err := watch.Next(ctx, nil)
			if err != nil {
				t.Fatalf("node %d: %v; got %v, want the cancelled time to be free", n, err, last)
			}
			for _, e := range events {
				last[e.SlotStart] = e.Kind
			}
		}
		for _, a := range []store.Appointment{kept, again} {
			if last[a.SlotStart] != holds.EventConfirm {
				t.Errorf("node %d: got %q for the time of %s, want it to stay booked", n, last[a.SlotStart], a.ID)
			}
		}
	}
}

// TestBookingIsUnlistedAtAllNodes: a node that has received a booking does not list the booked time, and a node's
// listing reflects the schedule changes made on that node.
func TestBookingIsUnlistedAtAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	day := store.DateOf(c.start)
	listed := func(n *node) bool {
		t.Helper()
		l, err := n.Booking.Timeslots(t.Context(), booking.TimeslotsRequest{AppointmentTypeID: "checkup",
			From: day, To: day.AddDays(1)})
		if err != nil {
			t.Fatal(err)
		}
		for i := range l.Slots {
			if l.Slots[i].Start.Equal(c.start) {
				return true
			}
		}
		return false
	}
	for n := range 20 {
		if !listed(second) {
			t.Fatalf("round %d: the slot is not listed at the second node", n)
		}
		a := first.mustBook(t, n, c.start)
		if err := second.Await(t.Context(), first.LastChange()); err != nil || listed(second) {
			t.Fatalf("round %d: the slot is listed at the second node, %v", n, err)
		}
		if _, err := second.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		if err := first.Await(t.Context(), second.LastChange()); err != nil || !listed(first) {
			t.Fatalf("round %d: cancelled at the second node, the slot is not listed at the first, %v", n, err)
		}
	}
}

// TestRevocationReachesAllNodes: revoking a key on one node notifies the other nodes, so that they close the streams
// that were opened with the key.
func TestRevocationReachesAllNodes(t *testing.T) {
	c := newNodes(t, 2, nil)
	c.clinic("ada")
	first, second := c.all[0], c.all[1]
	key, secret, err := first.Account.CreateAPIKey(t.Context(), "system",
		account.NewAPIKey{Name: "phone", Scope: store.ScopeAgent})
	if err != nil {
		t.Fatal(err)
	}
	c.agree()
	if _, err := second.Account.Authenticate(t.Context(), secret); err != nil { // the second node now caches the key
		t.Fatal(err)
	}
	told := make(chan struct{}, 8)
	second.Account.OnRevoked(func() { told <- struct{}{} })
	if err := first.Account.RevokeAPIKey(t.Context(), "system", key.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-time.After(10 * time.Minute):
		t.Error("the other node received no event")
	}
	if _, err := second.Account.Authenticate(t.Context(), secret); !errors.Is(err, record.ErrUnauthorized) {
		t.Errorf("the key at the other node: got %v, want ErrUnauthorized", err)
	}
}

// bookings returns the number of bookings in the random test: 600, or HOLDFAST_BOOKINGS.
func bookings(t *testing.T) int {
	t.Helper()
	text := os.Getenv("HOLDFAST_BOOKINGS")
	if text == "" {
		return 600
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNodesNeverDoubleBook: both nodes receive bookings of types of 15, 30 and 45 minutes at random times, with and
// without holds, many of them concurrently. The appointments must never overlap. The database's own check confirms this
// independently.
func TestNodesNeverDoubleBook(t *testing.T) {
	c := newNodes(t, 2, nil)
	file := enginetest.ClinicFile(map[string]int{"ada": 1, "bob": 1})
	var types []string
	base := file.AppointmentTypes[0]
	file.AppointmentTypes = nil
	for _, minutes := range []int{15, 30, 45} {
		kind := base
		kind.ID, kind.DurationMinutes, kind.SlotStepMinutes = fmt.Sprintf("of%d", minutes), minutes, 15
		types, file.AppointmentTypes = append(types, kind.ID), append(file.AppointmentTypes, kind)
	}
	if _, err := c.all[0].Clinic.Import(t.Context(), "system", file); err != nil {
		t.Fatal(err)
	}
	c.agree()
	n := bookings(t)
	days := min(50, max(1, n/100)) // few enough days that many bookings compete for the same time
	var booked, refused atomic.Int64
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			random := rand.New(rand.NewPCG(11, uint64(worker)))
			for i := worker; i < n; i += 16 {
				at := c.all[random.IntN(2)]
				r := enginetest.BookingOf(i, types[random.IntN(3)])
				r.SlotStart = c.start.Add(time.Duration(random.IntN(days*96)) * 15 * time.Minute)
				if random.IntN(2) == 0 {
					h, err := at.Booking.Hold(t.Context(), booking.HoldRequest{AppointmentTypeID: r.AppointmentTypeID,
						SlotStart: r.SlotStart, Client: r.Client})
					if err == nil {
						r.HoldID = h.ID
						at = c.all[random.IntN(2)] // send the next request to a random node
					}
				}
				_, err := at.Booking.Book(context.Background(), r)
				var held *holds.HeldError
				var closed *availability.NotBookableError
				switch {
				case err == nil:
					booked.Add(1)
				case errors.Is(err, store.ErrSlotTaken), errors.As(err, &held), errors.As(err, &closed):
					refused.Add(1)
				default:
					t.Errorf("booking %d: %v", i, err)
				}
			}
		})
	}
	all.Wait()
	list, _, err := c.all[0].Booking.Appointments(t.Context(),
		store.AppointmentFilter{Status: store.Confirmed, Limit: 1})
	if err != nil || len(list) == 0 || booked.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d were booked and %d refused; want some of both; %v", booked.Load(), refused.Load(), err)
	}
	if err := c.all[1].store.Check(t.Context()); err != nil {
		t.Errorf("the database violates its invariants: %v", err)
	}
	t.Logf("%d booked, %d refused", booked.Load(), refused.Load())
}

// behind is the store of a node whose feed can be paused.
type behind struct {
	store.Store
	feed  sync.RWMutex // locked for writing while the feed is paused
	reads atomic.Int64 // number of reads of taken time
}

func (b *behind) Changes(ctx context.Context, after int64, follow func([]store.Change)) error {
	return b.Store.Changes(ctx, after, func(changes []store.Change) {
		b.feed.RLock()
		defer b.feed.RUnlock()
		follow(changes)
	})
}

func (b *behind) Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]store.Taken, error) {
	b.reads.Add(1)
	return b.Store.Taken(ctx, specialistIDs, from, to)
}

// TestNodeBehindFeedHoldsNoBookedTime: a node has a day in memory but has not received another node's booking. It
// refuses the booked time without reading the database, and no page receives an event for a hold.
func TestNodeBehindFeedHoldsNoBookedTime(t *testing.T) {
	var stores []*behind
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) {
			stores = append(stores, &behind{Store: o.Store})
			o.Store = stores[len(stores)-1]
		}
	})
	c.clinic("ada")
	first, second, slow := c.all[0], c.all[1], stores[1]
	request := func(n int, start time.Time) booking.HoldRequest {
		return booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: start, Client: enginetest.Client(n)}
	}
	// this loads the day into memory
	if _, err := second.Booking.Hold(t.Context(), request(1, c.start.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	watch, err := first.Booking.Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	second.stop() // otherwise the engine would compare with the database in the background after a refusal
	slow.feed.Lock()
	first.mustBook(t, 2, c.start)
	before := slow.reads.Load()
	_, err = second.Booking.Hold(t.Context(), request(3, c.start))
	if !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("hold: got %v, want ErrSlotTaken", err)
	}
	if n := slow.reads.Load() - before; n != 0 {
		t.Errorf("the refusal read the taken time %d times, want 0", n)
	}
	slow.feed.Unlock()
	c.agree()
	// this is the last event
	if err := first.Booking.Live().Publish(t.Context(), holds.Event{Kind: holds.EventAvailability}); err != nil {
		t.Fatal(err)
	}
	for last := false; !last; {
		events, err := watch.Next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if e := &events[i]; e.Kind == holds.EventHold && e.Owner == enginetest.Client(3).Owner() {
				t.Errorf("got the event %+v about a booked time", e)
			}
			last = last || events[i].Kind == holds.EventAvailability
		}
	}
}

// TestLeftoverBusyBitIsCleared: a busy bit whose appointment no longer exists causes one claim to be refused. The
// engine then compares the bit with the database and clears it.
func TestLeftoverBusyBitIsCleared(t *testing.T) {
	c := newNodes(t, 1, nil)
	c.clinic("ada")
	n := c.all[0]
	left := holds.Booked{AppointmentID: "gone", SpecialistID: "ada", SlotStart: c.start,
		SlotEnd: c.start.Add(30 * time.Minute)}
	if err := n.holds.FollowBusy(t.Context(), n.store.LastChange(), holds.Booked{}, left); err != nil {
		t.Fatal(err)
	}
	r := booking.HoldRequest{AppointmentTypeID: "checkup", SlotStart: c.start, Client: enginetest.Client(1)}
	if _, err := n.Booking.Hold(t.Context(), r); !errors.Is(err, store.ErrSlotTaken) {
		t.Errorf("got %v, want ErrSlotTaken", err)
	}
	c.until(time.Minute, "the bit is cleared", func() bool {
		_, err := n.Booking.Hold(t.Context(), r)
		return err == nil
	})
}

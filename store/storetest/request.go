package storetest

import (
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

// request returns an open booking request for ada that expires half an hour after its creation.
func request(id string, start int) store.BookingRequest {
	from := monday.Add(time.Duration(start) * time.Minute)
	return store.BookingRequest{
		ID: id, AppointmentTypeID: "checkup", SpecialistID: "ada", Owner: "owner-of-" + id, HoldOwner: "hold-of-" + id,
		Status: store.RequestOpen, SlotStart: from, SlotEnd: from.Add(30 * time.Minute),
		Patient: store.Patient{Name: "Jo Doe", Email: "Jo@Example.org", Phone: "+49 30 1234567",
			BirthDate: "1990-01-02", Notes: "n"}, Locale: "de",
		Intake: intake("n"), Approval: true,
		CreatedAt: monday, ExpiresAt: monday.Add(30 * time.Minute),
	}
}

// testProposedRequest checks that a proposal changes the time of an open request once, and only for the owner of its
// hold.
func testProposedRequest(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := request("proposed", 240)
	write(t, s, func(tx store.Tx) error { return tx.InsertBookingRequest(ctx, r) })
	next := r
	next.WantedStart, next.SlotStart, next.SlotEnd = r.SlotStart, r.SlotStart.Add(time.Hour), r.SlotEnd.Add(time.Hour)
	next.HoldOwner, next.ExpiresAt, next.SpecialistID = "hold-of-the-proposal", r.ExpiresAt.Add(time.Hour), "ben"
	propose := func() error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.ProposeBookingRequest(ctx, next, r.HoldOwner) })
	}
	wantErr(t, "propose", propose(), nil)
	if got, err := s.BookingRequest(ctx, r.ID); err != nil || !reflect.DeepEqual(got, next) {
		t.Errorf("proposed: got %+v, %v; want %+v", got, err, next)
	}
	wantErr(t, "propose from the old hold", propose(), store.ErrNotFound)
	remove := func(owner string) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.DeleteBookingRequest(ctx, r.ID, owner) })
	}
	wantErr(t, "delete with the old hold", remove(r.HoldOwner), store.ErrNotFound)
	wantErr(t, "delete with the new hold", remove(next.HoldOwner), nil)
}

func testRequest(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	clinic(t, s)
	insert := func(r store.BookingRequest) error {
		return s.Write(ctx, func(tx store.Tx) error { return tx.InsertBookingRequest(ctx, r) })
	}
	later, first := request("r2", 60), request("r1", 0)
	for _, r := range []store.BookingRequest{later, first, request("declined", 120), request("confirmed", 180)} {
		wantErr(t, "insert "+r.ID, insert(r), nil)
	}
	wantErr(t, "the same id again", insert(first), store.ErrDuplicate)
	if got, err := s.BookingRequest(ctx, "r1"); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("got %+v, %v; want %+v", got, err, first)
	}
	write(t, s, func(tx store.Tx) error { return tx.DeclineBookingRequest(ctx, "declined") })
	write(t, s, func(tx store.Tx) error { return tx.DeleteBookingRequest(ctx, "confirmed", "hold-of-confirmed") })
	if got, err := s.BookingRequest(ctx, "declined"); err != nil || got.Status != store.RequestDeclined {
		t.Errorf("a declined one: got %+v, %v", got, err)
	}
	_, err := s.BookingRequest(ctx, "confirmed")
	wantErr(t, "one that was deleted", err, store.ErrNotFound)
	for _, id := range []string{"declined", "confirmed", "unknown"} {
		wantErr(t, "declining "+id, s.Write(ctx, func(tx store.Tx) error {
			return tx.DeclineBookingRequest(ctx, id)
		}), store.ErrNotFound)
		wantErr(t, "deleting "+id, s.Write(ctx, func(tx store.Tx) error {
			return tx.DeleteBookingRequest(ctx, id, "hold-of-"+id)
		}), store.ErrNotFound)
	}
	testProposedRequest(t, s)
	listed := func(now time.Time) (ids string) {
		list, err := s.BookingRequests(ctx, now)
		wantErr(t, "list", err, nil)
		for _, r := range list {
			ids += r.ID + " "
		}
		return ids
	}
	if got := listed(monday); got != "r1 r2 " {
		t.Errorf("open requests: got %q, want r1 and r2 by slot start", got)
	}
	if got := listed(first.ExpiresAt); got != "" {
		t.Errorf("at the instant of expiry: got %q, want none", got)
	}
	write(t, s, func(tx store.Tx) error {
		if n, err := tx.ForgetBookingRequests(ctx, !first.Approval, first.ExpiresAt.Add(time.Second), 2); err != nil ||
			n != 0 {
			t.Errorf("of the other kind: got %d deleted, %v; want none", n, err)
		}
		return nil
	})
	for round, want := range []int{2, 1, 0} {
		n := 0
		write(t, s, func(tx store.Tx) (err error) {
			n, err = tx.ForgetBookingRequests(ctx, first.Approval, first.ExpiresAt.Add(time.Second), 2)
			return err
		})
		if n != want {
			t.Errorf("round %d: got %d forgotten, want %d", round, n, want)
		}
	}
}

// testRequestErased checks that Erase removes the person's requests and no others, for every way to identify the
// person.
func testRequestErased(t *testing.T, h Harness) {
	for name, p := range map[string]store.Person{
		"email": {Email: " jo@example.ORG "}, "phone": {Phone: "+49 (30) 1234567"}, "client": {Owner: "owner-of-r1"},
	} {
		s := h.open(t)
		ctx := t.Context()
		clinic(t, s)
		other := request("r2", 60)
		other.Patient = store.Patient{Name: "Al Ter", Email: "al@example.org", Phone: "030 7654321"}
		write(t, s, func(tx store.Tx) error { return tx.InsertBookingRequest(ctx, request("r1", 0)) })
		write(t, s, func(tx store.Tx) error { return tx.InsertBookingRequest(ctx, other) })
		erased, err := s.Erase(ctx, p, monday, func(store.Tx, store.Erased) error { return nil })
		if err != nil || erased.Requests != 1 {
			t.Errorf("by %s: got %d requests erased, %v; want 1", name, erased.Requests, err)
		}
		_, err = s.BookingRequest(ctx, "r1")
		wantErr(t, "the request of the person, by "+name, err, store.ErrNotFound)
		_, err = s.BookingRequest(ctx, "r2")
		wantErr(t, "another person's request, by "+name, err, nil)
	}
}

func testTally(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	add := func(key string, at time.Time) {
		write(t, s, func(tx store.Tx) error { return tx.AddTally(ctx, key, at) })
	}
	check := func(what, key string, after time.Time, want int, first time.Time) {
		t.Helper()
		n, at, err := s.Tally(ctx, key, after)
		if err != nil || n != want || !at.Equal(first) {
			t.Errorf("%s: got %d since %s, %v; want %d since %s", what, n, at, err, want, first)
		}
	}
	check("nothing", "a", monday, 0, time.Time{})
	for i := range 3 {
		add("a", monday.Add(time.Duration(i)*time.Minute))
		add("b", monday)
	}
	check("all of a", "a", monday.Add(-1), 3, monday)
	check("those after an instant", "a", monday, 2, monday.Add(time.Minute))
	check("several at one instant", "b", monday.Add(-1), 3, monday)
	for round, want := range []int{2, 1, 0} {
		n := 0
		write(t, s, func(tx store.Tx) (err error) {
			n, err = tx.ForgetTallies(ctx, monday.Add(2*time.Minute), 2)
			return err
		})
		if n != want {
			t.Errorf("round %d: got %d forgotten, want %d", round, n, want)
		}
	}
	check("what is left of a", "a", monday.Add(-1), 1, monday.Add(2*time.Minute))
}

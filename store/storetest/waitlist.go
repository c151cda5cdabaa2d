package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"holdfast/store"
)

// waiting returns a waiting-list entry that is created the given number of minutes after monday.
func waiting(id string, minutes int) store.WaitlistEntry {
	return store.WaitlistEntry{
		ID: id, AppointmentTypeID: "checkup", Owner: "owner-of-" + id, AppointmentID: "later",
		Status: store.WaitlistWaiting,
		Wish: store.WaitlistWish{
			SpecialistIDs: []string{"ada"}, Place: "north", Weekdays: []store.Weekday{1, 2}, Earliest: 8 * 60,
			Latest: 12 * 60, From: store.DateOf(monday), To: store.DateOf(monday).AddDays(14), SlotStart: monday,
		},
		Patient: store.Patient{Name: "Jo Doe", Email: "Jo@Example.org", Phone: "+49 30 1234567",
			BirthDate: "1990-01-02", Notes: "n"},
		Intake: intake("n"), Locale: "de", CreatedAt: monday.Add(time.Duration(minutes) * time.Minute),
	}
}

// offer returns an open offer of ada's time to an entry.
func offer(id, entryID string, start, seat int) store.WaitlistOffer {
	from := monday.Add(time.Duration(start) * time.Minute)
	return store.WaitlistOffer{
		ID: id, EntryID: entryID, AppointmentTypeID: "checkup", SpecialistID: "ada", Seat: seat, HoldOwner: "hold-of-" +
			id, Status: store.OfferOpen, SlotStart: from, SlotEnd: from.Add(30 * time.Minute), CreatedAt: monday,
		ExpiresAt: from.Add(-time.Minute),
	}
}

func testWaitlist(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	clinic(t, s)
	try := func(fn func(store.Tx) error) error { return s.Write(ctx, fn) }
	second, first, unconfirmed := waiting("w2", 1), waiting("w1", 0), waiting("w3", 2)
	unconfirmed.Status = store.WaitlistUnconfirmed
	for _, e := range []store.WaitlistEntry{second, first, unconfirmed} {
		wantErr(t, "insert "+e.ID, try(func(tx store.Tx) error { return tx.InsertWaitlistEntry(ctx, e) }), nil)
	}
	wantErr(t, "the same id again", try(func(tx store.Tx) error {
		return tx.InsertWaitlistEntry(ctx, first)
	}), store.ErrDuplicate)
	if got, err := s.WaitlistEntry(ctx, "w1"); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("got %+v, %v; want %+v", got, err, first)
	}
	listed := func(ended bool) (ids string) {
		list, err := s.WaitlistEntries(ctx)
		if ended {
			list, err = s.EndedWaitlistEntries(ctx, 10)
		}
		wantErr(t, "list", err, nil)
		for _, e := range list {
			ids += e.ID + ":" + string(e.Status) + " "
		}
		return ids
	}
	if got, want := listed(false), "w1:waiting w2:waiting w3:unconfirmed "; got != want {
		t.Errorf("waiting: got %q, want %q, oldest first", got, want)
	}

	insert := func(o store.WaitlistOffer) error {
		return try(func(tx store.Tx) error { return tx.InsertWaitlistOffer(ctx, o) })
	}
	one := offer("o1", "w1", 60, 0)
	wantErr(t, "an offer", insert(one), nil)
	wantErr(t, "a second open offer of one entry", insert(offer("o2", "w1", 120, 0)), store.ErrDuplicate)
	wantErr(t, "the same seat to another entry", insert(offer("o3", "w2", 60, 0)), store.ErrDuplicate)
	wantErr(t, "an offer to an unknown entry", insert(offer("o4", "w99", 60, 1)), store.ErrInvalid)
	wantErr(t, "another seat to another entry", insert(offer("o5", "w2", 60, 1)), nil)
	if got, err := s.WaitlistOffer(ctx, "o1"); err != nil || !reflect.DeepEqual(got, one) {
		t.Errorf("got %+v, %v; want %+v", got, err, one)
	}
	end := func(id string, to store.OfferStatus) error {
		return try(func(tx store.Tx) error { return tx.EndWaitlistOffer(ctx, id, to, monday.Add(time.Minute)) })
	}
	wantErr(t, "decline", end("o1", store.OfferDeclined), nil)
	wantErr(t, "what is declined lapses", end("o1", store.OfferLapsed), store.ErrNotFound)
	wantErr(t, "its seat to another", insert(offer("o6", "w3", 60, 0)), nil)
	open, err := s.OpenWaitlistOffers(ctx)
	if err != nil || len(open) != 2 || open[0].ID != "o5" || open[1].ID != "o6" {
		t.Errorf("open offers: got %+v, %v; want o5 and o6", open, err)
	}
	all, err := s.WaitlistOffers(ctx, "w1", "w2")
	if err != nil || len(all) != 2 || all[0].Status != store.OfferDeclined ||
		!all[0].EndedAt.Equal(monday.Add(time.Minute)) {
		t.Errorf("the offers of two entries: got %+v, %v; want o1 declined and o5", all, err)
	}
	if all, err := s.WaitlistOffers(ctx); err != nil || len(all) != 0 {
		t.Errorf("the offers without entries: got %+v, %v", all, err)
	}

	move := func(id string, from, to store.WaitlistStatus) error {
		return try(func(tx store.Tx) error { return tx.MoveWaitlistEntry(ctx, id, from, to, monday.Add(time.Hour)) })
	}
	wantErr(t, "confirm", move("w3", store.WaitlistUnconfirmed, store.WaitlistWaiting), nil)
	wantErr(t, "confirm again", move("w3", store.WaitlistUnconfirmed, store.WaitlistWaiting), store.ErrNotFound)
	wantErr(t, "booked", move("w1", store.WaitlistWaiting, store.WaitlistBooked), nil)
	wantErr(t, "an unknown entry", move("w9", store.WaitlistWaiting, store.WaitlistBooked), store.ErrNotFound)
	if got, want := listed(false)+"| "+listed(true), "w2:waiting w3:waiting | w1:booked "; got != want {
		t.Errorf("after changes: got %q, want %q", got, want)
	}
	for round, want := range []int{1, 0} {
		n := 0
		write(t, s, func(tx store.Tx) (err error) {
			n, err = tx.ForgetWaitlist(ctx, monday.Add(2*time.Hour), 2)
			return err
		})
		if n != want {
			t.Errorf("round %d: got %d deleted, want %d: active entries stay", round, n, want)
		}
	}
	_, err = s.WaitlistOffer(ctx, "o1")
	wantErr(t, "the offer of one that was forgotten", err, store.ErrNotFound)
}

// testWaitlistErased checks that Erase removes the person's entries and no others, for every way to identify the
// person.
func testWaitlistErased(t *testing.T, h Harness) {
	for name, p := range map[string]store.Person{
		"email": {Email: " jo@example.ORG "}, "phone": {Phone: "+49 (30) 1234567"}, "client": {Owner: "owner-of-w1"},
		"spelling": {Of: []store.Identity{{Name: "Jo Doe", Email: "Jo@Example.org", Phone: "+49 30 1234567",
			BirthDate: "1990-01-02"}}},
	} {
		s := h.open(t)
		ctx := t.Context()
		clinic(t, s)
		other := waiting("w2", 1)
		other.Patient = store.Patient{Name: "Al Ter", Email: "al@example.org", Phone: "030 7654321"}
		write(t, s, func(tx store.Tx) error { return tx.InsertWaitlistEntry(ctx, waiting("w1", 0)) })
		silent := waiting("w3", 2)
		silent.Patient = store.Patient{Name: "Kim Roe", Email: "kim@example.org"}
		write(t, s, func(tx store.Tx) error {
			return errors.Join(tx.InsertWaitlistEntry(ctx, other), tx.InsertWaitlistEntry(ctx, silent))
		})
		write(t, s, func(tx store.Tx) error { return tx.InsertWaitlistOffer(ctx, offer("o1", "w1", 60, 0)) })
		erased, err := s.Erase(ctx, p, monday, func(store.Tx, store.Erased) error { return nil })
		if err != nil || erased.Waitlist != 1 {
			t.Errorf("by %s: got %d entries erased, %v; want 1", name, erased.Waitlist, err)
		}
		_, err = s.WaitlistEntry(ctx, "w1")
		wantErr(t, "the entry of the person, by "+name, err, store.ErrNotFound)
		_, err = s.WaitlistOffer(ctx, "o1")
		wantErr(t, "what was offered to the person, by "+name, err, store.ErrNotFound)
		_, err = s.WaitlistEntry(ctx, "w2")
		wantErr(t, "another person's entry, by "+name, err, nil)
		_, err = s.WaitlistEntry(ctx, "w3")
		wantErr(t, "the entry of a person without a telephone, by "+name, err, nil)
	}
}

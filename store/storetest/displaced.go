package storetest

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// testDisplaced checks that the entries of an absence are not on the waiting list. DisplacedEntries lists them by
// absence and by appointment. Erase removes those of the person, and ForgetWaitlist removes those that have ended.
func testDisplaced(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	clinic(t, s)
	displaced := func(id, absence, appointment string, minutes int) store.WaitlistEntry {
		e := waiting(id, minutes)
		e.AbsenceID, e.AppointmentID, e.Owner = absence, appointment, ""
		e.Patient = store.Patient{Name: "Patient " + id, Email: id + "@example.org"}
		e.Displaced = store.Displaced{SpecialistID: "ada", SlotStart: monday, By: store.DisplacedAsk,
			Channel: store.ChannelEmail}
		return e
	}
	first, second := displaced("d1", "sick", "a1", 1), displaced("d2", "sick", "a2", 2)
	moved := displaced("d3", "sick", "a3", 3)
	moved.Status, moved.EndedAt, moved.Displaced.By = store.WaitlistBooked, monday, store.DisplacedMove
	other, sooner := displaced("d4", "course", "a1", 4), waiting("w1", 0)
	for _, e := range []store.WaitlistEntry{other, moved, second, first, sooner} {
		write(t, s, func(tx store.Tx) error { return tx.InsertWaitlistEntry(ctx, e) })
	}
	if got, err := s.WaitlistEntry(ctx, "d1"); err != nil || !reflect.DeepEqual(got, first) {
		t.Errorf("got %+v, %v; want %+v", got, err, first)
	}
	ids := func(list []store.WaitlistEntry, err error) string {
		t.Helper()
		wantErr(t, "list", err, nil)
		all := make([]string, len(list))
		for i := range list {
			all[i] = list[i].ID
		}
		return strings.Join(all, " ")
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	want("the waiting list", ids(s.WaitlistEntries(ctx)), "w1")
	want("ended entries of the waiting list", ids(s.EndedWaitlistEntries(ctx, 10)), "")
	want("one absence", ids(s.DisplacedEntries(ctx, "sick", "")), "d1 d2 d3")
	want("one appointment", ids(s.DisplacedEntries(ctx, "", "a1")), "d1 d4")
	want("one appointment of one absence", ids(s.DisplacedEntries(ctx, "course", "a1")), "d4")
	want("all absences", ids(s.DisplacedEntries(ctx, "", "")), "d1 d2 d3 d4")
	want("an unknown absence", ids(s.DisplacedEntries(ctx, "holiday", "")), "")

	person := store.Person{Email: "d2@example.org"}
	if _, err := s.Erase(ctx, person, monday, func(store.Tx, store.Erased) error { return nil }); err != nil {
		t.Fatal(err)
	}
	write(t, s, func(tx store.Tx) error {
		n, err := tx.ForgetWaitlist(ctx, monday.Add(time.Second), 10)
		if n != 1 && err == nil {
			err = errors.New("no entry was deleted")
		}
		return err
	})
	want("after the erasure and the expiry", ids(s.DisplacedEntries(ctx, "", "")), "d1 d4")
}

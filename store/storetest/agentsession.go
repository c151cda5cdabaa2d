package storetest

import (
	"fmt"
	"testing"
	"time"

	"holdfast/store"
)

// testAgentSession checks that AgentSession finds a session by any of its names until it is too old. Of several
// sessions it returns the latest, without the notes about the patient.
func testAgentSession(t *testing.T, h Harness) {
	s := h.open(t)
	ctx := t.Context()
	put := func(x store.AgentSession, names ...string) {
		t.Helper()
		write(t, s, func(tx store.Tx) error { return tx.PutAgentSession(ctx, x, names...) })
	}
	want := func(what string, x store.AgentSession, after time.Time, names ...string) {
		t.Helper()
		if got, err := s.AgentSession(ctx, after, names...); err != nil || got != x {
			t.Errorf("%s: got %+v, %v; want %+v", what, got, err, x)
		}
	}
	first := store.AgentSession{
		PatientID: "p1", Patient: store.Patient{Name: "Jo Doe", Email: "Jo@Example.org", Phone: "+49 30 1234567",
			BirthDate: "1990-01-02"},
		At: monday, ExpiresAt: monday.Add(15 * time.Minute),
	}
	_, err := s.AgentSession(ctx, time.Time{}, "a")
	wantErr(t, "unknown", err, store.ErrNotFound)
	noted := first
	noted.Patient.Notes = "nobody's business"
	put(noted, "a", "b")
	want("by one name", first, time.Time{}, "a")
	want("by another, of several", first, time.Time{}, "x", "b")
	want("a moment before it was noted", first, monday.Add(-time.Millisecond), "a")
	_, err = s.AgentSession(ctx, monday, "a")
	wantErr(t, "too old", err, store.ErrNotFound)

	second := store.AgentSession{Open: true, At: monday.Add(time.Hour)}
	put(second, "b")
	want("what has the name since", second, time.Time{}, "b")
	want("its other name", first, time.Time{}, "a")
	want("the latest of two", second, time.Time{}, "a", "b")
	put(first, "b")
	want("an older one in its place", first, time.Time{}, "b")

	// Erase also finds people who have never booked.
	for _, who := range []store.Person{{Email: "JO@example.org"}, {Phone: "+49 30 / 1234567"}} {
		put(first, "c", "d")
		other := first
		other.PatientID, other.Patient.Email, other.Patient.Phone = "p2", "bo@example.org", "+49 30 12345678"
		put(other, "e")
		_, err = eraseNow(t, s, who)
		wantErr(t, "erase", err, nil)
		_, err = s.AgentSession(ctx, time.Time{}, "c", "d")
		wantErr(t, "after erasing", err, store.ErrNotFound)
		want("another patient", other, time.Time{}, "e")
	}

	// A mother shares the address and the number with the erased child. The session of another key has only the
	// patient's id.
	clinic(t, s)
	mother := booking("ada", "checkup", 0, 30)
	mother.Patient = store.Patient{Name: "Ann Doe", Email: first.Patient.Email, Phone: first.Patient.Phone,
		BirthDate: "1960-03-04"}
	mustInsert(t, s, mother)
	hers := first
	hers.PatientID, hers.Patient = "p3", mother.Patient
	put(first, "c", "d")
	put(store.AgentSession{PatientID: first.PatientID, At: monday, ExpiresAt: first.ExpiresAt}, "f")
	put(hers, "g")
	_, err = eraseNow(t, s, store.Person{Of: []store.Identity{first.Patient.Identity()}})
	wantErr(t, "erase a child", err, nil)
	for _, name := range []string{"c", "d", "e", "f"} { // e has the same name and date of birth
		_, err = s.AgentSession(ctx, time.Time{}, name)
		wantErr(t, "after erasing a child: "+name, err, store.ErrNotFound)
	}
	want("the mother's", hers, time.Time{}, "g")
	_, err = eraseNow(t, s, store.Person{Of: []store.Identity{mother.Patient.Identity()}})
	wantErr(t, "erase the mother", err, nil)

	put(first, "a", "b")
	write(t, s, func(tx store.Tx) error {
		_, err := tx.ForgetAgentSessions(ctx, monday.Add(-time.Hour), 9)
		return err
	})

	for i := range 4 {
		put(store.AgentSession{At: monday.Add(time.Duration(i) * time.Hour)}, fmt.Sprint("m", i))
	}
	for round, gone := range []int{2, 2, 0} { // a, b, m0 and m1; m2 was recorded exactly at the instant
		n := 0
		write(t, s, func(tx store.Tx) (err error) {
			n, err = tx.ForgetAgentSessions(ctx, monday.Add(2*time.Hour), 2)
			return err
		})
		if n != gone {
			t.Errorf("round %d: got %d forgotten, want %d", round, n, gone)
		}
	}
	want("one of the instant", store.AgentSession{At: monday.Add(2 * time.Hour)}, time.Time{}, "m2")
}

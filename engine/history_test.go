package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/store"
)

// TestAPersonHasAHistory of what has the same name, and a birth date, number or address in common.
func TestAPersonHasAHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClinic(t, map[string]int{"ada": 1})
		n := 0
		book := func(p store.Patient) store.Appointment {
			t.Helper()
			r := bookingOf(n, "checkup")
			r.SlotStart, r.SpecialistID, r.Patient, r.Source, r.Actor = c.start.Add(time.Duration(n)*time.Hour), "ada", p, store.SourceStaff, jo
			n++
			return c.mustBook(r)
		}
		lena := store.Patient{Name: "Lena Vogt", Phone: "030 / 111 22 33", BirthDate: "1980-03-31"}
		missed := book(lena)
		gone := book(store.Patient{Name: "lena  VOGT", Phone: "0301112233"})
		book(store.Patient{Name: "Tom Vogt", Phone: "030 1112233"})                               // of the family
		book(store.Patient{Name: "Lena Vogt", Phone: "0301112233", BirthDate: "1999-01-02"})      // the daughter
		book(store.Patient{Name: "Lena Vogt", Email: "another@example.org", Phone: "040 999888"}) // somebody else
		next := book(store.Patient{Name: "Lena Vogt", Phone: "030 111 2233", Email: "lena@example.org"})
		c.deskCancels(gone.ID)
		if _, err := c.Booking.SetAttendance(t.Context(), missed.ID, 0, store.NoShow, jo, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(missed.SlotEnd.Add(time.Minute)))
		h, err := c.Person.History(t.Context(), missed.ID, "")
		if err != nil || len(h.Coming) != 1 || h.Coming[0].ID != next.ID || len(h.Past) != 2 || h.Past[0].ID != gone.ID || h.Past[1].ID != missed.ID || h.NoShows != 1 || h.Cancelled != 1 {
			t.Errorf("%v: %+v", err, h)
		}
		// Of a name alone nothing follows, and a specialist's own calendar has the own ones only.
		nobody := book(store.Patient{Name: "Lena Vogt"})
		if h, err := c.Person.History(t.Context(), nobody.ID, ""); err != nil || len(h.Coming) != 1 || len(h.Past) != 0 {
			t.Errorf("of a name alone: %v, %+v", err, h)
		}
		if h, err := c.Person.History(t.Context(), missed.ID, "nobody"); err != nil || len(h.Coming)+len(h.Past) != 0 {
			t.Errorf("in another calendar: %v, %+v", err, h)
		}
		if _, err := c.Person.History(t.Context(), "nothing", ""); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of nothing: %v", err)
		}
	})
}

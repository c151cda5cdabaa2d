package person_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	people "holdfast/engine/person"
	"holdfast/store"
)

// TestPersonHasHistory: a person's history contains the appointments that have the same name and also share a date of
// birth, a number or an address.
func TestPersonHasHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 1})
		n := 0
		book := func(p store.Patient) store.Appointment {
			t.Helper()
			r := enginetest.BookingOf(n, "checkup")
			r.SlotStart, r.SpecialistID, r.Patient, r.Source, r.Actor = c.Start.Add(time.Duration(n)*time.Hour), "ada",
				p, store.SourceStaff, enginetest.Jo
			n++
			return c.MustBook(r)
		}
		lena := store.Patient{Name: "Lena Vogt", Phone: "030 / 111 22 33", BirthDate: "1980-03-31"}
		missed := book(lena)
		gone := book(store.Patient{Name: "lena  VOGT", Phone: "0301112233"})
		book(store.Patient{Name: "Tom Vogt", Phone: "030 1112233"}) // a relative
		// a daughter with the same name
		book(store.Patient{Name: "Lena Vogt", Phone: "0301112233", BirthDate: "1999-01-02"})
		book(store.Patient{Name: "Lena Vogt", Email: "another@example.org", Phone: "040 999888"}) // another person
		next := book(store.Patient{Name: "Lena Vogt", Phone: "030 111 2233", Email: "lena@example.org"})
		c.DeskCancels(gone.ID)
		if _, err := c.Booking.SetAttendance(t.Context(), missed.ID, 0, store.NoShow, enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(missed.SlotEnd.Add(time.Minute)))
		h, err := c.Person.History(t.Context(), missed.ID, people.Viewer{})
		if err != nil || len(h.Coming) != 1 || h.Coming[0].ID != next.ID || len(h.Past) != 2 ||
			h.Past[0].ID != gone.ID || h.Past[1].ID != missed.ID || h.NoShows != 1 || h.Cancelled != 1 {
			t.Errorf("%v: %+v", err, h)
		}
		// A name alone does not find any other appointments, and a specialist sees only the appointments in their own
		// calendar.
		nobody := book(store.Patient{Name: "Lena Vogt"})
		if h, err := c.Person.History(t.Context(), nobody.ID, people.Viewer{}); err != nil || len(h.Coming) != 1 || len(h.Past) != 0 {
			t.Errorf("history of a name without contact data: %v, %+v", err, h)
		}
		if h, err := c.Person.History(t.Context(), missed.ID, people.Viewer{SpecialistID: "nobody"}); err != nil || len(h.Coming)+len(h.Past) != 0 {
			t.Errorf("in another calendar: %v, %+v", err, h)
		}
		if _, err := c.Person.History(t.Context(), "nothing", people.Viewer{}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of nothing: %v", err)
		}
	})
}

// TestHistoryHidesColleaguesNotesFromSpecialist: a specialist who makes up an appointment with a patient's name and
// date of birth does not see any of their colleagues' data.
func TestHistoryHidesColleaguesNotesFromSpecialist(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := enginetest.NewClinic(t, map[string]int{"ada": 2, "ben": 1})
		book := func(specialistID string, p store.Patient) store.Appointment {
			t.Helper()
			r := enginetest.BookingOf(0, "checkup")
			r.SlotStart, r.SpecialistID, r.Patient, r.Source, r.Actor = c.Start, specialistID, p, store.SourceStaff,
				enginetest.Jo
			return c.MustBook(r)
		}
		theirs := book("ada", store.Patient{Name: "Lena Vogt", Phone: "030 1112233", BirthDate: "1980-03-31"})
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start.Add(2*time.Hour), "ada", store.SourceStaff,
			enginetest.Jo
		r.Patient = store.Patient{Name: "Lena Brandt", Email: "lena@example.org"}
		linked := c.MustBook(r)
		ctx := t.Context()
		if _, err := c.Person.AddNote(ctx, theirs.ID, "canary of the desk", enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Person.Link(ctx, theirs.ID, linked.ID, enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		invented := book("ben", store.Patient{Name: "Lena Vogt", BirthDate: "1980-03-31"})
		ben := people.Viewer{SpecialistID: "ben", Actor: "user:ben"}
		if _, err := c.Person.AddNote(ctx, invented.ID, "own note", ben.Actor, nil); err != nil {
			t.Fatal(err)
		}
		h, err := c.Person.History(ctx, invented.ID, ben)
		if err != nil || len(h.Of) != 1 || len(h.Links) != 0 || len(h.Coming) != 1 || len(h.Notes) != 1 ||
			h.Notes[0].Text != "own note" {
			t.Errorf("%v: a specialist got %+v, want only their own appointment and note", err, h)
		}
		h, err = c.Person.History(ctx, invented.ID, people.Viewer{})
		if err != nil || len(h.Of) != 2 || len(h.Links) != 1 || len(h.Coming) != 3 || len(h.Notes) != 2 {
			t.Errorf("%v: the desk got %+v, want everything", err, h)
		}
	})
}

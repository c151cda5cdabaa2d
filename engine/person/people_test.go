package person_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	people "holdfast/engine/person"
	"holdfast/engine/record"
	"holdfast/store"
)

func TestSearchFindsPartialNames(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	for i, p := range []store.Patient{
		{Name: "Jürgen Großmann", Phone: "+49 30 5556677", BirthDate: "1980-03-31"},
		{Name: "Lena Vogt", Email: "l.vogt@example.org", BirthDate: "1991-12-01"},
		{Name: "Lena Vogt", Email: "l.vogt@example.org", BirthDate: "1991-12-01"},
		{Name: "Lena Vogel", Phone: "030 1234567"},
		{Name: "María José O’Neill", Phone: "(030) 7654321"},
		{Name: "Per Lind"},
	} {
		c.BookFor(i, p)
	}
	for query, want := range map[string][]string{
		"juergen grossmann": {"Jürgen Großmann"},
		"JURGEN":            {"Jürgen Großmann"},
		"grosman":           {"Jürgen Großmann"},         // one letter missing
		"vgot":              {"Lena Vogt"},               // two letters swapped
		"vogt lena":         {"Lena Vogt", "Lena Vogel"}, // similar names come after exact ones
		"lena vog":          {"Lena Vogel", "Lena Vogt"},
		"maria jose oneill": {"María José O’Neill"},
		"030/5556677":       {"Jürgen Großmann"},
		"0049305556677":     {"Jürgen Großmann"},
		"+49 30 1234567":    {"Lena Vogel"},
		"31.3.1980":         {"Jürgen Großmann"},
		"1980-03-31":        {"Jürgen Großmann"},
		"31 3 1980":         {"Jürgen Großmann"},
		"lena 1.12.1991":    {"Lena Vogt"},
		"l.vogt@":           {"Lena Vogt"},
		"xyz":               nil,
		"lena 1.1.1991":     nil,
		"  ":                nil,
		"pr":                nil, // short words must match exactly
	} {
		found, err := c.Person.Find(t.Context(), query, "", 12)
		var got []string
		for _, f := range found {
			got = append(got, f.Name)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %v, %v; want %v", query, got, err, want)
		}
	}
	found, _ := c.Person.Find(t.Context(), "l.vogt@example.org", "", 12)
	if len(found) != 1 || found[0].Appointments != 2 || !found[0].Last.Equal(c.Start.Add(2*time.Hour)) {
		t.Errorf("two appointments of one person: %+v", found)
	}
	if found, _ := c.Person.Find(t.Context(), "lena", "ben", 12); len(found) != 0 {
		t.Errorf("in another specialist's calendar: %+v", found)
	}
}

func TestMergeTwoSpellings(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	married := c.BookFor(0, store.Patient{Name: "Lena Sand", Email: "lena@example.org"})
	before := c.BookFor(1, store.Patient{Name: "Lena Vogt", Phone: "030 12345", BirthDate: "1991-12-01"})
	other := c.BookFor(2, store.Patient{Name: "Lena Vogt", Phone: "030 12345", BirthDate: "1999-09-09"})
	if _, err := c.Person.AddNote(ctx, before.ID, " needs a lift ", "user:jo", nil); err != nil {
		t.Fatal(err)
	}
	history := func(id string) (coming, notes, links int) {
		t.Helper()
		h, err := c.Person.History(ctx, id, people.Viewer{})
		if err != nil {
			t.Fatal(err)
		}
		return len(h.Coming), len(h.Notes), len(h.Links)
	}
	if n, notes, _ := history(married.ID); n != 1 || notes != 0 {
		t.Errorf("before the link: %d appointments, %d notes", n, notes)
	}
	l, err := c.Person.Link(ctx, married.ID, before.ID, "user:jo", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{married.ID, before.ID} {
		if n, notes, links := history(id); n != 2 || notes != 1 || links != 1 {
			t.Errorf("%s: %d appointments, %d notes, %d links", id, n, notes, links)
		}
	}
	if n, notes, _ := history(other.ID); n != 1 || notes != 0 {
		t.Errorf("a namesake with the same number: %d appointments, %d notes", n, notes)
	}
	var invalid *record.ValidationError
	if _, err := c.Person.Link(ctx, before.ID, married.ID, "user:jo", nil); !errors.As(err, &invalid) {
		t.Errorf("a second link: %v", err)
	}
	if err := c.Person.Unlink(ctx, l.ID, "user:jo"); err != nil {
		t.Fatal(err)
	}
	if n, _, _ := history(married.ID); n != 1 {
		t.Errorf("after the link: %d appointments", n)
	}
	if _, err := c.Person.Link(ctx, married.ID, before.ID, "user:jo", nil); err != nil {
		t.Fatal(err)
	}
	// An erasure by the person's current address also erases the person's earlier details.
	erased, err := c.Person.Erase(ctx, "user:jo", store.Person{Email: "lena@example.org"})
	if err != nil || erased.Appointments < 2 || erased.Notes != 1 || erased.Links != 1 {
		t.Errorf("erased: %+v, %v", erased, err)
	}
	if a, _ := c.Booking.Appointment(ctx, before.ID); a.Patient != (store.Patient{}) {
		t.Errorf("left is %+v", a.Patient)
	}
	if found, _ := c.Person.Find(ctx, "lena sand", "", 12); len(found) != 0 {
		t.Errorf("search results: %+v", found)
	}
	if _, err := c.Person.AddNote(ctx, before.ID, "x", "user:jo", nil); !errors.As(err, &invalid) {
		t.Errorf("a note about an unknown person: %v", err)
	}
}

// BenchmarkFindPeople searches for a mistyped name among 100,000 appointments of 30,000 people.
func BenchmarkFindPeople(b *testing.B) {
	c := enginetest.NewClinic(b, map[string]int{"ada": 1})
	ctx := b.Context()
	first, last := []string{"Lena", "Jürgen", "María", "Per", "Zoë", "Anna", "Tom", "Ida"},
		[]string{"Vogt", "Großmann", "Lindqvist", "Haddad", "Brandt", "Sand", "Okafor"}
	for n := 0; n < 100_000; n += 1000 {
		err := c.Store.Write(ctx, func(tx store.Tx) error {
			for i := n; i < n+1000; i++ {
				who := i % 30_000
				a := booking.NewAppointment(&booking.Request{Source: store.SourceStaff, Patient: store.Patient{
					Name: fmt.Sprintf("%s %s%c%c", first[who%8], last[who%7], 'a'+rune(who/8%26), 'a'+
						rune(who/208%26)),
					Phone: fmt.Sprintf("030 %07d", who), Email: fmt.Sprintf("p%d@example.org", who),
				}}, availability.SpanOf(&store.AppointmentType{ID: "checkup", DurationMinutes: 30}, "ada",
					c.Start.AddDate(0, 0, -600).Add(time.Duration(i)*30*time.Minute)))
				if err := tx.InsertAppointment(ctx, a); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if found, err := c.Person.Find(ctx, "grosmann", "", 12); err != nil || len(found) == 0 {
			b.Fatal(found, err)
		}
	}
}

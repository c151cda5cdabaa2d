package person_test

import (
	"errors"
	"testing"

	"holdfast/engine/enginetest"
	people "holdfast/engine/person"
	"holdfast/engine/record"
	"holdfast/store"
)

// TestEraseOneOfFamily: before an erasure, the plan shows other people who share an address or a number, and their data
// is kept. A different spelling that leads to further appointments belongs to the person, even if it is found through a
// link.
func TestEraseOneOfFamily(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	lena := c.BookFor(0, store.Patient{Name: "Lena Vogt", Phone: "030 12345", Email: "vogt@example.org",
		BirthDate: "1991-12-01"})
	c.BookFor(1, store.Patient{Name: "lena vogt", Phone: "030-12345"})
	maiden := c.BookFor(2, store.Patient{Name: "Lena Sand", Phone: "0171 1"})
	child := c.BookFor(3, store.Patient{Name: "Mia Vogt", Phone: "030 12345", BirthDate: "2019-05-05"})
	mother := c.BookFor(4, store.Patient{Name: "Ida Vogt", Email: "VOGT@example.org"})
	c.BookFor(5, store.Patient{Name: "Per Lind", Phone: "0172 2"})
	if _, err := c.Person.Link(ctx, lena.ID, maiden.ID, "user:jo", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Person.AddNote(ctx, child.ID, "afraid of needles", "user:jo", nil); err != nil {
		t.Fatal(err)
	}
	plan, err := c.Person.PlanErasure(ctx, lena.ID)
	if err != nil || plan.Coming != 3 || plan.Past != 0 || plan.Links != 1 || len(plan.Of) != 3 {
		t.Errorf("the plan is %+v, %v; want three spellings with an appointment each, and a link", plan, err)
	}
	if len(plan.Sharing) != 2 || plan.Sharing[0].AppointmentID != mother.ID ||
		plan.Sharing[1].AppointmentID != child.ID {
		t.Errorf("people with the same address or number: %+v; want the mother and the child", plan.Sharing)
	}
	if holders, err := c.Person.Holders(ctx, store.Person{Phone: "03012345"}); err != nil || len(holders) != 2 {
		t.Errorf("people with the number: %+v, %v; want two", holders, err)
	}
	erased, err := c.Person.EraseOf(ctx, "user:jo", lena.ID)
	if err != nil || erased.Appointments != plan.Coming || erased.Links != 1 || erased.Notes != 0 {
		t.Errorf("erased: %+v, %v; want the plan", erased, err)
	}
	for id, want := range map[string]string{lena.ID: "", maiden.ID: "", child.ID: "Mia Vogt", mother.ID: "Ida Vogt"} {
		if a, err := c.Booking.Appointment(ctx, id); err != nil || a.Patient.Name != want {
			t.Errorf("the patient of an appointment is now %q, %v; want %q", a.Patient.Name, err, want)
		}
	}
	if h, err := c.Person.History(ctx, child.ID, people.Viewer{}); err != nil || len(h.Notes) != 1 {
		t.Errorf("the child's card: %+v, %v", h, err)
	}
	var invalid *record.ValidationError
	if _, err := c.Person.EraseOf(ctx, "user:jo", lena.ID); !errors.As(err, &invalid) {
		t.Errorf("second erasure: %v", err)
	}
	if _, err := c.Person.EraseOf(ctx, "user:jo", "unknown"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown person: %v", err)
	}
	if erased, err := c.Person.EraseOf(ctx, "user:jo", child.ID, mother.ID); err != nil || erased.Appointments != 2 ||
		erased.Notes != 1 {
		t.Errorf("the others: %+v, %v", erased, err)
	}
}

// TestEraseKeepsNamesake: two people share a name and a number, and one appointment has no date of birth. Erasing one
// person does not affect the other. If the appointment could belong to either person, the engine does not guess.
func TestEraseKeepsNamesake(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	mother := c.BookFor(0, store.Patient{Name: "Anna Vogt", Phone: "030 12345", BirthDate: "1960-01-02"})
	undated := c.BookFor(1, store.Patient{Name: "Anna Vogt", Phone: "030 12345"})
	daughter := c.BookFor(2, store.Patient{Name: "Anna Vogt", Phone: "030 12345", BirthDate: "1990-03-04"})
	if plan, err := c.Person.PlanErasure(ctx, undated.ID); err != nil || plan.Coming != 1 || len(plan.Sharing) != 2 {
		t.Errorf("the plan for the person without a date is %+v, %v; want that person alone, and both others listed", plan, err)
	}
	plan, err := c.Person.PlanErasure(ctx, mother.ID)
	if err != nil || plan.Coming != 2 || len(plan.Sharing) != 1 || plan.Sharing[0].AppointmentID != daughter.ID {
		t.Errorf("the plan for the mother is %+v, %v; want her data and that of the person without a date, and the daughter listed",
			plan, err)
	}
	if _, err := c.Person.EraseOf(ctx, "user:jo", mother.ID); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{mother.ID: "", undated.ID: "", daughter.ID: "Anna Vogt"} {
		if a, err := c.Booking.Appointment(ctx, id); err != nil || a.Patient.Name != want {
			t.Errorf("the patient of an appointment is now %q, %v; want %q", a.Patient.Name, err, want)
		}
	}
}

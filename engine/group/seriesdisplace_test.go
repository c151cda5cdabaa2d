package group_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/store"
)

// TestRefusedSeriesDisplacesNoClient: a series that cannot be booked does not displace the hold of another client. The
// engine finds all conflicts before it displaces any hold.
func TestRefusedSeriesDisplacesNoClient(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	theirs := c.MustHold(1, "checkup", c.Start, "ada")
	if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: "ada",
		Start: c.Start.AddDate(0, 0, 7), End: c.Start.AddDate(0, 0, 8)}, nil); err != nil {
		t.Fatal(err)
	}
	r := weeklyFor(c, 2)
	r.Displace = true
	var conflict *group.ConflictError
	if _, err := c.Group.Series.Book(ctx, r); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 ||
		conflict.Conflicts[0].Place != 1 {
		t.Fatalf("got %v, want a conflict at the second time", err)
	}
	if held, _ := c.Booking.Holds(ctx); len(held) != 1 || held[0].ID != theirs.ID {
		t.Errorf("after the booking, the holds are %+v, want the patient's hold", held)
	}

	r.Times[0].Start, r.Times[1].Start = c.Start.Add(2*time.Hour), c.Start.AddDate(0, 0, 8).Add(2*time.Hour)
	list := mustBookSeries(c, r)
	later := c.MustHold(2, "checkup", c.Start.Add(time.Hour), "ada")
	// The series is to move one hour earlier. A patient already holds its first new time, and a block conflicts with
	// the second one.
	move := group.SeriesMove{Which: group.Which{ID: list[0].ID, Actor: "user:jo"}, SlotStart: later.SlotStart,
		Displace: true}
	if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: "ada",
		Start: list[1].SlotStart.Add(-time.Hour), End: list[1].SlotStart.Add(-30 * time.Minute)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Group.Series.Move(ctx, move); !errors.As(err, &conflict) {
		t.Fatalf("move: got %v, want a conflict", err)
	}
	if held, _ := c.Booking.Holds(ctx); len(held) != 2 {
		t.Errorf("after the move, the holds are %+v, want both patients' holds", held)
	}
}

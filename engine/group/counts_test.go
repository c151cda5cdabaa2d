package group_test

import (
	"fmt"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
)

// TestGroupsAreCounted: the metrics count the holds of visits, and the refused holds, bookings and moves of visits and
// series, under the same reasons as for a single appointment.
func TestGroupsAreCounted(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	at := func(minutes int) time.Time { return c.Start.Add(time.Duration(minutes) * time.Minute) }
	series := mustBookSeries(c, weeklyFor(c, 2)) // ada is booked at the start
	visit := c.MustVisit(enginetest.Family(at(60), "checkup", "checkup"))
	if _, err := c.HoldVisit(1, at(180), "ada", "checkup", "checkup"); err != nil {
		t.Fatal(err)
	}
	before := c.Booking.Counts()
	if before.Holds != 1 {
		t.Errorf("got %d holds, want that of the visit", before.Holds)
	}
	twoTimes := func(minutes int) error {
		r := weeklyFor(c, 2)
		r.Times[0].Start, r.Times[1].Start = at(minutes), at(minutes+24*60)
		_, err := c.Group.Series.Book(t.Context(), r)
		return err
	}
	move := group.Which{ID: series[0].ID, Actor: enginetest.Jo}
	for _, test := range []struct {
		act, reason string
		do          func() error
	}{
		{"hold", "slot_taken", func() error {
			_, err := c.HoldVisit(2, at(0), "ada", "checkup", "checkup")
			return err
		}},
		{"hold", "slot_held", func() error {
			_, err := c.HoldVisit(2, at(180), "ada", "checkup", "checkup")
			return err
		}},
		{"book", "slot_taken", func() error {
			_, err := c.Group.Visit.Book(t.Context(), enginetest.Family(at(0), "checkup", "checkup"))
			return err
		}},
		{"book", "slot_taken", func() error { return twoTimes(0) }},
		{"book", "slot_held", func() error { return twoTimes(180) }},
		{"book", "invalid", func() error {
			r := weeklyFor(c, 0)
			_, err := c.Group.Series.Book(t.Context(), r)
			return err
		}},
		{"move", "slot_taken", func() error {
			_, err := c.Group.Series.Move(t.Context(), group.SeriesMove{Which: move, SlotStart: at(60)})
			return err
		}},
		{"move", "slot_taken", func() error {
			_, err := c.Group.Visit.Move(t.Context(), group.VisitMove{Which: group.Which{ID: visit[0].ID,
				Actor: enginetest.Jo}, SlotStart: at(0)})
			return err
		}},
	} {
		err := test.do()
		after := c.Booking.Counts()
		if got := counted(before, after); err == nil || got != test.act+" "+test.reason+" +1\n" {
			t.Errorf("%v was counted as %q, want once as %s %s", err, got, test.act, test.reason)
		}
		before = after
	}
}

// counted lists the refusals that were counted in between.
func counted(before, after booking.Counts) (list string) {
	for i, r := range after.Refused {
		if n := r.Count - before.Refused[i].Count; n > 0 {
			list += fmt.Sprintf("%s %s +%d\n", r.Act, r.Reason, n)
		}
	}
	return list
}

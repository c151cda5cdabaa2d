package clinic_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// mustBlock blocks an hour of ada's day.
func mustBlock(c *enginetest.TestClinic, reason string, start time.Time) store.Block {
	c.T.Helper()
	b, err := c.Clinic.CreateBlock(context.Background(), "key:test",
		store.Block{SpecialistID: "ada", Start: start, End: start.Add(time.Hour), Reason: reason}, nil)
	if err != nil {
		c.T.Fatalf("block %s: %v", reason, err)
	}
	return b
}

// refused checks that holding or booking the start time is refused because the time is blocked.
func refused(c *enginetest.TestClinic, what string, start time.Time) {
	c.T.Helper()
	r := enginetest.BookingOf(8, "checkup")
	r.SpecialistID, r.SlotStart = "ada", start
	_, held := c.Hold(7, "checkup", start, "ada")
	_, booked := c.Book(r)
	for name, err := range map[string]error{"a hold": held, "a booking": booked} {
		var no *availability.NotBookableError
		if !errors.As(err, &no) || no.Reason != availability.ReasonOverrideClosed {
			c.T.Errorf("%s: %s gets %v, want %s", what, name, err, availability.ReasonOverrideClosed)
		}
	}
	if slot := c.Slot(1, "checkup", start, "ada"); slot != nil {
		c.T.Errorf("%s: %+v is listed", what, slot)
	}
}

func TestBlocksOfOneDayAreRemovedSeparately(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1, "bea": 1})
	ctx := context.Background()
	early, late := c.Start, c.Start.Add(3*time.Hour)
	inside := enginetest.BookingOf(1, "checkup")
	inside.SpecialistID, inside.SlotStart = "ada", early.Add(30*time.Minute)
	stays := c.MustBook(inside)
	begun := c.MustHold(2, "checkup", late, "ada")
	watch, err := c.Booking.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()

	first, second := mustBlock(c, "Meeting", early), mustBlock(c, "Dentist", late)
	if got, err := c.Clinic.Blocks("ada"); err != nil || !reflect.DeepEqual(got, []store.Block{first, second}) {
		t.Errorf("listed: got %+v, %v; want both, %+v and %+v", got, err, first, second)
	}
	refused(c, "in the first", early)
	refused(c, "in the second", late.Add(30*time.Minute))
	events, err := watch.Next(ctx, nil)
	if err != nil || events[0].Kind != holds.EventAvailability || events[0].SpecialistID != "ada" {
		t.Errorf("the event is %+v (%v), want availability of ada", events, err)
	}
	if slot := c.Slot(1, "checkup", early, "bea"); slot == nil {
		t.Error("the slot of a colleague disappeared as well")
	}
	if a, err := c.Store.Appointment(ctx, stays.ID); err != nil || a.Status != store.Confirmed {
		t.Errorf("the appointment in the block is %v, %v; want it unchanged", a.Status, err)
	}
	r := enginetest.BookingOf(2, "checkup")
	r.HoldID = begun.ID
	var no *availability.NotBookableError
	if _, err := c.Book(r); !errors.As(err, &no) || no.Reason != availability.ReasonOverrideClosed {
		t.Errorf("booking a hold that is older than the block: got %v, want %s", err, availability.ReasonOverrideClosed)
	}

	if err := c.Clinic.DeleteBlock(ctx, "key:test", first.ID); err != nil {
		t.Fatal(err)
	}
	if err := c.Clinic.DeleteBlock(ctx, "key:test", first.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("second removal: got %v, want ErrNotFound", err)
	}
	if slot := c.Slot(1, "checkup", early, "ada"); slot == nil {
		t.Error("the time of the removed block is not listed")
	}
	refused(c, "in the one that is left", late)
	if got, _ := c.Clinic.Blocks("ada"); len(got) != 1 || got[0].ID != second.ID {
		t.Errorf("left: got %+v, want the second", got)
	}

	entries, _, err := c.Record.Audit(ctx, store.AuditFilter{Subjects: []string{"specialist:ada"}})
	if err != nil || len(entries) < 3 || entries[0].Action != "block.deleted" || entries[2].Action != "block.created" ||
		entries[2].Reason != "Meeting" {
		t.Errorf("the audit log has %+v, %v; want the three changes", entries, err)
	}
}

func TestBlockRefusals(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	at := c.Start
	for name, x := range map[string]struct {
		block store.Block
		field string
	}{
		"no start":              {store.Block{End: at}, "start"},
		"no end":                {store.Block{Start: at}, "end"},
		"an end at the start":   {store.Block{Start: at, End: at}, "end"},
		"shorter than a second": {store.Block{Start: at, End: at.Add(time.Second / 2)}, "end"},
		"longer than a year":    {store.Block{Start: at, End: at.AddDate(2, 0, 0)}, "end"},
		"over long ago":         {store.Block{Start: at.AddDate(-1, 0, 0), End: at.AddDate(-1, 0, 1)}, "end"},
		"too long a reason": {store.Block{Start: at, End: at.Add(time.Hour), Reason: strings.Repeat("x", 501)},
			"reason"},
	} {
		x.block.SpecialistID = "ada"
		_, err := c.Clinic.CreateBlock(context.Background(), "key:test", x.block, nil)
		var invalid *record.ValidationError
		if !errors.As(err, &invalid) || len(invalid.Fields) != 1 || invalid.Fields[0].Field != x.field {
			t.Errorf("%s: got %v, want one mistake in %s", name, err, x.field)
		}
	}
	if _, err := c.Clinic.CreateBlock(context.Background(), "key:test", store.Block{SpecialistID: "unknown", Start: at, End: at.Add(1)}, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("of an unknown specialist: got %v, want ErrNotFound", err)
	}
}

// TestClinicFileHasBlocks: a clinic file contains the blocks. Importing it several times creates each block once.
func TestClinicFileHasBlocks(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := context.Background()
	block := mustBlock(c, "Meeting", c.Start)
	raw, err := json.Marshal(c.Clinic.Export())
	if err != nil {
		t.Fatal(err)
	}
	var file clinic.File
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	fresh := enginetest.NewClinic(t, map[string]int{"ada": 1})
	for range 2 {
		if _, err := fresh.Clinic.Import(ctx, "system", file); err != nil {
			t.Fatal(err)
		}
		if got, _ := fresh.Clinic.Blocks("ada"); !reflect.DeepEqual(got, []store.Block{block}) {
			t.Errorf("imported: got %+v, want %+v", got, block)
		}
	}
	file.Specialists[0].Blocks = append(file.Specialists[0].Blocks, file.Specialists[0].Blocks[0])
	var invalid *record.ValidationError
	if _, err := fresh.Clinic.Import(ctx, "system", file); !errors.As(err, &invalid) ||
		invalid.Fields[0].Field != "specialists[0].blocks[1].id" {
		t.Errorf("the same block twice: got %v, want an error for specialists[0].blocks[1].id", err)
	}
	file.Specialists[0].Blocks = nil
	if _, err := fresh.Clinic.Import(ctx, "system", file); err != nil {
		t.Fatal(err)
	}
	refused(fresh, "after a file that names none", c.Start)
}

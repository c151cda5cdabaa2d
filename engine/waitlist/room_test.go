package waitlist_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestUndoWithdrawsRoomOffer: an undo withdraws an offer that holds the same room with another specialist, because the
// restored appointment needs the room.
func TestUndoWithdrawsRoomOffer(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		ctx := context.Background()
		f := enginetest.ClinicFile(map[string]int{"ada": 2, "ben": 1})
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: "room",
			Kind: "resource", Name: "Room", Timezone: "UTC", Active: true})
		for i := range f.AppointmentTypes {
			if f.AppointmentTypes[i].ID == "checkup" {
				f.AppointmentTypes[i].Needs = []store.Need{{"room"}}
			}
		}
		if _, err := c.Clinic.Import(ctx, "system", f); err != nil {
			t.Fatal(err)
		}
		start := c.Start.Add(time.Hour)
		r := enginetest.BookingOf(98, "checkup")
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = start, "ada", store.SourceStaff, "user:desk"
		a := c.MustBook(r)
		wish := wish(c, start)
		wish.SpecialistIDs = []string{"ben"}
		e := waits(c, 1, wish)
		wantOffered(c, "while the room is taken", e, "waiting")
		c.DeskCancels(a.ID)
		time.Sleep(5 * time.Second)
		if o := openOffer(c, e); o.SpecialistID != "ben" {
			t.Fatalf("offered is %+v", o)
		}
		back, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo})
		if err != nil || back.Resources[0] != "room" {
			t.Errorf("undo while its room is offered: %+v, %v", back, err)
		}
	})
}

package engine_test

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

// TestUndoWithdrawsRoomOffer: an offer of another time in the same room keeps the undone appointment from its time.
func TestUndoWithdrawsRoomOffer(t *testing.T) {
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		ctx := context.Background()
		f := enginetest.ClinicFile(map[string]int{"ada": 2, "ben": 1})
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: "room", Kind: "resource", Name: "Room", Timezone: "UTC", Active: true})
		for i := range f.AppointmentTypes {
			if f.AppointmentTypes[i].ID == "checkup" {
				f.AppointmentTypes[i].Needs = []store.Need{{"room"}}
			}
		}
		if _, err := c.Clinic.Import(ctx, "system", f); err != nil {
			t.Fatal(err)
		}
		start := c.start.Add(time.Hour)
		r := bookingOf(98, "checkup")
		r.SlotStart, r.SpecialistID, r.Source, r.Actor = start, "ada", store.SourceStaff, "user:desk"
		a := c.mustBook(r)
		wish := c.wish(start)
		wish.SpecialistIDs = []string{"ben"}
		e := c.waits(1, wish)
		c.wantOffered("while the room is taken", e, "waiting")
		c.deskCancels(a.ID)
		time.Sleep(5 * time.Second)
		if o := c.openOffer(e); o.SpecialistID != "ben" {
			t.Fatalf("offered is %+v", o)
		}
		back, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: jo})
		if err != nil || back.Resources[0] != "room" {
			t.Errorf("undo while its room is offered: %+v, %v", back, err)
		}
	})
}

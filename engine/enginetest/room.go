package enginetest

import (
	"context"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// WithRooms opens a clinic with ada, ben and cleo, two rooms and a laser. "peel" takes 30 minutes and needs a room.
// "laser" takes 60 minutes with a buffer of 30 minutes after it, and needs a room and the laser.
func WithRooms(t testing.TB) *TestClinic {
	t.Helper()
	who := map[string]int{"ada": 3, "ben": 2, "cleo": 1}
	c := NewClinic(t, who)
	f := ClinicFile(who)
	everyone := f.AppointmentTypes[0].Specialists
	for _, id := range []string{"room-1", "room-2", "laser-1"} {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: id,
			Kind: "resource", Name: id, Timezone: "UTC", Active: true})
	}
	for _, x := range []clinic.AppointmentTypeEntry{
		{ID: "peel", DurationMinutes: 30, Needs: []store.Need{{"room-1", "room-2"}}},
		{ID: "laser", DurationMinutes: 60, SlotStepMinutes: 30, BufferAfterMinutes: 30,
			Needs: []store.Need{{"laser-1"}, {"room-2", "room-1"}}},
	} {
		x.Name, x.HorizonDays, x.Capacity, x.Active, x.Specialists = x.ID, 60, 1, true, everyone
		x.HoldTTLSeconds, x.MaxHoldSeconds, x.HoldQuota = 30, 900, 3
		f.AppointmentTypes = append(f.AppointmentTypes, x)
	}
	if _, err := c.Clinic.Import(context.Background(), "system", f); err != nil {
		t.Fatal(err)
	}
	return c
}

// Peels returns client n's booking request for "peel" with a specialist.
func Peels(n int, start time.Time, who string) booking.Request {
	r := BookingOf(n, "peel")
	r.SlotStart, r.SpecialistID, r.Source, r.Actor = start, who, store.SourceStaff, "user:jo"
	return r
}

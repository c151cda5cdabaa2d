package enginetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// BookedClinic opens a clinic in UTC with hours from 08:00 to 16:00 every day, which is 16 slots a day, and books nine
// tenths of the slots on the given number of days.
func BookedClinic(t testing.TB, specialists, days int) (*TestClinic, []string) {
	t.Helper()
	ctx := context.Background()
	db := Database(t)
	live := Holds(t, db)
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live, QuickPasswords: true})
	if err != nil {
		t.Fatal(err)
	}
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Full", Timezone: "UTC"}}
	kind := clinic.AppointmentTypeEntry{ID: "checkup", Name: "Check-up", DurationMinutes: 30, HorizonDays: 60,
		Capacity: 1, HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true}
	var ids []string
	for n := range specialists {
		p := clinic.SpecialistEntry{ID: fmt.Sprintf("specialist-%d", n), Name: "Dr", Active: true}
		for day := range 7 {
			p.WeeklyHours = append(p.WeeklyHours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 480, End: 960})
		}
		f.Specialists = append(f.Specialists, p)
		kind.Specialists = append(kind.Specialists, clinic.AssignmentEntry{SpecialistID: p.ID})
		ids = append(ids, p.ID)
	}
	f.AppointmentTypes = []clinic.AppointmentTypeEntry{kind}
	if _, err := e.Clinic.Import(ctx, "system", f); err != nil {
		t.Fatal(err)
	}
	slices.Sort(ids)
	now := record.Now()
	row := e.Clinic.Current().Types["checkup"]
	err = db.Write(ctx, func(tx store.Tx) error {
		for i := range specialists * days * 16 {
			if i%10 == 0 {
				continue
			}
			id, n := ids[i%specialists], i/specialists
			start := now.Truncate(24 * time.Hour).Add(time.Duration(n/16)*24*time.Hour + 8*time.Hour +
				time.Duration(n%16)*30*time.Minute)
			r := booking.Request{Patient: store.Patient{Name: "P"}, Source: store.SourceStaff}
			if err := tx.InsertAppointment(ctx, booking.NewAppointment(&r,
				availability.SpanOf(row, id, start))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return &TestClinic{Engine: e, T: t, Store: db, Holds: live}, ids
}

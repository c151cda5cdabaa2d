package downtime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/downtime"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/store"
)

// rowsOf formats the rows of a sheet as text, with the times of day in the sheet's zone.
func rowsOf(s *downtime.Sheet) []string {
	var list []string
	for _, r := range s.Rows {
		line := fmt.Sprintf("%s-%s %s", r.Start.In(s.Zone).Format("15:04"), r.End.In(s.Zone).Format("15:04"), r.Kind)
		if r.Appointment != nil {
			line += " " + r.Appointment.Patient.Name + ", " + r.Type
		}
		for _, x := range []string{r.Reason, r.Place, r.Rooms} {
			if x != "" {
				line += ", " + x
			}
		}
		list = append(list, line)
	}
	return list
}

func wantRows(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestKitListsWholeDay: a sheet lists the appointments, the blocks and the free time between them, in lines of at most
// one hour. Free time of less than 5 minutes does not get a line. A cancelled appointment leaves its time free.
func TestKitListsWholeDay(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	ctx := t.Context()
	day := store.DateOf(c.Start)
	hours := []store.Window{{Start: 9 * 60, End: 12 * 60}, {Start: 13 * 60, End: 14 * 60}}
	if _, err := c.Clinic.PutOverride(ctx, enginetest.Jo, store.Override{SpecialistID: "ada", Date: day, Hours: hours},
		nil); err != nil {
		t.Fatal(err)
	}
	at := func(hour, minute int) time.Time {
		return c.Start.Add(time.Duration(hour-12)*time.Hour + time.Duration(minute)*time.Minute)
	}
	book := func(start time.Time, name string) store.Appointment {
		return c.MustBook(booking.Request{
			AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: start, Source: store.SourceStaff,
			Actor: enginetest.Jo, IgnoreHours: true, Patient: store.Patient{Name: name},
		})
	}
	book(at(9, 0), "Rosa")
	c.DeskCancels(book(at(10, 0), "Lena").ID)
	book(at(11, 27), "Tim") // ends 3 minutes before the end of the hours
	book(at(18, 0), "Eva")  // outside the opening hours
	if _, err := c.Clinic.CreateBlock(ctx, enginetest.Jo, store.Block{SpecialistID: "ada",
		Start: at(13, 0), End: at(13, 30), Reason: "Meeting"}, nil); err != nil {
		t.Fatal(err)
	}

	kit, err := c.Downtime.Kit(ctx, downtime.Request{From: day, Days: 1, Actor: enginetest.Jo})
	if err != nil {
		t.Fatal(err)
	}
	if kit.Clinic != "Harbour Clinic" || kit.From != day || kit.To != day.AddDays(1) || len(kit.Sheets) != 1 {
		t.Fatalf("the plan of %q from %s to %s has %d sheets", kit.Clinic, kit.From, kit.To, len(kit.Sheets))
	}
	wantRows(t, "ada's day", rowsOf(&kit.Sheets[0]), []string{
		"09:00-09:30 booked Rosa, checkup",
		"09:30-10:30 free",
		"10:30-11:27 free",
		"11:27-11:57 booked Tim, checkup",
		"13:00-13:30 blocked, Meeting",
		"13:30-14:00 free",
		"18:00-18:30 booked Eva, checkup",
	})
	entries, _, err := c.Record.Audit(ctx, store.AuditFilter{Limit: 1})
	if err != nil || len(entries) != 1 || entries[0].Action != string(record.ActionAppointmentsDowntimeKit) ||
		entries[0].Actor != string(enginetest.Jo) {
		t.Errorf("the newest audit entry is %+v, %v; want the delivery of the plan", entries, err)
	}
}

// TestKitUsesSpecialistsZone: a sheet covers one day in its specialist's zone. In New York, an appointment at 03:00 UTC
// is part of the evening before.
func TestKitUsesSpecialistsZone(t *testing.T) {
	t.Parallel()
	who := map[string]int{"ada": 1}
	c := enginetest.NewClinic(t, who)
	f := enginetest.ClinicFile(who)
	f.Specialists[0].Timezone = "America/New_York"
	if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
		t.Fatal(err)
	}
	if err := c.Clinic.PutWeeklyHours(t.Context(), enginetest.Jo, "ada", nil); err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Date(c.Start.Year(), c.Start.Month(), c.Start.Day(), 22, 0, 0, 0, zone)
	c.MustBook(booking.Request{
		AppointmentTypeID: "checkup", SpecialistID: "ada", SlotStart: start, Source: store.SourceStaff,
		Actor: enginetest.Jo, IgnoreHours: true, Patient: store.Patient{Name: "Rosa"},
	})
	day := store.DateOf(c.Start)
	kit, err := c.Downtime.Kit(t.Context(), downtime.Request{From: day.AddDays(-1), Days: 3, Actor: enginetest.Jo})
	if err != nil {
		t.Fatal(err)
	}
	if len(kit.Sheets) != 1 || kit.Sheets[0].Date != day {
		t.Fatalf("got %d sheets, want one of %s", len(kit.Sheets), day)
	}
	wantRows(t, "the evening", rowsOf(&kit.Sheets[0]), []string{"22:00-22:30 booked Rosa, checkup"})
}

// TestKitNamesRooms: a row names the rooms of its appointment, archived ones too. A room does not have a sheet. An
// archived specialist with confirmed appointments does.
func TestKitNamesRooms(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	ctx := t.Context()
	a := c.MustBook(enginetest.Peels(1, c.Start, "cleo"))
	for _, id := range []string{"peel", "laser"} {
		if _, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, id, func(to *store.AppointmentType) {
			to.Needs = nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"cleo", a.Resources[0]} {
		if err := c.Clinic.ArchiveSpecialist(ctx, enginetest.Jo, id); err != nil {
			t.Fatal(err)
		}
	}
	day := store.DateOf(c.Start)
	kit, err := c.Downtime.Kit(ctx, downtime.Request{From: day, Days: 1, Actor: enginetest.Jo})
	if err != nil {
		t.Fatal(err)
	}
	var sheets []string
	for _, s := range kit.Sheets {
		sheets = append(sheets, s.Specialist)
	}
	if want := []string{"Dr ada", "Dr ben", "Dr cleo"}; !slices.Equal(sheets, want) {
		t.Fatalf("sheets of %q, want %q", sheets, want)
	}
	cleos := kit.Sheets[2]
	wantRows(t, "cleo's day", rowsOf(&cleos), []string{"12:00-12:30 booked Patient 1, peel, " + a.Resources[0]})

	one, err := c.Downtime.Kit(ctx, downtime.Request{From: day, Days: 2, SpecialistID: "ada", Actor: enginetest.Jo})
	if err != nil || len(one.Sheets) != 2 || one.Sheets[0].SpecialistID != "ada" ||
		one.Sheets[1].Date != day.AddDays(1) {
		t.Errorf("ada's two days: %+v, %v", one, err)
	}
	one, err = c.Downtime.Kit(ctx, downtime.Request{From: day, Days: 1, SpecialistID: "cleo", Actor: enginetest.Jo})
	if err != nil || len(one.Sheets) != 1 || one.Sheets[0].Specialist != "Dr cleo" {
		t.Errorf("the plan of an archived specialist: %+v, %v; want the sheet that the whole plan has", one, err)
	}
	for _, id := range []string{"room-1", "zoe"} {
		if _, err := c.Downtime.Kit(ctx, downtime.Request{From: day, Days: 1, SpecialistID: id}); !errors.Is(err,
			store.ErrNotFound) {
			t.Errorf("the plan of %s: got %v, want ErrNotFound", id, err)
		}
	}
	for _, days := range []int{0, downtime.MaxDays + 1} {
		var invalid *record.ValidationError
		if _, err := c.Downtime.Kit(ctx, downtime.Request{From: day, Days: days}); !errors.As(err, &invalid) {
			t.Errorf("a plan of %d days: got %v, want a ValidationError", days, err)
		}
	}
}

// TestCheckNamesConflictOfRow: each row of a paper list gets a verdict that takes the rows above it into account, and
// Check does not write anything. Start times that are in the past or off the grid can be booked.
func TestCheckNamesConflictOfRow(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 2, "ben": 1})
	ctx := t.Context()
	at := func(minutes int) time.Time { return c.Start.Add(time.Duration(minutes) * time.Minute) }
	booked := c.BookFor(0, store.Patient{Name: "Rosa"})
	c.MustHold(1, "checkup", at(240), "ada")
	if _, err := c.Clinic.CreateBlock(ctx, enginetest.Jo, store.Block{SpecialistID: "ada",
		Start: at(300), End: at(360)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Clinic.UpdateAppointmentType(ctx, enginetest.Jo, "cooling", func(x *store.AppointmentType) {
		x.Active = false
	}); err != nil {
		t.Fatal(err)
	}
	week := -7 * 24 * 60
	var rows []downtime.Written
	var want []string
	add := func(verdict, kind, who string, start time.Time) {
		rows, want = append(rows, downtime.Written{AppointmentTypeID: kind, SpecialistID: who, Start: start}),
			append(want, verdict)
	}
	add("taken overlap, booked "+booked.ID, "checkup", "ada", at(15))
	add("free", "checkup", "ada", at(30))
	add("taken overlap, row 2", "checkup", "ada", at(45))
	add("free", "checkup", "ben", at(15))
	add("held", "checkup", "ada", at(240))
	add("taken overlap, row 5", "checkup", "ada", at(255))
	add("closed override_closed", "checkup", "ada", at(300))
	add("free", "checkup", "ada", at(week+7))
	add("taken overlap, row 8", "checkup", "ada", at(week+20))
	for range 3 {
		add("free", "class", "ada", at(480))
	}
	add("taken overlap, row 10", "class", "ada", at(480)) // the class has only 3 seats
	add("refused unknown_type", "massage", "ada", at(0))
	add("refused unknown_specialist", "checkup", "zoe", at(0))
	add("refused inactive", "cooling", "ada", at(0))
	add("refused no_time", "checkup", "ada", time.Time{})

	got, err := c.Downtime.Check(ctx, rows)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, v := range got {
		line := strings.TrimSpace(string(v.Outcome) + " " + v.Reason)
		if v.Row != 0 {
			line += fmt.Sprintf(", row %d", v.Row)
		}
		for _, a := range v.Appointments {
			line += ", booked " + a.ID
		}
		said = append(said, line)
	}
	wantRows(t, "the verdicts", said, want)
	if n := len(c.Confirmed()); n != 1 {
		t.Errorf("there are %d appointments after Check, want 1", n)
	}
}

// TestCheckCountsRooms: if every room is booked, the verdict is that only a room is missing.
func TestCheckCountsRooms(t *testing.T) {
	t.Parallel()
	c := enginetest.WithRooms(t)
	var rows []downtime.Written
	for _, who := range []string{"ada", "ben", "cleo"} {
		if who != "cleo" {
			c.MustBook(enginetest.Peels(1, c.Start, who))
		}
		rows = append(rows, downtime.Written{AppointmentTypeID: "peel", SpecialistID: who, Start: c.Start})
	}
	got, err := c.Downtime.Check(t.Context(), rows)
	if err != nil {
		t.Fatal(err)
	}
	if last := got[2]; last.Outcome != downtime.IsTaken || last.Reason != "room" || last.Row != 0 ||
		last.Appointments != nil {
		t.Errorf("the row without a room: %+v", last)
	}
}

// TestCheckLimitsRows: a check has 1 to MaxRows rows within 60 days.
func TestCheckLimitsRows(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	row := downtime.Written{AppointmentTypeID: "checkup", SpecialistID: "ada", Start: c.Start}
	later := row
	later.Start = c.Start.AddDate(0, 0, 61)
	for what, rows := range map[string][]downtime.Written{
		"no row":           nil,
		"too many rows":    slices.Repeat([]downtime.Written{row}, downtime.MaxRows+1),
		"rows too far off": {row, later},
	} {
		var invalid *record.ValidationError
		if _, err := c.Downtime.Check(t.Context(), rows); !errors.As(err, &invalid) {
			t.Errorf("%s: got %v, want a ValidationError", what, err)
		}
	}
	if got, err := c.Downtime.Check(t.Context(), []downtime.Written{{AppointmentTypeID: "massage"}}); err != nil ||
		got[0].Outcome != downtime.IsWrong {
		t.Errorf("an invalid row alone: got %+v, %v", got, err)
	}
}

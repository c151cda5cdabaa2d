package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine/agent"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/downtime"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/occupancy"
	"holdfast/engine/sheet"
	"holdfast/holds"
	"holdfast/store"
)

// bookableCase is one case in testdata/bookable/cases.json.
type bookableCase struct {
	Name, At, Zone, Inactive, Room          string
	Autumn, Second, Closed, Refused         bool
	Hours, OverrideHours, Blocks, Openings  []string
	Booked, Overbooked                      []string
	NoticeMinutes, HorizonDays, StepMinutes int
	Capacity, CapacityNow, HeldBy           int
	Patient, Others, Desk, Visit, AnyHours  *availability.Reason
}

// bookableCaller is one of the ways to ask whether a start can be booked.
type bookableCaller struct {
	name string
	want func(*bookableCase) *availability.Reason // nil means that this caller cannot ask about the case
	ask  func(*bookableClinic) availability.Reason
}

type bookableClinic struct {
	*enginetest.TestClinic
	start time.Time
	zone  *time.Location
}

// listed replaces every reason for a caller that only reports whether a start is free.
const listed availability.Reason = "not listed"

func TestCallersAgreeWhatIsBookable(t *testing.T) {
	var table struct{ Cases []bookableCase }
	raw, err := os.ReadFile("../testdata/bookable/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &table); err != nil {
		t.Fatal(err)
	}
	for i := range table.Cases {
		x := &table.Cases[i]
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			c := x.clinic(t)
			for _, caller := range bookableCallers() {
				want := caller.want(x)
				if want == nil {
					continue
				}
				got := caller.ask(c)
				if got != *want && !(got == listed && *want != "") {
					t.Errorf("%s: got %q, want %q", caller.name, got, *want)
				}
			}
		})
	}
}

// bookableCallers lists the callers. Those that write come last, and release the start time afterwards.
func bookableCallers() []bookableCaller {
	patient := func(x *bookableCase) *availability.Reason { return x.Patient }
	others := func(x *bookableCase) *availability.Reason { return or(x.Others, x.Patient) }
	desk := func(x *bookableCase) *availability.Reason { return or(x.Desk, others(x)) }
	anyHours := func(x *bookableCase) *availability.Reason { return or(x.AnyHours, desk(x)) }
	soft := func(x *bookableCase) *availability.Reason { // a selection and a claim by staff do not check holds first
		if x.HeldBy > 0 {
			return nil
		}
		return patient(x)
	}
	visit := func(x *bookableCase) *availability.Reason {
		if x.Capacity > 1 {
			return nil
		}
		return or(x.Visit, desk(x))
	}
	spreadsheet := func(x *bookableCase) *availability.Reason {
		if x.Room != "" || x.Zone != "" { // a spreadsheet cannot name a room or the second occurrence of a time
			return nil
		}
		return anyHours(x)
	}
	return []bookableCaller{
		{"list", patient, func(c *bookableClinic) availability.Reason {
			if slot := c.Slot(1, "checkup", c.start, ""); slot == nil || slot.Available == 0 {
				return listed
			}
			return ""
		}},
		{"explain", others, func(c *bookableClinic) availability.Reason {
			x, err := c.Booking.Explain(c.T.Context(), "checkup", "ada", c.start, "")
			if err != nil {
				c.T.Fatal(err)
			}
			return x[0].Reason
		}},
		{"poll", others, (*bookableClinic).polled},
		{"agent slots", others, func(c *bookableClinic) availability.Reason {
			day := store.DateOf(c.start)
			list, err := c.Agent.Slots(c.T.Context(), agent.SlotsRequest{AppointmentTypeID: "checkup",
				From: day, Days: 1, Count: 50})
			if err != nil {
				c.T.Fatal(err)
			}
			if slices.ContainsFunc(list.Slots, func(s agent.Slot) bool { return s.Start.Equal(c.start) }) {
				return ""
			}
			return listed
		}},
		{"select", soft, func(c *bookableClinic) availability.Reason {
			_, err := c.Booking.Select(c.T.Context(), booking.SelectRequest{AppointmentTypeID: "checkup",
				SlotStart: c.start, Client: enginetest.Client(1)})
			return c.reasonOf(err)
		}},
		{"series plan", desk, func(c *bookableClinic) availability.Reason {
			at := c.start.UTC()
			plan, err := c.Group.Series.Plan(c.T.Context(), group.Rule{
				AppointmentTypeID: "checkup", From: store.DateOf(at), Time: store.TimeOfDay(at.Hour()*60 + at.Minute()),
				Count: 2, Client: enginetest.Client(1),
			})
			if err != nil {
				c.T.Fatal(err)
			}
			return plan[0].Reason
		}},
		{"visit hold", visit, func(c *bookableClinic) availability.Reason {
			h, err := c.Group.Visit.Hold(c.T.Context(), group.HoldRequest{
				AppointmentTypeIDs: []string{"checkup", "checkup"}, SlotStart: c.start, Client: enginetest.Client(1),
			})
			return c.released(h, err)
		}},
		{"paper booking", anyHours, func(c *bookableClinic) availability.Reason {
			v, err := c.Downtime.Check(c.T.Context(),
				[]downtime.Written{{AppointmentTypeID: "checkup", SpecialistID: "ada", Start: c.start}})
			if err != nil {
				c.T.Fatal(err)
			}
			switch v[0].Outcome {
			case downtime.IsFree, downtime.IsClosed:
				return ""
			case downtime.IsTaken, downtime.IsHeld:
				return availability.Reason(v[0].Outcome)
			}
			return availability.Reason(v[0].Reason)
		}},
		{"spreadsheet import", spreadsheet, (*bookableClinic).imported},
		{"hold", patient, func(c *bookableClinic) availability.Reason {
			before, _ := c.Holds.List(c.T.Context(), "ada")
			h, err := c.Hold(1, "checkup", c.start, "")
			if len(before) > 0 {
				return c.reasonOf(err) // the existing hold is renewed
			}
			return c.released(h, err)
		}},
		{"hold of staff at any hour", func(x *bookableCase) *availability.Reason {
			if soft(x) == nil {
				return nil
			}
			return anyHours(x)
		}, func(c *bookableClinic) availability.Reason {
			h, err := c.Booking.Hold(c.T.Context(), booking.HoldRequest{AppointmentTypeID: "checkup",
				SlotStart: c.start, Client: enginetest.Client(3), IgnoreHours: true})
			return c.released(h, err)
		}},
		{"book at any hour", anyHours, func(c *bookableClinic) availability.Reason {
			r := enginetest.BookingOf(4, "checkup")
			r.SlotStart, r.IgnoreHours, r.Source, r.Actor = c.start, true, store.SourceStaff, "user:jo"
			return c.cancelled(c.Book(r))
		}},
		{"book", patient, func(c *bookableClinic) availability.Reason {
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart = c.start
			return c.cancelled(c.Book(r))
		}},
	}
}

func or(a, b *availability.Reason) *availability.Reason {
	if a == nil {
		return b
	}
	return a
}

func (c *bookableClinic) reasonOf(err error) availability.Reason {
	var held *holds.HeldError
	var closed *availability.NotBookableError
	switch {
	case err == nil:
		return ""
	case errors.Is(err, store.ErrSlotTaken):
		return availability.ReasonTaken
	case errors.As(err, &held):
		return availability.ReasonHeld
	case errors.As(err, &closed):
		return closed.Reason
	}
	c.T.Fatal(err)
	return ""
}

func (c *bookableClinic) released(h holds.Hold, err error) availability.Reason {
	if err == nil {
		c.Booking.Release(c.T.Context(), h, holds.ReasonReleased)
	}
	return c.reasonOf(err)
}

func (c *bookableClinic) cancelled(a store.Appointment, err error) availability.Reason {
	if err == nil {
		if _, err := c.Booking.Cancel(c.T.Context(), booking.CancelRequest{ID: a.ID, Actor: "user:jo"}); err != nil {
			c.T.Fatal(err)
		}
	}
	return c.reasonOf(err)
}

func (c *bookableClinic) polled() availability.Reason {
	p, err := c.Booking.Poll(c.T.Context(), booking.PollRequest{AppointmentTypeID: "checkup",
		Date: store.DateOf(c.start)})
	if err != nil {
		c.T.Fatal(err)
	}
	at := func(list []time.Time) bool { return slices.ContainsFunc(list, c.start.Equal) }
	switch {
	case at(p.Booked):
		return availability.ReasonTaken
	case at(p.Locked):
		return availability.ReasonHeld
	case c.Slot(9, "checkup", c.start, "") == nil:
		return listed // a poll does not list times outside the hours
	}
	return ""
}

func (c *bookableClinic) imported() availability.Reason {
	at := c.start.In(c.zone)
	f, err := c.Sheet.Plan(c.T.Context(),
		fmt.Sprintf("name;Terminart;specialistId;date;time\nLena Vogt;checkup;ada;%s;%s\n",
			at.Format(time.DateOnly), at.Format("15:04")))
	if err != nil {
		c.T.Fatal(err)
	}
	row := f.Rows[0]
	if row.Outcome == sheet.Book {
		return ""
	}
	switch code := row.Problems[0].Code; code {
	case "overlap", "full":
		return availability.ReasonTaken
	default:
		return availability.Reason(code)
	}
}

// clinic opens the clinic that the case describes.
func (x *bookableCase) clinic(t *testing.T) *bookableClinic {
	t.Helper()
	ctx := context.Background()
	c := &bookableClinic{TestClinic: enginetest.NewClinic(t, map[string]int{"ada": 1})}
	c.zone = time.UTC
	if x.Zone != "" {
		var err error
		if c.zone, err = availability.LoadZone(x.Zone); err != nil {
			t.Fatal(err)
		}
	}
	date := store.DateOf(c.TestClinic.Start)
	if x.Autumn { // the last Sunday of October next year
		date = store.Date{Year: date.Year + 1, Month: time.October, Day: 31}
		date = date.AddDays(-int(date.Weekday()))
	}
	at := func(clock string) time.Time { return availability.WallTime(c.zone, date, clockOf(t, clock)) }
	if c.start = at(x.At); x.Second {
		c.start = c.start.Add(time.Hour)
	}
	window := func(text string) store.Window {
		from, to, _ := strings.Cut(text, "-")
		return store.Window{Start: clockOf(t, from), End: clockOf(t, to)}
	}

	f := enginetest.ClinicFile(map[string]int{"ada": 1})
	ada, kind := &f.Specialists[0], &f.AppointmentTypes[0]
	ada.Timezone = c.zone.String()
	if x.Hours != nil {
		ada.WeeklyHours = nil
		for day := range 7 {
			for _, text := range x.Hours {
				w := window(text)
				ada.WeeklyHours = append(ada.WeeklyHours, clinic.HoursEntry{Weekday: store.Weekday(day),
					Start: w.Start, End: w.End})
			}
		}
	}
	kind.MinNoticeMinutes, kind.SlotStepMinutes, kind.Capacity = x.NoticeMinutes, x.StepMinutes, max(x.Capacity, 1)
	kind.HorizonDays = 730
	if x.HorizonDays > 0 {
		kind.HorizonDays = x.HorizonDays
	}
	if x.Room != "" {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: "room-1",
			Kind: "resource", Name: "Room 1", Timezone: "UTC", Active: true})
		ada, kind = &f.Specialists[0], &f.AppointmentTypes[0]
		kind.Needs = []store.Need{{"room-1"}}
	}
	if x.Openings != nil {
		ada.Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: enginetest.ViewGUID,
			ScheduleColumnGUID: enginetest.ColumnGUID(0)}
		kind.Upstream = &clinic.UpstreamType{AppointmentTypeGUID: enginetest.TypeGUID}
	}
	load := func() {
		t.Helper()
		if _, err := c.Clinic.Import(ctx, "system", f); err != nil {
			t.Fatal(err)
		}
	}
	load()

	for i, clock := range slices.Concat(x.Booked, x.Overbooked) {
		r := enginetest.BookingOf(10+i, "checkup")
		r.SlotStart, r.SpecialistID, r.IgnoreHours, r.Source, r.Actor = at(clock), "ada", true, store.SourceStaff,
			"user:jo"
		if i >= len(x.Booked) {
			r.OverbookReason = "in pain"
		}
		c.MustBook(r)
	}
	if x.CapacityNow > 0 {
		kind.Capacity = x.CapacityNow
	}
	switch x.Inactive {
	case "specialist":
		ada.Active = false
	case "type":
		kind.Active = false
	}
	if x.Room == "inactive" {
		f.Specialists[1].Active = false
	}
	load()
	if x.Closed || x.OverrideHours != nil {
		o := store.Override{SpecialistID: "ada", Date: date, Closed: x.Closed}
		for _, text := range x.OverrideHours {
			o.Hours = append(o.Hours, window(text))
		}
		if _, err := c.Clinic.PutOverride(ctx, "user:jo", o, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range x.Blocks {
		from, to, _ := strings.Cut(text, "-")
		if _, err := c.Clinic.CreateBlock(ctx, "user:jo", store.Block{SpecialistID: "ada",
			Start: at(from), End: at(to), Reason: "Concert"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if x.Refused {
		c.Booking.CloseTime(ctx, "ada", "refused", c.start, c.start.Add(30*time.Minute))
	}
	if x.Openings != nil {
		var open []occupancy.Interval
		for _, text := range x.Openings {
			from, to, _ := strings.Cut(text, "-")
			open = append(open, occupancy.Interval{From: at(from), To: at(to)})
		}
		c.Booking.LearnOpenings(ctx, "checkup", date, date.AddDays(1), map[string][]occupancy.Interval{"ada": open},
			time.Now())
	}
	if x.HeldBy > 0 {
		c.MustHold(x.HeldBy, "checkup", c.start, "ada")
	}
	return c
}

func clockOf(t *testing.T, text string) store.TimeOfDay {
	t.Helper()
	var hour, minute int
	if _, err := fmt.Sscanf(text, "%d:%d", &hour, &minute); err != nil {
		t.Fatal(err)
	}
	return store.TimeOfDay(hour*60 + minute)
}

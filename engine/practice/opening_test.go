package practice_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// offered returns the start times that the page offers on one local day, as half hours after midnight.
func offered(p *enginetest.TestPractice, day store.Date) (halves []int) {
	p.T.Helper()
	list, err := p.Booking.Timeslots(p.T.Context(), booking.TimeslotsRequest{AppointmentTypeID: "cleaning",
		From: day, To: day.AddDays(1)})
	if err != nil {
		p.T.Fatal(err)
	}
	midnight := availability.StartOfDay(enginetest.PracticeZone, day)
	for _, s := range list.Slots {
		halves = append(halves, int(s.Start.Sub(midnight)/(30*time.Minute)))
	}
	return halves
}

// TestSlotsFollowUpstreamOpenings: the upstream lists ten to twelve, and Holdfast's own calendar is open all day. A
// time that is booked in the upstream by telephone disappears from the page within minutes. After an hour without a
// response, Holdfast's own calendar applies again.
func TestSlotsFollowUpstreamOpenings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		column := enginetest.AlwaysOpen()
		column[0].FromHour, column[0].ToHour = 10, 12
		p := enginetest.OpenPractice(t, column)
		ctx := t.Context()
		day := date(p, p.SlotAt(0))
		want := func(what string, halves ...int) {
			t.Helper()
			if got := offered(p, day); !slices.Equal(got, halves) {
				t.Errorf("%s: the offered half hours are %v, want %v", what, got, halves)
			}
		}
		time.Sleep(6 * time.Minute)
		want("once it was asked", 20, 21, 22, 23)

		outside := booking.Request{AppointmentTypeID: "cleaning", SpecialistID: "chair0", SlotStart: p.SlotAt(30),
			Client: enginetest.Client(1), Source: store.SourceWeb,
			Patient: store.Patient{Name: "Lena Vogt"}, Actor: "client"}
		if _, err := p.Booking.Book(ctx, outside); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a booking outside the openings: got %v, want ErrSlotTaken", err)
		}
		if _, err := p.Booking.Hold(ctx, booking.HoldRequest{AppointmentTypeID: "cleaning",
			SlotStart: p.SlotAt(30), Client: enginetest.Client(1)}); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a hold outside the openings: got %v, want ErrSlotTaken", err)
		}
		if x, err := p.Booking.Explain(ctx, "cleaning", "chair0", p.SlotAt(30), ""); err != nil ||
			x[0].Reason != availability.ReasonTaken {
			t.Errorf("explained: %+v, %v", x, err)
		}
		staff := outside
		staff.Source, staff.Actor, staff.IgnoreHours, staff.Client = store.SourceStaff, "user:desk", true, ""
		if _, err := p.Booking.Book(ctx, staff); err != nil {
			t.Errorf("a booking by the desk outside the openings: %v", err)
		}

		p.Upstream.Add(upstreamtest.Appointment{PatientGUID: enginetest.PatientGUID(9), Start: p.SlotAt(21),
			Minutes: 30, ScheduleViewGUID: enginetest.ViewGUID, ScheduleColumnGUID: enginetest.ColumnGUID(0)})
		time.Sleep(6 * time.Minute)
		want("after a booking by telephone", 20, 22, 23)
		if known := p.Booking.OpeningsKnown(); len(known) != 1 || !known[0].Used || known[0].Days != 21 ||
			time.Since(known[0].Oldest) > 6*time.Minute {
			t.Errorf("the openings are %+v, want all 21 days of one type, fetched recently", known)
		}

		p.Line.Set(true, false)
		time.Sleep(50 * time.Minute)
		want("50 minutes without an answer", 20, 22, 23)
		if since, why := p.Practice.OpeningsFailed(); since.IsZero() || why == "" {
			t.Error("the status does not report that the practice system is unreachable")
		}
		time.Sleep(20 * time.Minute)
		if got := len(offered(p, day)); got != 47 { // the desk has booked one slot
			t.Errorf("after more than an hour, %d half hours are offered, want those of Holdfast's own calendar", got)
		}
		p.Line.Set(false, false)
		time.Sleep(10 * time.Minute)
		want("when it answers again", 20, 22, 23)
		if since, _ := p.Practice.OpeningsFailed(); !since.IsZero() {
			t.Error("the status reports the reachable practice system as unreachable")
		}
		if n := strings.Count(p.Log.String(), "failed to fetch openings"); n != 1 {
			t.Errorf("the log has %d messages about the outage, want 1", n)
		}
	})
}

// TestOpeningsRespectPacer: the calls for openings respect the spacing, and there are fewer calls than days.
func TestOpeningsRespectPacer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.OpenPractice(t, enginetest.AlwaysOpen())
		time.Sleep(time.Hour)
		var last time.Time
		n := 0
		for _, c := range p.Upstream.Calls() {
			if c.Procedure != "GetOnlineReservations" {
				continue
			}
			if n++; !last.IsZero() && c.At.Sub(last) < 10*time.Second {
				t.Errorf("two requests were %s apart, want 10 s", c.At.Sub(last))
			}
			last = c.At
		}
		if n < 20 || n > 26 { // 21 days take two calls, every five minutes
			t.Errorf("%d requests in an hour, want about 22", n)
		}
	})
}

// TestSlotsUseOwnCalendarWithoutOpenings covers practices that have not set up online openings.
func TestSlotsUseOwnCalendarWithoutOpenings(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.OpenPractice(t, nil)
		time.Sleep(15 * time.Minute)
		if got := len(offered(p, date(p, p.SlotAt(0)))); got != 48 {
			t.Errorf("%d half hours are offered, want the whole day", got)
		}
		if known := p.Booking.OpeningsKnown(); len(known) != 1 || known[0].Used {
			t.Errorf("the openings are %+v, want one unused type", known)
		}
	})
}

// TestMoveToPartOfOwnTimeIsAllowed: the upstream does not list the time that the appointment itself occupies, but the
// appointment can move to a part of that time.
func TestMoveToPartOfOwnTimeIsAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{
			Upstream: &upstreamtest.Options{Columns: enginetest.AlwaysOpen()},
			Change:   func(o *engine.Options) { o.Practice.OpeningsEvery = 5 * time.Minute },
			File: func(f *clinic.File) {
				f.AppointmentTypes[0].HorizonDays, f.AppointmentTypes[0].SlotStepMinutes = 20, 15
			},
		})
		a, err := p.Booking.Book(t.Context(), booking.Request{AppointmentTypeID: "cleaning",
			SpecialistID: "chair0", SlotStart: p.SlotAt(20), Client: enginetest.Client(1),
			Source: store.SourceWeb, Patient: store.Patient{Name: "Lena Vogt"}, Actor: "client"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(12 * time.Minute)
		if got := len(p.Upstream.Appointments()); got != 1 || len(p.Booking.OpeningsKnown()) != 1 {
			t.Fatalf("the practice system has %d appointments, want one", got)
		}
		to := a.SlotStart.Add(15 * time.Minute)
		other := booking.Request{AppointmentTypeID: "cleaning", SpecialistID: "chair0", SlotStart: to,
			Client: enginetest.Client(2), Source: store.SourceWeb,
			Patient: store.Patient{Name: "Per Lind"}, Actor: "client"}
		if _, err := p.Booking.Book(t.Context(), other); !errors.Is(err, store.ErrSlotTaken) {
			t.Errorf("a booking of another client there: got %v, want ErrSlotTaken", err)
		}
		if moved, err := p.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: to, Actor: "manage-link"}); err != nil || !moved.SlotStart.Equal(to) {
			t.Errorf("moved by 15 minutes: got %s, %v", moved.SlotStart, err)
		}
	})
}

package group_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// arrivals opens a clinic where patients can report their arrival. Its start is in two hours, so that the clock of a
// bubble does not have to advance by days.
func arrivals(t *testing.T) *enginetest.TestClinic {
	t.Helper()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	c.Start = time.Now().UTC().Truncate(time.Hour).Add(2 * time.Hour)
	allowArrivals(c, true)
	return c
}

func allowArrivals(c *enginetest.TestClinic, on bool) {
	c.T.Helper()
	if _, err := c.Clinic.UpdateSettings(c.T.Context(), enginetest.Jo,
		func(s *clinic.Settings) { s.OnlineArrival = on }); err != nil {
		c.T.Fatal(err)
	}
}

// arrive reports an arrival with the link of an appointment.
func arrive(c *enginetest.TestClinic, id string) (store.Appointment, error) {
	return c.Group.Visit.Arrive(c.T.Context(), group.Which{ID: id, Actor: "manage"})
}

// booked books an appointment at the clinic's start.
func booked(c *enginetest.TestClinic) store.Appointment {
	c.T.Helper()
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	return c.MustBook(r)
}

// TestPatientArrivesFromHourBeforeStart: the patient can report the arrival from an hour before the start until the
// end. A repeat changes nothing, even later.
func TestPatientArrivesFromHourBeforeStart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		at      time.Duration // after the start
		refused bool
		early   bool
	}{
		"too early":      {at: -time.Hour - time.Millisecond, refused: true, early: true},
		"an hour before": {at: -time.Hour},
		"until the end":  {at: 30*time.Minute - time.Millisecond},
		"at the end":     {at: 30 * time.Minute, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := arrivals(t)
				a := booked(c)
				time.Sleep(time.Until(c.Start.Add(test.at)))
				got, err := arrive(c, a.ID)
				if test.refused {
					var refused *booking.ArrivalError
					if !errors.As(err, &refused) || refused.Attendance != "" || refused.From.IsZero() == test.early ||
						test.early && !refused.From.Equal(c.Start.Add(-time.Hour)) {
						t.Fatalf("got %+v, %v", refused, err)
					}
					if a, _ := c.Store.Appointment(t.Context(), a.ID); a.Attendance != store.Expected || a.Version != 1 {
						t.Errorf("the refusal left %s, version %d", a.Attendance, a.Version)
					}
					return
				}
				if err != nil || got.Attendance != store.Arrived || !got.ArrivedAt.Equal(c.Start.Add(test.at)) {
					t.Fatalf("got %s at %s, %v", got.Attendance, got.ArrivedAt, err)
				}
				entries, _, err := c.Store.Audit(t.Context(),
					store.AuditFilter{Action: string(record.ActionAppointmentAttendance), Limit: 10})
				if err != nil || len(entries) != 1 || entries[0].Actor != "manage" {
					t.Errorf("the audit log has %+v, %v; want one entry of the link", entries, err)
				}
				time.Sleep(time.Hour)
				if again, err := arrive(c, a.ID); err != nil || again.Version != got.Version ||
					!again.ArrivedAt.Equal(got.ArrivedAt) {
					t.Errorf("a repeat: %+v, %v", again, err)
				}
			})
		})
	}
}

// TestArrivalRefusesOtherStates: only a patient who is expected can report the arrival, and only if the clinic allows
// it.
func TestArrivalRefusesOtherStates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := arrivals(t)
		a := booked(c)
		time.Sleep(time.Until(c.Start))
		for _, state := range []store.Attendance{store.InProgress, store.Completed, store.NoShow} {
			if _, err := c.Booking.SetAttendance(t.Context(), a.ID, 0, state, enginetest.Jo, nil); err != nil {
				t.Fatal(err)
			}
			var refused *booking.ArrivalError
			if _, err := arrive(c, a.ID); !errors.As(err, &refused) || refused.Attendance != state {
				t.Errorf("%s: got %v", state, err)
			}
		}
		if _, err := c.Booking.SetAttendance(t.Context(), a.ID, 0, store.Expected, enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		allowArrivals(c, false)
		if _, err := arrive(c, a.ID); !errors.Is(err, booking.ErrArrivalOff) {
			t.Errorf("with the setting off: %v", err)
		}
		allowArrivals(c, true)
		c.DeskCancels(a.ID)
		if _, err := arrive(c, a.ID); !errors.Is(err, record.ErrNotConfirmed) {
			t.Errorf("after a cancellation: %v", err)
		}
		if _, err := arrive(c, "no-such-appointment"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("without an appointment: %v", err)
		}
	})
}

// TestVisitArrivesTogether: with one link, all people who have the same contact details and are still expected arrive,
// from an hour before the first start until the last end. The others do not change.
func TestVisitArrivesTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := arrivals(t)
		list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup", "checkup", "checkup"))
		last := list[4].ID
		if _, err := c.Booking.ChangePatient(t.Context(), booking.PatientRequest{ID: list[1].ID, Actor: enginetest.Jo,
			Edit: func(p *store.Patient) { p.Email = "other@example.org" }}); err != nil {
			t.Fatal(err)
		}
		c.DeskCancels(list[2].ID)
		if _, err := c.Booking.SetAttendance(t.Context(), list[3].ID, 0, store.InProgress, enginetest.Jo, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(c.Start.Add(-time.Hour - time.Millisecond)))
		var refused *booking.ArrivalError
		if _, err := arrive(c, last); !errors.As(err, &refused) || !refused.From.Equal(c.Start.Add(-time.Hour)) {
			t.Fatalf("too early: %v", err)
		}
		time.Sleep(time.Millisecond)
		if a, err := arrive(c, last); err != nil || a.ID != last || a.Attendance != store.Arrived || a.Version != 2 {
			t.Fatalf("got %+v, %v", a, err)
		}
		want := []store.Attendance{store.Arrived, store.Expected, store.Expected, store.InProgress, store.Arrived}
		check := func(when string) {
			t.Helper()
			for i := range list {
				a, err := c.Store.Appointment(t.Context(), list[i].ID)
				if err != nil || a.Attendance != want[i] {
					t.Errorf("%s: %d is %s, %v; want %s", when, i, a.Attendance, err, want[i])
				}
			}
		}
		check("after the arrival")
		if a, err := arrive(c, last); err != nil || a.Version != 2 {
			t.Errorf("a repeat: %+v, %v", a, err)
		}
		check("after a repeat")
		if _, err := arrive(c, list[2].ID); !errors.Is(err, record.ErrNotConfirmed) {
			t.Errorf("with the link of a person who cancelled: %v", err)
		}
	})
}

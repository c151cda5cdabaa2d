package waitlist_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/waitlist"
	"holdfast/holds"
	"holdfast/store"
)

// TestEndedEntryHandsItsOfferOn: an entry with an open offer leaves the list, or a new wish for the same appointment
// replaces it. The next entry gets the time, which is never free in between.
func TestEndedEntryHandsItsOfferOn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*enginetest.TestClinic, *store.Appointment, *store.WaitlistEntry) error{
		"it leaves": func(c *enginetest.TestClinic, _ *store.Appointment, e *store.WaitlistEntry) error {
			_, err := c.Waitlist.Leave(c.T.Context(), e.ID, "manage", nil)
			return err
		},
		"it is replaced": func(c *enginetest.TestClinic, a *store.Appointment, _ *store.WaitlistEntry) error {
			_, err := c.Waitlist.Join(c.T.Context(), waitlist.JoinRequest{Sooner: a,
				Wish: wish(c, c.Start.Add(-24*time.Hour)), Actor: "manage"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, noon := waitingRoom(t)
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart = c.Start.Add(2 * time.Hour)
				a := c.MustBook(r)
				e, err := c.Waitlist.Join(t.Context(), waitlist.JoinRequest{Sooner: &a, Wish: wish(c, c.Start),
					Actor: "manage"})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // so that it is the first in line
				next := waits(c, 2, wish(c, c.Start))
				c.MustCancel(noon.ID)
				wantOffered(c, "the first entry", e, "open waiting")
				released := c.Events(holds.EventRelease)
				if err := end(c, &a, &e); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				wantOffered(c, "the first entry, in the end", e, "withdrawn removed")
				wantOffered(c, "the next entry", next, "open waiting")
				if got := released(); len(got) != 0 {
					t.Errorf("the time was free between two offers: %+v", got)
				}
			})
		})
	}
}

// TestEarlierTimeNeedsComingAppointment: a patient can wait for an earlier time only for a confirmed appointment that
// has not started, and only until its day.
func TestEarlierTimeNeedsComingAppointment(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(2 * time.Hour)
		a := c.MustBook(r)
		wide := store.WaitlistWish{From: store.DateOf(time.Now()), To: store.DateOf(c.Start.AddDate(0, 1, 0))}
		join := func(a store.Appointment) (store.WaitlistEntry, error) {
			return c.Waitlist.Join(t.Context(), waitlist.JoinRequest{Sooner: &a, Wish: wide, Actor: "manage"})
		}
		if e, err := join(a); err != nil || e.Wish.To != store.DateOf(a.SlotStart) {
			t.Errorf("got an entry until %s, %v; want until %s", e.Wish.To, err, store.DateOf(a.SlotStart))
		}
		started := a
		started.SlotStart = time.Now()
		var not *availability.NotBookableError
		if _, err := join(started); !errors.As(err, &not) || not.Reason != availability.ReasonTooSoon {
			t.Errorf("it has started: got %v, want not bookable because it is too soon", err)
		}
		cancelled, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := join(cancelled); !errors.Is(err, record.ErrNotConfirmed) {
			t.Errorf("it is cancelled: got %v, want ErrNotConfirmed", err)
		}
	})
}

// TestNoEntryForDeactivatedType: neither a patient nor the desk can add an entry for a deactivated type, because no
// offer could come. The reason is the same as for a hold.
func TestNoEntryForDeactivatedType(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start.Add(2 * time.Hour)
	a := c.MustBook(r)
	if _, err := c.Clinic.UpdateAppointmentType(t.Context(), "system", "checkup", func(t *store.AppointmentType) {
		t.Active = false
	}); err != nil {
		t.Fatal(err)
	}
	w := wish(c, a.SlotStart)
	for name, r := range map[string]waitlist.JoinRequest{
		"a visitor": {AppointmentTypeID: "checkup", Wish: w, Patient: a.Patient, Client: enginetest.Client(2),
			From: &request.Visitor{Unlimited: true}},
		"the desk": {AppointmentTypeID: "checkup", Wish: w, Patient: a.Patient,
			Actor: enginetest.Jo},
		"a patient, for an earlier time": {Sooner: &a, Wish: w, From: &request.Visitor{Unlimited: true}},
		"the desk, for an earlier time":  {Sooner: &a, Wish: w, Actor: enginetest.Jo},
	} {
		var not *availability.NotBookableError
		_, err := c.Waitlist.Join(t.Context(), r)
		if !errors.As(err, &not) || not.Reason != availability.ReasonInactive {
			t.Errorf("%s: got %v, want not bookable because it is inactive", name, err)
		}
	}
}

package waitlist_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/waitlist"
	"holdfast/holds"
	"holdfast/store"
)

// TestAcceptEndsEntriesOfSamePersonOnly: an accepted offer ends the person's other entries for the type. It ends no
// entry of a relative with the same address, of a person with the same name, or for another type.
func TestAcceptEndsEntriesOfSamePersonOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		never := wish(c, c.Start)
		never.Weekdays = []store.Weekday{store.Weekday(c.Start.AddDate(0, 0, 1).Weekday())}
		join := func(appointmentType, name, email string, wish store.WaitlistWish) store.WaitlistEntry {
			e, err := c.Waitlist.Join(t.Context(), waitlist.JoinRequest{AppointmentTypeID: appointmentType,
				Wish: wish, Actor: "user:desk", Patient: store.Patient{Name: name, Email: email}})
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		accepted := join("checkup", "Lena Vogt", "lena@example.org", wish(c, c.Start))
		others := map[string]struct {
			store.WaitlistEntry
			want store.WaitlistStatus
		}{
			"same person":          {join("checkup", "lena vogt", "Lena@example.org", never), store.WaitlistBooked},
			"same person, surgery": {join("surgery", "Lena Vogt", "lena@example.org", never), store.WaitlistWaiting},
			"relative":             {join("checkup", "Tom Vogt", "lena@example.org", never), store.WaitlistWaiting},
			"same name":            {join("checkup", "Lena Vogt", "vogt@example.org", never), store.WaitlistWaiting},
		}
		c.MustCancel(noon.ID)
		if _, err := c.Waitlist.Accept(t.Context(), openOffer(c, accepted).ID, "manage", nil); err != nil {
			t.Fatal(err)
		}
		for name, x := range others {
			if now, err := c.Waitlist.WaitingOf(t.Context(), x.ID); err != nil || now.Status != x.want {
				t.Errorf("%s: got %s, %v; want %s", name, now.Status, err, x.want)
			}
		}
	})
}

// TestConcurrentAnswersHaveOneOutcome: an offer ends after an accept has checked it and before the accept writes. A
// second click gets the appointment of the first one.
func TestConcurrentAnswersHaveOneOutcome(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		happens func(c *enginetest.TestClinic, o *store.WaitlistOffer) error
		want    string // the final status of the offer
	}{
		"accepted": {func(c *enginetest.TestClinic, o *store.WaitlistOffer) error {
			_, err := c.Waitlist.Accept(context.Background(), o.ID, "manage", nil)
			return err
		}, "booked"},
		"declined": {func(c *enginetest.TestClinic, o *store.WaitlistOffer) error {
			_, err := c.Waitlist.Decline(context.Background(), o.ID, "manage", nil)
			return err
		}, "declined"},
		"entry removed": {func(c *enginetest.TestClinic, o *store.WaitlistOffer) error {
			_, err := c.Waitlist.Leave(context.Background(), o.EntryID, "manage", nil)
			return err
		}, "withdrawn"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, noon := waitingRoom(t)
				e := waits(c, 1, wish(c, c.Start))
				c.MustCancel(noon.ID)
				o := openOffer(c, e)
				other := c.Beside(func() {
					if err := x.happens(c, o); err != nil {
						t.Error(err)
					}
				})
				t.Cleanup(other.Booking.CloseCache)
				a, err := other.Waitlist.Accept(t.Context(), o.ID, "manage", nil)
				if x.want == "booked" && (err != nil || a.ID != o.ID) || x.want != "booked" && !isEnded(err, x.want) {
					t.Errorf("got appointment %q, %v; want the result of an offer that is %s", a.ID, err, x.want)
				}
				if list := c.Confirmed(); x.want != "booked" && len(list) != 0 || x.want == "booked" && len(list) != 1 {
					t.Errorf("there are %d appointments, first %+v", len(list), list)
				}
			})
		})
	}
}

// TestSecondDeclineKeepsNextOffer: a declined time is held for the next entry. Declining again does not release it.
func TestSecondDeclineKeepsNextOffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		first, second := waits(c, 1, wish(c, c.Start)), waits(c, 2, wish(c, c.Start))
		c.MustCancel(noon.ID)
		o := openOffer(c, first)
		released := c.Events(holds.EventRelease)
		for range 2 {
			if got, err := c.Waitlist.Decline(t.Context(), o.ID, "manage", nil); err != nil ||
				got.Status != store.OfferDeclined {
				t.Errorf("got %s, %v; want it declined", got.Status, err)
			}
			time.Sleep(time.Second)
			wantOffered(c, "the next entry", second, "open waiting")
		}
		if got := released(); len(got) != 0 {
			t.Errorf("the time was free: %+v", got)
		}
	})
}

// TestOfferMovesNoAppointmentToLaterTime: a patient has an offer of an earlier time. The desk moves the appointment to
// a time before the offered one, so the link of the offer no longer moves it.
func TestOfferMovesNoAppointmentToLaterTime(t *testing.T) {
	t.Parallel()
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
		c.MustCancel(noon.ID)
		o := openOffer(c, e)
		moved, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: c.Start.Add(-time.Hour), Actor: enginetest.Jo})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Waitlist.Accept(t.Context(), o.ID, "manage", nil); !isEnded(err, "withdrawn") {
			t.Errorf("got %v, want that the offer is withdrawn", err)
		}
		if now, err := c.Booking.Appointment(t.Context(), a.ID); err != nil || !now.SlotStart.Equal(moved.SlotStart) {
			t.Errorf("the appointment is at %s, %v; want %s", now.SlotStart, err, moved.SlotStart)
		}
	})
}

// TestOfferByHandNeedsWaitingEntry: the entry changes after the desk has held the time of an offer. The offer is not
// made, and the time is free again.
func TestOfferByHandNeedsWaitingEntry(t *testing.T) {
	t.Parallel()
	for name, happens := range map[string]func(c *enginetest.TestClinic, e *store.WaitlistEntry) error{
		"it left the list": func(c *enginetest.TestClinic, e *store.WaitlistEntry) error {
			_, err := c.Waitlist.Leave(context.Background(), e.ID, "manage", nil)
			return err
		},
		"it got another offer": func(c *enginetest.TestClinic, e *store.WaitlistEntry) error {
			_, err := c.Waitlist.OfferByHand(context.Background(), e.ID, "", c.Start.Add(2*time.Hour), enginetest.Jo,
				nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := waitingRoom(t)
				e := waits(c, 1, wish(c, c.Start))
				other := c.Beside(func() {
					if err := happens(c, &e); err != nil {
						t.Error(err)
					}
				})
				t.Cleanup(other.Booking.CloseCache)
				at := c.Start.Add(time.Hour)
				if o, err := other.Waitlist.OfferByHand(t.Context(), e.ID, "", at, enginetest.Jo,
					nil); !errors.Is(err, waitlist.ErrOffered) {
					t.Errorf("got offer %q, %v; want ErrOffered", o.ID, err)
				}
				if slot := c.Slot(2, "checkup", at, ""); slot == nil || slot.Available != 1 {
					t.Errorf("the time is listed as %+v, want it free", slot)
				}
			})
		})
	}
}

package waitlist_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/request"
	"holdfast/engine/token"
	"holdfast/engine/waitlist"
	"holdfast/holds"
	"holdfast/store"
)

// TestWaitlistOffersFreeSpecialist: an entry that accepts any specialist is offered the specialist whose time became
// free, even though all other specialists have a higher priority.
func TestWaitlistOffersFreeSpecialist(t *testing.T) {
	t.Parallel()
	for name, priorities := range enginetest.PriorityOrders {
		free, others := enginetest.Lowest(priorities)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := enginetest.NoticeClinic(t, enginetest.OffersToFiles)
				if _, err := c.Clinic.Import(t.Context(), "system", enginetest.ClinicFile(priorities)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(9 * time.Hour) // no offer is made at night
				for n, specialist := range others {
					r := enginetest.BookingOf(n, "checkup")
					r.SlotStart, r.SpecialistID, r.Source, r.OverbookReason = c.Start, specialist, store.SourceStaff, "pain"
					c.MustBook(r)
				}
				r := enginetest.BookingOf(3, "checkup")
				r.SlotStart, r.SpecialistID, r.Source, r.Actor = c.Start, free, store.SourceStaff, "user:desk"
				of := c.MustBook(r)
				c.Slot(9, "checkup", c.Start.Add(time.Hour), "")
				entry := waits(c, 1, wish(c, c.Start))
				wantOffered(c, "while all are taken", entry, "waiting")
				events := c.Events(holds.EventHold)
				if o, err := c.Waitlist.OfferByHand(t.Context(), entry.ID, "", c.Start, "user:desk", nil); !errors.Is(err, store.ErrSlotTaken) {
					t.Errorf("offered by hand while all times are booked: %+v, %v; want %v", o, err, store.ErrSlotTaken)
				}
				if got := events(); len(got) != 0 {
					t.Errorf("%d holds of taken time were published, first %+v", len(got), got[0])
				}
				c.MustCancel(of.ID)
				if o := openOffer(c, entry); o.SpecialistID != free || !o.SlotStart.Equal(c.Start) {
					t.Errorf("offered is %s at %s, want %s at %s", o.SpecialistID, o.SlotStart, free, c.Start)
				}
			})
		})
	}
}

// These tests check the waiting list: which entries wait for a time, and which of them gets the offer of a freed
// time.

// waitingRoom opens a clinic at nine in the morning, whose only specialist has an appointment at noon of a later day.
func waitingRoom(t *testing.T, change ...func(*engine.Options)) (c *enginetest.TestClinic, folder string, noon store.Appointment) {
	t.Helper()
	time.Sleep(9 * time.Hour) // before the clinic opens, so that no engine runs all night
	c, folder = enginetest.NoticeClinic(t, append(change, enginetest.OffersToFiles)...)
	r := enginetest.BookingOf(99, "checkup")
	r.SlotStart, r.Source, r.Actor = c.Start, store.SourceStaff, "user:desk"
	return c, folder, c.MustBook(r)
}

// wish returns a wish for the half hour of a start.
func wish(c *enginetest.TestClinic, start time.Time) store.WaitlistWish {
	clock := store.TimeOfDay(start.Hour()*60 + start.Minute())
	return store.WaitlistWish{From: store.DateOf(start), To: store.DateOf(start), Earliest: clock, Latest: clock + 30}
}

// waits adds patient n to the waiting list as the desk.
func waits(c *enginetest.TestClinic, n int, wish store.WaitlistWish) store.WaitlistEntry {
	c.T.Helper()
	e, err := c.Waitlist.Join(context.Background(), waitlist.JoinRequest{
		AppointmentTypeID: "checkup", Wish: wish, Actor: "user:desk",
		Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Email: fmt.Sprintf("p%d@example.org", n)},
	})
	if err != nil {
		c.T.Fatal(err)
	}
	time.Sleep(time.Second)
	return e
}

// offered returns the states of an entry's offers, one word each.
func offered(c *enginetest.TestClinic, e store.WaitlistEntry) (all string) {
	c.T.Helper()
	x, err := c.Waitlist.WaitingOf(context.Background(), e.ID)
	if err != nil {
		c.T.Fatal(err)
	}
	for _, o := range x.Offers {
		all += string(o.Status) + " "
	}
	return all + string(x.Status)
}

// openOffer returns the open offer of an entry.
func openOffer(c *enginetest.TestClinic, e store.WaitlistEntry) *store.WaitlistOffer {
	c.T.Helper()
	x, err := c.Waitlist.WaitingOf(context.Background(), e.ID)
	if err != nil || x.Offer() == nil {
		c.T.Fatalf("the open offer of an entry: got %+v, %v", x, err)
	}
	return x.Offer()
}

func wantOffered(c *enginetest.TestClinic, what string, e store.WaitlistEntry, want string) {
	c.T.Helper()
	if got := offered(c, e); got != want {
		c.T.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// TestFreedTimeIsOfferedInOrder: a freed time is offered to the first entry, to the second once that offer has expired,
// and to the third once the second has declined. The third books it. No other client can book the time at any point.
func TestFreedTimeIsOfferedInOrder(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder, noon := waitingRoom(t)
		ctx := context.Background()
		first, second, third := waits(c, 1, wish(c, c.Start)), waits(c, 2, wish(c, c.Start)), waits(c, 3, wish(c, c.Start))
		elsewhere := waits(c, 4, func() store.WaitlistWish {
			w := wish(c, c.Start)
			w.Weekdays = []store.Weekday{store.Weekday(c.Start.Add(24 * time.Hour).Weekday())}
			return w
		}())
		wantOffered(c, "before anything is free", first, "waiting")
		c.MustCancel(noon.ID)
		released := c.Events(holds.EventRelease)
		strangers := func(when string) {
			t.Helper()
			var held *holds.HeldError
			if _, err := c.Hold(50, "checkup", c.Start, ""); !errors.As(err, &held) {
				t.Errorf("another client's %s: got %v, want a HeldError", when, err)
			}
		}
		strangers("while it is offered to the first")
		wantOffered(c, "the first in line", first, "open waiting")
		wantOffered(c, "the second", second, "waiting")
		one := openOffer(c, first)
		if got := one.ExpiresAt.Sub(one.CreatedAt); got != 30*time.Minute {
			t.Errorf("it is held for %s, want 30 minutes", got)
		}
		if got := c.Mails(folder, one.ID); len(got) != 0 {
			t.Errorf("emails while the cancellation can be undone: %v", got)
		}
		time.Sleep(20 * time.Second)
		if got := c.Mails(folder, one.ID)["waitlist_offer"]; !strings.Contains(got, "https://book.example.org/manage#") || !strings.Contains(got, "09:30") {
			t.Errorf("the email of the offer is %q, want its link and its expiry", got)
		}
		time.Sleep(time.Until(one.ExpiresAt.Add(time.Millisecond)))
		synctest.Wait()
		strangers("at its lapse")
		wantOffered(c, "the first, after its expiry", first, "lapsed waiting")
		wantOffered(c, "the second, then", second, "open waiting")
		if _, err := c.Waitlist.Accept(ctx, one.ID, "manage", nil); !isEnded(err, "lapsed") {
			t.Errorf("accepting an expired offer: %v", err)
		}
		if _, err := c.Waitlist.Decline(ctx, openOffer(c, second).ID, "manage", nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		strangers("after it was declined")
		wantOffered(c, "the second, who declined", second, "declined waiting")
		three := openOffer(c, third)
		if got := released(); len(got) != 0 {
			t.Errorf("the time was free between two offers: %+v", got)
		}
		a, err := c.Waitlist.Accept(ctx, three.ID, "manage", nil)
		if err != nil || a.ID != three.ID || !a.SlotStart.Equal(c.Start) || a.Patient.Email != "p3@example.org" {
			t.Fatalf("the third entry accepts: got %+v, %v", a, err)
		}
		if again, err := c.Waitlist.Accept(ctx, three.ID, "manage", nil); err != nil || again.ID != a.ID {
			t.Errorf("second accept: got %+v, %v; want the same appointment", again, err)
		}
		wantOffered(c, "who has booked", third, "booked booked")
		wantOffered(c, "who wants another day", elsewhere, "waiting")
		if list, err := c.Booking.Holds(ctx); err != nil || len(list) != 0 {
			t.Errorf("remaining holds: %v, %v", list, err)
		}
		if got := c.Operations(a.ID); !strings.Contains(got, "confirmation ") {
			t.Errorf("outbox for the entry that booked: %q, want the email of a booking", got)
		}
	})
}

func isEnded(err error, as string) bool {
	var ended *waitlist.EndedError
	return errors.As(err, &ended) && ended.As == as
}

// TestAcceptedOfferMovesAppointment: accepting an offer of an earlier time moves the appointment in one step. Its old
// time is offered only to the next entry.
func TestAcceptedOfferMovesAppointment(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		ctx := context.Background()
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start.Add(2 * time.Hour)
		late := c.MustBook(r)
		e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{Sooner: &late, Wish: wish(c, c.Start), Actor: "manage"})
		if err != nil || e.Status != store.WaitlistWaiting || e.Patient != late.Patient {
			t.Fatalf("earlier time: got %+v, %v; want it active immediately", e, err)
		}
		later := waits(c, 2, wish(c, late.SlotStart))
		c.MustCancel(noon.ID)
		a, err := c.Waitlist.Accept(ctx, openOffer(c, e).ID, "manage", nil)
		if err != nil || a.ID != late.ID || !a.SlotStart.Equal(c.Start) || a.ManageEpoch != late.ManageEpoch+1 {
			t.Fatalf("accepted: got %+v, %v; want the same appointment, moved", a, err)
		}
		time.Sleep(time.Second)
		wantOffered(c, "who was moved", e, "booked booked")
		wantOffered(c, "who waits for what that left", later, "open waiting")
	})
}

// TestOfferEndsWithItsTime: after a restart, another client has the offered time. The patient who accepts the offer
// gets an error that explains this.
func TestOfferEndsWithItsTime(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		keys := token.Generate(time.Now())
		c, _, noon := waitingRoom(t, func(o *engine.Options) { o.Keyring = keys })
		ctx := context.Background()
		e, other := waits(c, 1, wish(c, c.Start)), waits(c, 2, wish(c, c.Start.Add(4*time.Hour)))
		c.MustCancel(noon.ID)
		kept := openOffer(c, other)
		next := enginetest.Restarted(t, c, keys)
		var held *holds.HeldError
		r := enginetest.BookingOf(7, "checkup")
		r.SlotStart = c.Start
		if _, err := next.Booking.Book(ctx, r); !errors.As(err, &held) {
			t.Errorf("another client after a restart: got %v, want a HeldError", err)
		}
		if a, err := next.Waitlist.Accept(ctx, kept.ID, "manage", nil); err != nil || a.ID != kept.ID {
			t.Errorf("accepted after a restart: got %+v, %v", a, err)
		}
		// The live state loses the hold, and the desk books the time before the next check.
		lost := openOffer(c, e)
		r.Source, r.Actor, r.Displace, r.SpecialistID = store.SourceStaff, "user:desk", true, "ada"
		if _, err := next.Booking.Book(ctx, r); err != nil {
			t.Fatal(err)
		}
		if _, err := next.Waitlist.Accept(ctx, lost.ID, "manage", nil); !isEnded(err, "withdrawn") {
			t.Errorf("accepting an offer whose time was displaced: got %v, want it withdrawn", err)
		}
		wantOffered(c, "whose time was lost", e, "withdrawn waiting")
	})
}

// TestUndoWithdrawsOffer: an undo withdraws the offer of its time while no email about the offer has been sent.
func TestUndoWithdrawsOffer(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder, noon := waitingRoom(t)
		e := waits(c, 1, wish(c, c.Start))
		c.DeskCancels(noon.ID)
		time.Sleep(5 * time.Second)
		offer := openOffer(c, e)
		if _, err := c.Booking.Undo(context.Background(), booking.UndoRequest{ID: noon.ID, Actor: enginetest.Jo}); err != nil {
			t.Errorf("undo while it is offered: %v", err)
		}
		time.Sleep(time.Minute)
		wantOffered(c, "after its offer was withdrawn", e, "withdrawn waiting")
		if got := c.Mails(folder, offer.ID); len(got) != 0 {
			t.Errorf("emails about it: %v", got)
		}
	})
}

// TestTwoEntriesGetTwoTimes: two entries get offers of two different times out of several. An entry that lets three
// consecutive offers expire leaves the list.
func TestTwoEntriesGetTwoTimes(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		wide := wish(c, c.Start)
		wide.Latest += 150 // five starts are free
		a, b := waits(c, 1, wide), waits(c, 2, wide)
		one, two := openOffer(c, a), openOffer(c, b)
		if one.SlotStart.Equal(two.SlotStart) {
			t.Errorf("both offers are for %s", one.SlotStart)
		}
		time.Sleep(2 * time.Hour)
		wantOffered(c, "the entry that never answers", a, "lapsed lapsed lapsed lapsed")
	})
}

// TestOfferDeadlineSkipsNight: the offer of a time that becomes free at night is open until the morning.
func TestOfferDeadlineSkipsNight(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	at := func(clock string) time.Time {
		hour, _ := time.Parse("15:04", clock)
		return day.Add(time.Duration(hour.Hour())*time.Hour + time.Duration(hour.Minute())*time.Minute)
	}
	for _, x := range []struct {
		what, now   string
		start, want time.Time
		long        bool
	}{
		{"by day", "09:00", at("15:00"), at("09:30"), true},
		{"before the morning", "03:00", at("15:00"), at("07:30"), true},
		{"late", "22:00", at("15:00").AddDate(0, 0, 1), at("07:30").AddDate(0, 0, 1), true},
		{"shortly before it begins", "09:00", at("09:25"), at("09:15"), true},
		{"too shortly", "09:00", at("09:14"), at("09:04"), false},
		{"it begins early", "03:00", at("06:00"), at("05:50"), true},
	} {
		until, long := waitlist.Until(time.UTC, 30*time.Minute, x.start, at(x.now))
		if !until.Equal(x.want) || long != x.long {
			t.Errorf("%s: got %s, %v; want %s, %v", x.what, until, long, x.want, x.long)
		}
	}
}

// TestVisitorConfirmsEntry: the server holds nothing for an unconfirmed address, and the number of requests from
// one network is limited.
func TestVisitorConfirmsEntry(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	ctx := context.Background()
	ask := func(n int) (store.WaitlistEntry, error) {
		r := c.PublicBooking(n)
		from := enginetest.Visitor(1)
		wish := wish(c, c.Start)
		wish.From, wish.To = store.DateOf(c.Start), store.DateOf(c.Start)
		return c.Waitlist.Join(ctx, waitlist.JoinRequest{AppointmentTypeID: "checkup", Wish: wish, Patient: r.Patient, From: &from, Client: r.Client, Actor: "client"})
	}
	e, err := ask(1)
	if err != nil || e.Status != store.WaitlistUnconfirmed {
		t.Fatalf("got %+v, %v; want an unconfirmed entry", e, err)
	}
	link := c.Message.WaitlistToken(&e, nil)
	x, about, err := c.Waitlist.WaitingBy(ctx, link)
	if err != nil || x.ID != e.ID || about != nil {
		t.Errorf("the link in the email: got %+v, %v, %v", x, about, err)
	}
	if _, _, err := c.Waitlist.WaitingBy(ctx, link[:len(link)-2]+"aa"); err == nil {
		t.Error("a forged link opens an entry")
	}
	if len(x.Offers) != 0 {
		t.Errorf("offered before its confirmation: %+v", x.Offers)
	}
	if e, err := c.Waitlist.Confirm(ctx, e.ID, "manage", nil); err != nil || e.Status != store.WaitlistWaiting {
		t.Errorf("confirmed: got %+v, %v", e, err)
	}
	var limit *request.LimitError
	for n := range 10 {
		_, err = ask(2 + n)
	}
	if !errors.As(err, &limit) || limit.By != "network" {
		t.Errorf("the eleventh entry of a network: got %v, want a limit", err)
	}
	if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.Waitlist.DeskOnly = true }); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(30); !errors.Is(err, waitlist.ErrOff) {
		t.Errorf("while only the desk can add entries: got %v", err)
	}
}

// TestFullGroupSeatIsOffered: an entry for one session is offered a seat that becomes free in that session, and no
// other session.
func TestFullGroupSeatIsOffered(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		ctx := context.Background()
		session := c.Start.Add(6 * time.Hour)
		var seats []store.Appointment
		for n := range 3 {
			r := enginetest.BookingOf(10+n, "class")
			r.SlotStart = session
			seats = append(seats, c.MustBook(r))
		}
		wait := func(n int) store.WaitlistEntry {
			e, err := c.Waitlist.Join(ctx, waitlist.JoinRequest{
				AppointmentTypeID: "class", Wish: store.WaitlistWish{SlotStart: session}, Actor: "user:desk",
				Patient: store.Patient{Name: fmt.Sprintf("Patient %d", n), Email: fmt.Sprintf("p%d@example.org", n)},
			})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			return e
		}
		first, second := wait(1), wait(2)
		time.Sleep(time.Minute)
		wantOffered(c, "while the group is full", first, "waiting")
		c.MustCancel(seats[1].ID)
		wantOffered(c, "the first, once a seat is free", first, "open waiting")
		wantOffered(c, "the second", second, "waiting")
		a, err := c.Waitlist.Accept(ctx, openOffer(c, first).ID, "manage", nil)
		if err != nil || !a.SlotStart.Equal(session) || a.Seat != seats[1].Seat {
			t.Errorf("accepted: got %+v, %v; want the remaining seat", a, err)
		}
		c.MustCancel(seats[0].ID)
		wantOffered(c, "the second, once another is free", second, "open waiting")
	})
}

package waitlist_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/waitlist"
	"holdfast/holds"
	"holdfast/store"
)

// TestOfferSuitsWish: an entry is offered the first free time that suits its days, weekdays and part of the day.
func TestOfferSuitsWish(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		midnight := c.Start.Add(12 * time.Hour) // all times are free from then on
		day, last := store.DateOf(midnight), store.DateOf(midnight.AddDate(0, 0, 6))
		later := midnight.AddDate(0, 0, 3)
		for n, x := range []struct {
			what string
			wish store.WaitlistWish
			want time.Time // zero means no offer
		}{
			{"any time of a day", store.WaitlistWish{From: day, To: day}, midnight},
			{"a weekday", store.WaitlistWish{From: day, To: last,
				Weekdays: []store.Weekday{store.Weekday(later.Weekday())}}, later},
			{"from ten", store.WaitlistWish{From: day, To: day, Earliest: 600}, midnight.Add(10 * time.Hour)},
			{"a time that is offered already", store.WaitlistWish{From: day, To: day, Latest: 30}, time.Time{}},
			{"one start", store.WaitlistWish{SlotStart: midnight.Add(15 * time.Hour)}, midnight.Add(15 * time.Hour)},
		} {
			e := waits(c, n, x.wish)
			now, err := c.Waitlist.WaitingOf(t.Context(), e.ID)
			if err != nil {
				t.Fatal(err)
			}
			var got time.Time
			if o := now.Offer(); o != nil {
				got = o.SlotStart
			}
			if !got.Equal(x.want) {
				t.Errorf("%s: offered %s, want %s", x.what, got, x.want)
			}
		}
	})
}

// TestWithdrawnTimeIsOfferedAgain: an undo withdraws an offer that was not emailed yet. If the time becomes free again,
// the same entry is offered it.
func TestWithdrawnTimeIsOfferedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder, noon := waitingRoom(t)
		e := waits(c, 1, wish(c, c.Start))
		c.DeskCancels(noon.ID)
		time.Sleep(time.Second)
		if _, err := c.Booking.Undo(t.Context(), booking.UndoRequest{ID: noon.ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		c.DeskCancels(noon.ID)
		time.Sleep(time.Minute)
		wantOffered(c, "after the second cancellation", e, "withdrawn open waiting")
		if c.Mails(folder, openOffer(c, e).ID)["waitlist_offer"] == "" {
			t.Error("the patient got no email about the second offer")
		}
	})
}

// TestEntriesLapse: an entry leaves the list when the times of its wish are over, or when its link expires unconfirmed.
func TestEntriesLapse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		now, never := time.Now(), []store.Weekday{store.Weekday(c.Start.AddDate(0, 0, 1).Weekday())}
		days := func(n int) store.WaitlistWish { // the last day
			return store.WaitlistWish{From: store.DateOf(now.AddDate(0, 0, -2)), To: store.DateOf(now.AddDate(0, 0, n)),
				Weekdays: never, Earliest: 720, Latest: 750}
		}
		for name, x := range map[string]struct {
			wish   store.WaitlistWish
			age    time.Duration // of an unconfirmed entry; 0 means confirmed
			lapses bool
		}{
			"until yesterday":     {days(-1), 0, true},
			"until today":         {days(0), 0, false},
			"a start in the past": {startWish(now.Add(-time.Minute)), 0, true},
			"a start to come":     {startWish(c.Start), 0, false},
			"an expired link":     {days(4), message.ConfirmWithin, true},
			"a link that works":   {days(4), message.ConfirmWithin - time.Minute, false},
		} {
			e := store.WaitlistEntry{ID: record.NewID(), AppointmentTypeID: "checkup", Wish: x.wish,
				Status: store.WaitlistWaiting, CreatedAt: now.Add(-x.age),
				Patient: store.Patient{Name: name, Email: record.NewID() + "@example.org"}}
			if x.age > 0 {
				e.Status = store.WaitlistUnconfirmed
			}
			if err := c.Store.Write(t.Context(), func(tx store.Tx) error {
				return tx.InsertWaitlistEntry(t.Context(), e)
			}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			want := string(e.Status)
			if x.lapses {
				want = "lapsed"
			}
			wantOffered(c, name, e, want)
		}
	})
}

// startWish returns a wish for one start.
func startWish(at time.Time) store.WaitlistWish {
	return store.WaitlistWish{SlotStart: at, From: store.DateOf(at), To: store.DateOf(at)}
}

// TestOffersNeedAnAddressAndOneAnswer: a person who cannot get an email gets no offer. A person with two entries gets
// one offer at a time for each type.
func TestOffersNeedAnAddressAndOneAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := waitingRoom(t)
		e, err := c.Waitlist.Join(context.Background(), waitlist.JoinRequest{AppointmentTypeID: "checkup",
			Wish: wish(c, c.Start.Add(time.Hour)), Actor: "user:desk",
			Patient: store.Patient{Name: "Lena Vogt", Phone: "030 1234567"}})
		if err != nil {
			t.Fatal(err)
		}
		first, second := waits(c, 1, wish(c, c.Start.Add(2*time.Hour))), waits(c, 1, wish(c, c.Start.Add(3*time.Hour)))
		surgery, err := c.Waitlist.Join(context.Background(), waitlist.JoinRequest{AppointmentTypeID: "surgery",
			Wish: wish(c, c.Start.Add(5*time.Hour)), Actor: "user:desk", Patient: first.Patient})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		events := c.Events(holds.EventHold)
		time.Sleep(5 * time.Minute)
		wantOffered(c, "without an email address", e, "waiting")
		wantOffered(c, "the first entry", first, "open waiting")
		wantOffered(c, "the second entry of the same person", second, "waiting")
		wantOffered(c, "their entry for another type", surgery, "open waiting")
		if got := events(); len(got) != 0 {
			t.Errorf("rounds without an offer held times: %+v", got)
		}
		if _, err := c.Waitlist.Decline(t.Context(), openOffer(c, first).ID, "manage", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		wantOffered(c, "the second entry, after the answer", second, "open waiting")
	})
}

// TestDeskMakesSomeOffers: the server offers no times of a type that needs approval, and none if it cannot send emails
// with links.
func TestDeskMakesSomeOffers(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		options  []func(*engine.Options)
		approval bool
		want     string
	}{
		"ordinary type":     {[]func(*engine.Options){enginetest.OffersToFiles}, false, "open waiting"},
		"type for approval": {[]func(*engine.Options){enginetest.OffersToFiles}, true, "waiting"},
		"no mail server":    {nil, false, "waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(9 * time.Hour)
				c, _ := enginetest.NoticeClinic(t, x.options...)
				f := enginetest.ClinicFile(map[string]int{"ada": 1})
				f.AppointmentTypes[0].Approval = x.approval
				if _, err := c.Clinic.Import(t.Context(), "system", f); err != nil {
					t.Fatal(err)
				}
				e := waits(c, 1, wish(c, c.Start))
				wantOffered(c, name, e, x.want)
			})
		})
	}
}

// TestPersonWhoHasBookedGetsNoOffer: a freed time ends the entry of a person who has booked the type since joining the
// list. Another booking does not end it.
func TestPersonWhoHasBookedGetsNoOffer(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		edit func(*booking.Request)
		want string
	}{
		"the type":                {func(*booking.Request) {}, "booked"},
		"another type":            {func(r *booking.Request) { r.AppointmentTypeID = "surgery" }, "open waiting"},
		"a relative's booking":    {func(r *booking.Request) { r.Patient.Name = "Tom Vogt" }, "open waiting"},
		"the same name elsewhere": {func(r *booking.Request) { r.Patient.Email = "x@example.org" }, "open waiting"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, noon := waitingRoom(t)
				e := waits(c, 1, wish(c, c.Start))
				r := enginetest.BookingOf(1, "checkup")
				r.SlotStart, r.Patient = c.Start.AddDate(0, 0, 1), e.Patient
				x.edit(&r)
				c.MustBook(r)
				c.MustCancel(noon.ID)
				wantOffered(c, name, e, x.want)
			})
		})
	}
}

// TestDeclinedTimeGoesToEntryThatCanTakeIt: a declined time goes to the next entry for its type whose patient can get
// an email. If there is none left, the time is free for all clients.
func TestDeclinedTimeGoesToEntryThatCanTakeIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _, noon := waitingRoom(t)
		first := waits(c, 1, wish(c, c.Start))
		join := func(r waitlist.JoinRequest) store.WaitlistEntry {
			r.Wish, r.Actor = wish(c, c.Start), "user:desk"
			e, err := c.Waitlist.Join(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		byPhone := join(waitlist.JoinRequest{AppointmentTypeID: "checkup",
			Patient: store.Patient{Name: "Lena Vogt", Phone: "030 1234567"}})
		surgery := join(waitlist.JoinRequest{AppointmentTypeID: "surgery",
			Patient: store.Patient{Name: "Jo Doe", Email: "jo@example.org"}})
		last := waits(c, 2, wish(c, c.Start))
		r := enginetest.BookingOf(3, "checkup") // leaves no room for a surgery
		r.SlotStart = c.Start.Add(30 * time.Minute)
		c.MustBook(r)
		c.MustCancel(noon.ID)
		decline := func(e store.WaitlistEntry) {
			if _, err := c.Waitlist.Decline(t.Context(), openOffer(c, e).ID, "manage", nil); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		released := c.Events(holds.EventRelease)
		decline(first)
		wantOffered(c, "the last entry", last, "open waiting")
		if got := released(); len(got) != 0 {
			t.Errorf("the time was free between two offers: %+v", got)
		}
		decline(last)
		wantOffered(c, "without an email address", byPhone, "waiting")
		wantOffered(c, "for another type", surgery, "waiting")
		c.WantNoHolds()
	})
}

package request_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/engine/token"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check how many appointments the public can book in an hour. Bookings over that limit become requests.

func settle(c *enginetest.TestClinic, change func(*clinic.PublicBookings)) {
	c.T.Helper()
	if _, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
		change(&s.PublicBookings)
	}); err != nil {
		c.T.Fatal(err)
	}
}

func TestPublicBookingsAreLimitedPerHour(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]struct {
		most   int
		change func(n int, r *booking.Request, from *request.Visitor)
	}{
		"network": {10, func(_ int, _ *booking.Request, from *request.Visitor) { *from = enginetest.Visitor(1) }},
		"email": {3, func(n int, r *booking.Request, _ *request.Visitor) {
			r.Patient.Email = []string{" Same@Example.org", "same@example.org"}[n%2]
		}},
		"phone": {3, func(n int, r *booking.Request, _ *request.Visitor) {
			r.Patient.Phone = []string{"+49 (30) 1234567", "+49 30 123-45-67"}[n%2]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := enginetest.NoticeClinic(t)
				ctx := context.Background()
				book := func(n int) error {
					r, from := c.PublicBooking(n), enginetest.Visitor(100+n)
					same.change(n, &r, &from)
					_, err := c.Request.Book(ctx, r, from)
					return err
				}
				first := record.Now()
				for n := range same.most {
					if err := book(n); err != nil {
						t.Fatalf("booking %d of %d: %v", n+1, same.most, err)
					}
					time.Sleep(time.Minute)
				}
				var limit *request.LimitError
				if err := book(20); !errors.As(err, &limit) || limit.By != name ||
					!limit.Until.Equal(first.Add(time.Hour)) {
					t.Fatalf("the next booking: got %v (%+v), want a limit by %s until an hour after the first", err, limit,
						name)
				}
				time.Sleep(time.Until(limit.Until))
				if err := book(20); err != nil {
					t.Errorf("an hour after the first: got %v, want success", err)
				}
				if err := book(21); !errors.As(err, &limit) {
					t.Errorf("the one after that: got %v, want a limit", err)
				}
			})
		})
	}
}

// TestUnknownSendersShareNoLimit: patients without an email address, without a phone number or without a known network
// are not counted as one person.
func TestUnknownSendersShareNoLimit(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*booking.Request, *request.Visitor){
		"network": func(_ *booking.Request, from *request.Visitor) { *from = request.Visitor{} },
		"email":   func(r *booking.Request, _ *request.Visitor) { r.Patient.Email = "" },
		"phone":   func(r *booking.Request, _ *request.Visitor) { r.Patient.Phone = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := enginetest.NoticeClinic(t)
			for n := range 12 {
				r, from := c.PublicBooking(n), enginetest.Visitor(100+n)
				forget(&r, &from)
				if _, err := c.Request.Book(t.Context(), r, from); err != nil {
					t.Fatalf("booking %d: %v", n+1, err)
				}
			}
		})
	}
}

// TestLimitThatEndsLastIsReported: if a booking is over two limits, the error names the time from which both allow it.
func TestLimitThatEndsLastIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		book := func(n int, email string, from request.Visitor) error {
			r := c.PublicBooking(n)
			r.Patient.Email = cmp.Or(email, r.Patient.Email)
			_, err := c.Request.Book(t.Context(), r, from)
			return err
		}
		for n := range 10 {
			if err := book(n, "", enginetest.Visitor(1)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute)
		later := record.Now()
		for n := range 3 {
			if err := book(10+n, "same@example.org", enginetest.Visitor(100+n)); err != nil {
				t.Fatal(err)
			}
		}
		var limit *request.LimitError
		if err := book(20, "same@example.org", enginetest.Visitor(1)); !errors.As(err, &limit) ||
			limit.By != "email" || !limit.Until.Equal(later.Add(time.Hour)) {
			t.Errorf("got %v (%+v), want the limit by email until %v", err, limit, later.Add(time.Hour))
		}
	})
}

// TestConcurrentBookingsRespectLimit sends bookings from one network concurrently.
func TestConcurrentBookingsRespectLimit(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	var booked, refused atomic.Int32
	var all sync.WaitGroup
	for n := range 40 {
		all.Go(func() {
			_, err := c.Request.Book(context.Background(), c.PublicBooking(n), enginetest.Visitor(1))
			var limit *request.LimitError
			switch {
			case err == nil:
				booked.Add(1)
			case errors.As(err, &limit):
				refused.Add(1)
			default:
				t.Errorf("booking %d: %v", n, err)
			}
		})
	}
	all.Wait()
	if booked.Load() != 10 || refused.Load() != 30 {
		t.Errorf("got %d booked and %d refused, want 10 and 30", booked.Load(), refused.Load())
	}
}

// TestLimitsSurviveRestart: the counts are in the database, so another engine on the same database continues them.
func TestLimitsSurviveRestart(t *testing.T) {
	t.Parallel()
	keys := token.Generate(time.Now())
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Keyring = keys })
	for n := range 10 {
		if _, err := c.Request.Book(context.Background(), c.PublicBooking(n), enginetest.Visitor(1)); err != nil {
			t.Fatal(err)
		}
	}
	next := enginetest.Restarted(t, c, keys)
	var limit *request.LimitError
	if _, err := next.Request.Book(context.Background(), c.PublicBooking(20), enginetest.Visitor(1)); !errors.As(err,
		&limit) {
		t.Errorf("after a restart: got %v, want a limit", err)
	}
}

// TestBookingOverLimitBecomesRequest: the request holds its time and has no other effect until it is confirmed.
func TestBookingOverLimitBecomesRequest(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	ctx := context.Background()
	_, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
		s.PublicBookings.PerNetwork = 1
		s.Webhooks = []clinic.WebhookEndpoint{{URL: "http://127.0.0.1:1/hook", Active: true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := c.Request.Book(ctx, c.PublicBooking(0), enginetest.Visitor(1)); err != nil ||
		first.Request != nil {
		t.Fatalf("the first booking: got %+v, %v; want an appointment", first.Request, err)
	}
	r := c.PublicBooking(1)
	h := c.MustHold(1, "checkup", r.SlotStart, "")
	r.HoldID, r.SlotStart = h.ID, time.Time{}
	asked, err := c.Request.Book(ctx, r, enginetest.Visitor(1))
	if err != nil || asked.Request == nil {
		t.Fatalf("over the limit: got %+v, %v; want a request", asked, err)
	}
	id := asked.Request.ID
	if _, err := c.Booking.Appointment(ctx, id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unconfirmed request has an appointment: %v", err)
	}
	if got := c.Operations(id); got != "confirmation_request " {
		t.Errorf("outbox of a request: got %q, want only one email", got)
	}
	var held *holds.HeldError
	other := c.PublicBooking(2)
	other.SlotStart = h.SlotStart
	if _, err := c.Request.Book(ctx, other, enginetest.Visitor(2)); !errors.As(err, &held) {
		t.Errorf("another client at its time: got %v, want a HeldError", err)
	}
	if _, err := c.Request.Book(ctx, c.PublicBooking(3), enginetest.Visitor(1)); !isLimit(err) {
		t.Errorf("a booking over the limit of requests: got %v, want a limit", err)
	}
	link := c.Booking.ManageToken(&store.Appointment{ID: id, SlotEnd: asked.Request.SlotEnd,
		CreatedAt: asked.Request.CreatedAt})
	if got, err := c.Request.Requested(ctx, link); err != nil || got.ID != id {
		t.Errorf("the link in the email opens %+v, %v; want the request", got, err)
	}
	var confirming sync.WaitGroup
	for range 4 { // a double click, and the desk at the same time
		confirming.Go(func() {
			if a, err := c.Request.Confirm(ctx, id, time.Time{}, "manage", nil); err != nil || a.ID != id ||
				a.Status != store.Confirmed || a.Owner != enginetest.Client(1).Owner().String() {
				t.Errorf("confirmed: got %+v, %v; want its client's appointment", a, err)
			}
		})
	}
	confirming.Wait()
	if got := c.Operations(id); !strings.Contains(got, "confirmation ") ||
		strings.Count(got, "appointment.created") != 1 {
		t.Errorf("outbox after the confirmation: got %q, want the email and the webhook of one booking", got)
	}
	if _, err := c.Booking.Managed(ctx, link); err != nil {
		t.Errorf("second use of the link: %v", err)
	}
	if _, err := c.Request.Get(ctx, id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the request afterwards: got %v, want ErrNotFound", err)
	}
	if list, err := c.Booking.Holds(ctx); err != nil || len(list) != 0 {
		t.Errorf("remaining holds: %v, %v", list, err)
	}
}

// TestRefusedRequestKeepsItsHold: the write of a request is refused. The client still has its hold, and no other client
// was able to take the time in between.
func TestRefusedRequestKeepsItsHold(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
	changeType(c, func(t *store.AppointmentType) { t.CooldownMinutes = 60 })
	r := c.PublicBooking(5)
	h := c.MustHold(5, "checkup", r.SlotStart, "")
	r.HoldID = h.ID
	booked := c.PublicBooking(5)
	booked.SlotStart = booked.SlotStart.Add(2 * time.Hour)
	if _, err := c.Booking.Book(t.Context(), booked); err != nil { // after the hold, so that only the write is refused
		t.Fatal(err)
	}
	var cooling *booking.CooldownError
	if _, err := c.Request.Book(t.Context(), r, enginetest.Visitor(1)); !errors.As(err, &cooling) {
		t.Fatalf("got %v, want a cooldown", err)
	}
	got, err := c.Booking.ExtendHold(t.Context(), h.ID, enginetest.Client(5), 0, false)
	if err != nil || got.Pinned || got.MaxExpiresAt != h.MaxExpiresAt {
		t.Errorf("the hold of the refused client: got %+v, %v; want it unchanged", got, err)
	}
}

func isLimit(err error) bool {
	var limit *request.LimitError
	return errors.As(err, &limit)
}

// TestRequestNeedsEmail: a request without an email address is refused, and the client keeps its hold.
func TestRequestNeedsEmail(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t))
	settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
	r := c.PublicBooking(1)
	r.Patient.Email = ""
	h := c.MustHold(1, "checkup", r.SlotStart, "")
	r.HoldID = h.ID
	var invalid *record.ValidationError
	if _, err := c.Request.Book(context.Background(), r, enginetest.Visitor(1)); !errors.As(err, &invalid) ||
		invalid.Fields[0].Field != "patient.email" {
		t.Errorf("without an address: got %v, want an error for the address", err)
	}
	if _, err := c.Booking.ExtendHold(context.Background(), h.ID, enginetest.Client(1), 0, false); err != nil {
		t.Errorf("the hold of the client that must add an address: %v", err)
	}
}

// TestRequestExpiresOrIsDeclined: every booking must be confirmed, without limits.
func TestRequestExpiresOrIsDeclined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		ctx := context.Background()
		settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
		ask := func(n int) *store.BookingRequest {
			t.Helper()
			asked, err := c.Request.Book(ctx, c.PublicBooking(n), request.Visitor{Unlimited: true})
			if err != nil || asked.Request == nil {
				t.Fatalf("got %+v, %v; want a request", asked, err)
			}
			return asked.Request
		}
		lapsing, declined := ask(1), ask(2)
		if open, err := c.Request.List(ctx); err != nil || len(open) != 2 {
			t.Fatalf("open: got %d, %v; want 2", len(open), err)
		}
		time.Sleep(time.Second)
		if _, err := c.Request.Decline(ctx, declined.ID, "user:desk", true, nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		mails := c.Mails(folder, declined.ID)
		if !strings.Contains(mails["confirmation_request"], "https://book.example.org/manage#") ||
			!strings.Contains(mails["request_declined"], "is not available") {
			t.Errorf("the emails of a declined request are %v", mails)
		}
		if s := c.Slot(3, "checkup", declined.SlotStart, ""); s == nil || s.Held != 0 {
			t.Errorf("the time of a declined request: got %+v, want it free", s)
		}
		var lapsed *request.LapsedError
		if _, err := c.Request.Confirm(ctx, declined.ID, time.Time{}, "manage", nil); !errors.As(err, &lapsed) || !lapsed.Declined {
			t.Errorf("confirming a declined request: got %v", err)
		}
		if s := c.Slot(3, "checkup", lapsing.SlotStart, ""); s == nil || s.Held != 1 {
			t.Errorf("the time of an open request: got %+v, want it held", s)
		}
		time.Sleep(time.Until(lapsing.ExpiresAt))
		if _, err := c.Request.Confirm(ctx, lapsing.ID, time.Time{}, "manage", nil); !errors.As(err, &lapsed) || lapsed.Declined {
			t.Errorf("confirming after half an hour: got %v, want it expired", err)
		}
		if s := c.Slot(3, "checkup", lapsing.SlotStart, ""); s == nil || s.Held != 0 {
			t.Errorf("the time of an expired request: got %+v, want it free", s)
		}
		if open, err := c.Request.List(ctx); err != nil || len(open) != 0 {
			t.Errorf("open requests afterwards: got %d, %v; want none", len(open), err)
		}
		time.Sleep(10 * time.Minute)
		if mails := c.Mails(folder, lapsing.ID); len(mails) != 1 {
			t.Errorf("the patient did not confirm the request in time, and got %v; want no email about that", mails)
		}
		time.Sleep(25 * time.Hour)
		if _, err := c.Request.Get(ctx, lapsing.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("one day later: got %v, want the request and its person deleted", err)
		}
	})
}

// TestDeclineIsSilentOnRequest: the desk can decline without an email, and again without an effect. An expired request
// cannot be declined.
func TestDeclineIsSilentOnRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
		declined, expired := asks(c, 1, c.Start), asks(c, 2, c.Start.Add(time.Hour))
		time.Sleep(time.Minute)
		for range 2 {
			r, err := c.Request.Decline(t.Context(), declined.ID, enginetest.Jo, false, nil)
			if err != nil || r.Status != store.RequestDeclined {
				t.Errorf("got %s, %v; want it declined", r.Status, err)
			}
			time.Sleep(time.Minute)
		}
		if mails := c.Mails(folder, declined.ID); len(mails) != 1 || mails["confirmation_request"] == "" {
			t.Errorf("got %v, want only the email that asks for a confirmation", mails)
		}
		time.Sleep(time.Until(expired.ExpiresAt))
		var lapsed *request.LapsedError
		if _, err := c.Request.Decline(t.Context(), expired.ID, enginetest.Jo, true, nil); !errors.As(err, &lapsed) ||
			lapsed.Declined {
			t.Errorf("declining an expired request: got %v, want it expired", err)
		}
	})
}

// TestRequestHoldSurvivesRestart: a restart loses the holds in memory, and the engine takes them again before it
// handles a request.
func TestRequestHoldSurvivesRestart(t *testing.T) {
	t.Parallel()
	keys := token.Generate(time.Now())
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Keyring = keys })
	settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
	ctx := context.Background()
	asked, err := c.Request.Book(ctx, c.PublicBooking(1), enginetest.Visitor(1))
	if err != nil || asked.Request == nil {
		t.Fatalf("got %+v, %v; want a request", asked, err)
	}
	next := enginetest.Restarted(t, c, keys)
	r := c.PublicBooking(2)
	r.SlotStart = asked.Request.SlotStart
	var held *holds.HeldError
	if _, err := next.Request.Book(ctx, r, enginetest.Visitor(2)); !errors.As(err, &held) {
		t.Errorf("another client after a restart: got %v, want a HeldError", err)
	}
	if a, err := next.Request.Confirm(ctx, asked.Request.ID, time.Time{}, "manage", nil); err != nil || a.ID != asked.Request.ID {
		t.Errorf("confirmed after a restart: got %+v, %v", a, err)
	}
}

// TestRequestWithoutBaseURLIsRefused: without a public address, emails contain no link, so a patient could not confirm
// a request by email.
func TestRequestWithoutBaseURLIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t, enginetest.BySMTP(t), func(o *engine.Options) { o.BaseURL = "" })
		for n := range 11 {
			from := enginetest.Visitor(1)
			_, err := c.Request.Book(context.Background(), c.PublicBooking(n), from)
			var limit *request.LimitError
			if past := n == 10; errors.As(err, &limit) != past || !past && err != nil {
				t.Errorf("booking %d: got %v, want a refusal only over the limit, and no request", n, err)
			}
		}
	})
}

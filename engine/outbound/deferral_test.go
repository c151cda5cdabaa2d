package outbound_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// These tests deliver emails and webhooks without an internet connection. Nothing is lost within a day, the order of an
// appointment's operations is preserved, and permanent failures are logged. The receivers are outside the synctest
// bubble, because the bubble would wait for them.

// lateMailServer returns the address of a mail server that starts at the call of connect, outside the bubble.
func lateMailServer(t *testing.T) (address string, connect func()) {
	t.Helper()
	address = enginetest.NoAddress(t)
	connecting, connected := make(chan struct{}), make(chan struct{})
	go func() {
		<-connecting
		noticetest.MailServerAt(t, address, func(string) string { return "250 ok" })
		close(connected)
	}()
	return address, func() {
		close(connecting)
		<-connected
	}
}

func TestEmailWaitsForNetwork(t *testing.T) {
	t.Parallel()
	address, connect := lateMailServer(t)
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Buffer
		c, _ := enginetest.NoticeClinic(t, enginetest.MailBy(t, address, &log))
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(5 * time.Hour)
		if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: c.Start.Add(time.Hour), Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if got := c.States(a.ID); got["confirmation"] != "queued" || got["reschedule"] != "queued" {
			t.Errorf("after six hours, the emails are %v, want both waiting", got)
		}
		synctest.Wait() // an attempt may be in progress over a real network
		status, err := c.Outbound.Status(t.Context(), outbound.QueueFilter{})
		if err != nil || status.Pending != 2 || status.Operations[0].Attempts != 0 ||
			!strings.Contains(status.Operations[0].LastError, "could not be reached") {
			t.Errorf("the queue is %+v, %v; want two waiting operations without an attempt", status, err)
		}
		connect()
		time.Sleep(5*time.Minute + 5*time.Second)
		if got := c.States(a.ID); got["confirmation"] != "delivered" || got["reschedule"] != "delivered" {
			t.Errorf("one back-off after the return, the emails are %v, want both delivered", got)
		}
		if strings.Contains(log.String(), "failed permanently") {
			t.Errorf("the log reports a failure: %s", log.String())
		}
	})
}

// TestEraseOneOfVisitKeepsOtherEmails: one person in a visit is erased while the visit's emails are waiting. An email
// about several people names only the others. An email about the erased person is dropped, which is not a failure.
func TestEraseOneOfVisitKeepsOtherEmails(t *testing.T) {
	t.Parallel()
	address, connect := lateMailServer(t)
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Buffer
		c, _ := enginetest.NoticeClinic(t, enginetest.MailBy(t, address, &log))
		visit := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup"))
		r := enginetest.BookingOf(7, "checkup")
		r.SlotStart = c.Start.Add(3 * time.Hour)
		alone := c.MustBook(r)
		time.Sleep(time.Minute)
		for _, a := range []store.Appointment{visit[0], alone} {
			if _, err := c.Person.EraseOf(t.Context(), enginetest.Jo, a.ID); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		connect()
		time.Sleep(5*time.Minute + 5*time.Second)
		status, err := c.Outbound.Status(t.Context(), outbound.QueueFilter{})
		if err != nil || status.Failed != 0 || status.Pending != 0 {
			t.Errorf("the queue is %+v, %v; want no waiting or failed operation", status, err)
		}
		for _, d := range []struct{ id, want string }{{visit[0].ID, "delivered"}, {alone.ID, "not_needed"}} {
			for notice, state := range c.States(d.id) {
				if state != d.want {
					t.Errorf("the mail %s is %s, want %s", notice, state, d.want)
				}
			}
		}
		if len(c.States(visit[0].ID)) != 1 || len(c.States(alone.ID)) != 1 {
			t.Errorf("the deliveries are %v and %v, want one each", c.States(visit[0].ID), c.States(alone.ID))
		}
	})
}

func TestEmailIsGivenUpAfterOneDay(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	address := enginetest.NoAddress(t)
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Buffer
		c, _ := enginetest.NoticeClinic(t, enginetest.MailBy(t, address, &log))
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.ReminderHours = 48
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(23 * time.Hour)
		if got := c.States(a.ID); got["confirmation"] != "queued" {
			t.Errorf("after 23 hours, the emails are %v, want the confirmation waiting", got)
		}
		time.Sleep(time.Hour + 6*time.Minute)
		if got := c.States(a.ID); got["confirmation"] != "failed" || got["reminder"] != "queued" {
			t.Errorf("after one day, the emails are %v, want the confirmation expired and the reminder waiting", got)
		}
		time.Sleep(time.Until(c.Start.Add(-time.Minute)))
		if got := c.States(a.ID); got["reminder"] != "queued" {
			t.Errorf("a minute before the start, the emails are %v, want the reminder waiting", got)
		}
		time.Sleep(7 * time.Minute)
		if got := c.States(a.ID); got["reminder"] != "failed" {
			t.Errorf("after the start, the emails are %v, want the reminder expired", got)
		}
		list, _ := c.Record.Deliveries(t.Context(), a.ID)
		for _, d := range list {
			line := ""
			for l := range strings.Lines(log.String()) {
				if strings.Contains(l, "failed permanently") && strings.Contains(l, d.OperationID) {
					line += l
				}
			}
			if !strings.Contains(line, "in time: the mail server could not be reached") ||
				strings.Count(line, "\n") != 1 {
				t.Errorf("the log has about the %s %q, want one line with the reason", d.Notice, line)
			}
		}
	})
}

// TestWebhookWaitsForReceiver: one receiver is unreachable for hours and then receives everything in order. The
// webhooks of the other receiver do not wait for it.
func TestWebhookWaitsForReceiver(t *testing.T) {
	t.Parallel()
	away, there := "http://"+enginetest.NoAddress(t), ""
	there, told := enginetest.HookReceiver(t, 204)
	back, toldLater := enginetest.HookReceiver(t, 204)
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		set := func(first string) {
			t.Helper()
			if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
				s.Webhooks = []clinic.WebhookEndpoint{{ID: "first", URL: first, Active: true},
					{ID: "second", URL: there, Active: true}}
			}); err != nil {
				t.Fatal(err)
			}
		}
		set(away)
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(3 * time.Second)
		if _, err := c.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
			SlotStart: c.Start.Add(time.Hour), Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		want := []string{"appointment.created", "appointment.rescheduled", "appointment.cancelled"}
		if got := told(); !slices.Equal(got, want) {
			t.Errorf("the reachable receiver received %v, want %v", got, want)
		}
		time.Sleep(20 * time.Hour)
		set(back)
		time.Sleep(5*time.Minute + 10*time.Second)
		if got := toldLater(); !slices.Equal(got, want) {
			t.Errorf("the receiver that returned received %v, want %v", got, want)
		}
	})
}

// TestWebhookWaitsAsReceiverAsks: a receiver in maintenance asks to wait for an hour each time. It receives the webhook
// after five hours, long after ten attempts at the usual intervals.
func TestWebhookWaitsAsReceiverAsks(t *testing.T) {
	t.Parallel()
	var isBack atomic.Bool
	var refused, accepted atomic.Int32
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close") // the bubble would wait for an idle connection
		if isBack.Load() {
			accepted.Add(1)
			return
		}
		refused.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer receiver.Close()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.Webhooks = []clinic.WebhookEndpoint{{ID: "crm", URL: receiver.URL, Active: true}}
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(4*time.Hour + 30*time.Minute)
		isBack.Store(true)
		time.Sleep(time.Hour)
		if refused.Load() != 5 || accepted.Load() != 1 || c.States(a.ID)["appointment.created"] != "delivered" {
			t.Errorf("the receiver refused %d attempts and accepted %d, want 5 and 1; the deliveries are %v",
				refused.Load(), accepted.Load(), c.States(a.ID))
		}
	})
}

// TestOperationsKeepOrder: two changes are committed together, and the caller that made the later change enqueues its
// operation first. The operations are still delivered in the order of the changes.
func TestOperationsKeepOrder(t *testing.T) {
	t.Parallel()
	there, told := enginetest.HookReceiver(t, 204)
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.Webhooks = []clinic.WebhookEndpoint{{ID: "first", URL: there, Active: true}}
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(3 * time.Second)
		var ops []store.Operation
		for _, event := range []string{"appointment.rescheduled", "appointment.cancelled"} {
			ops = append(ops, store.Operation{
				ID: c.Outbound.Outbox.Ids.Next(time.Now()), Kind: store.Webhook, AppointmentID: a.ID,
				Status: store.OperationPending, MaxAttempts: 10, CreatedAt: time.Now(),
				Deadline: time.Now().Add(time.Hour), StartTime: a.SlotStart,
				Payload: json.RawMessage(`{"endpointId":"first","body":{"type":"` + event + `"}}`),
			})
		}
		if err := c.Store.Write(t.Context(), func(tx store.Tx) error {
			var errs []error
			for _, op := range ops {
				d := store.Delivery{OperationID: op.ID, AppointmentID: a.ID, Channel: "webhook",
					Notice: "appointment.changed", State: "queued", UpdatedAt: time.Now()}
				errs = append(errs, tx.Promise(t.Context(), op), tx.PutDelivery(t.Context(), d))
			}
			return errors.Join(errs...)
		}); err != nil {
			t.Fatal(err)
		}
		c.Outbound.Enqueue(booking.Promise{Operation: ops[1]}) // the other operation is not enqueued yet
		time.Sleep(10 * time.Second)
		if got, want := told(), []string{"appointment.created", "appointment.rescheduled",
			"appointment.cancelled"}; !slices.Equal(got, want) {
			t.Errorf("the receiver received %v, want %v", got, want)
		}
	})
}

// TestHungWebhookDelaysOnlyItself: a receiver that accepts calls but does not respond gets only one call at a time. In
// the meantime, the other receivers get their calls.
func TestHungWebhookDelaysOnlyItself(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	var hanging, most atomic.Int32
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), hanging.Add(1)))
		<-let
		hanging.Add(-1)
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(let) })
	told := make(chan struct{}, 100)
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { told <- struct{}{} }))
	t.Cleanup(quick.Close)
	c, _ := enginetest.NoticeClinic(t)
	if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
		s.Webhooks = []clinic.WebhookEndpoint{{ID: "slow", URL: slow.URL, Active: true},
			{ID: "quick", URL: quick.URL, Active: true}}
	}); err != nil {
		t.Fatal(err)
	}
	const bookings = 12
	for i := range bookings {
		r := enginetest.BookingOf(i, "checkup")
		r.SlotStart = c.Start.AddDate(0, 0, i/3).Add(time.Duration(i%3) * time.Hour)
		c.MustBook(r)
	}
	limit := time.After(time.Minute) // each of the hung calls may take 15 s
	for i := range bookings {
		select {
		case <-told:
		case <-limit:
			t.Fatalf("the receiver that answers got %d of %d messages while %d calls to the other one hang", i, bookings, hanging.Load())
		}
	}
	if most.Load() != 1 {
		t.Errorf("the receiver that hangs had %d concurrent calls, want 1", most.Load())
	}
}

// TestRefusedWebhookCounts: a receiver that refuses a call was reached, so each refusal counts as an attempt. After ten
// attempts, the operation fails.
func TestRefusedWebhookCounts(t *testing.T) {
	t.Parallel()
	url, told := enginetest.HookReceiver(t, 404)
	synctest.Test(t, func(t *testing.T) {
		var log enginetest.Buffer
		c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
			s.Webhooks = []clinic.WebhookEndpoint{{URL: url, Active: true}}
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(time.Hour)
		if got := c.States(a.ID); got["appointment.created"] != "failed" || len(told()) != 10 {
			t.Errorf("after %d refusals the webhook is %v, want it failed after 10", len(told()), got)
		}
		if !strings.Contains(log.String(), `reason="the webhook's server responded with status 404"`) {
			t.Errorf("the log does not have the reason of the failure: %s", log.String())
		}
	})
}

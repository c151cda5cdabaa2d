package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/presence"
	"holdfast/store"
)

// noticeClinic opens a clinic that sends notices: emails are written to files in the folder, and webhooks may go to
// any address.
func noticeClinic(t *testing.T, change ...func(*engine.Options)) (c *testClinic, folder string) {
	t.Helper()
	return noticeClinicOn(t, func(db store.Store) store.Store { return db }, change...)
}

// noticeClinicOn is noticeClinic with the database wrapped by around.
func noticeClinicOn(t *testing.T, around func(store.Store) store.Store, change ...func(*engine.Options)) (c *testClinic, folder string) {
	t.Helper()
	ctx := context.Background()
	db, queue := enginetest.Database(t), enginetest.Queue(t)
	folder = filepath.Join(t.TempDir(), "mail")
	mailer, err := notice.NewMailer(notice.MailOptions{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	live := enginetest.Holds(t, db)
	o := engine.Options{Store: around(db), Holds: live, Queue: queue, BaseURL: "https://book.example.org", Notices: message.Transport{
		Mailer: mailer, Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true}),
	}, Presence: presence.Options{Sweep: 100 * time.Hour, Mirror: 100 * time.Hour, Reconcile: 100 * time.Hour}} // specialists stay offline during days of virtual time
	for _, with := range change {
		with(&o)
	}
	e, err := engine.New(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Run(t, e.Run)
	c = &testClinic{Engine: e, t: t, store: db, holds: live, start: enginetest.Noon(time.UTC, 4)}
	if _, err := e.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 1})); err != nil {
		t.Fatal(err)
	}
	return c, folder
}

// mails returns the decoded emails of an appointment by notice.
func (c *testClinic) mails(folder, appointmentID string) map[string]string {
	c.t.Helper()
	list, err := c.Record.Deliveries(context.Background(), appointmentID)
	if err != nil {
		c.t.Fatal(err)
	}
	texts := make(map[string]string)
	for _, d := range list {
		raw, err := os.ReadFile(filepath.Join(folder, d.OperationID+".eml"))
		if err == nil {
			// The random boundaries are no quoted-printable text: boundary=7b would become a brace.
			masked := strings.ReplaceAll(string(raw), "boundary=", "boundary: ")
			text, _ := io.ReadAll(quotedprintable.NewReader(strings.NewReader(masked)))
			texts[d.Notice] = string(text)
		}
	}
	return texts
}

func TestPatientsReceiveEmail(t *testing.T) {
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := noticeClinic(t)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.ReminderHours = 24 }); err != nil {
			t.Fatal(err)
		}
		r := bookingOf(1, "checkup")
		r.SlotStart = c.start
		a := c.mustBook(r)
		time.Sleep(time.Second)
		got := c.mails(folder, a.ID)
		if len(got) != 1 || !strings.Contains(got["confirmation"], "Your appointment is booked") ||
			!strings.Contains(got["confirmation"], "https://book.example.org/manage#"+c.Booking.ManageToken(&a)) || !strings.Contains(got["confirmation"], "text/calendar") {
			t.Errorf("after the booking the mails are %v, want a confirmation with link and calendar file", got)
		}

		// The reminder is for later: it does not count as waiting and is not listed.
		if q, err := c.Outbound.Status(ctx, outbound.QueueFilter{}); err != nil || q.Scheduled != 1 || q.Pending != 0 || q.Completed != len(q.Operations) {
			t.Errorf("the queue is %+v, %v; want a reminder that is scheduled and nothing that waits", q, err)
		}

		moved, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.start.Add(time.Hour), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := c.mails(folder, a.ID); !strings.Contains(got["reschedule"], moved.SlotStart.Format("15:04")+" to") {
			t.Errorf("after the move the mails are %v, want the new time", got)
		}

		time.Sleep(time.Until(moved.SlotStart.Add(-24*time.Hour)) + time.Second)
		if got := c.mails(folder, a.ID); !strings.Contains(got["reminder"], "reminder of your appointment") {
			t.Errorf("a day before the mails are %v, want a reminder", got)
		}
		reminders := 0
		list, _ := c.Record.Deliveries(ctx, a.ID)
		for _, d := range list {
			if d.Notice == "reminder" && strings.HasPrefix(d.Detail, "written to a file") {
				reminders++
			}
			// The reminder of the old time is the only notice that is no longer needed.
			moved := d.Notice == "reminder" && d.Detail == "the appointment was moved or cancelled"
			if want := map[bool]string{true: "not_needed", false: "delivered"}[moved]; d.State != want {
				t.Errorf("the delivery of %s is %s (%s)", d.Notice, d.State, d.Detail)
			}
		}
		if reminders != 1 {
			t.Errorf("%d reminders were sent, want the one for the new time", reminders)
		}

		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := c.mails(folder, a.ID); !strings.Contains(got["cancellation"], "was cancelled") || strings.Contains(got["cancellation"], "/manage#"+c.Booking.ManageToken(&a)+"\r\nTo change") {
			t.Errorf("after the cancellation the mails are %v", got)
		}

		r = bookingOf(2, "checkup")
		r.SlotStart, r.Silent = c.start, true
		quiet := c.mustBook(r)
		time.Sleep(time.Second)
		if got := c.mails(folder, quiet.ID); len(got) != 0 {
			t.Errorf("a silent booking sent %v", got)
		}
	})
}

func TestProgramsReceiveWebhook(t *testing.T) {
	c, _ := noticeClinic(t)
	ctx := context.Background()
	type call struct{ id, body string }
	calls := make(chan call, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Header.Get("webhook-id"), string(body)}
	}))
	defer server.Close()
	_, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
		s.Webhooks = []clinic.WebhookEndpoint{{URL: server.URL, Active: true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	r := bookingOf(1, "checkup")
	r.SlotStart = c.start
	r.Patient.Name = "Canary Person"
	a := c.mustBook(r)
	got := <-calls
	var body struct {
		Type string
		Data struct{ AppointmentID, Status string }
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.Type != "appointment.created" || body.Data.AppointmentID != a.ID {
		t.Errorf("the webhook says %s (%v), want appointment.created of %s", got.body, err, a.ID)
	}
	for _, secret := range []string{"Canary", "example.org", a.Owner} {
		if strings.Contains(got.body, secret) {
			t.Errorf("the webhook says %q: %s", secret, got.body)
		}
	}
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	if got := <-calls; !strings.Contains(got.body, `"appointment.cancelled"`) {
		t.Errorf("the second webhook says %s, want appointment.cancelled", got.body)
	}
}

func TestWebhookKeepsItsSecret(t *testing.T) {
	c := newClinic(t, map[string]int{"ada": 1})
	put := func(list ...clinic.WebhookEndpoint) []clinic.WebhookEndpoint {
		t.Helper()
		s, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) { *s = clinic.Settings{Webhooks: list} })
		if err != nil {
			t.Fatal(err)
		}
		return s.Webhooks
	}
	first := put(clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org", Active: true}, clinic.WebhookEndpoint{ID: "desk", URL: "https://desk.example.org"})
	given := notice.NewWebhookSecret()
	again := put(clinic.WebhookEndpoint{ID: "desk", URL: "https://desk.example.org", Secret: given}, clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org/new"},
		clinic.WebhookEndpoint{ID: "other", URL: "https://crm.example.org"})
	if again[0].Secret != given {
		t.Errorf("a secret that is given: got %q, want %q", again[0].Secret, given)
	}
	if again[1].Secret != first[0].Secret {
		t.Errorf("a webhook that is there, without a secret: got %q, want its own, %q", again[1].Secret, first[0].Secret)
	}
	if s := again[2].Secret; s == "" || s == first[0].Secret || s == first[1].Secret {
		t.Errorf("a new webhook: got %q, want a secret of its own", s)
	}
	// A webhook that was removed and added again is a new one.
	put()
	if s := put(clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org"}); s[0].Secret == first[0].Secret {
		t.Error("a webhook that was removed has its secret again")
	}
}

// TestEmailOmitsVisitorText: text that a visitor types as a name cannot carry a message: it is neither in the
// recipient's name nor anywhere else in the email.
func TestEmailOmitsVisitorText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, folder := noticeClinic(t)
		for i, name := range []string{"Your account is locked, see evil.example/now", "Lena Vogt"} {
			r := bookingOf(i, "checkup")
			r.SlotStart, r.Patient.Name, r.Source = c.start.Add(time.Duration(i)*time.Hour), name, store.SourceWeb
			a := c.mustBook(r)
			time.Sleep(time.Second)
			text := c.mails(folder, a.ID)["confirmation"]
			head, _, _ := strings.Cut(text, "Your appointment is booked")
			if got, want := strings.Contains(head, name+",") && strings.Contains(head, name+`" <`), i == 1; got != want || !want && strings.Contains(text, "evil") {
				t.Errorf("the mail to %q greets by name: got %v, want %v\n%s", name, got, want, text)
			}
		}
	})
}

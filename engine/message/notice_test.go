package message_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

func TestPatientsReceiveEmail(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.ReminderHours = 24
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart = c.Start
		a := c.MustBook(r)
		time.Sleep(time.Second)
		got := c.Mails(folder, a.ID)
		if len(got) != 1 || !strings.Contains(got["confirmation"], "Your appointment is booked") ||
			!strings.Contains(got["confirmation"], "https://book.example.org/manage#"+c.Booking.ManageToken(&a)) ||
			!strings.Contains(got["confirmation"], "text/calendar") {
			t.Errorf("after the booking, the emails are %v, want a confirmation with a link and a calendar file", got)
		}

		// The reminder is not due yet, so it does not count as waiting and is not listed.
		if q, err := c.Outbound.Status(ctx, outbound.QueueFilter{}); err != nil || q.Scheduled != 1 || q.Pending != 0 ||
			q.Completed != len(q.Operations) {
			t.Errorf("the queue is %+v, %v; want a scheduled reminder and no waiting operation", q, err)
		}

		moved, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID,
			SlotStart: c.Start.Add(time.Hour), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := c.Mails(folder, a.ID); !strings.Contains(got["reschedule"], moved.SlotStart.Format("15:04")+" to") {
			t.Errorf("after the move, the emails are %v, want the new time", got)
		}

		time.Sleep(time.Until(moved.SlotStart.Add(-24*time.Hour)) + time.Second)
		if got := c.Mails(folder, a.ID); !strings.Contains(got["reminder"], "reminder of your appointment") {
			t.Errorf("one day before, the emails are %v, want a reminder", got)
		}
		reminders := 0
		list, _ := c.Record.Deliveries(ctx, a.ID)
		for _, d := range list {
			if d.Notice == "reminder" && strings.HasPrefix(d.Detail, "written to a file") {
				reminders++
			}
			// The reminder for the old time is the only notice that is no longer needed.
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
		if got := c.Mails(folder, a.ID); !strings.Contains(got["cancellation"], "was cancelled") ||
			strings.Contains(got["cancellation"], "/manage#"+c.Booking.ManageToken(&a)+"\r\nTo change") {
			t.Errorf("after the cancellation, the emails are %v", got)
		}

		r = enginetest.BookingOf(2, "checkup")
		r.SlotStart, r.Silent = c.Start, true
		quiet := c.MustBook(r)
		time.Sleep(time.Second)
		if got := c.Mails(folder, quiet.ID); len(got) != 0 {
			t.Errorf("a booking without notifications sent %v", got)
		}
	})
}

func TestProgramsReceiveWebhook(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
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
		s.Places = []clinic.Place{{ID: "north", Name: "North"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	hours, err := c.Clinic.WeeklyHours("ada")
	if err != nil {
		t.Fatal(err)
	}
	hours = slices.Clone(hours)
	for i := range hours {
		hours[i].Place = "north"
	}
	if err := c.Clinic.PutWeeklyHours(ctx, "system", "ada", hours); err != nil {
		t.Fatal(err)
	}
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.SpecialistID = c.Start, "ada"
	r.Patient.Name = "Canary Person"
	a := c.MustBook(r)
	got := <-calls
	var body struct {
		Type string
		Data struct{ AppointmentID, Status, Place string }
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || body.Type != "appointment.created" ||
		body.Data.AppointmentID != a.ID || body.Data.Place != "north" {
		t.Errorf("the webhook body is %s (%v), want appointment.created of %s in the north", got.body, err, a.ID)
	}
	for _, secret := range []string{"Canary", "example.org", a.Owner} {
		if strings.Contains(got.body, secret) {
			t.Errorf("the webhook's type is %q: %s", secret, got.body)
		}
	}
	if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
		t.Fatal(err)
	}
	if got := <-calls; !strings.Contains(got.body, `"appointment.cancelled"`) {
		t.Errorf("the second webhook's type is %s, want appointment.cancelled", got.body)
	}
}

func TestWebhookKeepsItsSecret(t *testing.T) {
	t.Parallel()
	c := enginetest.NewClinic(t, map[string]int{"ada": 1})
	put := func(list ...clinic.WebhookEndpoint) []clinic.WebhookEndpoint {
		t.Helper()
		s, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
			*s = clinic.Settings{Webhooks: list}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s.Webhooks
	}
	first := put(clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org", Active: true},
		clinic.WebhookEndpoint{ID: "desk", URL: "https://desk.example.org"})
	given := notice.NewWebhookSecret()
	again := put(clinic.WebhookEndpoint{ID: "desk", URL: "https://desk.example.org", Secret: given},
		clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org/new"},
		clinic.WebhookEndpoint{ID: "other", URL: "https://crm.example.org"})
	if again[0].Secret != given {
		t.Errorf("a webhook with a secret: got %q, want %q", again[0].Secret, given)
	}
	if again[1].Secret != first[0].Secret {
		t.Errorf("an existing webhook without a secret: got %q, want its stored one, %q", again[1].Secret,
			first[0].Secret)
	}
	if s := again[2].Secret; s == "" || s == first[0].Secret || s == first[1].Secret {
		t.Errorf("a new webhook: got %q, want a generated secret", s)
	}
	// A webhook that is removed and added again counts as a new one.
	put()
	if s := put(clinic.WebhookEndpoint{ID: "crm", URL: "https://crm.example.org"}); s[0].Secret == first[0].Secret {
		t.Error("a webhook that was removed got its old secret again")
	}
}

// TestEmailOmitsVisitorText: a visitor cannot use the name field to send a message: the typed name appears neither in
// the recipient's name nor anywhere else in the email.
func TestEmailOmitsVisitorText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		for i, name := range []string{"Your account is locked, see evil.example/now", "Lena Vogt"} {
			r := enginetest.BookingOf(i, "checkup")
			r.SlotStart, r.Patient.Name, r.Source = c.Start.Add(time.Duration(i)*time.Hour), name, store.SourceWeb
			a := c.MustBook(r)
			time.Sleep(time.Second)
			text := c.Mails(folder, a.ID)["confirmation"]
			head, _, _ := strings.Cut(text, "Your appointment is booked")
			if got, want := strings.Contains(head, name+",") && strings.Contains(head, name+`" <`),
				i == 1; got != want || !want && strings.Contains(text, "evil") {
				t.Errorf("the email to %q has the name in its greeting: %v, want %v\n%s", name, got, want, text)
			}
		}
	})
}

// TestLateGroupEmailIsAboutRest: no email can be sent when a visit of three people is booked, and only one of its
// appointments is left before the next attempt.
func TestLateGroupEmailIsAboutRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		if err := os.WriteFile(folder, nil, 0o600); err != nil { // not a folder, so no email can be written
			t.Fatal(err)
		}
		list := c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "checkup"))
		time.Sleep(time.Second)
		for _, a := range list[:2] {
			if _, err := c.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system",
				Silent: true}); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		got := c.Mails(folder, list[0].ID)["series_confirmation"]
		if !strings.Contains(got, "Subject: Your appointment on") || strings.Contains(got, "appointments") {
			t.Errorf("the email is not about the one appointment that is left:\n%s", got)
		}
	})
}

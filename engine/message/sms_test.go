package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/outbound"
	"holdfast/engine/sms"
	"holdfast/store"
)

// smsClinic opens a clinic in Germany whose text messages go to a fake gateway. Start the gateway outside the synctest
// bubble, because it waits for connections.
func smsClinic(t *testing.T, fake *noticetest.Gateway, change ...func(*engine.Options)) *enginetest.TestClinic {
	t.Helper()
	return smsClinicWith(t, enginetest.TexterTo(t, fake), change...)
}

// smsClinicWith is like smsClinic, with another way to a gateway.
func smsClinicWith(t *testing.T, x *notice.Texter, change ...func(*engine.Options)) *enginetest.TestClinic {
	t.Helper()
	c, _ := enginetest.NoticeClinic(t, append(change, func(o *engine.Options) { o.Notices.Texter = x })...)
	if _, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) { s.SMS.CountryCode = "49" }); err != nil {
		t.Fatal(err)
	}
	return c
}

// texting returns a booking request from a patient who agreed to text messages.
func texting(c *enginetest.TestClinic) booking.Request {
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart, r.Patient.Phone, r.Said.SMS = c.Start, "0170 1234567", true
	return r
}

func TestPatientsReceiveTextMessages(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake)
		ctx := context.Background()
		a := c.MustBook(texting(c))
		time.Sleep(time.Second)
		got := fake.Texts()
		if len(got) != 1 || got[0].To != "+491701234567" || !strings.Contains(got[0].Text, "your appointment is on") || !strings.Contains(got[0].Text, "12:00") ||
			!strings.Contains(got[0].Text, "https://book.example.org/m#"+c.Booking.ShortManageToken(&a)) {
			t.Fatalf("after the booking the gateway has %+v", got)
		}
		if l := sms.Measure(got[0].Text); l.Segments != 1 || l.IsUCS2 {
			t.Errorf("the text takes %+v, want one segment of GSM-7: %s", l, got[0].Text)
		}
		for _, secret := range []string{"checkup", "Check", "ada", "Ada"} {
			if strings.Contains(strings.ReplaceAll(got[0].Text, c.Booking.ShortManageToken(&a), ""), secret) {
				t.Errorf("the text contains the type or the specialist: %s", got[0].Text)
			}
		}
		if opened, err := c.Booking.Managed(ctx, c.Booking.ShortManageToken(&a)); err != nil || opened.ID != a.ID {
			t.Errorf("the link opens %s, %v", opened.ID, err)
		}

		moved, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(time.Hour), Actor: "manage"})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := fake.Texts(); len(got) != 2 || !strings.Contains(got[1].Text, "13:00") {
			t.Fatalf("after the move the gateway has %+v", got)
		}
		for i, before := range []time.Duration{48 * time.Hour, 2 * time.Hour} {
			time.Sleep(time.Until(moved.SlotStart.Add(-before)) - time.Minute)
			if n := len(fake.Texts()); n != 2+i {
				t.Errorf("a minute before reminder %d, the gateway has %d messages, want %d", i+1, n, 2+i)
			}
			time.Sleep(2 * time.Minute)
			if got := fake.Texts(); len(got) != 3+i || !strings.Contains(got[2+i].Text, "reminder") {
				t.Fatalf("%v before the start the gateway has %+v", before, got)
			}
		}
		if _, err := c.Booking.Cancel(ctx, booking.CancelRequest{ID: a.ID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got := fake.Texts(); len(got) != 5 || !strings.Contains(got[4].Text, "cancelled") || strings.Contains(got[4].Text, "/m#") {
			t.Errorf("after the cancellation the gateway has %+v", got)
		}
		list, _ := c.Record.Deliveries(ctx, a.ID)
		delivered := 0
		for _, d := range list {
			if d.Channel == "sms" && d.State == outbound.DeliveryDelivered {
				delivered++
			}
		}
		if delivered != 5 {
			t.Errorf("%d deliveries by text message in %+v, want 5", delivered, list)
		}
	})
}

// TestNoTextMessageWithoutConsent: without consent, without a usable number, or without a gateway, no text message is
// scheduled.
func TestNoTextMessageWithoutConsent(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*booking.Request){
		"no consent":       func(r *booking.Request) { r.Said.SMS = false },
		"no number":        func(r *booking.Request) { r.Patient.Phone = "" },
		"an extension":     func(r *booking.Request) { r.Patient.Phone = "112" },
		"a silent booking": func(r *booking.Request) { r.Silent, r.Source = true, store.SourceStaff },
	} {
		t.Run(name, func(t *testing.T) {
			c := smsClinic(t, noticetest.NewGateway(t))
			r := texting(c)
			change(&r)
			a := c.MustBook(r)
			list, err := c.Record.Deliveries(t.Context(), a.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range list {
				if d.Channel == "sms" {
					t.Errorf("planned %+v", d)
				}
			}
		})
	}
	t.Run("no gateway", func(t *testing.T) {
		x, _ := notice.NewTexter(notice.TexterOptions{})
		c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.Texter = x })
		a := c.MustBook(texting(c))
		if kinds := c.Operations(a.ID); strings.Count(kinds, "confirmation") != 1 {
			t.Errorf("planned %s", kinds)
		}
	})
}

// TestTextMessageOfUnknownOutcomeIsNotRepeated: the server must not repeat a message whose outcome is unknown. The desk
// decides.
func TestTextMessageOfUnknownOutcomeIsNotRepeated(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake)
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) { s.SMS.NoReminders = true }); err != nil {
			t.Fatal(err)
		}
		// the gateway receives the message and then closes the connection
		fake.Answer(func(noticetest.Text) (int, string) { return 0, "" })
		a := c.MustBook(texting(c))
		time.Sleep(time.Hour)
		if n := len(fake.Texts()); n != 1 {
			t.Errorf("the gateway received %d messages, want 1", n)
		}
		list, _ := c.Record.Deliveries(ctx, a.ID)
		var id string
		for _, d := range list {
			if d.Channel == "sms" {
				if id = d.OperationID; d.State != outbound.DeliveryReview {
					t.Errorf("the delivery is %s (%s), want needs_review", d.State, d.Detail)
				}
			}
		}
		fake.Answer(nil)
		if err := c.Outbound.Review(ctx, enginetest.Jo, id, outbound.DecisionResend); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := len(fake.Texts()); n != 2 {
			t.Errorf("after the decision to resend, the gateway received %d messages, want 2", n)
		}
	})
}

// TestTextMessageIsRetriedAfterBusyGateway: if the gateway reports that it is busy, the server sends the message again.
// If the gateway refuses the message, the server does not.
func TestTextMessageIsRetriedAfterBusyGateway(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake)
		fake.Answer(func(noticetest.Text) (int, string) {
			if len(fake.Texts()) == 1 {
				return 503, ""
			}
			return 200, ""
		})
		a := c.MustBook(texting(c))
		time.Sleep(time.Hour)
		if n := len(fake.Texts()); n != 2 {
			t.Errorf("the gateway received %d messages of appointment %s, want 2", n, a.ID)
		}
	})
}

// TestTextReminderAvoidsNight: a reminder for an early appointment is sent the evening before, not at night.
func TestTextReminderAvoidsNight(t *testing.T) {
	t.Parallel()
	c := smsClinic(t, noticetest.NewGateway(t))
	r := texting(c)
	r.SlotStart = c.Start.Add(-3 * time.Hour) // 09:00, so 2 hours before is 07:00
	a := c.MustBook(r)
	list, err := c.Store.Outbox(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	var dues []string
	for _, op := range list {
		if op.Kind == store.SMS && op.AppointmentID == a.ID && op.NextAttemptAt.After(op.CreatedAt.Add(time.Hour)) {
			dues = append(dues, op.NextAttemptAt.Sub(a.SlotStart).String())
		}
	}
	if want := "-48h0m0s -12h0m0s"; strings.Join(dues, " ") != want {
		t.Errorf("the reminders are due %v from the start, want %s", dues, want)
	}
}

// TestLateTextReminderWaitsForMorning: the gateway is unreachable when a reminder is due in the evening, and reachable
// again at night. The reminder waits until 08:00.
func TestLateTextReminderWaitsForMorning(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c := smsClinic(t, fake)
		r := texting(c)
		r.SlotStart = c.Start.Add(9 * time.Hour) // 21:00, so 48 hours before is 21:00
		c.MustBook(r)
		busy := true
		fake.Answer(func(noticetest.Text) (int, string) {
			if busy {
				return 503, ""
			}
			return 200, ""
		})
		evening := r.SlotStart.Add(-48 * time.Hour)
		time.Sleep(time.Until(evening.Add(20 * time.Minute)))
		n := len(fake.Texts())
		if n < 2 {
			t.Fatalf("in the evening the gateway received %d requests, want the reminder at least once", n)
		}
		time.Sleep(time.Until(evening.Add(11*time.Hour - time.Minute)))
		if got := len(fake.Texts()); got != n {
			t.Errorf("in the night the gateway received %d requests", got-n)
		}
		time.Sleep(2 * time.Minute)
		if got := len(fake.Texts()); got != n+1 {
			t.Errorf("at 8:00 the gateway received %d requests, want 1", got-n)
		}
	})
}

// TestMessageWaitsWhileChangeCanBeUndone: the gateway is busy when a patient books. Before the next attempt, the desk
// moves the appointment. After the time of that attempt, it undoes the move. The message must not state the time of the
// undone move.
func TestMessageWaitsWhileChangeCanBeUndone(t *testing.T) {
	t.Parallel()
	clitest.OnlyInFull(t)
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, ctx := smsClinic(t, fake), context.Background()
		fake.Answer(func(noticetest.Text) (int, string) {
			if len(fake.Texts()) == 1 {
				return 503, ""
			}
			return 200, ""
		})
		a := c.MustBook(texting(c))
		time.Sleep(15 * time.Second) // the next attempt is after 20 s
		move := booking.RescheduleRequest{ID: a.ID, SlotStart: c.Start.Add(time.Hour), Actor: enginetest.Jo,
			Undoable: true}
		if _, err := c.Booking.Reschedule(ctx, move); err != nil {
			t.Fatal(err)
		}
		time.Sleep(8 * time.Second)
		if _, err := c.Booking.Undo(ctx, booking.UndoRequest{ID: a.ID, Actor: enginetest.Jo}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		got := fake.Texts()
		if len(got) != 2 || !strings.Contains(got[1].Text, "12:00") {
			t.Errorf("the gateway received %+v, want two attempts and the booked time", got)
		}
	})
}

func TestSMSPreviewShowsLength(t *testing.T) {
	t.Parallel()
	c := smsClinic(t, noticetest.NewGateway(t))
	for _, language := range []string{"en", "de", "es"} {
		for _, name := range []string{"confirmation", "reschedule", "cancellation", "reminder", "must_move", "waitlist_offer", "proposal"} {
			p, err := c.Message.PreviewSMS(name, language, "")
			if err != nil || p.Length.Segments != 1 || p.Length.IsUCS2 || strings.Contains(p.Text, "{") {
				t.Errorf("%s in %s: %+v, %v; want one segment of GSM-7", name, language, p, err)
			}
		}
	}
	if p, err := c.Message.PreviewSMS("reminder", "en", strings.Repeat("я", 60)+" {time}"); err != nil || p.Length.Segments != 3 || !p.Length.IsUCS2 {
		t.Errorf("a text in Cyrillic: %+v, %v", p, err)
	}
	if _, err := c.Message.PreviewSMS("reminder", "en", "{what}"); err == nil {
		t.Error("a text with the type was accepted")
	}
}

// TestTextWithTimeZoneFitsOneSegment: a specialist works in a time zone other than the clinic's, so the message names
// that zone with the appointment's time. It still fits in one segment.
func TestTextWithTimeZoneFitsOneSegment(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://book.example.org", "https://book.hafenpraxis.example"} {
		c := smsClinic(t, noticetest.NewGateway(t), func(o *engine.Options) { o.BaseURL = base })
		file := enginetest.ClinicFile(map[string]int{"ada": 1})
		file.Specialists[0].Timezone = "America/Sao_Paulo"
		if _, err := c.Clinic.Import(t.Context(), "system", file); err != nil {
			t.Fatal(err)
		}
		for _, language := range []string{"en", "de", "es"} {
			for _, name := range []string{"confirmation", "reschedule", "cancellation", "reminder", "must_move"} {
				p, err := c.Message.PreviewSMS(name, language, "")
				isZoned := strings.Contains(p.Text, "(Sao Paulo)") || strings.Contains(p.Text, "(America/Sao_Paulo)")
				isLinked := strings.Contains(p.Text, base+"/m#") == (name != "cancellation")
				if err != nil || p.Length.Segments != 1 || p.Length.IsUCS2 || !isZoned || !isLinked {
					t.Errorf("%s in %s: %+v, %v; want one segment with the zone and the link", name, language, p, err)
				}
			}
		}
	}
}

// TestSMSGatewaySecretStaysWithItsGateway: the secret is sealed for one request. If the address changes, the secret
// must be entered again. No audit entry contains it.
func TestSMSGatewaySecretStaysWithItsGateway(t *testing.T) {
	t.Parallel()
	x, _ := notice.NewTexter(notice.TexterOptions{AllowPrivate: true})
	c, _ := enginetest.NoticeClinic(t, func(o *engine.Options) { o.Notices.Texter = x })
	ctx := t.Context()
	g := notice.Gateway{Method: "POST", URL: "https://sms.example.org/send", Headers: "X-Key: {secret}", Body: "{to}{text}"}
	if err := c.Message.Gateway.Put(ctx, enginetest.Jo, g, ""); err == nil {
		t.Error("a gateway without its secret was accepted")
	}
	if err := c.Message.Gateway.Put(ctx, enginetest.Jo, g, "canarysms"); err != nil {
		t.Fatal(err)
	}
	if s := c.Message.Gateway.Current(); !s.IsSet || !s.IsReadable || s.Chosen.Sealed != "" || !c.Message.SendsSMS() {
		t.Errorf("got %+v", s)
	}
	g.From = "Clinic"
	if err := c.Message.Gateway.Put(ctx, enginetest.Jo, g, ""); err != nil {
		t.Errorf("another sender: %v", err)
	}
	other := g
	other.URL = "https://evil.example.org/send"
	if err := c.Message.Gateway.Put(ctx, enginetest.Jo, other, ""); err == nil {
		t.Error("the stored secret was accepted for another address")
	}
	other = g
	other.Body += "{secret}"
	if err := c.Message.Gateway.Put(ctx, enginetest.Jo, other, ""); err == nil {
		t.Error("the stored secret was accepted for another body")
	}
	entries, _, err := c.Record.Audit(ctx, store.AuditFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if all := string(e.Before) + string(e.After); strings.Contains(all, "canary") || strings.Contains(all, "sealed") {
			t.Errorf("audit entry %s contains the secret: %s", e.Action, all)
		}
	}
	if err := c.Message.Gateway.Seal(ctx); err != nil {
		t.Error(err)
	}
	if err := c.Message.Gateway.Remove(ctx, enginetest.Jo); err != nil || c.Message.SendsSMS() {
		t.Errorf("after the removal: %v", err)
	}
}

package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
)

// TestMoveThatKeepsStartIsNoNewTime: a move to another specialist at the same time says that the appointment has
// changed. A later move says that it has a new time.
func TestMoveThatKeepsStartIsNoNewTime(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
			o.Notices.Texter = enginetest.TexterTo(t, fake)
		})
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.SMS.CountryCode = "49"
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Clinic.Import(ctx, "system", enginetest.ClinicFile(map[string]int{"ada": 2, "karim": 1})); err != nil {
			t.Fatal(err)
		}
		r := texting(c)
		r.SpecialistID = "ada"
		a := c.MustBook(r)
		time.Sleep(time.Second)
		move := func(to time.Time, who string) (mail, text string) {
			t.Helper()
			if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: to, SpecialistID: who,
				Actor: "manage"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			texts := fake.Texts()
			return c.Mails(folder, a.ID)["reschedule"], texts[len(texts)-1].Text
		}
		if mail, text := move(c.Start, "karim"); !strings.Contains(mail, "The time stays the same") ||
			strings.Contains(mail, "New time") || !strings.Contains(text, "has changed (same time)") {
			t.Errorf("after a move to another specialist, the email is %s and the text message %q", mail, text)
		}
		if _, text := move(c.Start.Add(time.Hour), "karim"); !strings.Contains(text, "new time") {
			t.Errorf("after a move to another time, the text message is %q", text)
		}
	})
}

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
	"holdfast/store"
)

// TestMoveThatKeepsStartIsNoNewTime: a move to another specialist at the same time says that the appointment has
// changed. A later move says that it has a new time.
func TestMoveThatKeepsStartIsNoNewTime(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, move := movable(t, fake, "", "")
		if mail, text := move(c.Start, "karim"); !strings.Contains(mail, "The time stays the same") ||
			strings.Contains(mail, "New time") || !strings.Contains(text, "has changed (same time)") {
			t.Errorf("after a move to another specialist, the email is %s and the text message %q", mail, text)
		}
		if _, text := move(c.Start.Add(time.Hour), "karim"); !strings.Contains(text, "new time") {
			t.Errorf("after a move to another time, the text message is %q", text)
		}
	})
}

// TestMoveToAnotherPlaceNamesPlace: the email and the text message about a move to another place say that the place is
// new, with or without a new start. A later move at the same place does not.
func TestMoveToAnotherPlaceNamesPlace(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, move := movable(t, fake, "north", "south")
		for _, step := range []struct {
			after      time.Duration
			specialist string
			mail, text string
		}{
			{0, "karim", "New place: your appointment", "new place for your appointment on"},
			{time.Hour, "karim", "New time: your appointment", "new time for your appointment:"},
			{2 * time.Hour, "ada", "New time and place: your appointment", "new time and place for your appointment:"},
		} {
			mail, text := move(c.Start.Add(step.after), step.specialist)
			if !strings.Contains(text, step.text) {
				t.Errorf("after a move to %s, the text message is %q, want %q", step.specialist, text, step.text)
			}
			if !strings.Contains(mail, step.mail) {
				t.Errorf("after a move to %s, the email is %s, want %q", step.specialist, mail, step.mail)
			}
		}
	})
}

// movable returns a clinic whose specialists ada and karim work at these places, all day, and a function that moves an
// appointment of ada's and returns the email and the text message about it.
func movable(t *testing.T, fake *noticetest.Gateway, adas, karims string) (c *enginetest.TestClinic,
	move func(to time.Time, specialistID string) (mail, text string)) {
	t.Helper()
	c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
		o.Notices.Texter = enginetest.TexterTo(t, fake)
	})
	ctx, places := context.Background(), map[string]string{"ada": adas, "karim": karims}
	if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
		s.SMS.CountryCode = "49"
		for _, id := range places {
			if id != "" {
				s.Places = append(s.Places, clinic.Place{ID: id, Name: id})
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	file := enginetest.ClinicFile(map[string]int{"ada": 2, "karim": 1})
	if _, err := c.Clinic.Import(ctx, "system", file); err != nil {
		t.Fatal(err)
	}
	for id, place := range places {
		var hours []store.WeeklyWindow
		for day := range 7 {
			hours = append(hours, store.WeeklyWindow{Weekday: store.Weekday(day),
				Window: store.Window{Start: 0, End: 1440, Place: place}})
		}
		if err := c.Clinic.PutWeeklyHours(ctx, "system", id, hours); err != nil {
			t.Fatal(err)
		}
	}
	r := texting(c)
	r.SpecialistID = "ada"
	a := c.MustBook(r)
	time.Sleep(time.Second)
	return c, func(to time.Time, specialistID string) (mail, text string) {
		t.Helper()
		if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, SlotStart: to,
			SpecialistID: specialistID, Actor: "manage"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		texts := fake.Texts()
		return c.Mails(folder, a.ID)["reschedule"], texts[len(texts)-1].Text
	}
}

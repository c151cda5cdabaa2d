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

// TestMoveToAnotherPlaceNamesPlace: the email and the text message about a move to another place say that the place is
// new, with or without a new start. A later move at the same place does not.
func TestMoveToAnotherPlaceNamesPlace(t *testing.T) {
	t.Parallel()
	fake := noticetest.NewGateway(t)
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
			o.Notices.Texter = enginetest.TexterTo(t, fake)
		})
		ctx := context.Background()
		if _, err := c.Clinic.UpdateSettings(ctx, "system", func(s *clinic.Settings) {
			s.SMS.CountryCode = "49"
			s.Places = []clinic.Place{{ID: "north", Name: "North Street"}, {ID: "south", Name: "South Square"}}
		}); err != nil {
			t.Fatal(err)
		}
		who := map[string]int{"ada": 2, "karim": 1}
		if _, err := c.Clinic.Import(ctx, "system", enginetest.ClinicFile(who)); err != nil {
			t.Fatal(err)
		}
		for id, place := range map[string]string{"ada": "north", "karim": "south"} {
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
		for _, step := range []struct {
			after      time.Duration
			specialist string
			mail, text string
		}{
			{0, "karim", "New place: your appointment", "new place for your appointment on"},
			{time.Hour, "karim", "New time: your appointment", "new time for your appointment:"},
			{2 * time.Hour, "ada", "New time and place: your appointment", "new time and place for your appointment:"},
		} {
			if _, err := c.Booking.Reschedule(ctx, booking.RescheduleRequest{ID: a.ID, Actor: "manage",
				SlotStart: c.Start.Add(step.after), SpecialistID: step.specialist}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			texts := fake.Texts()
			if text := texts[len(texts)-1].Text; !strings.Contains(text, step.text) {
				t.Errorf("after a move to %s, the text message is %q, want %q", step.specialist, text, step.text)
			}
			if mail := c.Mails(folder, a.ID)["reschedule"]; !strings.Contains(mail, step.mail) {
				t.Errorf("after a move to %s, the email is %s, want %q", step.specialist, mail, step.mail)
			}
		}
	})
}

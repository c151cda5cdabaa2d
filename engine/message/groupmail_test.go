package message_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/group"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
)

// TestGroupEmailOffersLinks: in the email about several appointments, each link is labelled and has a button: one for
// a whole group visit, and one for each appointment of a series. Without a public address, the email mentions no link.
func TestGroupEmailOffersLinks(t *testing.T) {
	t.Parallel()
	visit := func(c *enginetest.TestClinic) []store.Appointment {
		return c.MustVisit(enginetest.Family(c.Start, "checkup", "checkup", "surgery"))
	}
	series := func(c *enginetest.TestClinic) []store.Appointment {
		r := group.SeriesRequest{AppointmentTypeID: "checkup", Source: store.SourceStaff, Actor: enginetest.Jo,
			Patient: store.Patient{Name: "Lena Vogt", Email: "lena@example.org"}}
		for i := range 4 {
			r.Times = append(r.Times, group.Time{Start: c.Start.AddDate(0, 0, 7*i)})
		}
		list, err := c.Group.Series.Book(context.Background(), r)
		if err != nil {
			c.T.Fatal(err)
		}
		return list
	}
	for name, x := range map[string]struct {
		book           func(*enginetest.TestClinic) []store.Appointment
		noBase         bool
		subject, label string
		action, policy string
		buttons        int
	}{
		"visit": {book: visit, subject: "Your 3 appointments on Wednesday", policy: "\ncheckup: Cancel a day before.",
			label: "\n\nTo move all appointments together, or cancel one or all of them: " +
				"https://book.example.org/manage#",
			action: ">Move or cancel</a>", buttons: 1},
		"series": {book: series, subject: "Your 4 appointments from Wednesday", policy: "\n\nCancel a day before.",
			label:  "\nTo change or cancel this appointment: https://book.example.org/manage#",
			action: ">Change or cancel</a>", buttons: 4},
		"visit without links":  {book: visit, noBase: true, subject: "Your 3 appointments on", action: "</a>"},
		"series without links": {book: series, noBase: true, subject: "Your 4 appointments from", action: "</a>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
					if x.noBase {
						o.BaseURL = ""
					}
				})
				if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, "checkup",
					func(t *store.AppointmentType) { t.Page.CancelText = "Cancel a day before." }); err != nil {
					t.Fatal(err)
				}
				list := x.book(c)
				time.Sleep(time.Minute)
				header, parts := enginetest.Parts(t, c.Messages(folder, list[0].ID)["series_confirmation"])
				text := strings.ReplaceAll(parts[0].Text, "\r\n", "\n")
				if subject := header.Get("Subject"); !strings.HasPrefix(subject, x.subject) {
					t.Errorf("the subject is %q, want %q", subject, x.subject)
				}
				if n := strings.Count(parts[1].Text, x.action); n != x.buttons {
					t.Errorf("%d buttons, want %d:\n%s", n, x.buttons, parts[1].Text)
				}
				if x.noBase {
					if strings.Contains(text, "link") || strings.Contains(text, "To ") {
						t.Errorf("the text mentions a link:\n%s", text)
					}
					return
				}
				if n := strings.Count(text, x.label); n != x.buttons || !strings.Contains(text, x.policy) {
					t.Errorf("%d labelled links, want %d; the text is\n%s", n, x.buttons, text)
				}
			})
		})
	}
}

// TestVisitReminderCoversAll: a family of three gets one email and one text message as a reminder of its visit, also
// with the clinic's own text. The email lists all three appointments.
func TestVisitReminderCoversAll(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ own, mail, sms string }{
		"built-in": {mail: "\n\nThis is a reminder of your appointments.\n\n",
			sms: "reminder of your 3 appointments, the first on Wed 5 Jan, 12:00. https://"},
		"own": {own: "See you at {when}.", sms: "See you at Wed 5 Jan, 12:00. Change or cancel: https://",
			mail: "\n\nSee you at Wednesday 5 January 2000, 12:00 to 12:30.\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := noticetest.NewGateway(t)
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
					o.Notices.Texter = enginetest.TexterTo(t, fake)
				})
				if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
					s.ReminderHours, s.SMS.CountryCode, s.SMS.ReminderHours = 100, "49", []int{100}
					if x.own != "" {
						s.MailTexts = clinic.MailTexts{"reminder": {"en": {Text: x.own}}}
						s.SMS.Texts = clinic.SMSTexts{"reminder": {"en": x.own}}
					}
				}); err != nil {
					t.Fatal(err)
				}
				list := textedFamily(c)
				time.Sleep(time.Until(c.Start.Add(-98 * time.Hour)))
				_, parts := enginetest.Parts(t, c.Messages(folder, list[0].ID)["reminder"])
				text := strings.ReplaceAll(parts[0].Text, "\r\n", "\n")
				for _, want := range []string{x.mail, "Lena Vogt, checkup\n", "Mia Vogt, checkup\n",
					"Ben Vogt, checkup\n",
					"13:00 to 13:30", "To move all appointments together, or cancel one or all of them: https://"} {
					if !strings.Contains(text, want) {
						t.Errorf("the email does not contain %q:\n%s", want, text)
					}
				}
				for _, a := range list[1:] {
					if c.Mails(folder, a.ID)["reminder"] != "" {
						t.Errorf("%s gets another email", a.Patient.Name)
					}
				}
				if got := fake.Texts(); len(got) != 2 || !strings.Contains(got[1].Text, x.sms) {
					t.Errorf("the text messages are %+v, want a confirmation and one with %q", got, x.sms)
				}
			})
		})
	}
}

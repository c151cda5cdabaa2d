package message_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
)

// TestOwnTextNeedsItsLink: the clinic's own text for an appointment that must move asks the patient to use the link.
// After the cut-off, the text message has no link, so it has the built-in text. A clinic without a public address has
// no links at all, so its own text is used.
func TestOwnTextNeedsItsLink(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		cutOff int // hours
		noBase bool
		want   string
	}{
		"with the link":     {want: "Please choose another time here. New time: https://book.example.org/m#"},
		"after the cut-off": {cutOff: 24 * 14, want: "has to be moved. We will call you."},
		"no public address": {noBase: true, want: "Please choose another time here."},
	} {
		t.Run(name, func(t *testing.T) {
			fake := noticetest.NewGateway(t)
			synctest.Test(t, func(t *testing.T) {
				c := smsClinic(t, fake, func(o *engine.Options) {
					if x.noBase {
						o.BaseURL = ""
					}
				})
				if _, err := c.Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
					s.ChangeCutoffHours = x.cutOff
					s.SMS.Texts = clinic.SMSTexts{"must_move": {"en": "Please choose another time here."}}
				}); err != nil {
					t.Fatal(err)
				}
				a := c.MustBook(texting(c))
				time.Sleep(time.Minute)
				if err := c.Message.AskToMove(t.Context(), a.ID, enginetest.Jo, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				got := fake.Texts()
				if text := got[len(got)-1].Text; !strings.Contains(text, x.want) ||
					x.cutOff > 0 && strings.Contains(text, "here") {
					t.Errorf("the text message is %q, want %q", text, x.want)
				}
			})
		})
	}
}

// TestRecallPreviewShowsOwnText: the owner sees the clinic's own text, even if no type can be booked online.
func TestRecallPreviewShowsOwnText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		for _, x := range c.Clinic.Current().AppointmentTypes {
			if _, err := c.Clinic.UpdateAppointmentType(t.Context(), enginetest.Jo, x.ID,
				func(t *store.AppointmentType) { t.Page.DeskOnly = true }); err != nil {
				t.Fatal(err)
			}
		}
		p, err := c.Message.PreviewMail("recall", "en", clinic.MailText{Text: "Time for a check."})
		if err != nil || !strings.Contains(p.Text, "Time for a check.") ||
			!strings.Contains(p.Text, ": https://book.example.org/\n") {
			t.Errorf("the preview is %q, %v", p.Text, err)
		}
	})
}

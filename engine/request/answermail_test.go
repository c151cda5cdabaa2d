package request_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// TestRequestEmailSaysHowToAnswer: the specialist is in New York, and the clinic is in another time zone. Each email
// says until when the patient can answer, in the zone of the appointment, and how: with its link or by phone. The email
// about a declined request has the link to choose another time.
func TestRequestEmailSaysHowToAnswer(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		approval, noBase bool
		want             map[string][]string // by notice
	}{
		"confirm": {want: map[string][]string{
			"confirmation_request": {
				"Confirm this appointment by Friday 31 December 1999 at 19:30 (America/New_York): https://",
				">Confirm the appointment</a>"},
			"request_declined": {
				"To choose another time: https://book.example.org/?specialist=ada&type=checkup\n",
				">Choose another time</a>"}}},
		"propose": {approval: true, want: map[string][]string{
			"request_proposed": {"the time you requested, Wednesday 5 January 2000 at 07:00 (America/New_York). We",
				"Accept or decline this time by Sunday 2 January 2000 at 19:00 (America/New_York): https://"}}},
		"no public address": {approval: true, noBase: true, want: map[string][]string{
			"request_proposed": {"We are holding this time for you until Sunday 2 January 2000 at 19:00 " +
				"(America/New_York). Please call us before then."}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, folder := enginetest.NoticeClinic(t, func(o *engine.Options) {
					if x.noBase {
						o.BaseURL = ""
					}
				})
				if _, err := c.Clinic.UpdateSpecialist(t.Context(), enginetest.Jo, "ada", func(p *store.Specialist) {
					p.Timezone = "America/New_York"
				}); err != nil {
					t.Fatal(err)
				}
				settle(c, func(p *clinic.PublicBookings) { p.Confirm = true })
				changeType(c, func(t *store.AppointmentType) { t.Page.Approval, t.Page.ApprovalHours = x.approval, 48 })
				r := asks(c, 1, c.Start)
				time.Sleep(time.Second)
				if x.approval {
					if _, err := propose(c, r, c.Start.Add(2*time.Hour)); err != nil {
						t.Fatal(err)
					}
				} else if _, err := c.Request.Decline(context.Background(), r.ID, "user:desk", true, nil); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				for notice, all := range x.want {
					_, parts := enginetest.Parts(t, c.Messages(folder, r.ID)[notice])
					text := strings.ReplaceAll(parts[0].Text, "\r\n", "\n") + parts[1].Text
					for _, want := range all {
						if !strings.Contains(text, want) {
							t.Errorf("the email %s does not contain %q:\n%s", notice, want, text)
						}
					}
				}
			})
		})
	}
}

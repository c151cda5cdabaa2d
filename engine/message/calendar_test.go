package message_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice/noticetest"
)

// TestCalendarAlarmsFollowReminders: the alarms in the patient's calendar are at the same times as the clinic's
// reminders by email or text message.
func TestCalendarAlarmsFollowReminders(t *testing.T) {
	t.Parallel()
	mailOnly, _ := enginetest.NoticeClinic(t)
	texting := smsClinic(t, noticetest.NewGateway(t))
	for name, x := range map[string]struct {
		c     *enginetest.TestClinic
		hours int // hours before the start for the email; 0 means off
		sms   clinic.SMS
		want  []string
	}{
		"off":                      {mailOnly, 0, clinic.SMS{}, nil},
		"email":                    {mailOnly, 24, clinic.SMS{}, []string{"-PT1440M"}},
		"no gateway":               {mailOnly, 24, clinic.SMS{ReminderHours: []int{72}}, []string{"-PT1440M"}},
		"text messages":            {texting, 0, clinic.SMS{}, []string{"-PT2880M", "-PT120M"}},
		"email and text messages":  {texting, 24, clinic.SMS{}, []string{"-PT2880M", "-PT1440M", "-PT120M"}},
		"both at the same time":    {texting, 2, clinic.SMS{}, []string{"-PT2880M", "-PT120M"}},
		"own hours":                {texting, 0, clinic.SMS{ReminderHours: []int{3}}, []string{"-PT180M"}},
		"email, text messages off": {texting, 5, clinic.SMS{NoReminders: true}, []string{"-PT300M"}},
		"both off":                 {texting, 0, clinic.SMS{NoReminders: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := x.c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
				s.ReminderHours, s.SMS = x.hours, x.sms
			}); err != nil {
				t.Fatal(err)
			}
			r := enginetest.BookingOf(1, "checkup")
			r.SlotStart = x.c.Start
			a := x.c.MustBook(r)
			defer x.c.DeskCancels(a.ID)
			for what, file := range map[string][]byte{
				"the file": x.c.Message.CalendarFile(&a, message.Invitation{}), "the subscription": x.c.Message.PatientCalendar(&a),
			} {
				var got []string
				for line := range strings.SplitSeq(string(file), "\r\n") {
					if trigger, ok := strings.CutPrefix(line, "TRIGGER:"); ok {
						got = append(got, trigger)
					}
				}
				if !slices.Equal(got, x.want) {
					t.Errorf("%s has the alarms %v, want %v", what, got, x.want)
				}
			}
		})
	}
}

package message_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/store"
)

// TestArchivedEntriesKeepNames: messages and calendar files still name an appointment type and a specialist after they
// have been archived.
func TestArchivedEntriesKeepNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, folder := enginetest.NoticeClinic(t)
		ctx := t.Context()
		if _, err := c.Clinic.UpdateAppointmentType(ctx, "system", "checkup", func(to *store.AppointmentType) {
			to.Name = "A look at everything"
		}); err != nil {
			t.Fatal(err)
		}
		r := enginetest.BookingOf(1, "checkup")
		r.SlotStart, r.Locale = c.Start, "en"
		a := c.MustBook(r)
		if err := c.Clinic.ArchiveAppointmentType(ctx, "system", "checkup"); err != nil {
			t.Fatal(err)
		}
		if err := c.Clinic.ArchiveSpecialist(ctx, "system", a.SpecialistID); err != nil {
			t.Fatal(err)
		}
		c.MustCancel(a.ID)
		time.Sleep(time.Second)
		_, after := enginetest.Parts(t, c.Messages(folder, a.ID)["cancellation"])
		s := c.Clinic.Current()
		who, _ := s.Who(a.SpecialistID)
		what := "A look at everything"
		if who == "" || !strings.Contains(after[0].Text, what) || !strings.Contains(after[0].Text, who) ||
			strings.Contains(after[0].Text, "checkup") {
			t.Errorf("the email about %s with %s is\n%s", what, who, after[0].Text)
		}
		feed := c.Message.SpecialistCalendar(&store.Specialist{Name: who}, []store.Appointment{a}, false)
		for of, file := range map[string][]byte{
			"the file":              c.Message.CalendarFile(&a, message.Invitation{}),
			"the subscription":      c.Message.PatientCalendar(&a),
			"the specialist's feed": feed,
		} {
			if event := string(file); !strings.Contains(event, "SUMMARY:"+what) || !strings.Contains(event, who) {
				t.Errorf("%s about %s with %s is\n%s", of, what, who, event)
			}
		}
		csv, err := c.Sheet.Export(ctx, "system", c.Start.Add(-time.Hour), c.Start.Add(time.Hour), ',')
		if err != nil || !strings.Contains(csv, ","+what+",") || !strings.Contains(csv, ","+who+",") {
			t.Errorf("the calendar file of an archived type and specialist: %v\n%s", err, csv)
		}
	})
}

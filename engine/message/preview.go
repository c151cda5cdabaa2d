package message

import (
	"cmp"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// Preview is an email as the server would write it, together with the built-in texts for it.
type Preview struct {
	Subject, Text string
	Own           clinic.MailText // the built-in texts that the clinic's own texts replace, with unfilled placeholders
}

// PreviewMail writes an email about a made-up appointment with the clinic's own texts. It does not send anything.
// Errors: *ValidationError.
func (ms *Messages) PreviewMail(name, language string, text clinic.MailText) (Preview, error) {
	var wrong record.Mistakes
	ms.clinic.CheckMailText(&wrong, "", name, language, &text)
	if err := wrong.Err(); err != nil {
		return Preview{}, err
	}
	a, link := ms.inventedAppointment(language), ""
	switch base := ms.clinic.LinkURL(); {
	case base == "":
	case name == mailRecall, name == MailDeclined: // also if the type of the appointment cannot be booked online
		link = cmp.Or(ms.bookingLink(&a), base+"/")
	default:
		link = base + "/manage#…"
	}
	m := notice.Mail{ReplyTo: ms.clinic.Schedule().Clinic.Email}
	ms.write(&m, name, &a, link, text, mailTimes{until: a.SlotStart.Add(-20 * time.Hour)})
	words := ms.lettersFor(language)
	return Preview{m.Subject, m.Text, clinic.MailText{Subject: words.subject(name), Text: words.opening(name)}}, nil
}

// inventedAppointment returns a made-up appointment tomorrow at 10:00, for a preview.
func (ms *Messages) inventedAppointment(language string) store.Appointment {
	s := ms.clinic.Current()
	today := time.Now().In(s.Zone)
	a := store.Appointment{ID: "00000000-0000-7000-8000-000000000000", Locale: language, CreatedAt: today,
		SlotStart: time.Date(today.Year(), today.Month(), today.Day()+1, 10, 0, 0, 0, s.Zone)}
	a.SlotEnd = a.SlotStart.Add(30 * time.Minute)
	for i := range s.AppointmentTypes {
		if t := &s.AppointmentTypes[i]; t.Active && len(t.Specialists) > 0 {
			a.AppointmentTypeID, a.SpecialistID = t.ID, t.Specialists[0].SpecialistID
			a.SlotEnd = a.SlotStart.Add(time.Duration(t.DurationMinutes) * time.Minute)
			a.Place = s.PlaceAt(a.SpecialistID, a.SlotStart)
			break
		}
	}
	return a
}

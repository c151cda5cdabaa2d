package message

import (
	"cmp"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/ical"
	"holdfast/store"
)

// Invitation contains the people named in a calendar file, and its link. The zero value publishes the file without an
// addressee.
type Invitation struct {
	Method    ical.Method  // empty means ical.Publish
	Organizer mail.Address // the clinic; if it has no address, the one in the clinic's contact data is used
	Attendee  string       // the patient's email address; ignored with ical.Publish
	ManageURL string       // may be empty
}

// CalendarFile returns an appointment as an iCalendar object (RFC 5545). Its UID stays the same and its SEQUENCE
// increases with every change to the appointment. So a calendar program that already has the event accepts newer
// versions and ignores older ones.
func (ms *Messages) CalendarFile(a *store.Appointment, to Invitation) []byte {
	return ms.calendar(to, []store.Appointment{*a}, func(*store.Appointment) string { return to.ManageURL })
}

// calendar returns several appointments as one object; linkTo returns the link that opens an appointment.
func (ms *Messages) calendar(to Invitation, list []store.Appointment, linkTo func(*store.Appointment) string) []byte {
	var w ical.Writer
	w.Begin(cmp.Or(to.Method, ical.Publish))
	for i := range list {
		to.ManageURL = linkTo(&list[i])
		w.Event(ms.calendarEvent(&list[i], to))
	}
	return w.End()
}

// SpecialistCalendar returns a specialist's appointments for the calendar program on the specialist's phone, which
// fetches them again every 15 minutes. All seats of a group session are one event, such as "Back school 6/8". If names
// is set, the calendar contains the patients' names and phone numbers, and no other personal data.
func (ms *Messages) SpecialistCalendar(p *store.Specialist, list []store.Appointment, names bool) []byte {
	schedule := ms.clinic.Current()
	about := &schedule.Clinic
	var w ical.Writer
	w.BeginFeed(p.Name + ", " + about.Name)
	for _, together := range sessions(schedule, list) {
		a := together[0]
		e := eventOf(a)
		e.Cancelled = false // the feed lists confirmed appointments
		e.Location = ms.location(a, about.Locale)
		e.Summary = a.AppointmentTypeID
		t := schedule.TypeOf(a.AppointmentTypeID)
		if t != nil {
			e.Summary = t.Name
		}
		switch {
		case isGroup(t):
			describeSession(&e, together, t.Capacity, names)
		case names && a.Patient.Name != "":
			e.Summary, e.Description = a.Patient.Name+", "+e.Summary, a.Patient.Phone
		}
		w.Event(&e)
	}
	return w.End()
}

func isGroup(t *store.AppointmentType) bool { return t != nil && t.Capacity > 1 }

// sessions returns the appointments in the order of the list, with all seats of a group session in one element.
func sessions(schedule *clinic.Schedule, list []store.Appointment) [][]*store.Appointment {
	type session struct {
		typeID, specialistID string
		start                time.Time
	}
	var all [][]*store.Appointment
	at := make(map[session]int)
	for i := range list {
		a := &list[i]
		if isGroup(schedule.TypeOf(a.AppointmentTypeID)) {
			key := session{a.AppointmentTypeID, a.SpecialistID, a.SlotStart}
			if n, found := at[key]; found {
				all[n] = append(all[n], a)
				continue
			}
			at[key] = len(all)
		}
		all = append(all, []*store.Appointment{a})
	}
	return all
}

// describeSession writes the seats of a group session into the event of its first seat. The event keeps that seat's
// identity. So the server recognizes it as its own if a specialist's external calendar contains a copy.
func describeSession(e *ical.Event, seats []*store.Appointment, capacity int, names bool) {
	e.Summary += fmt.Sprintf(" %d/%d", len(seats), capacity)
	var lines []string
	for _, a := range seats {
		e.Sequence = max(e.Sequence, a.Version)
		if a.UpdatedAt.After(e.Stamp) {
			e.Stamp = a.UpdatedAt
		}
		if a.SlotEnd.After(e.End) {
			e.End = a.SlotEnd
		}
		if names && a.Patient.Name != "" {
			lines = append(lines, strings.TrimSuffix(a.Patient.Name+", "+a.Patient.Phone, ", "))
		}
	}
	slices.Sort(lines)
	e.Description = strings.Join(lines, "\n")
}

// PatientCalendar returns one appointment for the patient's own calendar program. It omits the link for changing the
// appointment, so that a person who reads the calendar can only see the appointment. A cancelled appointment is marked
// as cancelled.
func (ms *Messages) PatientCalendar(a *store.Appointment) []byte {
	var w ical.Writer
	w.BeginFeed(ms.clinic.Schedule().Clinic.Name)
	w.Event(ms.calendarEvent(a, Invitation{}))
	return w.End()
}

// eventOf returns a calendar event that contains only the identity, the version, the time and the status of an
// appointment.
func eventOf(a *store.Appointment) ical.Event {
	return ical.Event{
		ID: a.ID, Sequence: a.Version, Stamp: a.UpdatedAt, Start: a.SlotStart, End: a.SlotEnd,
		Cancelled: a.Status == store.Cancelled,
	}
}

// alarms returns how long before an appointment the patient's calendar program shows its alarms, longest first. The
// alarms match the clinic's email reminders and, if this server sends text messages, its text message reminders.
func (ms *Messages) alarms() []time.Duration {
	settings := ms.clinic.Settings()
	hours := []int{settings.ReminderHours}
	if ms.SendsSMS() {
		hours = append(hours, settings.SMS.Reminders()...)
	}
	slices.Sort(hours)
	var all []time.Duration
	for _, h := range slices.Backward(slices.Compact(hours)) {
		if h > 0 {
			all = append(all, time.Duration(h)*time.Hour)
		}
	}
	return all
}

func (ms *Messages) calendarEvent(a *store.Appointment, to Invitation) *ical.Event {
	schedule := ms.clinic.Current()
	about := &schedule.Clinic
	language := ms.lettersFor(a.Locale, about.Locale).Tag
	e := eventOf(a)
	e.Organizer = &mail.Address{Name: cmp.Or(to.Organizer.Name, about.Name),
		Address: cmp.Or(to.Organizer.Address, about.Email)}
	if cmp.Or(to.Method, ical.Publish) != ical.Publish {
		e.Attendee = to.Attendee
	}
	e.Summary = about.Name
	if t := schedule.TypeOf(a.AppointmentTypeID); t != nil {
		e.Summary = clinic.NameIn(t, language) + ", " + about.Name
	}
	if who, _ := schedule.Who(a.SpecialistID); who != "" {
		e.Description = strings.TrimSuffix(who+"\n"+to.ManageURL, "\n")
	}
	e.Location, e.URL, e.Alarms = ms.location(a, language), to.ManageURL, ms.alarms()
	return &e
}

// location returns where an appointment takes place: the address, or the link of a video call.
func (ms *Messages) location(a *store.Appointment, language string) string {
	s := ms.clinic.Current()
	if s.IsRemote(a.AppointmentTypeID) {
		if a.Status == store.Cancelled {
			return ""
		}
		return s.VideoLink(a)
	}
	return s.Where(a, language)
}

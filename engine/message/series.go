package message

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/ical"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// Emails about several appointments for one patient or in one group visit that were booked, cancelled or moved
// together.
const (
	mailSeries          = "series_confirmation"
	mailSeriesCancelled = "series_cancellation"
	mailSeriesMoved     = "series_reschedule"
	// mailSeriesReminder names the texts of a reminder of a group visit. In the delivery log it is a mailReminder.
	mailSeriesReminder = "series_reminder"
)

// seriesMails maps the name of the email about one appointment to the name of the email about several.
var seriesMails = map[string]string{
	mailConfirmation: mailSeries, mailCancellation: mailSeriesCancelled, mailReschedule: mailSeriesMoved,
}

// singleMails is the reverse of seriesMails, for a message about several appointments of which only one is left.
var singleMails = map[string]string{
	mailSeries: mailConfirmation, mailSeriesCancelled: mailCancellation, mailSeriesMoved: mailReschedule,
}

// seriesMail returns the single email about several appointments in a change. It is queued with the first of them.
func (ms *Messages) seriesMail(c *booking.Change, name string, ids []string) booking.Promise {
	op := ms.outbound.NewOperation(store.Email, c.After, c.At)
	op.Deadline = c.At.Add(ms.outbound.Options.Limits.NoticeAge)
	op.Payload, _ = json.Marshal(mailPayload{Notice: name, Appointments: ids}) // encoding strings cannot fail
	return booking.Promise{Operation: op, Notice: name}
}

// deliverSeriesMail writes one email based on the current state of its appointments, and sends it. It leaves out an
// appointment whose change has since been undone or followed by another change, because another email covers it.
func (ms *Messages) deliverSeriesMail(ctx context.Context, op *store.Operation, p *mailPayload) outbound.Outcome {
	wanted := store.Confirmed
	if p.Notice == mailSeriesCancelled {
		wanted = store.Cancelled
	}
	all, isUnread := ms.appointmentsOf(ctx, op, p)
	if isUnread {
		return unread(ctx)
	}
	if at, is := ms.undoableUntil(ctx, all...); is {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: waitsForUndo}
	}
	var list []store.Appointment
	for i := range all {
		if a := &all[i]; a.Status == wanted && a.Patient.Email != "" &&
			(len(list) == 0 || booking.SameAddress(a.Patient.Email, list[0].Patient.Email)) {
			list = append(list, *a)
		}
	}
	if len(list) == 0 {
		return notNeeded("the appointments have changed since, or no longer have an email address")
	}
	if past := p.isPast(list, ms.outbound.Now()); past != "" {
		return notNeeded(past)
	}
	if o := ms.behindNotice(ctx, op); o != nil {
		return *o
	}
	if err := ms.CheckSender(); err != nil {
		return senderless(err)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].SlotStart.Before(list[j].SlotStart) })
	first := &list[0]
	m := ms.mailTo(op, &first.Patient)
	linkTo := ms.linkTo(list)
	if len(list) == 1 {
		ms.writeMail(&m, singleMails[p.Notice], first, linkTo(first))
	} else {
		ms.writeSeriesMail(&m, p.Notice, list, linkTo)
	}
	if wanted == store.Confirmed {
		// An invitation can contain only one event (RFC 5546), so several appointments are published instead.
		m.Calendar, m.CalendarMethod = ms.calendar(Invitation{Organizer: m.From}, list, linkTo), string(ical.Publish)
	}
	o := ms.mailed(op, ms.transport.Mailer.Send(ctx, m))
	if o.End == outbound.Delivered && ms.transport.Mailer.ToFiles() {
		for i := range list {
			ms.dropErasedMail(ctx, op.ID, &list[i])
		}
	}
	return o
}

// linkTo returns the function that returns the link of each of these appointments in an email: one link for all
// appointments of a group visit, and none for cancelled appointments.
func (ms *Messages) linkTo(list []store.Appointment) func(*store.Appointment) string {
	return func(a *store.Appointment) string {
		base := ms.clinic.LinkURL()
		switch {
		case base == "" || a.Status != store.Confirmed:
			return ""
		case len(list) > 1 && a.VisitID != "":
			return base + "/manage#" + ms.booking.VisitToken(&list[len(list)-1])
		}
		return base + "/manage#" + ms.booking.ManageToken(a)
	}
}

// writeSeriesMail fills in the subject, the text and the HTML. Each appointment has its link below it. The appointments
// of a group visit have one link, below the last one. A reminder has the clinic's own text, about the first of them.
func (ms *Messages) writeSeriesMail(m *notice.Mail, name string, list []store.Appointment,
	linkTo func(*store.Appointment) string) {
	s, first, last := ms.clinic.Current(), &list[0], &list[len(list)-1]
	words := ms.lettersFor(first.Locale, s.Clinic.Locale)
	m.Language = words.Tag
	values := map[string]string{
		"what": s.TypeName(first.AppointmentTypeID, m.Language), "when": "", "who": "", "where": "", "video": "",
		"phone": s.Clinic.Phone, "clinic": s.Clinic.Name,
	}
	if first.VisitID != "" {
		values["what"] = "" // each appointment has its own type, on its own line
	}
	look := ms.newLook()
	look.actions = make(map[string]string)
	var links []string
	act := func(kind, link string) string {
		if link == "" {
			return ""
		}
		links, look.actions[link] = append(links, link), words.Text("mail.action."+kind)
		return words.link(kind, map[string]string{"link": link})
	}
	var lines strings.Builder
	for i := range list {
		a := &list[i]
		who, zone := s.Who(a.SpecialistID)
		if who != "" {
			who = ", " + who
		}
		if a.VisitID != "" {
			named := []string{record.Greetable(a.Patient.Name), s.TypeName(a.AppointmentTypeID, m.Language)}
			lines.WriteString(strings.TrimPrefix(strings.Join(named, ", "), ", ") + "\n")
		}
		lines.WriteString(words.when(a, zone, s.Zone) + who + "\n")
		if name != mailSeriesCancelled {
			at := map[string]string{"what": "", "when": "", "who": "", "where": words.where(s, a),
				"video": s.VideoLink(a)}
			if at["video"] != "" {
				at["where"] = ""
			}
			lines.WriteString(fill(words.Text("mail.details")+"\n", at))
			links = append(links, at["video"])
		}
		if a.VisitID == "" {
			lines.WriteString(act("manage", linkTo(a)))
		}
		lines.WriteString("\n")
	}
	if last.VisitID != "" {
		lines.WriteString(act("visit", linkTo(last)))
	}
	var own clinic.MailText
	if name == mailSeriesReminder {
		own = ms.clinic.Settings().MailTexts[mailReminder][m.Language]
	}
	who, zone := s.Who(first.SpecialistID)
	filler := maps.Clone(values)
	maps.Copy(filler, map[string]string{"day": words.Day(first.SlotStart.In(zone)), "n": strconv.Itoa(len(list)),
		"what": s.TypeName(first.AppointmentTypeID, m.Language), "when": words.when(first, zone, s.Zone), "who": who,
		"where": words.where(s, first)})
	m.Subject = filled(cmp.Or(own.Subject, words.subject(sameDay(s, list, name))), filler)
	m.Text = paragraphs(words.letter(m.ToName, filled(cmp.Or(own.Text, words.opening(name)), filler)),
		fill(words.Text("mail.details")+"\n", values), lines.String(), cancelTexts(s, list, name, m.Language),
		words.closing(m, values))
	m.HTML = look.html(m.Language, m.Subject, m.Text, links...)
}

// sameDay returns the name of the subject for appointments that are all on one day, or else name.
func sameDay(s *clinic.Schedule, list []store.Appointment, name string) string {
	day := func(a *store.Appointment) store.Date {
		_, zone := s.Who(a.SpecialistID)
		return store.DateOf(a.SlotStart.In(zone))
	}
	for i := range list {
		if day(&list[i]) != day(&list[0]) {
			return name
		}
	}
	return strings.Replace(name, "series_", "day_", 1)
}

// cancelTexts returns the cancellation policies of the appointments' types. If the types differ, each policy has the
// name of its type.
func cancelTexts(s *clinic.Schedule, list []store.Appointment, name, language string) string {
	if name == mailSeriesCancelled {
		return ""
	}
	var types, texts []string
	for i := range list {
		t := s.TypeOf(list[i].AppointmentTypeID)
		if t == nil || slices.Contains(types, t.ID) {
			continue
		}
		types = append(types, t.ID)
		if text := clinic.CancelTextIn(t, language); text != "" {
			texts = append(texts, clinic.NameIn(t, language)+": "+text)
		}
	}
	if len(types) == 1 && len(texts) == 1 {
		return clinic.CancelTextIn(s.TypeOf(types[0]), language)
	}
	return strings.Join(texts, "\n\n")
}

// sameEmail returns the test for appointments with the same email address as a.
func sameEmail(a *store.Appointment) func(*store.Appointment) bool {
	return func(x *store.Appointment) bool { return booking.SameAddress(x.Patient.Email, a.Patient.Email) }
}

// visitWith returns the confirmed appointments in the same group visit as a that pass a test, sorted by start. It
// leaves out appointments that an absence displaces, because no reminder is sent for them. If there are none, or the
// visit cannot be read, visitWith returns only a.
func (ms *Messages) visitWith(ctx context.Context, a *store.Appointment,
	passes func(*store.Appointment) bool) (list []store.Appointment) {
	if a.VisitID != "" {
		all, _, err := ms.store.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: store.Confirmed})
		for i := range all {
			if err == nil && passes(&all[i]) && !ms.isDisplaced(ctx, &all[i]) {
				list = append(list, all[i])
			}
		}
	}
	if len(list) == 0 {
		return []store.Appointment{*a}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].SlotStart.Before(list[j].SlotStart) })
	return list
}

package message

import (
	"context"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"holdfast/engine/booking"
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
)

// seriesMails maps the name of the email about one appointment to the name of the email about several.
var seriesMails = map[string]string{
	mailConfirmation: mailSeries, mailCancellation: mailSeriesCancelled, mailReschedule: mailSeriesMoved,
}

// singleMails is the reverse of seriesMails, for a message about several appointments of which only one is left.
var singleMails = map[string]string{
	mailSeries: mailConfirmation, mailSeriesCancelled: mailCancellation, mailSeriesMoved: mailReschedule,
}

// visitOpenings contains the names of the opening lines for a group visit. Its email has one link, which changes all
// appointments.
var visitOpenings = map[string]string{mailSeries: "visit_confirmation", mailSeriesMoved: "visit_reschedule"}

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
	linkTo := func(a *store.Appointment) string {
		base := ms.clinic.LinkURL()
		switch {
		case base == "" || wanted != store.Confirmed:
			return ""
		case len(list) > 1 && a.VisitID != "":
			return base + "/manage#" + ms.booking.VisitToken(&list[len(list)-1])
		}
		return base + "/manage#" + ms.booking.ManageToken(a)
	}
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

// writeSeriesMail fills in the subject, the text and the HTML.
func (ms *Messages) writeSeriesMail(m *notice.Mail, name string, list []store.Appointment,
	linkTo func(*store.Appointment) string) {
	s, first := ms.clinic.Current(), &list[0]
	words := ms.lettersFor(first.Locale, s.Clinic.Locale)
	m.Language = words.Tag
	what := s.TypeName(first.AppointmentTypeID, m.Language)
	opening := words.opening(name)
	if first.VisitID != "" {
		what = "" // each appointment has its own type, on its own line
		if visit := visitOpenings[name]; visit != "" {
			opening = words.opening(visit)
		}
	}
	var lines strings.Builder
	var links []string
	day := ""
	for i := range list {
		a := &list[i]
		who, zone := s.Who(a.SpecialistID)
		if who != "" {
			who = ", " + who
		}
		if i == 0 {
			day = words.Day(a.SlotStart.In(zone))
		}
		if a.VisitID != "" {
			name := record.Greetable(a.Patient.Name)
			lines.WriteString(name + ", " + s.TypeName(a.AppointmentTypeID, m.Language) + "\n")
		}
		lines.WriteString(words.when(a, zone, s.Zone) + who + "\n")
		if name != mailSeriesCancelled {
			at := ms.location(a, m.Language)
			if at != "" {
				lines.WriteString(at + "\n")
			}
			if at == s.VideoLink(a) {
				links = append(links, at)
			}
		}
		if link := linkTo(a); link != "" && (a.VisitID == "" || i == len(list)-1) {
			lines.WriteString(link + "\n")
			links = append(links, link)
		}
		lines.WriteString("\n")
	}
	values := map[string]string{
		"what": what, "when": "", "who": "", "where": "", "video": "", "phone": s.Clinic.Phone, "clinic": s.Clinic.Name,
	}
	m.Subject = words.Fill("mail.subject."+name, "day", day, "n", strconv.Itoa(len(list)))
	m.Text = paragraphs(words.letter(m.ToName, opening), lines.String(),
		fill(words.Text("mail.details")+"\n", values), fill(words.Text("mail.closing")+"\n", values))
	m.HTML = ms.asHTML(m.Language, m.Subject, m.Text, links...)
}

// remindedWith reports whether an earlier appointment in the same group visit has the same email address. One reminder
// is then enough.
func (ms *Messages) remindedWith(ctx context.Context, a *store.Appointment) bool {
	return ms.visitHasEarlier(ctx, a, func(x *store.Appointment) bool {
		return booking.SameAddress(x.Patient.Email, a.Patient.Email)
	})
}

// visitHasEarlier reports whether an earlier confirmed appointment in the same group visit passes a test. It ignores
// appointments that an absence displaces, because no reminder is sent for them.
func (ms *Messages) visitHasEarlier(ctx context.Context, a *store.Appointment,
	passes func(*store.Appointment) bool) bool {
	if a.VisitID == "" {
		return false
	}
	list, _, err := ms.store.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: store.Confirmed})
	return err == nil && slices.ContainsFunc(list, func(x store.Appointment) bool {
		return x.SlotStart.Before(a.SlotStart) && passes(&x) && !ms.isDisplaced(ctx, &x)
	})
}

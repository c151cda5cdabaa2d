package message

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sort"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// Text messages go to patients who agreed to them (store.Intake.SMS), in addition to emails. In the delivery log they
// have the same names as the emails, and their payload is the same. A text message is sent at most once: most gateways
// cannot recognize a repeated request, and a patient who gets the same message twice at night is worse off than a
// patient whose message the desk repeats. So an attempt with an unknown outcome waits for a person's decision
// (outbound.Undecided).

// quietFrom and quietTo are the hours, in the clinic's local time, when the quiet time begins and ends. No reminder is
// sent during the quiet time.
const (
	quietFrom = 21
	quietTo   = 8
	// quietGrace is how long after quietFrom a reminder may still be sent, because reminders that would fall within the
	// quiet time are due when it begins.
	quietGrace = 15 * time.Minute
)

// OffersFrom is the hour from which on a day's offers of the waiting list are sent by text message. The minutes for
// which an offer that is made at night is open count from then (package waitlist). The night begins at quietFrom.
const OffersFrom = 7

// SendsSMS reports whether an SMS gateway is set.
func (ms *Messages) SendsSMS() bool {
	return ms.transport.Texter != nil && ms.transport.Texter.IsSet()
}

// smsNumber returns the number that the text messages about an appointment are sent to. If it is empty, no text
// messages are sent.
func (ms *Messages) smsNumber(a *store.Appointment) string {
	if !ms.SendsSMS() {
		return ""
	}
	s := ms.clinic.Settings()
	return s.TextNumber(&a.Patient, &a.Intake)
}

// smsCalls returns the text messages required by a change.
func (ms *Messages) smsCalls(c *booking.Change) (calls []booking.Promise) {
	kind, ok := c.Announced()
	number := ms.smsNumber(c.After)
	if c.Kind == booking.ChangePatientData && !c.Silent && number != "" && ms.smsNumber(c.Before) == "" {
		return ms.smsReminders(c) // no reminders were planned while there was no number or no consent
	}
	if !ok || number == "" || c.Silent && kind != booking.ChangeRescheduled {
		return nil
	}
	name := mailOf[kind]
	ids := together(c, func(a *store.Appointment) bool { return ms.smsNumber(a) == number })
	deadline := c.At.Add(ms.outbound.Options.Limits.NoticeAge)
	switch {
	case c.Silent: // only the reminders move
	case len(ids) <= 1:
		calls = append(calls, ms.smsCall(c.After, ms.announcement(name, c), c.At, c.At, untilEnd(c, deadline)))
	case ids[0] == c.After.ID: // the first of them gets the message about all of them
		p := mailPayload{Notice: seriesMails[name], Appointments: ids}
		calls = append(calls, ms.smsCall(c.After, p, c.At, c.At, deadline))
	}
	if kind == booking.ChangeCancelled {
		return calls
	}
	return append(calls, ms.smsReminders(c)...)
}

// smsReminders returns an appointment's text message reminders after a change, without those that would be due within
// an hour.
func (ms *Messages) smsReminders(c *booking.Change) (calls []booking.Promise) {
	var dues []time.Time
	for _, hours := range ms.clinic.Settings().SMS.Reminders() {
		due := reminderDue(c.After.SlotStart, hours, ms.clinic.Zone())
		if !due.After(c.At.Add(time.Hour)) || slices.ContainsFunc(dues, due.Equal) {
			continue
		}
		dues = append(dues, due)
		calls = append(calls, ms.smsCall(c.After, mailPayload{Notice: mailReminder, Due: due}, c.At, due,
			c.After.SlotStart))
	}
	return calls
}

// smsCall returns one text message to be sent at due, and never later than until.
func (ms *Messages) smsCall(a *store.Appointment, p mailPayload, at, due, until time.Time) booking.Promise {
	op := ms.outbound.NewOperation(store.SMS, a, at)
	op.NextAttemptAt, op.Deadline = due, until
	op.Payload, _ = json.Marshal(p) // encoding strings cannot fail
	return booking.Promise{Operation: op, Notice: p.Notice}
}

// reminderDue returns when to send a reminder: a number of hours before the start or, if that falls within the quiet
// time, when the quiet time begins.
func reminderDue(start time.Time, hours int, zone *time.Location) time.Time {
	due := start.Add(-time.Duration(hours) * time.Hour).In(zone)
	day := due.Day()
	switch {
	case due.Hour() < quietTo:
		day--
	case due.Hour() < quietFrom:
		return due
	}
	return time.Date(due.Year(), due.Month(), day, quietFrom, 0, 0, 0, zone)
}

// quietUntil returns the end of the quiet time, at the hour to, if an instant falls within it. It returns the zero time
// if a message can be sent at that instant.
func quietUntil(now time.Time, zone *time.Location, to int) time.Time {
	local := now.In(zone)
	day, begins := local.Day(), time.Date(local.Year(), local.Month(), local.Day(), quietFrom, 0, 0, 0, zone)
	switch {
	case local.Hour() < to:
	case local.After(begins.Add(quietGrace)):
		day++
	default:
		return time.Time{}
	}
	return time.Date(local.Year(), local.Month(), day, to, 0, 0, 0, zone)
}

// isMorning reports whether a text message is due when the quiet time ends, at an hour of the clinic's zone.
func (ms *Messages) isMorning(op *store.Operation, hour int) bool {
	due := op.NextAttemptAt
	return op.Kind == store.SMS && quietUntil(due.Add(-1), ms.clinic.Zone(), hour).Equal(due)
}

// queueLost is the user-facing reason why the outcome of a text message is unknown after its copy in the queue was
// lost.
const queueLost = "the queue was lost, such as in a restore of a backup: the message may have been sent"

// forgottenSMS is called for a text message whose copy in the queue was lost. If the message was due, forgottenSMS
// marks its outcome as unknown, because it might have been sent. A message to an erased person needs no such review.
func forgottenSMS(op *store.Operation) {
	if !op.Unknown && !op.NextAttemptAt.After(time.Now()) && !isErased(op) {
		op.Unknown, op.LastError = true, queueLost
	}
}

// deliverSMS writes one text message based on the current state of its appointment, and sends it.
func (ms *Messages) deliverSMS(ctx context.Context, op *store.Operation) outbound.Outcome {
	if isErased(op) {
		return notNeeded(recipientErased)
	}
	var p mailPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outbound.Outcome{End: outbound.Refused, Detail: "the operation cannot be read"}
	}
	if op.Unknown {
		detail := "the server stopped during the attempt: the message may have been sent"
		if op.LastError == queueLost {
			detail = queueLost
		}
		return outbound.Outcome{End: outbound.Undecided, Detail: detail}
	}
	if p.Notice == MailOffer || p.Notice == MailProposal {
		return ms.deliverOfferSMS(ctx, op, p.Notice)
	}
	if p.Notice == MailProposed {
		return ms.deliverRequestSMS(ctx, op, p.Notice)
	}
	if p.Notice == mailRecall {
		return ms.deliverRecall(ctx, op, &p)
	}
	all, isUnread := ms.appointmentsOf(ctx, op, &p)
	if isUnread {
		return unread(ctx)
	}
	if at, is := ms.undoableUntil(ctx, all...); is {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: waitsForUndo}
	}
	list := ms.smsAbout(ctx, op, &p, all)
	if len(list) == 0 {
		return notNeeded("the appointment has changed since, or the patient no longer receives text messages")
	}
	if past := p.isPast(list, ms.outbound.Now()); past != "" {
		return notNeeded(past)
	}
	if o := ms.behindNotice(ctx, op); o != nil {
		return *o
	}
	if p.Notice == mailReminder && ms.isReminded(ctx, op, &p) {
		return notNeeded(alreadyReminded)
	}
	if at := quietUntil(ms.outbound.Now(), ms.clinic.Zone(), quietTo); p.Notice == mailReminder && !at.IsZero() {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: "no reminder is sent at night"}
	}
	link := ""
	if base := ms.clinic.LinkURL(); base != "" && list[0].Status == store.Confirmed {
		token := ms.booking.ShortManageToken(&list[0])
		if len(list) > 1 && list[0].VisitID != "" {
			token = ms.booking.ShortVisitToken(&list[len(list)-1])
		}
		link = base + "/m#" + token
	}
	if p.Notice == MailMustMove && !ms.ChangesOnline(ctx, &list[0]) {
		link = ""
	}
	name, n := p.Notice, len(list)
	if single := singleMails[name]; single != "" && n == 1 {
		name = single
	}
	if name == mailReminder {
		if n = len(ms.visitWith(ctx, &list[0], ms.sameNumber(&list[0]))); n > 1 {
			name = mailSeriesReminder
		}
	}
	text := ms.writeSMS(smsLetter{notice: name, about: &list[0], n: n, link: link, text: p.textOf(op, &list[0])})
	return sent(op, ms.transport.Texter.Send(ctx, ms.smsNumber(&list[0]), text))
}

// appointmentsOf reads all appointments that a message covers, including those that it no longer applies to. unread is
// true if the database could not be read.
func (ms *Messages) appointmentsOf(ctx context.Context, op *store.Operation,
	p *mailPayload) (all []store.Appointment, unread bool) {
	ids := p.Appointments
	if len(ids) == 0 {
		ids = []string{op.AppointmentID}
	}
	for _, id := range ids {
		a, err := ms.store.Appointment(ctx, id)
		switch {
		case err == nil:
			all = append(all, a)
		case !errors.Is(err, store.ErrNotFound):
			return nil, true
		}
	}
	return all, false
}

// smsAbout returns the appointments in all that a text message still applies to and that share a phone number, earliest
// first. If one of several appointments has got another number since, the message goes to the number of most of them. A
// message about several appointments leaves out those that have ended.
func (ms *Messages) smsAbout(ctx context.Context, op *store.Operation, p *mailPayload,
	all []store.Appointment) (list []store.Appointment) {
	wanted := store.Confirmed
	if p.Notice == mailCancellation || p.Notice == mailSeriesCancelled {
		wanted = store.Cancelled
	}
	s, now := ms.clinic.Settings(), ms.outbound.Now()
	byNumber := make(map[string][]store.Appointment)
	for i := range all {
		a := &all[i]
		number := s.TextNumber(&a.Patient, &a.Intake)
		switch {
		case a.Status != wanted, number == "", p.hasMoved(op, a):
		case len(p.Appointments) > 0 && !a.SlotEnd.After(now):
		case p.Notice == mailReminder && !a.SlotStart.Equal(op.StartTime):
		case p.Notice == mailReminder && (ms.isDisplaced(ctx, a) || ms.textedWith(ctx, a)):
		default:
			byNumber[number] = append(byNumber[number], *a)
			if len(byNumber[number]) > len(list) {
				list = byNumber[number]
			}
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].SlotStart.Before(list[j].SlotStart) })
	return list
}

// sameNumber returns the test for appointments whose text messages go to the same number as those about a.
func (ms *Messages) sameNumber(a *store.Appointment) func(*store.Appointment) bool {
	s := ms.clinic.Settings()
	return func(x *store.Appointment) bool {
		return s.TextNumber(&x.Patient, &x.Intake) == s.TextNumber(&a.Patient, &a.Intake)
	}
}

// textedWith reports whether an earlier appointment in the same group visit has the same number. One reminder is then
// enough.
func (ms *Messages) textedWith(ctx context.Context, a *store.Appointment) bool {
	return ms.visitWith(ctx, a, ms.sameNumber(a))[0].SlotStart.Before(a.SlotStart)
}

// offerSMS returns the text message about an offer or a proposal, or none if the person does not receive text messages.
// A message that falls within the night is due in the morning. The outbox stores that instant, so a server that has
// lost the queue knows that the message was not sent.
func (ms *Messages) offerSMS(e *store.WaitlistEntry, o *store.WaitlistOffer, name string,
	at, due, until time.Time) []booking.Promise {
	a := waitingAs(e, o)
	if a.Intake = e.Intake; ms.smsNumber(&a) == "" {
		return nil
	}
	if morning := quietUntil(due, ms.clinic.Zone(), OffersFrom); name == MailOffer && !morning.IsZero() &&
		morning.Before(until) {
		due = morning
	}
	return []booking.Promise{ms.smsCall(&a, mailPayload{Notice: name}, at, due, until)}
}

// deliverOfferSMS writes the text message about an offer or a proposal, and sends it.
func (ms *Messages) deliverOfferSMS(ctx context.Context, op *store.Operation, name string) outbound.Outcome {
	e, o, err := ms.waitingOf(ctx, op.AppointmentID, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the waiting-list entry was deleted")
	case err != nil:
		return unread(ctx)
	case !e.EndedAt.IsZero() || o.Status != store.OfferOpen:
		return notNeeded("the offer has ended")
	}
	if wait := ms.untilFinal(ctx, &e); wait != nil {
		return *wait
	}
	if at := quietUntil(ms.outbound.Now(), ms.clinic.Zone(), OffersFrom); name == MailOffer && !at.IsZero() {
		if !at.Before(o.ExpiresAt) {
			return notNeeded("the offer ends at night")
		}
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: "no offer is sent by text message at night"}
	}
	a, link := waitingAs(&e, o), ""
	a.Intake = e.Intake
	opens := &a
	switch {
	case name == MailProposal:
		of, end := ms.displaced(ctx, &e)
		if end != nil {
			return *end
		}
		// the contact data may have changed since the absence was recorded
		opens, a.Patient, a.Intake = of, of.Patient, of.Intake
	case e.AppointmentID != "": // the patient waits for an earlier time, and may have given another number since
		of, err := ms.store.Appointment(ctx, e.AppointmentID)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return notNeeded("the appointment was deleted")
		case err != nil:
			return unread(ctx)
		}
		a.Patient, a.Intake = of.Patient, of.Intake
	}
	number := ms.smsNumber(&a)
	if number == "" && ms.SendsSMS() {
		return notNeeded("the patient no longer receives text messages")
	}
	if base := ms.clinic.LinkURL(); base != "" {
		link = base + "/m#" + ms.booking.ShortManageToken(opens)
	}
	letter := smsLetter{notice: name, about: &a, link: link, until: o.ExpiresAt}
	return sent(op, ms.transport.Texter.Send(ctx, number, ms.writeSMS(letter)))
}

// sent converts the result of sending an email or a text message to an outcome.
func sent(op *store.Operation, err error) outbound.Outcome {
	switch {
	case err == nil:
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID}
	case notice.IsPermanent(err):
		return outbound.Outcome{End: outbound.Refused, Detail: err.Error()}
	case notice.IsUnreachable(err):
		return outbound.Outcome{End: outbound.Unreachable, Detail: err.Error()}
	case notice.IsLost(err):
		return outbound.Outcome{End: outbound.Undecided, Detail: err.Error()}
	}
	return outbound.Outcome{End: outbound.Retryable, Detail: err.Error()}
}

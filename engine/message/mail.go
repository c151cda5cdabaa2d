package message

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/ical"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// The names of the emails in the delivery log.
const (
	mailConfirmation = "confirmation"
	mailCancellation = "cancellation"
	mailReschedule   = "reschedule"
	mailReminder     = "reminder"
	mailFailed       = "could_not_be_completed"
	mailStaff        = "staff_attention"
	mailNewAddress   = "new_address"
	mailOldAddress   = "old_address"
)

// calendarMethods lists the emails that change the patient's calendar, with their method. A reminder does not: the
// calendar already has the appointment.
var calendarMethods = map[string]ical.Method{
	mailConfirmation: ical.Request, mailReschedule: ical.Request, mailNewAddress: ical.Request,
	mailCancellation: ical.Cancel,
}

// mailPayload is the complete stored payload of an email operation.
type mailPayload struct {
	Notice string `json:"notice"`
	// To is the recipient of an email that goes to an earlier address of its appointment or account. The server deletes
	// it when the email has been delivered or is not needed, and when the person is erased.
	To string `json:"to,omitempty"`
	// Appointments contains the ids of all appointments that an email covers, if there are several.
	Appointments []string `json:"appointments,omitempty"`
	// User is the id of the member of staff who gets an email about their account or about a webhook.
	User string `json:"user,omitempty"`
	// Due is when a reminder or a recall was originally due.
	Due time.Time `json:"due,omitzero"`
	// Specialist is the id of the specialist of an appointment that must move. The operation contains the appointment's
	// start.
	Specialist string `json:"specialist,omitempty"`
	// Kept is true for a move that kept the start: the specialist, the place or a room changed. The operation contains
	// the start.
	Kept bool `json:"kept,omitempty"`
	// Place is the id of the new place, for a move to another place.
	Place string `json:"place,omitempty"`
	// Webhook contains the id and the host of the webhook that an email is about.
	Webhook string `json:"webhook,omitempty"`
}

// isOnTheDay reports whether an email or a text message waits for a calendar time: a reminder or a recall that was
// never attempted, or a text message that waits for the end of the night.
func (ms *Messages) isOnTheDay(op *store.Operation) bool {
	var p mailPayload
	if json.Unmarshal(op.Payload, &p) != nil {
		return false
	}
	switch p.Notice {
	case mailReminder, mailRecall:
		return op.AttemptedAt.IsZero() || ms.isMorning(op, quietTo)
	case MailOffer:
		return ms.isMorning(op, OffersFrom)
	}
	return false
}

// mailCalls returns the emails required by a change.
func (ms *Messages) mailCalls(c *booking.Change) []booking.Promise {
	var calls []booking.Promise
	add := func(name string, due time.Time) {
		op := ms.outbound.NewOperation(store.Email, c.After, c.At)
		op.NextAttemptAt, op.Deadline = due, due.Add(ms.outbound.Options.Limits.NoticeAge)
		op.Deadline = untilEnd(c, op.Deadline)
		op.Payload, _ = json.Marshal(ms.announcement(name, c)) // encoding strings cannot fail
		calls = append(calls, booking.Promise{Operation: op, Notice: name})
	}
	if c.Kind == booking.ChangePatientData {
		if old := c.Before.Patient.Email; !booking.SameAddress(old, c.After.Patient.Email) {
			if old != "" {
				add(mailOldAddress, c.At)
				calls[0].Operation.Payload, _ = json.Marshal(mailPayload{Notice: mailOldAddress, To: old})
			}
			if c.After.Patient.Email != "" && !c.Silent {
				add(mailNewAddress, c.At)
			}
			if old == "" && c.After.Patient.Email != "" && !c.Silent {
				calls = append(calls, ms.mailReminders(c)...) // no reminder was planned while there was no address
			}
		}
		return calls
	}
	if c.Kind == booking.ChangeUpstreamFailed || c.Kind == booking.ChangeUpstreamReview {
		add(mailStaff, c.At)
		if c.Kind == booking.ChangeUpstreamFailed && !c.Leftover && c.After.Patient.Email != "" &&
			c.After.Status == store.Confirmed {
			add(mailFailed, c.At)
		}
		return calls
	}
	kind, ok := c.Announced()
	if !ok || c.After.Patient.Email == "" || c.Silent && kind != booking.ChangeRescheduled {
		return nil
	}
	name := mailOf[kind]
	ids := together(c, func(a *store.Appointment) bool {
		return booking.SameAddress(a.Patient.Email, c.After.Patient.Email)
	})
	switch {
	case c.Silent: // only the reminders move
	case len(ids) <= 1:
		add(name, c.At)
	case ids[0] == c.After.ID: // the first of them gets the email about all of them
		calls = append(calls, ms.seriesMail(c, seriesMails[name], ids))
	}
	if kind == booking.ChangeCancelled {
		return calls
	}
	return append(calls, ms.mailReminders(c)...)
}

// untilEnd returns the deadline of a message about a change: at the latest the end of the appointment. If that was over
// when it was changed, the attempt decides what is still sent (isPast).
func untilEnd(c *booking.Change, deadline time.Time) time.Time {
	if end := c.After.SlotEnd; end.After(c.At) && end.Before(deadline) {
		return end
	}
	return deadline
}

// Names of the texts about a move. The clinic's own text about a move replaces them.
const (
	mailKept      = "reschedule_kept"       // the start is the same
	mailPlace     = "reschedule_place"      // the start and the place are new
	mailKeptPlace = "reschedule_kept_place" // only the place is new
)

// announcement returns the payload of a message about a change of one appointment.
func (ms *Messages) announcement(name string, c *booking.Change) mailPayload {
	p := mailPayload{Notice: name}
	if c.Kind != booking.ChangeRescheduled || c.Before == nil {
		return p
	}
	p.Kept = c.Before.SlotStart.Equal(c.After.SlotStart)
	if c.Before.Place != c.After.Place && !ms.clinic.Current().IsRemote(c.After.AppointmentTypeID) {
		p.Place = c.After.Place
	}
	return p
}

// textOf returns the name of the texts about a move to the same start or to another place, if the appointment still has
// that start and that place. It returns "" for all other messages.
func (p *mailPayload) textOf(op *store.Operation, a *store.Appointment) string {
	kept, placed := p.Kept && a.SlotStart.Equal(op.StartTime), p.Place != "" && p.Place == a.Place
	switch {
	case kept && placed:
		return mailKeptPlace
	case kept:
		return mailKept
	case placed:
		return mailPlace
	}
	return ""
}

// mailReminders returns an appointment's email reminder after a change, or none if it would be due within an hour.
func (ms *Messages) mailReminders(c *booking.Change) []booking.Promise {
	lead := time.Duration(ms.clinic.Settings().ReminderHours) * time.Hour
	due := c.After.SlotStart.Add(-lead)
	if lead <= 0 || !due.After(c.At.Add(time.Hour)) {
		return nil
	}
	op := ms.outbound.NewOperation(store.Email, c.After, c.At)
	op.NextAttemptAt, op.Deadline = due, c.After.SlotStart
	op.Payload, _ = json.Marshal(mailPayload{Notice: mailReminder, Due: due}) // encoding strings cannot fail
	return []booking.Promise{{Operation: op, Notice: mailReminder}}
}

// together returns the ids of a change's appointments whose messages go to the same recipient, sorted by start.
func together(c *booking.Change, isSame func(*store.Appointment) bool) (ids []string) {
	for i := range c.Together {
		if isSame(&c.Together[i]) {
			ids = append(ids, c.Together[i].ID)
		}
	}
	return ids
}

// mailOf maps a change to the name of the email or text message about that change.
var mailOf = map[string]string{
	booking.ChangeCreated: mailConfirmation, booking.ChangeRescheduled: mailReschedule,
	booking.ChangeCancelled: mailCancellation,
}

var (
	requestMails  = []string{MailRequest, MailReceived, MailDeclined, MailProposed, mailAsking, MailLapsed}
	waitlistMails = []string{MailWaitlist, MailWaiting, MailOffer, MailOfferGone, MailProposal}
)

// mailTo returns an email to a patient, without its text.
func (ms *Messages) mailTo(op *store.Operation, to *store.Patient) notice.Mail {
	return notice.Mail{ID: op.ID, To: to.Email, ToName: record.Greetable(to.Name),
		ReplyTo: ms.clinic.Schedule().Clinic.Email, From: ms.sender()}
}

// recipientErased is why a message to an erased person is not needed.
const recipientErased = "the recipient was erased"

// isErased reports whether the data of a message was erased with its person: in the queue, or in the outbox, from which
// a lost queue is rebuilt.
func isErased(op *store.Operation) bool { return len(op.Payload) == 0 || string(op.Payload) == "{}" }

// notNeeded returns the outcome for a message that must no longer be sent.
func notNeeded(why string) outbound.Outcome {
	return outbound.Outcome{End: outbound.NotNeeded, Detail: why}
}

// unread returns the outcome for a message whose data could not be read from the database.
func unread(ctx context.Context) outbound.Outcome {
	return outbound.Outcome{End: outbound.Retryable, Detail: outbound.Unread(ctx)}
}

// senderless returns the outcome for an email without a sender. This is not a failed attempt: the email waits until a
// sender is set.
func senderless(err error) outbound.Outcome {
	return outbound.Outcome{End: outbound.Unreachable, Detail: err.Error()}
}

// deliverMail writes one email based on the current state of what it is about, and sends it.
func (ms *Messages) deliverMail(ctx context.Context, op *store.Operation) outbound.Outcome {
	if isErased(op) {
		return notNeeded(recipientErased)
	}
	var p mailPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outbound.Outcome{End: outbound.Refused, Detail: "the operation cannot be read"}
	}
	switch {
	case slices.Contains(requestMails, p.Notice):
		return ms.deliverRequestMail(ctx, op, p.Notice)
	case slices.Contains(waitlistMails, p.Notice):
		return ms.deliverWaitlistMail(ctx, op, p.Notice)
	case p.User != "":
		return ms.deliverAccountMail(ctx, op, &p)
	case len(p.Appointments) > 0:
		return ms.deliverSeriesMail(ctx, op, &p)
	case p.Notice == mailRecall:
		return ms.deliverRecall(ctx, op, &p)
	}
	return ms.deliverAppointmentMail(ctx, op, &p)
}

// deliverAppointmentMail is deliverMail for an email about one appointment, or the reminder of a group visit.
func (ms *Messages) deliverAppointmentMail(ctx context.Context, op *store.Operation, p *mailPayload) outbound.Outcome {
	a, err := ms.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the appointment was deleted")
	case err != nil:
		return unread(ctx)
	}
	if o := ms.behindNotice(ctx, op); o != nil {
		return *o
	}
	about := []store.Appointment{a}
	if p.Notice == mailReminder { // of a group visit, the reminder of the first appointment covers all
		about = ms.visitWith(ctx, &a, sameEmail(&a))
	}
	if at, is := ms.undoableUntil(ctx, append(about, a)...); is {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: waitsForUndo}
	}
	if err := ms.CheckSender(); err != nil {
		return senderless(err)
	}
	m := ms.mailTo(op, &a.Patient)
	if why := ms.address(ctx, &m, op, p, &a, about); why != "" {
		return notNeeded(why)
	}
	link := ""
	if base := ms.clinic.LinkURL(); base != "" {
		link = base + "/manage#" + ms.booking.ManageToken(&a)
	}
	if p.Notice == mailOldAddress || p.Notice == MailMustMove && !ms.ChangesOnline(ctx, &a) {
		link = "" // the link would open the appointment, or not change it
	}
	if len(about) > 1 {
		ms.writeSeriesMail(&m, mailSeriesReminder, about, ms.linkTo(about))
	} else {
		ms.writeMailAt(&m, p.Notice, &a, link, mailTimes{text: p.textOf(op, &a)})
	}
	if method := calendarMethods[p.Notice]; method != "" {
		m.Calendar = ms.CalendarFile(&a, Invitation{Method: method, Organizer: m.From, Attendee: m.To, ManageURL: link})
		m.CalendarMethod = string(method)
	}
	o := ms.mailed(op, ms.transport.Mailer.Send(ctx, m))
	if o.End == outbound.Delivered {
		op.Payload, _ = json.Marshal(mailPayload{Notice: p.Notice})
	}
	if o.End == outbound.Delivered && ms.transport.Mailer.ToFiles() {
		ms.dropErasedMail(ctx, op.ID, &a)
	}
	return o
}

// address sets the recipient of an email about an appointment, unless it is the patient. It returns why the email is no
// longer needed, or "".
func (ms *Messages) address(ctx context.Context, m *notice.Mail, op *store.Operation, p *mailPayload,
	a *store.Appointment, about []store.Appointment) (unneeded string) {
	confirmed := a.Status == store.Confirmed
	past := p.isPast([]store.Appointment{*a}, ms.outbound.Now())
	switch clinic := &ms.clinic.Schedule().Clinic; {
	case p.Notice == mailStaff && clinic.Email == "":
		return "the clinic has no email address in its settings; the queue page shows it"
	case p.Notice == mailStaff:
		m.To, m.ToName = clinic.Email, clinic.Name
	case p.Notice == mailOldAddress && p.To == "":
		return "the address was erased"
	case p.Notice == mailOldAddress:
		m.To, m.ToName = p.To, ""
	case a.Patient.Email == "":
		return "the patient no longer has an email address"
	case p.hasMoved(op, a):
		return "the appointment was moved"
	case p.Notice == mailReminder && (!confirmed || !a.SlotStart.Equal(op.StartTime)):
		return "the appointment was moved or cancelled"
	case past != "":
		return past
	case p.Notice == mailReminder && ms.isDisplaced(ctx, a):
		return "the specialist is away at that time"
	case p.Notice == mailReminder && ms.isReminded(ctx, op, p):
		return alreadyReminded
	case p.Notice == mailReminder && about[0].SlotStart.Before(a.SlotStart):
		return "the reminder of the visit's first appointment covers all"
	case p.Notice != mailCancellation && !confirmed:
		return "the appointment was cancelled"
	}
	return ""
}

// SendsMail reports whether a mail server is set. Without a mail server, emails are only written to files.
func (ms *Messages) SendsMail() bool {
	mailer := ms.transport.Mailer
	return mailer != nil && !mailer.ToFiles()
}

// MailsLinks reports whether the server can ask a patient for something by email, that is, whether a mail server and
// the public address for links are set.
func (ms *Messages) MailsLinks() bool { return ms.SendsMail() && ms.clinic.LinkURL() != "" }

// MailSent reports whether a mail server has accepted the email that states the current time of an appointment: the
// email about its booking or about its last move. An email that was only written to a file does not count. If no email
// was sent about the last move, MailSent returns false. The result is only informational, so MailSent also returns
// false if the deliveries cannot be read.
func (ms *Messages) MailSent(ctx context.Context, a *store.Appointment) bool {
	if !ms.SendsMail() || a.Patient.Email == "" || a.Status != store.Confirmed {
		return false
	}
	list, err := ms.store.Deliveries(ctx, a.ID)
	if err != nil {
		ms.log.Debug("failed to read the message deliveries for an appointment", "appointment", a.ID, "error", err)
	}
	moves, sent := int64(0), false
	for _, d := range list {
		switch {
		case d.Channel != "email":
		case d.Notice == mailConfirmation, d.Notice == mailSeries:
			sent = d.State == outbound.DeliveryDelivered
		case d.Notice == mailReschedule, d.Notice == mailNewAddress, d.Notice == mailSeriesMoved:
			moves, sent = moves+1, d.State == outbound.DeliveryDelivered
		}
	}
	return sent && moves == a.ManageEpoch
}

// dropErasedMail deletes an email's file if its person was erased while the file was being written, because the erasure
// could not delete it yet.
func (ms *Messages) dropErasedMail(ctx context.Context, operationID string, written *store.Appointment) {
	now, err := ms.store.Appointment(context.WithoutCancel(ctx), written.ID)
	if err == nil && now.Patient == (store.Patient{}) && written.Patient != now.Patient {
		ms.transport.Mailer.Remove([]string{operationID}, "")
	}
}

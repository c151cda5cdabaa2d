package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// # Who is told what
//
// A change of an appointment promises its notices in its own transaction, as operations beside the upstream write. A mail
// is written when it is delivered, from what the appointment is then, so no personal data waits in the queue. A webhook
// says what was decided, without the person.

// NoticeOptions are how people and programs are told.
type NoticeOptions struct {
	Mailer *notice.Mailer // nil: nobody gets mail
	Hooks  *notice.Hooks  // nil: webhooks are off
	From   string         // sender address; default: the clinic's own
}

// Notices by mail, as the delivery log calls them.
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

// calendarMethods are the mails that change the patient's calendar. A reminder does not: the time is there.
var calendarMethods = map[string]booking.CalendarMethod{
	mailConfirmation: booking.CalendarRequest, mailReschedule: booking.CalendarRequest, mailNewAddress: booking.CalendarRequest, mailCancellation: booking.CalendarCancel,
}

// mailPayload is all that an e-mail operation keeps.
type mailPayload struct {
	Notice string `json:"notice"`
	// To is an address that the appointment no longer has, in the one mail that goes there. It is dropped once that is delivered
	// or not needed, and erased with the person.
	To string `json:"to,omitempty"`
}

// prepareNotices says how mail and webhooks are delivered and what promises them.
func (out *Outbound) prepareNotices() {
	if out.Queue == nil {
		return
	}
	if out.Options.Notices.Mailer != nil {
		out.deliver[store.Email] = delivery{attempt: out.deliverMail}
		out.notices = append(out.notices, out.mailCalls)
	}
	if out.Options.Notices.Hooks != nil {
		out.deliver[store.Webhook] = delivery{attempt: out.deliverHook}
		out.notices = append(out.notices, out.hookCalls)
	}
}

// mailCalls are the mails that a change promises.
func (out *Outbound) mailCalls(c *booking.Change) []booking.Promise {
	var calls []booking.Promise
	add := func(name string, due time.Time) {
		op := out.newOperation(store.Email, c.After, c.At)
		op.NextAttemptAt, op.Deadline = due, earlier(c.After.SlotEnd, due.Add(out.Options.Limits.NoticeAge))
		op.Payload, _ = json.Marshal(mailPayload{Notice: name}) // strings cannot fail
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
		}
		return calls
	}
	if c.Kind == booking.ChangeUpstreamFailed || c.Kind == booking.ChangeUpstreamReview {
		add(mailStaff, c.At)
		if c.Kind == booking.ChangeUpstreamFailed && c.After.Patient.Email != "" && c.After.Status == store.Confirmed {
			add(mailFailed, c.At)
		}
		return calls
	}
	kind, ok := c.Told()
	if !ok || c.After.Patient.Email == "" {
		return nil
	}
	switch kind {
	case booking.ChangeCreated:
		add(mailConfirmation, c.At)
	case booking.ChangeRescheduled:
		add(mailReschedule, c.At)
	case booking.ChangeCancelled:
		add(mailCancellation, c.At)
		return calls
	}
	if lead := time.Duration(out.clinic.Settings().ReminderHours) * time.Hour; lead > 0 {
		if due := c.After.SlotStart.Add(-lead); due.After(c.At.Add(time.Hour)) {
			add(mailReminder, due)
			calls[len(calls)-1].Deadline = c.After.SlotStart
		}
	}
	return calls
}

// deliverMail writes one mail from what its appointment is now, and sends it.
func (out *Outbound) deliverMail(ctx context.Context, op *store.Operation) outcome {
	var p mailPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outcome{end: Refused, detail: "the operation cannot be read"}
	}
	if p.Notice == MailRequest || p.Notice == MailDeclined {
		return out.deliverRequestMail(ctx, op, p.Notice)
	}
	a, err := out.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outcome{end: notNeeded, detail: "the appointment is gone"}
	case err != nil:
		return outcome{end: retryable, detail: unread(ctx)}
	}
	if at, behind := out.behindNotice(ctx, op); behind {
		return outcome{end: deferred, at: at, detail: op.LastError}
	}
	if err := out.CheckSender(); err != nil {
		return outcome{end: unreachable, detail: err.Error()} // nothing was tried: it waits for somebody to say a sender
	}
	clinic := &out.clinic.Schedule().Clinic
	m := notice.Mail{ID: op.ID, To: a.Patient.Email, ToName: record.Greetable(a.Patient.Name), ReplyTo: clinic.Email, From: out.sender()}
	confirmed := a.Status == store.Confirmed
	switch {
	case p.Notice == mailStaff:
		if clinic.Email == "" {
			return outcome{end: notNeeded, detail: "the clinic has no e-mail address in its settings; the queue page shows it"}
		}
		m.To, m.ToName = clinic.Email, clinic.Name
	case p.Notice == mailOldAddress:
		if p.To == "" {
			return outcome{end: notNeeded, detail: "the address was erased"}
		}
		m.To, m.ToName = p.To, ""
	case a.Patient.Email == "":
		return outcome{end: notNeeded, detail: "the patient has no e-mail address any more"}
	case p.Notice == mailReminder && (!confirmed || !a.SlotStart.Equal(op.StartTime)):
		return outcome{end: notNeeded, detail: "the appointment was moved or cancelled"}
	case p.Notice != mailCancellation && !confirmed:
		return outcome{end: notNeeded, detail: "the appointment was cancelled"}
	}
	link := ""
	if base := out.clinic.LinkURL(); base != "" {
		link = base + "/manage#" + out.booking.ManageToken(&a)
	}
	if p.Notice == mailOldAddress {
		link = "" // it opens the appointment
	}
	out.writeMail(&m, p.Notice, &a, link)
	if method := calendarMethods[p.Notice]; method != "" {
		m.Calendar = out.booking.CalendarFile(&a, booking.Invitation{Method: method, Organizer: m.From, Attendee: m.To, ManageURL: link})
		m.CalendarMethod = string(method)
	}
	o := out.sent(op, out.Options.Notices.Mailer.Send(ctx, m))
	if o.end == Delivered {
		op.Payload, _ = json.Marshal(mailPayload{Notice: p.Notice})
	}
	if o.end == Delivered && out.Options.Notices.Mailer.ToFiles() {
		out.dropErasedMail(ctx, op.ID, &a)
	}
	return o
}

// SendsMail reports whether a mail server is set, so that patients get mail and not only the disk.
func (out *Outbound) SendsMail() bool {
	mailer := out.Options.Notices.Mailer
	return mailer != nil && !mailer.ToFiles()
}

// MailsLinks reports whether a patient can be asked for something by mail: there is a mail server, and it is known where a link
// would lead.
func (out *Outbound) MailsLinks() bool { return out.SendsMail() && out.clinic.LinkURL() != "" }

// MailSent reports whether a mail server has taken the mail that tells a patient when the appointment is: the one of its
// booking, or of its last move. A mail that is only a file was not sent, and a move that nobody was told of has none. It is
// a courtesy, so it is false where the deliveries cannot be read.
func (out *Outbound) MailSent(ctx context.Context, a *store.Appointment) bool {
	if !out.SendsMail() || a.Patient.Email == "" || a.Status != store.Confirmed {
		return false
	}
	list, err := out.store.Deliveries(ctx, a.ID)
	if err != nil {
		out.log.Debug("the deliveries of an appointment were not read", "appointment", a.ID, "error", err)
	}
	moves, sent := int64(0), false
	for _, d := range list {
		switch {
		case d.Channel != "email":
		case d.Notice == mailConfirmation:
			sent = d.State == deliveryDelivered
		case d.Notice == mailReschedule, d.Notice == mailNewAddress:
			moves, sent = moves+1, d.State == deliveryDelivered
		}
	}
	return sent && moves == a.ManageEpoch
}

// dropErasedMail deletes the file of a mail whose person was erased while it was written: the erasure came before the file.
func (out *Outbound) dropErasedMail(ctx context.Context, operationID string, written *store.Appointment) {
	now, err := out.store.Appointment(context.WithoutCancel(ctx), written.ID)
	if err == nil && now.Patient == (store.Patient{}) && written.Patient != now.Patient {
		out.Options.Notices.Mailer.Remove([]string{operationID}, "")
	}
}

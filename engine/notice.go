package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/mail"
	"slices"
	"time"

	"holdfast/engine/notice"
	"holdfast/store"
)

// # Who is told what
//
// A change of an appointment promises its notices in its own transaction, as operations beside the upstream write. A mail
// is written when it is delivered, from what the appointment is then, so no personal data waits in the queue. A webhook
// says what was decided, without the person.

// NoticeOptions are how people and programs are told.
type NoticeOptions struct {
	Mailer  *notice.Mailer // nil: nobody gets mail
	Hooks   *notice.Hooks  // nil: webhooks are off
	From    string         // sender address; default: the clinic's own
	BaseURL string         // for manage links, without a slash at the end; empty: mails carry no link
}

// Notices by mail, as the delivery log calls them.
const (
	mailConfirmation = "confirmation"
	mailCancellation = "cancellation"
	mailReschedule   = "reschedule"
	mailReminder     = "reminder"
	mailFailed       = "could_not_be_completed"
	mailStaff        = "staff_attention"
)

// mailPayload is all that an e-mail operation keeps.
type mailPayload struct {
	Notice string `json:"notice"`
}

// hookPayload is a webhook on its way: to whom, and the very bytes.
type hookPayload struct {
	EndpointID string          `json:"endpointId"`
	Body       json.RawMessage `json:"body"`
}

// prepareNotices says how mail and webhooks are delivered and what promises them.
func (e *Engine) prepareNotices() {
	if e.queue == nil {
		return
	}
	if e.options.Notices.Mailer != nil {
		e.deliver[store.Email] = delivery{attempt: e.deliverMail}
		e.notices = append(e.notices, e.mailCalls)
	}
	if e.options.Notices.Hooks != nil {
		e.deliver[store.Webhook] = delivery{attempt: e.deliverHook}
		e.notices = append(e.notices, e.hookCalls)
	}
}

// told reports whether a change is for other people's ears, and as what. An agent's booking is told of once the
// practice system has it: until then nobody has been promised anything.
func (c *change) told() (kind string, ok bool) {
	switch {
	case c.silent || c.fence:
		return "", false
	case c.kind == changeUpstreamDone && c.before != nil && c.before.UpstreamState == store.UpstreamPending && c.after.Source == store.SourceAgent &&
		c.after.Status == store.Confirmed:
		return changeCreated, true
	case c.kind == changeCreated, c.kind == changeCancelled, c.kind == changeRescheduled:
		return c.kind, true
	}
	return "", false
}

// mailCalls are the mails that a change promises.
func (e *Engine) mailCalls(c *change) []outbound {
	var calls []outbound
	add := func(name string, due time.Time) {
		op := e.newOperation(store.Email, c.after, c.at)
		op.NextAttemptAt, op.Deadline = due, earlier(c.after.SlotEnd, due.Add(e.options.Outbound.NoticeAge))
		op.Payload, _ = json.Marshal(mailPayload{name}) // a string cannot fail
		calls = append(calls, outbound{op, name})
	}
	if c.kind == changeUpstreamFailed || c.kind == changeUpstreamReview {
		add(mailStaff, c.at)
		if c.kind == changeUpstreamFailed && c.after.Patient.Email != "" && c.after.Status == store.Confirmed {
			add(mailFailed, c.at)
		}
		return calls
	}
	kind, ok := c.told()
	if !ok || c.after.Patient.Email == "" {
		return nil
	}
	switch kind {
	case changeCreated:
		add(mailConfirmation, c.at)
	case changeRescheduled:
		add(mailReschedule, c.at)
	case changeCancelled:
		add(mailCancellation, c.at)
		return calls
	}
	if lead := time.Duration(e.Settings().ReminderHours) * time.Hour; lead > 0 {
		if due := c.after.SlotStart.Add(-lead); due.After(c.at.Add(time.Hour)) {
			add(mailReminder, due)
			calls[len(calls)-1].Deadline = c.after.SlotStart
		}
	}
	return calls
}

// deliverMail writes one mail from what its appointment is now, and sends it.
func (e *Engine) deliverMail(ctx context.Context, op *store.Operation) outcome {
	var p mailPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outcome{end: refused, detail: "the operation cannot be read"}
	}
	a, err := e.store.Appointment(ctx, op.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return outcome{end: needless, detail: "the appointment is gone"}
	case err != nil:
		return outcome{end: again, detail: unread(ctx)}
	}
	if at, behind := e.behindNotice(ctx, op); behind {
		return outcome{end: later, at: at, detail: op.LastError}
	}
	clinic := &e.Schedule().Clinic
	m := notice.Mail{ID: op.ID, To: a.Patient.Email, ToName: greetable(a.Patient.Name), ReplyTo: clinic.Email, From: e.sender()}
	confirmed := a.Status == store.Confirmed
	switch {
	case p.Notice == mailStaff:
		if clinic.Email == "" {
			return outcome{end: needless, detail: "the clinic has no e-mail address in its settings; the queue page shows it"}
		}
		m.To, m.ToName = clinic.Email, clinic.Name
	case a.Patient.Email == "":
		return outcome{end: needless, detail: "the patient has no e-mail address any more"}
	case p.Notice == mailReminder && (!confirmed || !a.SlotStart.Equal(op.StartTime)):
		return outcome{end: needless, detail: "the appointment was moved or cancelled"}
	case p.Notice != mailCancellation && !confirmed:
		return outcome{end: needless, detail: "the appointment was cancelled"}
	}
	link := ""
	if base := e.options.Notices.BaseURL; base != "" {
		link = base + "/manage#" + e.ManageToken(&a)
	}
	e.writeMail(&m, p.Notice, &a, link)
	if p.Notice != mailStaff && p.Notice != mailFailed {
		m.Calendar = e.CalendarFile(&a, link)
	}
	switch err := e.options.Notices.Mailer.Send(ctx, m); {
	case err == nil && e.options.Notices.Mailer.ToFiles():
		e.dropErasedMail(ctx, op.ID, &a)
		return outcome{end: delivered, result: op.ID, detail: "written to a file, because no mail server is configured"}
	case err == nil:
		return outcome{end: delivered, result: op.ID}
	case notice.IsPermanent(err):
		return outcome{end: refused, detail: err.Error()}
	case notice.IsUnreachable(err):
		return outcome{end: away, detail: err.Error()}
	default:
		return outcome{end: again, detail: err.Error()}
	}
}

// SendsMail reports whether a mail server is set, so that patients get mail and not only the disk.
func (e *Engine) SendsMail() bool {
	mailer := e.options.Notices.Mailer
	return mailer != nil && !mailer.ToFiles()
}

// MailSent reports whether a mail server has taken the mail that tells a patient when the appointment is: the one of its
// booking, or of its last move. A mail that is only a file was not sent, and a move that nobody was told of has none. It is
// a courtesy, so it is false where the deliveries cannot be read.
func (e *Engine) MailSent(ctx context.Context, a *store.Appointment) bool {
	if !e.SendsMail() || a.Patient.Email == "" || a.Status != store.Confirmed {
		return false
	}
	list, err := e.store.Deliveries(ctx, a.ID)
	if err != nil {
		e.log.Debug("the deliveries of an appointment were not read", "appointment", a.ID, "error", err)
	}
	moves, sent := int64(0), false
	for _, d := range list {
		switch {
		case d.Channel != "email":
		case d.Notice == mailConfirmation:
			sent = d.State == deliveryDelivered
		case d.Notice == mailReschedule:
			moves, sent = moves+1, d.State == deliveryDelivered
		}
	}
	return sent && moves == a.ManageEpoch
}

// sender is who mail comes from.
func (e *Engine) sender() mail.Address {
	clinic := &e.Schedule().Clinic
	from := mail.Address{Name: clinic.Name, Address: e.options.Notices.From}
	if parsed, err := mail.ParseAddress(from.Address); err == nil {
		from.Address = parsed.Address
		if parsed.Name != "" {
			from.Name = parsed.Name
		}
	}
	if from.Address == "" {
		from.Address = clinic.Email
	}
	if from.Address == "" {
		from.Address = "no-reply@holdfast.invalid"
	}
	return from
}

// hookBody is what a webhook says. There is no person in it.
type hookBody struct {
	Type      string   `json:"type"`
	Timestamp string   `json:"timestamp"`
	Data      hookData `json:"data"`
}

type hookData struct {
	AppointmentID     string `json:"appointmentId"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	SlotStartDate     string `json:"slotStartDate"`
	SlotEndDate       string `json:"slotEndDate"`
	Status            string `json:"status"`
	Source            string `json:"source"`
	UpstreamState     string `json:"upstreamState"`
	Version           int64  `json:"version"`
	PreviousStartDate string `json:"previousSlotStartDate,omitempty"`
}

// hookCalls are the webhooks that a change promises.
func (e *Engine) hookCalls(c *change) []outbound {
	var events []string
	switch c.kind {
	case changeUpstreamDone, changeUpstreamFailed, changeUpstreamReview:
		events = append(events, c.kind)
	}
	if kind, ok := c.told(); ok {
		events = append(events, "appointment."+kind)
	}
	endpoints := e.Settings().Webhooks
	if len(events) == 0 || len(endpoints) == 0 {
		return nil
	}
	data := hookData{
		AppointmentID: c.after.ID, AppointmentTypeID: c.after.AppointmentTypeID, SpecialistID: c.after.SpecialistID,
		SlotStartDate: c.after.SlotStart.UTC().Format(time.RFC3339), SlotEndDate: c.after.SlotEnd.UTC().Format(time.RFC3339),
		Status: string(c.after.Status), Source: string(c.after.Source), UpstreamState: string(c.after.UpstreamState), Version: c.after.Version,
	}
	if c.kind == changeRescheduled {
		data.PreviousStartDate = c.before.SlotStart.UTC().Format(time.RFC3339)
	}
	var calls []outbound
	for _, event := range events {
		body, _ := json.Marshal(hookBody{event, c.at.UTC().Format(time.RFC3339), data}) // strings and numbers cannot fail
		for _, to := range endpoints {
			if !to.Active || len(to.Events) > 0 && !slices.Contains(to.Events, event) {
				continue
			}
			op := e.newOperation(store.Webhook, c.after, c.at)
			op.Deadline = c.at.Add(e.options.Outbound.NoticeAge)
			op.Payload, _ = json.Marshal(hookPayload{to.ID, body})
			calls = append(calls, outbound{op, event})
		}
	}
	return calls
}

// deliverHook posts one webhook, to where its endpoint is now.
func (e *Engine) deliverHook(ctx context.Context, op *store.Operation) outcome {
	var p hookPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outcome{end: refused, detail: "the operation cannot be read"}
	}
	endpoints := e.Settings().Webhooks
	i := slices.IndexFunc(endpoints, func(w WebhookEndpoint) bool { return w.ID == p.EndpointID })
	if i < 0 || !endpoints[i].Active {
		return outcome{end: needless, detail: "the webhook was removed or switched off"}
	}
	url := endpoints[i].URL
	if wait := e.hookRests.left(url, time.Now()); wait > 0 {
		return outcome{end: later, at: e.now().Add(wait), detail: op.LastError}
	}
	if at, behind := e.behindNotice(ctx, op); behind {
		return outcome{end: later, at: at, detail: op.LastError}
	}
	if wait := e.posting.begin(url); wait > 0 {
		return outcome{end: later, at: e.now().Add(wait), detail: op.LastError}
	}
	defer e.posting.end(url)
	err := e.options.Notices.Hooks.Post(ctx, url, endpoints[i].Secret, op.ID, e.now(), p.Body)
	if notice.IsUnreachable(err) {
		wait := e.hookRests.rest(url, time.Now(), e.options.Outbound.Backoff)
		return outcome{end: later, at: e.now().Add(wait), detail: err.Error()}
	}
	e.hookRests.wake(url)
	switch {
	case err == nil:
		return outcome{end: delivered, result: op.ID}
	case notice.IsPermanent(err):
		return outcome{end: refused, detail: err.Error()}
	default:
		return outcome{end: again, detail: err.Error()}
	}
}

// dropErasedMail deletes the file of a mail whose person was erased while it was written: the erasure came before the file.
func (e *Engine) dropErasedMail(ctx context.Context, operationID string, written *store.Appointment) {
	now, err := e.store.Appointment(context.WithoutCancel(ctx), written.ID)
	if err == nil && now.Patient == (store.Patient{}) && written.Patient != now.Patient {
		e.options.Notices.Mailer.Remove([]string{operationID}, "")
	}
}

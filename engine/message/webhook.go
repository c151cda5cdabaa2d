package message

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// hookPayload is a queued webhook: its endpoint, the exact bytes to send, and the result of the last attempt.
type hookPayload struct {
	EndpointID string          `json:"endpointId"`
	Body       json.RawMessage `json:"body"`
	Last       *HookAttempt    `json:"last,omitempty"`
}

// hookBody is the body of a webhook. It contains no personal data.
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
	Place             string `json:"place,omitempty"` // id of one of the clinic's places
	PreviousStartDate string `json:"previousSlotStartDate,omitempty"`
}

// hookCalls returns the webhooks required by a change.
func (ms *Messages) hookCalls(c *booking.Change) []booking.Promise {
	var events []string
	switch c.Kind {
	case booking.ChangeUpstreamDone, booking.ChangeUpstreamFailed, booking.ChangeUpstreamReview:
		events = append(events, c.Kind)
	}
	if kind, ok := c.Announced(); ok {
		events = append(events, "appointment."+kind)
	}
	endpoints := ms.clinic.Settings().Webhooks
	if len(events) == 0 || len(endpoints) == 0 {
		return nil
	}
	data := hookData{
		AppointmentID: c.After.ID, AppointmentTypeID: c.After.AppointmentTypeID, SpecialistID: c.After.SpecialistID,
		SlotStartDate: c.After.SlotStart.UTC().Format(time.RFC3339),
		SlotEndDate:   c.After.SlotEnd.UTC().Format(time.RFC3339), Status: string(c.After.Status),
		Source: string(c.After.Source), UpstreamState: string(c.After.UpstreamState), Version: c.After.Version,
		Place: c.After.Place,
	}
	if c.Kind == booking.ChangeRescheduled {
		data.PreviousStartDate = c.Before.SlotStart.UTC().Format(time.RFC3339)
	}
	var calls []booking.Promise
	for _, event := range events {
		// encoding strings and numbers cannot fail
		body, _ := json.Marshal(hookBody{event, c.At.UTC().Format(time.RFC3339), data})
		for _, to := range endpoints {
			if !to.Active || len(to.Events) > 0 && !slices.Contains(to.Events, event) {
				continue
			}
			op := ms.outbound.NewOperation(store.Webhook, c.After, c.At)
			op.Deadline = c.At.Add(ms.outbound.Options.Limits.NoticeAge)
			op.Payload, _ = json.Marshal(hookPayload{EndpointID: to.ID, Body: body})
			calls = append(calls, booking.Promise{Operation: op, Notice: event})
		}
	}
	return calls
}

// deliverHook posts one webhook to its endpoint's current address.
func (ms *Messages) deliverHook(ctx context.Context, op *store.Operation) outbound.Outcome {
	var p hookPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outbound.Outcome{End: outbound.Refused, Detail: "the operation cannot be read"}
	}
	endpoints := ms.clinic.Settings().Webhooks
	i := slices.IndexFunc(endpoints, func(w clinic.WebhookEndpoint) bool { return w.ID == p.EndpointID })
	if i < 0 || !endpoints[i].Active {
		return notNeeded("the webhook was removed or disabled")
	}
	to := endpoints[i].URL
	if wait := ms.hookRests.left(to, time.Now()); wait > 0 {
		return outbound.Outcome{End: outbound.Deferred, Wait: wait, Detail: op.LastError}
	}
	if o := ms.behindNotice(ctx, op); o != nil {
		return *o
	}
	if wait := ms.posting.begin(to); wait > 0 {
		return outbound.Outcome{End: outbound.Deferred, Wait: wait, Detail: op.LastError}
	}
	defer ms.posting.end(to)
	at, began := ms.outbound.Now(), time.Now()
	answer, err := ms.transport.Hooks.Post(ctx, to, endpoints[i].Secrets(began), op.ID, at, p.Body)
	p.Last = newHookAttempt(at, time.Since(began), answer)
	op.Payload, _ = json.Marshal(p) // cannot fail: Body was read from JSON
	if notice.IsUnreachable(err) {
		wait := ms.hookRests.rest(to, time.Now(), ms.outbound.Options.Limits.Backoff)
		return outbound.Outcome{End: outbound.Deferred, Wait: wait, Detail: err.Error()}
	}
	ms.hookRests.wake(to)
	switch {
	case err == nil:
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID}
	case errors.Is(err, notice.ErrGone):
		return ms.disableHook(ctx, &endpoints[i])
	case notice.IsPermanent(err):
		return outbound.Outcome{End: outbound.Refused, Detail: err.Error()}
	default:
		return outbound.Outcome{End: outbound.Retryable, Detail: err.Error(), Wait: answer.RetryAfter}
	}
}

// disableHook disables a webhook whose receiver responded with status 410, as Standard Webhooks requires, and adds an
// email to each owner to the outbox. The operation has nothing left to do, so it does not count as failed. The same is
// true of other operations that are waiting for this receiver.
func (ms *Messages) disableHook(ctx context.Context, w *clinic.WebhookEndpoint) outbound.Outcome {
	var calls []booking.Promise
	disabled, err := ms.clinic.DisableWebhook(ctx, w.ID, w.URL, notice.ErrGone.Error(),
		func(tx store.Tx, at time.Time) (err error) {
			calls, err = ms.promiseHookDisabled(ctx, tx, w, at)
			return err
		})
	if err != nil {
		ms.log.Warn("failed to disable a webhook after 410; retrying", "webhook", w.ID, "error", err)
		return outbound.Outcome{End: outbound.Retryable, Detail: notice.ErrGone.Error()}
	}
	if disabled {
		ms.log.Warn("webhook disabled: its receiver responded with 410", "webhook", w.ID)
		ms.outbound.Enqueue(calls...)
	}
	return outbound.Outcome{End: outbound.NotNeeded, Detail: notice.ErrGone.Error() + "; the webhook was disabled"}
}

// promiseHookDisabled adds an email to the outbox for each active owner with an email address. The email says that the
// webhook w has been disabled.
func (ms *Messages) promiseHookDisabled(ctx context.Context, tx store.Tx, w *clinic.WebhookEndpoint,
	at time.Time) (calls []booking.Promise, err error) {
	if ms.transport.Mailer == nil {
		return nil, nil
	}
	users, err := tx.Users(ctx)
	if err != nil {
		return nil, err
	}
	name := w.ID
	if u, err := url.Parse(w.URL); err == nil { // only the host, because the rest of an address can be a secret
		name += " (" + u.Host + ")"
	}
	for _, u := range users {
		if u.Role != store.RoleOwner || !u.Active || u.Email == "" {
			continue
		}
		op := ms.outbound.NewOperation(store.Email, &store.Appointment{}, at)
		op.Deadline = at.Add(ms.outbound.Options.Limits.NoticeAge)
		// encoding strings cannot fail
		op.Payload, _ = json.Marshal(mailPayload{Notice: mailHookDisabled, User: u.ID, Webhook: name})
		calls = append(calls, booking.Promise{Operation: op, Notice: mailHookDisabled})
	}
	return calls, booking.WritePromises(ctx, tx, at, calls...)
}

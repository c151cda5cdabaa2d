package message

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// hookPayload is a webhook on its way: to whom, and the very bytes.
type hookPayload struct {
	EndpointID string          `json:"endpointId"`
	Body       json.RawMessage `json:"body"`
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
func (ms *Messages) hookCalls(c *booking.Change) []booking.Promise {
	var events []string
	switch c.Kind {
	case booking.ChangeUpstreamDone, booking.ChangeUpstreamFailed, booking.ChangeUpstreamReview:
		events = append(events, c.Kind)
	}
	if kind, ok := c.Told(); ok {
		events = append(events, "appointment."+kind)
	}
	endpoints := ms.clinic.Settings().Webhooks
	if len(events) == 0 || len(endpoints) == 0 {
		return nil
	}
	data := hookData{
		AppointmentID: c.After.ID, AppointmentTypeID: c.After.AppointmentTypeID, SpecialistID: c.After.SpecialistID,
		SlotStartDate: c.After.SlotStart.UTC().Format(time.RFC3339), SlotEndDate: c.After.SlotEnd.UTC().Format(time.RFC3339),
		Status: string(c.After.Status), Source: string(c.After.Source), UpstreamState: string(c.After.UpstreamState), Version: c.After.Version,
	}
	if c.Kind == booking.ChangeRescheduled {
		data.PreviousStartDate = c.Before.SlotStart.UTC().Format(time.RFC3339)
	}
	var calls []booking.Promise
	for _, event := range events {
		body, _ := json.Marshal(hookBody{event, c.At.UTC().Format(time.RFC3339), data}) // strings and numbers cannot fail
		for _, to := range endpoints {
			if !to.Active || len(to.Events) > 0 && !slices.Contains(to.Events, event) {
				continue
			}
			op := ms.outbound.NewOperation(store.Webhook, c.After, c.At)
			op.Deadline = c.At.Add(ms.outbound.Options.Limits.NoticeAge)
			op.Payload, _ = json.Marshal(hookPayload{to.ID, body})
			calls = append(calls, booking.Promise{Operation: op, Notice: event})
		}
	}
	return calls
}

// deliverHook posts one webhook, to where its endpoint is now.
func (ms *Messages) deliverHook(ctx context.Context, op *store.Operation) outbound.Outcome {
	var p hookPayload
	if err := json.Unmarshal(op.Payload, &p); err != nil {
		return outbound.Outcome{End: outbound.Refused, Detail: "the operation cannot be read"}
	}
	endpoints := ms.clinic.Settings().Webhooks
	i := slices.IndexFunc(endpoints, func(w clinic.WebhookEndpoint) bool { return w.ID == p.EndpointID })
	if i < 0 || !endpoints[i].Active {
		return outbound.Outcome{End: outbound.NotNeeded, Detail: "the webhook was removed or switched off"}
	}
	url := endpoints[i].URL
	if wait := ms.hookRests.left(url, time.Now()); wait > 0 {
		return outbound.Outcome{End: outbound.Deferred, At: ms.outbound.Now().Add(wait), Detail: op.LastError}
	}
	if at, behind := ms.behindNotice(ctx, op); behind {
		return outbound.Outcome{End: outbound.Deferred, At: at, Detail: op.LastError}
	}
	if wait := ms.posting.begin(url); wait > 0 {
		return outbound.Outcome{End: outbound.Deferred, At: ms.outbound.Now().Add(wait), Detail: op.LastError}
	}
	defer ms.posting.end(url)
	err := ms.transport.Hooks.Post(ctx, url, endpoints[i].Secrets(time.Now()), op.ID, ms.outbound.Now(), p.Body)
	if notice.IsUnreachable(err) {
		wait := ms.hookRests.rest(url, time.Now(), ms.outbound.Options.Limits.Backoff)
		return outbound.Outcome{End: outbound.Deferred, At: ms.outbound.Now().Add(wait), Detail: err.Error()}
	}
	ms.hookRests.wake(url)
	switch {
	case err == nil:
		return outbound.Outcome{End: outbound.Delivered, Result: op.ID}
	case notice.IsPermanent(err):
		return outbound.Outcome{End: outbound.Refused, Detail: err.Error()}
	default:
		return outbound.Outcome{End: outbound.Retryable, Detail: err.Error()}
	}
}

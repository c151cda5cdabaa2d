package message

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// The limits for HookDeliveries, and for the stored part of a response, in bytes. They are documented in docs/guide.md.
const (
	maxHookDeliveries = 100
	hookDeliveryAge   = 7 * 24 * time.Hour
	maxHookAnswer     = 1000
)

// HookAttempt is the result of one attempt to deliver a webhook.
type HookAttempt struct {
	At     time.Time `json:"at"`
	Millis int64     `json:"millis"`           // how long the attempt took
	Status int       `json:"status,omitempty"` // status of the response; 0 means that there was none
	Body   string    `json:"body,omitempty"`   // the first 1,000 bytes of the response
}

func newHookAttempt(at time.Time, took time.Duration, a notice.Answer) *HookAttempt {
	text := string(a.Body[:min(len(a.Body), maxHookAnswer)])
	return &HookAttempt{
		At: at, Millis: took.Milliseconds(), Status: a.Status,
		// PostgreSQL cannot store zero bytes in JSON
		Body: strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""),
	}
}

// HookDelivery is one message to a webhook.
type HookDelivery struct {
	outbound.QueuedOperation
	Event string
	Body  json.RawMessage // the body as sent
	Last  *HookAttempt    // nil means that there has been no attempt yet
}

// HookDeliveries lists the messages to a webhook, newest first: at most 100, created within the last 7 days. The list
// omits messages that the queue has deleted and messages about erased persons. It returns store.ErrNotFound if no
// webhook has this id.
func (ms *Messages) HookDeliveries(ctx context.Context, endpointID string) (list []HookDelivery, err error) {
	if !slices.ContainsFunc(ms.clinic.Settings().Webhooks,
		func(w clinic.WebhookEndpoint) bool { return w.ID == endpointID }) {
		return nil, store.ErrNotFound
	}
	oldest := ms.outbound.Now().Add(-hookDeliveryAge)
	err = ms.outbound.EachSince(ctx, oldest, func(q outbound.QueuedOperation) {
		var p hookPayload
		if q.Kind != store.Webhook || json.Unmarshal(q.Payload, &p) != nil || p.EndpointID != endpointID {
			return
		}
		var b struct{ Type string }
		_ = json.Unmarshal(p.Body, &b) // cannot fail: hookCalls wrote it
		if list = append(list, HookDelivery{q, b.Type, p.Body, p.Last}); len(list) > maxHookDeliveries {
			list = slices.Delete(list, 0, 1)
		}
	})
	slices.Reverse(list)
	return list, err
}

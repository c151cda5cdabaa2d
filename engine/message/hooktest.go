package message

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// testEvent is the type of a message that does not report an event.
const testEvent = "test"

// TestHook sends one signed message of the type "test" to a webhook directly, bypassing the queue, so that the caller
// sees the result. It also sends to inactive webhooks. id is the id of the message. detail is the reason why the
// message was not accepted, or empty if it was. TestHook returns store.ErrNotFound if no webhook has this id.
func (ms *Messages) TestHook(ctx context.Context, endpointID string) (id, detail string, err error) {
	endpoints := ms.clinic.Settings().Webhooks
	i := slices.IndexFunc(endpoints, func(w clinic.WebhookEndpoint) bool { return w.ID == endpointID })
	if i < 0 {
		return "", "", store.ErrNotFound
	}
	if err := store.Trial(ctx); err != nil {
		return "", "", err
	}
	now := ms.outbound.Now()
	id = ms.outbound.Outbox.Ids.Next(time.Now())
	body, _ := json.Marshal(struct { // encoding strings cannot fail
		Type      string   `json:"type"`
		Timestamp string   `json:"timestamp"`
		Data      struct{} `json:"data"`
	}{Type: testEvent, Timestamp: now.UTC().Format(time.RFC3339)})
	if ms.transport.Hooks == nil {
		return id, "this server sends no webhooks", nil
	}
	_, err = ms.transport.Hooks.Post(ctx, endpoints[i].URL, endpoints[i].Secrets(time.Now()), id, now, body)
	if err != nil {
		return id, err.Error(), nil
	}
	return id, "", nil
}

package web

import (
	"encoding/json"
	"net/http"

	"holdfast/engine/message"
)

type hookTestBody struct {
	ID string `json:"id"`
}

type hookTestJSON struct {
	Delivery  string `json:"delivery"`         // taken or failed
	WebhookID string `json:"webhookId"`        // the header webhook-id of the message
	Detail    string `json:"detail,omitempty"` // why it failed
}

// testHook sends one message to a webhook. If the receiver refuses the message, the request itself still succeeds, and
// its response contains the reason.
func (s *Server) testHook(c *call, b *hookTestBody) error {
	c.once = nil // every test sends a new message
	id, detail, err := s.engine.Message.TestHook(c.ctx(), b.ID)
	if err != nil {
		return err
	}
	delivery := "taken"
	if detail != "" {
		delivery = "failed"
	}
	return c.json(http.StatusOK, hookTestJSON{delivery, id, detail})
}

// hookDeliveryJSON is one message to a webhook. Its id is the header webhook-id.
type hookDeliveryJSON struct {
	operationJSON
	Event       string           `json:"event"`
	Body        json.RawMessage  `json:"body"`
	LastAttempt *hookAttemptJSON `json:"lastAttempt,omitempty"`
}

type hookAttemptJSON struct {
	At             string `json:"at"`
	DurationMillis int64  `json:"durationMillis"`
	Status         int    `json:"status,omitempty"` // omitted if there was no response
	Body           string `json:"body,omitempty"`   // the beginning of the response's body
}

// listHookDeliveries returns the recent messages to one webhook.
func (s *Server) listHookDeliveries(c *call) error {
	list, err := s.engine.Message.HookDeliveries(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	deliveries := each(list, func(d *message.HookDelivery) hookDeliveryJSON {
		j := hookDeliveryJSON{operationOf(&d.QueuedOperation, s.engine.Clinic.Zone(), false), d.Event, d.Body, nil}
		if d.LastError != "" { // or the reason why no message needed to be sent
			j.LastError = &d.LastError
		}
		if a := d.Last; a != nil {
			j.LastAttempt = &hookAttemptJSON{httpTime(a.At), a.Millis, a.Status, a.Body}
		}
		return j
	})
	return c.json(http.StatusOK, map[string]any{"deliveries": deliveries})
}

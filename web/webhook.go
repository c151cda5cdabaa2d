package web

import "net/http"

type hookTestBody struct {
	ID string `json:"id"`
}

type hookTestJSON struct {
	Delivery  string `json:"delivery"`         // taken or failed
	WebhookID string `json:"webhookId"`        // the header webhook-id of the message
	Detail    string `json:"detail,omitempty"` // why it failed
}

// testHook sends one message to a webhook. A receiver that refuses is a finding, not an error of this request.
func (s *Server) testHook(c *call, b *hookTestBody) error {
	c.once = nil // every test is a new message
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

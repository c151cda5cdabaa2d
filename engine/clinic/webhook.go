package clinic

import (
	"encoding/json"
	"slices"
	"strings"

	"holdfast/engine/notice"
	"holdfast/engine/record"
)

// WebhookEndpoint is a program of the clinic that wants to be told.
type WebhookEndpoint struct {
	ID     string   `json:"id"`
	URL    string   `json:"url"`
	Secret string   `json:"secret"`           // "whsec_…"; left out, a known webhook keeps its own and a new one has one made
	Events []string `json:"events,omitempty"` // none: all of them
	Active bool     `json:"active"`           // default true
}

// UnmarshalJSON fills in the default.
func (w *WebhookEndpoint) UnmarshalJSON(b []byte) error {
	type plain WebhookEndpoint
	w.Active = true
	return json.Unmarshal(b, (*plain)(w))
}

// webhookEvents are what a webhook can be about.
var webhookEvents = []string{
	"appointment.created", "appointment.cancelled", "appointment.rescheduled", "upstream.completed", "upstream.failed", "upstream.needs_review",
}

// checkWebhooks completes and checks the endpoints of new settings. One that is in known, by its id, keeps its secret if
// none is given.
func checkWebhooks(m *record.Mistakes, list, known []WebhookEndpoint) {
	seen := make(map[string]bool)
	for i := range list {
		w, at := &list[i], indexed("webhooks", i)+"."
		if w.ID == "" {
			w.ID = record.NewID()
		}
		if i := slices.IndexFunc(known, func(k WebhookEndpoint) bool { return k.ID == w.ID }); i >= 0 && w.Secret == "" {
			w.Secret = known[i].Secret
		}
		if w.Secret == "" {
			w.Secret = notice.NewWebhookSecret()
		}
		record.CheckID(m, at+"id", w.ID)
		if seen[w.ID] {
			m.Add(at+"id", "is used twice")
		}
		seen[w.ID] = true
		if !strings.HasPrefix(w.URL, "https://") && !strings.HasPrefix(w.URL, "http://") || len(w.URL) > 2000 || strings.ContainsAny(w.URL, " \r\n\t") {
			m.Add(at+"url", "must be an address like https://example.org/hooks")
		}
		if !notice.ValidWebhookSecret(w.Secret) {
			m.Add(at+"secret", "must be whsec_ and at least 24 bytes in base64; leave it out to have one made")
		}
		for _, event := range w.Events {
			if !slices.Contains(webhookEvents, event) {
				m.Add(at+"events", "must be some of %s", strings.Join(webhookEvents, ", "))
				break
			}
		}
	}
	if len(list) > 20 {
		m.Add("webhooks", "at most 20")
	}
}

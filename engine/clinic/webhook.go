package clinic

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

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

	// Rotate asks for a new secret to be made. It is never stored.
	Rotate bool `json:"rotateSecret,omitempty"`
	// Previous is the secret before the last change. Until PreviousUntil every call is signed with both, so that the receiver
	// can change over without losing one. Both are the server's to say: what a change of the settings brings is passed over.
	Previous      string    `json:"previousSecret,omitempty"`
	PreviousUntil time.Time `json:"previousSecretUntil,omitzero"`
}

// SecretOverlap is how long the secret before counts beside a new one.
const SecretOverlap = 24 * time.Hour

// Secrets are those that a call is signed with now, the current one first.
func (w *WebhookEndpoint) Secrets(now time.Time) []string {
	if w.Previous != "" && now.Before(w.PreviousUntil) {
		return []string{w.Secret, w.Previous}
	}
	return []string{w.Secret}
}

// rotate completes the secrets of w, which replaces known; nil: it is new.
func (w *WebhookEndpoint) rotate(known *WebhookEndpoint, now time.Time) {
	w.Previous, w.PreviousUntil = "", time.Time{}
	if known != nil && w.Secret == "" {
		w.Secret = known.Secret
	}
	if w.Secret == "" || w.Rotate && known != nil && w.Secret == known.Secret {
		w.Secret = notice.NewWebhookSecret()
	}
	w.Rotate = false
	switch {
	case known == nil:
	case known.Secret != w.Secret:
		w.Previous, w.PreviousUntil = known.Secret, now.Add(SecretOverlap).UTC().Truncate(time.Second)
	case now.Before(known.PreviousUntil):
		w.Previous, w.PreviousUntil = known.Previous, known.PreviousUntil
	}
}

// UnmarshalJSON fills in the default.
func (w *WebhookEndpoint) UnmarshalJSON(b []byte) error {
	type plain WebhookEndpoint
	w.Active = true
	return json.Unmarshal(b, (*plain)(w))
}

// WebhookEvents returns what a webhook can be about.
func WebhookEvents() []string { return slices.Clone(webhookEvents) }

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
		var before *WebhookEndpoint
		if i := slices.IndexFunc(known, func(k WebhookEndpoint) bool { return k.ID == w.ID }); i >= 0 {
			before = &known[i]
		}
		w.rotate(before, time.Now())
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

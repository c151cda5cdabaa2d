package clinic

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/store"
)

// WebhookEndpoint is one of the clinic's programs that receives webhooks.
type WebhookEndpoint struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	// "whsec_…"; if empty, an existing webhook keeps its secret and a new webhook gets one
	Secret string   `json:"secret"`
	Events []string `json:"events,omitempty"` // empty means all of them
	Active bool     `json:"active"`           // default true

	// Rotate requests a new secret. This field is never stored.
	Rotate bool `json:"rotateSecret,omitempty"`
	// Previous is the previous secret. Until PreviousUntil, the server signs every call with both secrets, so that the
	// receiver can switch without losing a call. The server sets both fields and ignores them in changes to the
	// settings.
	Previous      string    `json:"previousSecret,omitempty"`
	PreviousUntil time.Time `json:"previousSecretUntil,omitzero"`
	// DisabledAt is when the server set Active to false because the receiver responded with status 410. It is zero
	// while Active is true. A change to the settings cannot set it.
	DisabledAt time.Time `json:"disabledAt,omitzero"`
}

// SecretOverlap is how long the previous secret remains valid together with a new one.
const SecretOverlap = 24 * time.Hour

// Secrets returns the secrets that currently sign calls, the current one first.
func (w *WebhookEndpoint) Secrets(now time.Time) []string {
	if w.Previous != "" && now.Before(w.PreviousUntil) {
		return []string{w.Secret, w.Previous}
	}
	return []string{w.Secret}
}

// WithValidSecrets returns the settings without the previous secrets of webhooks that are no longer valid.
func (s Settings) WithValidSecrets(now time.Time) Settings {
	s.Webhooks = slices.Clone(s.Webhooks)
	for i := range s.Webhooks {
		if w := &s.Webhooks[i]; !now.Before(w.PreviousUntil) {
			w.Previous, w.PreviousUntil = "", time.Time{}
		}
	}
	return s
}

// rotate fills in the secrets of w, which replaces known. known is nil for a new webhook.
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

// errKeepSettings aborts a settings change if there is nothing to change.
var errKeepSettings = errors.New("clinic: nothing to change")

// DisableWebhook deactivates the webhook with this id if it is active and still has this address. It calls notify in
// the same transaction. It reports whether it deactivated the webhook. Of several concurrent calls, only the first one
// does so.
func (cl *Clinic) DisableWebhook(ctx context.Context, id, url, reason string,
	notify func(tx store.Tx, at time.Time) error) (bool, error) {
	c := ScheduleChange{Actor: "system", Action: record.ActionSettingsChanged, Subject: "clinic", reason: reason}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		before, err := readSettings(s.Clinic.Settings)
		if err != nil {
			return err
		}
		after, now := before, time.Now().UTC().Truncate(time.Second)
		after.Webhooks = slices.Clone(before.Webhooks)
		i := slices.IndexFunc(after.Webhooks, func(w WebhookEndpoint) bool {
			return w.ID == id && w.URL == url && w.Active
		})
		if i < 0 {
			return errKeepSettings
		}
		after.Webhooks[i].Active, after.Webhooks[i].DisabledAt = false, now
		c.before, c.after = before.audited(), after.audited()
		if s.Clinic.Settings, err = after.stored(); err != nil {
			return err
		}
		return errors.Join(tx.PutClinic(ctx, s.Clinic), notify(tx, now))
	})
	if errors.Is(err, errKeepSettings) {
		return false, nil
	}
	return err == nil, err
}

// UnmarshalJSON fills in the default values.
func (w *WebhookEndpoint) UnmarshalJSON(b []byte) error {
	type plain WebhookEndpoint
	w.Active = true
	return json.Unmarshal(b, (*plain)(w))
}

// WebhookEvents returns the events that a webhook can subscribe to.
func WebhookEvents() []string { return slices.Clone(webhookEvents) }

var webhookEvents = []string{
	"appointment.created", "appointment.cancelled", "appointment.rescheduled", "upstream.completed", "upstream.failed",
	"upstream.needs_review",
}

// checkWebhooks completes and checks the endpoints of new settings. An endpoint whose id is in known keeps its secret
// if none is given.
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
		if w.DisabledAt = (time.Time{}); before != nil && !w.Active {
			w.DisabledAt = before.DisabledAt
		}
		record.CheckID(m, at+"id", w.ID)
		if seen[w.ID] {
			m.Add(at+"id", "is used twice")
		}
		seen[w.ID] = true
		if !strings.HasPrefix(w.URL, "https://") && !strings.HasPrefix(w.URL, "http://") || len(w.URL) > 2000 ||
			strings.ContainsAny(w.URL, " \r\n\t") {
			m.Add(at+"url", "must be an address like https://example.org/hooks")
		}
		if !notice.ValidWebhookSecret(w.Secret) {
			m.Add(at+"secret", "must be whsec_ and at least 24 bytes in base64; omit the secret, and the server "+
				"creates one")
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

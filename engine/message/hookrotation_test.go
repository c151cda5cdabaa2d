package message_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/notice"
)

// TestWebhookSecretRotates: for a day after a rotation, both secrets are valid, however often the settings are saved
// during that time. The server ignores a previous secret in a settings change.
func TestWebhookSecretRotates(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, _ := enginetest.NoticeClinic(t)
		put := func(w clinic.WebhookEndpoint) clinic.WebhookEndpoint {
			t.Helper()
			w.ID, w.URL, w.Active = "crm", "https://crm.example.org", true
			s, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
				s.Webhooks = []clinic.WebhookEndpoint{w}
			})
			if err != nil {
				t.Fatal(err)
			}
			return s.Webhooks[0]
		}
		counts := func(what string, w clinic.WebhookEndpoint, want ...string) {
			t.Helper()
			if got := w.Secrets(time.Now()); !slices.Equal(got, want) {
				t.Errorf("%s: %d secrets are valid, %v; want %v", what, len(got), got, want)
			}
		}
		first := put(clinic.WebhookEndpoint{})
		counts("new", first, first.Secret)
		second := put(clinic.WebhookEndpoint{Rotate: true})
		if second.Rotate || second.Secret == first.Secret {
			t.Errorf("rotated: got %+v", second)
		}
		counts("a new one was asked for", second, second.Secret, first.Secret)
		if shown := c.Clinic.Settings().WithValidSecrets(time.Now()).Webhooks[0]; shown.Previous != first.Secret {
			t.Errorf("the settings do not show the previous secret while it is valid: %+v", shown)
		}
		time.Sleep(time.Hour)
		forged := notice.NewWebhookSecret()
		counts("saved again", put(clinic.WebhookEndpoint{Previous: forged, PreviousUntil: time.Now().AddDate(1, 0, 0)}),
			second.Secret, first.Secret)
		given := notice.NewWebhookSecret()
		third := put(clinic.WebhookEndpoint{Secret: given})
		counts("one was given", third, given, second.Secret)
		time.Sleep(clinic.SecretOverlap - time.Second)
		counts("a day later", third, given, second.Secret)
		time.Sleep(2 * time.Second)
		counts("after a day", third, given)
		shown := c.Clinic.Settings().WithValidSecrets(time.Now()).Webhooks[0]
		if shown.Previous != "" || !shown.PreviousUntil.IsZero() || shown.Secret != given {
			t.Errorf("after a day: the settings still show the expired secret: %+v", shown)
		}
		if again := put(third); again.Previous != "" {
			t.Error("an expired secret is still stored")
		}
	})
}

// TestWebhookIsSignedWithBothSecrets: a webhook carries signatures made with both secrets, so that a receiver with
// either secret accepts it.
func TestWebhookIsSignedWithBothSecrets(t *testing.T) {
	t.Parallel()
	c, _ := enginetest.NoticeClinic(t)
	type call struct {
		header http.Header
		body   []byte
	}
	calls := make(chan call, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		calls <- call{r.Header, body}
	}))
	defer server.Close()
	var hook clinic.WebhookEndpoint
	for _, rotate := range []bool{false, true} {
		s, err := c.Clinic.UpdateSettings(context.Background(), "system", func(s *clinic.Settings) {
			s.Webhooks = []clinic.WebhookEndpoint{{ID: "crm", URL: server.URL, Active: true, Rotate: rotate}}
		})
		if err != nil {
			t.Fatal(err)
		}
		hook = s.Webhooks[0]
	}
	r := enginetest.BookingOf(1, "checkup")
	r.SlotStart = c.Start
	c.MustBook(r)
	got := <-calls
	seconds, err := strconv.ParseInt(got.header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	signed := strings.Fields(got.header.Get("webhook-signature"))
	if len(signed) != 2 {
		t.Fatalf("there are %d signatures, want both: %q", len(signed), signed)
	}
	for i, secret := range []string{hook.Secret, hook.Previous} {
		if want, err := notice.Sign(secret, got.header.Get("webhook-id"), time.Unix(seconds, 0),
			got.body); err != nil || signed[i] != want {
			t.Errorf("signature %d is %q, want %q (%v)", i, signed[i], want, err)
		}
	}
}

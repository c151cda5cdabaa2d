package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/notice"
)

// TestWebhookTestRoute: an owner tests a webhook. The server sends one signed message and reports its real result.
func TestWebhookTestRoute(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) {
		o.Notices.Hooks = notice.NewHooks(notice.HookOptions{AllowPrivate: true})
	})
	var got *http.Request
	var body []byte
	status := http.StatusNoContent
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(status)
	}))
	defer receiver.Close()
	secret := notice.NewWebhookSecret()
	h.do("PUT", "/v1/settings", map[string]any{"webhooks": []any{map[string]any{"id": "crm", "url": receiver.URL,
		"secret": secret, "active": false}}}, asAdmin).want(200)

	owner := h.signedIn("owner@clinic.example", "owner", "")
	answer := h.do("POST", "/v1/settings/webhook-test", map[string]any{"id": "crm"}, owner).want(200)
	if answer.text("delivery") != "taken" || answer.get("detail") != nil || got == nil ||
		got.Header.Get("webhook-id") != answer.text("webhookId") {
		t.Fatalf("answered %s, and sent %+v", answer.raw, got)
	}
	if !strings.Contains(string(body), `"type":"test"`) || strings.Contains(string(body), "appointment") {
		t.Errorf("the message is %s", body)
	}
	at, err := strconv.ParseInt(got.Header.Get("webhook-timestamp"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := notice.Sign(secret, answer.text("webhookId"), time.Unix(at, 0), body); err != nil ||
		got.Header.Get("webhook-signature") != want {
		t.Errorf("signed %q, want %q, %v", got.Header.Get("webhook-signature"), want, err)
	}

	status = http.StatusTeapot
	answer = h.do("POST", "/v1/settings/webhook-test", map[string]any{"id": "crm"}, owner).want(200)
	if answer.text("delivery") != "failed" || !strings.Contains(answer.text("detail"), "418") {
		t.Errorf("a receiver that refuses: %s", answer.raw)
	}
	receiver.Close()
	answer = h.do("POST", "/v1/settings/webhook-test", map[string]any{"id": "crm"}, owner).want(200)
	if answer.text("delivery") != "failed" || answer.text("detail") == "" {
		t.Errorf("a receiver that is not there: %s", answer.raw)
	}
	h.do("POST", "/v1/settings/webhook-test", map[string]any{"id": "another"}, owner).want(404)
}

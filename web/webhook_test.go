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
		t.Fatalf("the receiver answered %s and got %+v", answer.raw, got)
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
		t.Errorf("a receiver that does not exist: %s", answer.raw)
	}
	h.do("POST", "/v1/settings/webhook-test", map[string]any{"id": "another"}, owner).want(404)
}

// TestWebhookDeliveriesSendAgain: an owner sees each message with the receiver's response, and sends one message again
// under the same id.
func TestWebhookDeliveriesSendAgain(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) {
		o.Notices.Hooks = notice.NewHooks(notice.HookOptions{AllowPrivate: true})
	})
	ids := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("webhook-id")
		_, _ = io.WriteString(w, "stored\x00\xff"+strings.Repeat("é", 600))
	}))
	defer receiver.Close()
	h.do("PATCH", "/v1/settings", map[string]any{"webhooks": []any{
		map[string]any{"id": "crm", "url": receiver.URL, "events": []string{"appointment.created"}},
		map[string]any{"id": "other", "url": receiver.URL, "active": false},
	}}, asAdmin).want(200)
	h.do("POST", bookCheckup, h.booking(0)).want(201)
	first := <-ids
	path := "/v1/settings/webhooks/crm/deliveries"
	delivered := func() (list *reply) {
		t.Helper()
		h.eventually("the message is completed", func() bool {
			list = h.do("GET", path, nil, asAdmin).want(200)
			return strings.Contains(list.raw, `"status":"completed"`)
		})
		return list
	}
	list := delivered()
	all := list.get("deliveries").([]any)
	d, _ := all[0].(map[string]any)
	last, _ := d["lastAttempt"].(map[string]any)
	if len(all) != 1 || d["id"] != first || d["event"] != "appointment.created" || last["status"] != 200.0 {
		t.Fatalf("got %s, want the message %s", list.raw, first)
	}
	if body, _ := last["body"].(string); !strings.HasPrefix(body, "storedé") || !strings.HasSuffix(body, "é") || len(body) > 1000 {
		t.Errorf("the answer is shown as %q, want its first 1,000 bytes, without invalid bytes", body)
	}
	if body, _ := d["body"].(map[string]any); body["type"] != "appointment.created" {
		t.Errorf("the body is %v", d["body"])
	}
	h.do("GET", "/v1/settings/webhooks/nothing/deliveries", nil, asAdmin).want(404)
	if r := h.do("GET", "/v1/settings/webhooks/other/deliveries", nil, asAdmin).want(200); len(r.get("deliveries").([]any)) != 0 {
		t.Errorf("another webhook's list is %s", r.raw)
	}

	retry := "/v1/queue/" + first + "/retry"
	once := h.do("POST", retry, nil, asAdmin, key("again")).want(200)
	if again := h.do("POST", retry, nil, asAdmin, key("again")).want(200); again.raw != once.raw {
		t.Errorf("repeated: got %s, want %s", again.raw, once.raw)
	}
	if id := <-ids; id != first {
		t.Errorf("the repeated message has the id %s, want %s", id, first)
	}
	delivered()
	if n := len(ids); n != 0 {
		t.Errorf("%d more messages were sent, want none", n)
	}
	if audit := h.do("GET", "/v1/audit", nil, asAdmin).want(200).raw; strings.Count(audit, `"operation:`+first+`"`) != 1 {
		t.Errorf("the audit log has %s, want one entry about %s", audit, first)
	}

	h.do("POST", "/v1/people/erase", map[string]any{"email": "p0@example.org"}, asAdmin).want(200)
	if r := h.do("GET", path, nil, asAdmin).want(200); len(r.get("deliveries").([]any)) != 0 {
		t.Errorf("after the erasure of the patient, the list is %s, want none", r.raw)
	}
	h.do("POST", retry, nil, asAdmin).problem(409, "operation_state")
}

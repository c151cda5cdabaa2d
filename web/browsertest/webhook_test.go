package browsertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/store"
	"holdfast/web"
)

// TestOwnerSendsWebhookAgain: the settings show a webhook receiver's response, and the owner sends the message again
// with the same id.
func TestOwnerSendsWebhookAgain(t *testing.T) {
	t.Parallel()
	h := newHouseWith(t, engine.Options{
		Queue: enginetest.Queue(t), Notices: message.Transport{Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true})},
	}, web.Options{})
	ids := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ids <- r.Header.Get("webhook-id")
		_, _ = io.WriteString(rw, "stored by the CRM")
	}))
	t.Cleanup(receiver.Close)
	h.must(200, "PATCH", "/v1/settings", map[string]any{"webhooks": []any{map[string]any{"id": "crm", "url": receiver.URL}}}, asAdmin)
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at("09:00"),
		"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"},
	}, asAdmin)
	next := func() string {
		t.Helper()
		select {
		case id := <-ids:
			return id
		case <-time.After(patience):
			t.Fatal("the receiver got no message")
			return ""
		}
	}
	first := next()
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.click(".deliveries > summary")
	p.click(".deliveries .line summary")
	p.says("Response: 200")
	p.says("stored by the CRM")
	p.says(`"type": "appointment.created"`)
	p.accessible("the recent messages of a webhook")
	p.shot("webhook-deliveries")
	p.press("Send again")
	if id := next(); id != first {
		t.Errorf("the repeated message has the id %s, want %s", id, first)
	}

	// An empty list means all events, so the last chosen event cannot be removed from the list.
	for left := 5; left >= 0; left-- {
		p.run(`document.querySelector('.hook .checks input:checked').click()`)
		p.until(`document.querySelectorAll('.hook .checks input:checked').length === ` + strconv.Itoa(max(left, 1)))
	}
	p.says("selected")
}

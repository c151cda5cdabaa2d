package web_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
)

// TestFailedOperationIsRetried: a permanent failure appears in the log with its reason, in a metric and in the desk's
// list. One request retries all failed operations.
func TestFailedOperationIsRetried(t *testing.T) {
	var takes atomic.Bool
	h, _ := newPractice(t, func(o *engine.Options) {
		var err error
		o.Notices.From = "post@clinic.example"
		o.Notices.Mailer, err = notice.NewMailer(notice.MailOptions{URL: "smtp://" +
			noticetest.MailServer(t, func(string) string {
				if takes.Load() {
					return "250 ok"
				}
				return "550 unknown"
			})})
		if err != nil {
			t.Fatal(err)
		}
	})
	for n := range 2 {
		h.book(n+1, "checkup", map[string]any{
			"slotStartDate": h.at(30 * n), "specialistId": "ada",
			"patient": map[string]any{"name": "Lena", "email": "lena@example.org"},
		}).want(201)
	}
	metrics := func() string { return h.do("GET", "/metrics", nil, asAdmin).want(200).raw }
	until := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("timeout: %s\n%s", what, h.do("GET", "/v1/queue-status?kind=mail", nil, asAdmin).raw)
			}
		}
	}
	until("two that failed in the metrics", func() bool {
		return strings.Contains(metrics(), `holdfast_operations_failed_total{kind="email"} 2`)
	})
	if log := h.log.String(); strings.Count(log, "operation failed permanently") != 2 ||
		!strings.Contains(log, "rejected the message permanently (550)") {
		t.Errorf("the log does not have a line with the reason of each failure:\n%s", log)
	}
	if got := h.do("GET", "/v1/queue-status?kind=mail&status=failed", nil,
		asAdmin).want(200); got.get("failed") != 2.0 || !strings.Contains(got.raw, "(550)") {
		t.Errorf("the desk gets %s", got.raw)
	}
	takes.Store(true)
	if got := h.do("POST", "/v1/queue-retry", nil, asAdmin).want(200); got.get("retried") != 2.0 ||
		got.get("left") != 0.0 {
		t.Errorf("all are retried: %s", got.raw)
	}
	until("both delivered", func() bool {
		return strings.Contains(metrics(), `holdfast_operations_delivered_total{kind="email"} 2`)
	})
	if got := h.do("POST", "/v1/queue-retry", nil, asAdmin).want(200); got.get("retried") != 0.0 {
		t.Errorf("a delivered operation was retried: %s", got.raw)
	}
}

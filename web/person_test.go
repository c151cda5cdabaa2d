package web_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
)

func TestEraseListsTheCopiesItDoesNotReach(t *testing.T) {
	h, _ := newPractice(t, func(o *engine.Options) {
		o.Copies = func() ([]engine.Copy, error) {
			return []engine.Copy{{Name: "backups/20260101T000000Z", MadeAt: time.Now().Add(-49 * time.Hour)}}, nil
		}
	})
	r := h.do("POST", "/v1/people/erase", map[string]any{"email": "nobody@example.org"}, asAdmin).want(200)
	if !strings.Contains(r.raw, `"copies":[{"name":"backups/20260101T000000Z","madeAt":"`) || !strings.Contains(r.raw, `"ageDays":2}`) {
		t.Errorf("got %s, want the backup, two days old", r.raw)
	}
}

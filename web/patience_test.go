package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// TestEveryRequestHasADeadline: the deadline reaches the store. For reads and writes that hang, the response is a 503.
func TestEveryRequestHasADeadline(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.Patience = 50 * time.Millisecond })
	h.written.hangs.Store(true)
	for _, x := range []struct {
		method, path string
		body         any
	}{
		{"GET", "/v1/appointments", nil},
		{"GET", "/v1/appointment-types/checkup/timeslots?specialistId=ada", nil},
		{"POST", "/v1/appointments", map[string]any{"appointmentTypeId": "class", "slotStartDate": h.at(0),
			"patient": patient(1)}},
	} {
		r := h.do(x.method, x.path, x.body, asAdmin).problem(http.StatusServiceUnavailable, "storage_unavailable")
		if r.header.Get("Retry-After") == "" {
			t.Errorf("%s %s: the refusal has no Retry-After", x.method, x.path)
		}
	}
}

// TestStartedWriteIsAwaited checks that the deadline limits only the wait for the write's turn, so no caller gets a
// failure for a write that succeeded.
func TestStartedWriteIsAwaited(t *testing.T) {
	t.Parallel()                     // waits on the real clock
	const patience = 3 * time.Second // on a busy machine, a read can wait for the disk
	h := newHouse(t, func(o *web.Options) { o.Patience = patience })
	h.written.slow.Store(true)
	h.do("POST", "/v1/specialists", map[string]any{"id": "cleo", "name": "Cleo"}, asAdmin).want(201)
	if r := h.do("GET", "/v1/specialists", nil, asAdmin).want(200); !strings.Contains(r.raw, "cleo") {
		t.Errorf("the specialist is missing: %s", r.raw)
	}
}

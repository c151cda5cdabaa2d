package web_test

import (
	"regexp"
	"slices"
	"testing"
)

// TestPresenceKeyWritesPresenceAlone: beyond reading what everybody may read, a presence key goes online and takes
// sessions; what any visitor may book is not its to book, though it says whose client it is.
func TestPresenceKeyWritesPresenceAlone(t *testing.T) {
	its := regexp.MustCompile(`^/v1/(specialists/\{id\}/(online|offline|heartbeat)|sessions/\{id\}/(accept|end|reroute|payment)|auth/sign-(in|out))$`)
	for _, line := range readRoleTable(t) {
		if may := line.want[slices.Index(roleColumns, "presence")] == "ok"; may && line.method != "GET" && !its.MatchString(line.path) {
			t.Errorf("line %d: a presence key may %s %s", line.number, line.method, line.path)
		}
	}
	r := newRoles(t)
	held := r.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": r.slot(), "clientId": client(900)}).want(201).text("holdId")
	waits := r.do("POST", "/v1/sessions", map[string]any{"clientId": client(900)}).want(201).text("session", "id")
	for _, x := range []struct {
		method, path string
		body         map[string]any
	}{
		{"POST", "/v1/appointment-types/checkup/book", map[string]any{"slotStartDate": r.slot(), "patient": patient(1)}}, // a key needs no client
		{"POST", "/v1/appointment-types/checkup/book", map[string]any{"holdId": held, "clientId": client(900), "patient": patient(1)}},
		{"PATCH", "/v1/holds", map[string]any{"holdId": held, "clientId": client(900)}},
		{"DELETE", "/v1/holds", map[string]any{"holdId": held, "clientId": client(900)}},
		{"POST", "/v1/holds/release", map[string]any{"holdId": held, "clientId": client(900)}},
		{"POST", "/v1/sessions/" + waits + "/cancel", map[string]any{"clientId": client(900)}},
	} {
		r.do(x.method, x.path, x.body, r.callers["presence"]).problem(403, "forbidden")
	}
}

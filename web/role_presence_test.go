package web_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// isSearch reports whether a POST to the path is a public search, which has its parameters in the body.
func isSearch(path string) bool { return strings.HasSuffix(path, "/_search") }

// TestPresenceKeyWritesPresenceAlone: in addition to public reads, a presence key can set specialists online and take
// sessions. It cannot make the bookings that any visitor can make, even with a client id.
func TestPresenceKeyWritesPresenceAlone(t *testing.T) {
	its := regexp.MustCompile(`^/v1/(specialists/\{id\}/(online|offline|heartbeat)|sessions/\{id\}/(accept|decline|end|reroute|payment)|auth/sign-(in|out))$`)
	for _, line := range readRoleTable(t) {
		if may := line.want[slices.Index(roleColumns, "presence")] == "ok"; may && line.method != "GET" && !isSearch(line.path) &&
			!its.MatchString(line.path) {
			t.Errorf("line %d: a presence key may %s %s", line.number, line.method, line.path)
		}
	}
	r := newRoles(t)
	held := r.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": r.slot(),
		"clientId": client(900)}).want(201).text("holdId")
	waits := r.do("POST", "/v1/sessions", map[string]any{"clientId": client(900)}).want(201).text("session", "id")
	for _, x := range []struct {
		method, path string
		body         map[string]any
	}{
		{"POST", "/v1/appointment-types/checkup/book", map[string]any{"slotStartDate": r.slot(),
			"patient": patient(1)}}, // a key needs no client
		{"POST", "/v1/appointment-types/checkup/book", map[string]any{"holdId": held,
			"clientId": client(900), "patient": patient(1)}},
		{"PATCH", "/v1/holds", map[string]any{"holdId": held, "clientId": client(900)}},
		{"DELETE", "/v1/holds", map[string]any{"holdId": held, "clientId": client(900)}},
		{"POST", "/v1/holds/release", map[string]any{"holdId": held, "clientId": client(900)}},
		{"POST", "/v1/sessions/" + waits + "/cancel", map[string]any{"clientId": client(900)}},
	} {
		r.do(x.method, x.path, x.body, r.callers["presence"]).problem(403, "forbidden")
	}
}

// TestBoundPresenceKeyServesOneSpecialist: a key that is bound to a specialist is refused for colleagues.
func TestBoundPresenceKeyServesOneSpecialist(t *testing.T) {
	r := newRoles(t)
	make := func(scope, specialist string) *reply {
		return r.do("POST", "/v1/api-keys", map[string]any{"name": "pager", "scope": scope, "specialistId": specialist},
			asAdmin)
	}
	make("agent", "ada").problem(422, "validation_failed").field("specialistId")
	make("presence", "nobody").problem(422, "validation_failed").field("specialistId")
	made := make("presence", "ada").want(201)
	if made.text("apiKey", "specialistId") != "ada" {
		t.Errorf("the created key: %s", made.raw)
	}
	key := header{"Authorization": "Bearer " + made.text("key")}
	for _, do := range []string{"online", "heartbeat"} {
		r.do("POST", "/v1/specialists/ada/"+do, nil, key).want(200)
		r.do("POST", "/v1/specialists/bea/"+do, nil, key).problem(403, "forbidden")
	}
	r.do("POST", "/v1/specialists/bea/online", nil, asAdmin).want(200)
	r.do("POST", "/v1/specialists/bea/offline", nil, key).problem(403, "forbidden")
	ask := func(n int) string {
		return r.do("POST", "/v1/sessions", map[string]any{"clientId": client(n)}).want(201).text("session", "id")
	}
	own, other := ask(800), ask(801)
	r.do("POST", "/v1/sessions/"+own+"/accept", map[string]any{"specialistId": "bea"}, key).problem(403, "forbidden")
	r.do("POST", "/v1/sessions/"+own+"/accept", map[string]any{"specialistId": "ada"}, key).want(200)
	r.do("POST", "/v1/sessions/"+other+"/accept", map[string]any{"specialistId": "bea"}, asAdmin).want(200)
	r.do("POST", "/v1/sessions/"+other+"/end", nil, key).problem(403, "forbidden")
	r.do("POST", "/v1/sessions/"+other+"/payment", map[string]any{"pending": true}, key).problem(403, "forbidden")
	r.do("POST", "/v1/sessions/"+own+"/end", nil, key).want(200)
	r.do("POST", "/v1/specialists/ada/offline", nil, key).want(200)
}

// TestMetricsKeyReadsMetricsAlone: a metrics key changes nothing on any route. /metrics is the only route that it can
// read and that an anonymous caller cannot.
func TestMetricsKeyReadsMetricsAlone(t *testing.T) {
	r := newRoles(t)
	r.callers["metrics"] = r.key("metrics")
	lines := readRoleTable(t)
	for i := range lines {
		line := &lines[i]
		asNobody := line.want[slices.Index(roleColumns, "nobody")]
		c := r.cell("metrics", line)
		got := c.send(c.fill(line.body), nil).status
		switch {
		case line.path == "/metrics":
			if got != 200 {
				t.Errorf("%s: got %d, want 200", line.path, got)
			}
		case got/100 == 2 && (line.method != "GET" && !isSearch(line.path) && !strings.HasPrefix(line.path, "/v1/auth/") || asNobody != "ok" &&
			asNobody != "422"):
			t.Errorf("%s %s with a metrics key: got %d; without a key %s", line.method, line.path, got, asNobody)
		}
	}
	proxied := header{"X-Forwarded-For": "203.0.113.9"}
	r.do("GET", "/metrics", nil, proxied, r.callers["metrics"]).want(200)
	r.do("GET", "/metrics", nil, proxied, r.callers["presence"]).problem(403, "forbidden")
}

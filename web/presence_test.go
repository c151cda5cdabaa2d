package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// These tests check presence and sessions over HTTP: the permissions of each caller, and each response.

// key creates an API key and returns the header with it.
func (h *house) key(scope string) header {
	h.t.Helper()
	r := h.do("POST", "/v1/api-keys", map[string]any{"name": "tests", "scope": scope}, asAdmin).want(201)
	return header{"Authorization": "Bearer " + r.text("key")}
}

// onCall returns a house whose specialists each take at most max sessions, and the header of a presence key.
func onCall(t *testing.T, max int) (*house, header) {
	h := newHouse(t)
	for _, id := range []string{"ada", "bea"} {
		h.do("PATCH", "/v1/specialists/"+id, map[string]any{"maxSessions": max}, asAdmin).want(200)
	}
	return h, h.key("presence")
}

func (h *house) online(as header, specialists ...string) {
	h.t.Helper()
	for _, id := range specialists {
		h.do("POST", "/v1/specialists/"+id+"/online", nil, as).want(200)
	}
}

// request requests a session as client n and returns its path.
func (h *house) request(n int) string {
	h.t.Helper()
	return "/v1/sessions/" + h.do("POST", "/v1/sessions",
		map[string]any{"clientId": client(n)}).want(201).text("session", "id")
}

// TestPresenceSwitchRefusesFields: a route without fields accepts an empty object or an empty body. It refuses any
// other body with an explanation.
func TestPresenceSwitchRefusesFields(t *testing.T) {
	h := newHouse(t)
	for _, body := range []any{nil, "{}", " {} "} {
		h.do("POST", "/v1/specialists/ada/online", body, asAdmin).want(200)
	}
	// a beacon
	h.do("POST", "/v1/specialists/ada/online", "{}", asAdmin, header{"Content-Type": "text/plain"}).want(200)
	r := h.do("POST", "/v1/specialists/ada/online", `{"online":true}`, asAdmin).problem(400, "malformed_body")
	if want := `The field "online" is unknown. Send {} or nothing.`; r.text("detail") != want {
		t.Errorf("got the detail %q, want %q", r.text("detail"), want)
	}
}

func TestPresenceOverHTTP(t *testing.T) {
	h, key := onCall(t, 2)
	p := h.do("GET", "/v1/specialists/ada/presence", nil, key).want(200)
	if want := map[string]any{"specialistId": "ada", "online": false, "deactivated": false, "load": 0.0,
		"maxSessions": 2.0}; !sameFields(p.get("presence").(map[string]any), want) {
		t.Errorf("at first: got %s, want exactly %v", p.raw, want)
	}
	if r := h.do("POST", "/v1/specialists/ada/heartbeat", nil, key).problem(409,
		"not_bookable"); r.text("reason") != "not_online" || r.text("title") == "This time cannot be booked" {
		t.Errorf("a heartbeat of an offline specialist: got %s", r.raw)
	}
	p = h.do("POST", "/v1/specialists/ada/online", nil, key).want(200)
	if p.get("presence", "online") != true || p.text("presence", "lastOnlineAt") == "" ||
		p.text("presence", "lastHeartbeatAt") == "" {
		t.Errorf("online: got %s", p.raw)
	}
	if r := h.do("POST", "/v1/specialists/ada/heartbeat", nil, key).want(200); r.raw != `{"ok":true}` {
		t.Errorf("a heartbeat: got %s", r.raw)
	}
	for _, path := range []string{"/v1/presence/available", "/v1/presence/online"} {
		r := h.do("GET", path, nil, key).want(200)
		list, _ := r.body["specialists"].([]any)
		if len(list) != 1 || r.get("count") != 1.0 {
			t.Fatalf("%s: got %s", path, r.raw)
		}
		one := list[0].(map[string]any)
		if one["specialistId"] != "ada" || one["name"] != "Dr ada" || one["online"] != true || one["load"] != 0.0 ||
			one["maxSessions"] != 2.0 || one["lastHeartbeatAt"] == nil {
			t.Errorf("%s: got %v", path, one)
		}
	}
	p = h.do("POST", "/v1/specialists/ada/offline", nil, key).want(200)
	if p.get("presence", "online") != false || p.text("presence", "lastOfflineAt") == "" {
		t.Errorf("offline: got %s", p.raw)
	}
	log := h.do("GET", "/v1/specialists/ada/presence-log", nil, key).want(200)
	lines, days, spans := log.body["log"].([]any), log.body["days"].([]any), log.body["spans"].([]any)
	// there is no span if the specialist was online for less than a millisecond
	if len(spans) > 1 || len(spans) == 1 && spans[0].(map[string]any)["ended"] != "offline" {
		t.Errorf("the presence log: got %s", log.raw)
	}
	if len(lines) != 2 || lines[0].(map[string]any)["change"] != "online" ||
		lines[1].(map[string]any)["change"] != "offline" || len(days) != 7 {
		t.Errorf("the presence log of the last seven days: got %s", log.raw)
	}
	if today := time.Now().UTC().Format(time.DateOnly); days[6].(map[string]any)["date"] != today &&
		days[5].(map[string]any)["date"] != today {
		t.Errorf("today, %s, is not at the end of %v", today, days)
	}
	for query, field := range map[string]string{"?from=2026-01-02&to=2026-01-02": "to",
		"?from=2024-01-01&to=2026-01-02": "to", "?from=soon": "from"} {
		h.do("GET", "/v1/specialists/ada/presence-log"+query, nil, key).problem(422, "validation_failed").field(field)
	}
	h.do("GET", "/v1/specialists/nobody/presence-log", nil, key).problem(404, "not_found")
	h.do("GET", "/v1/presence/available?limit=0", nil, key).problem(422, "validation_failed").field("limit")
	for _, act := range []string{"online", "offline", "heartbeat"} {
		h.do("POST", "/v1/specialists/nobody/"+act, nil, key).problem(404, "not_found")
		h.do("GET", "/v1/specialists/ada/"+act, nil, key).problem(405, "method_not_allowed")
	}
	h.do("GET", "/v1/specialists/nobody/presence", nil, key).problem(404, "not_found")
}

// TestNewSpecialistHasOneSession: a specialist created without a maximum takes one session at a time.
func TestNewSpecialistHasOneSession(t *testing.T) {
	h := newHouse(t)
	h.do("POST", "/v1/specialists", map[string]any{"id": "new", "name": "Dr New"}, asAdmin).want(201)
	h.do("POST", "/v1/import", `{"specialists":[{"id":"imported","name":"Dr Imported"},{"id":"none","name":"Dr None","maxSessions":0}]}`, asAdmin).want(200)
	h.online(asAdmin, "new", "imported", "none")
	if r := h.do("GET", "/v1/presence/available", nil, asAdmin).want(200); r.get("count") != 2.0 ||
		strings.Contains(r.raw, `"none"`) {
		t.Errorf("available: got %s, want new and imported", r.raw)
	}
}

func TestPresenceNeedsScope(t *testing.T) {
	h, key := onCall(t, 1)
	agent := h.key("agent")
	ada, desk := h.signedIn("ada@clinic.example", "specialist", "ada"),
		h.signedIn("desk@clinic.example", "reception", "")
	routes := []struct{ method, path string }{
		{"POST", "/v1/specialists/ada/online"}, {"POST", "/v1/specialists/ada/heartbeat"},
		{"GET", "/v1/specialists/ada/presence"}, {"GET", "/v1/presence/available"}, {"GET", "/v1/presence/online"},
		{"GET", "/v1/sessions"}, {"POST", "/v1/specialists/ada/offline"},
	}
	for _, r := range routes {
		h.do(r.method, r.path, nil).problem(401, "unauthorized")
		h.do(r.method, r.path, nil, agent).problem(403, "forbidden")
		for _, as := range []header{key, asAdmin, ada, desk} {
			h.do("POST", "/v1/specialists/ada/online", nil, as).want(200)
			h.do(r.method, r.path, nil, as).want(200)
		}
	}
	h.do("GET", "/v1/presence/stream", nil).problem(401, "unauthorized")
	h.do("GET", "/v1/presence/stream", nil, agent).problem(403, "forbidden")
	h.do("GET", "/v1/presence/stream?leaseMs=1", nil, key).problem(422, "validation_failed").field("leaseMs")

	// Specialists can change only their own online flag. The reception can change any specialist's.
	for _, act := range []string{"online", "heartbeat", "offline"} {
		if r := h.do("POST", "/v1/specialists/bea/"+act, nil, ada).problem(403,
			"forbidden"); !strings.Contains(r.text("detail"), "your own") {
			t.Errorf("the refusal to change a colleague's presence is %q", r.text("detail"))
		}
		h.do("POST", "/v1/specialists/bea/"+act, nil, desk).want(200)
	}
}

func TestHeartbeatOfDeactivatedSpecialistIsRefused(t *testing.T) {
	h, key := onCall(t, 1)
	h.online(key, "ada")
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": false}, asAdmin).want(200)
	for _, act := range []string{"heartbeat", "online"} {
		if r := h.do("POST", "/v1/specialists/ada/"+act, nil, key).problem(403,
			"forbidden"); r.text("reason") != "deactivated" {
			t.Errorf("%s: got the reason %s", act, r.raw)
		}
	}
	if r := h.do("GET", "/v1/specialists/ada/presence", nil, key).want(200); r.get("presence", "deactivated") != true ||
		r.get("presence", "online") != false {
		t.Errorf("presence: got %s", r.raw)
	}
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": true}, asAdmin).want(200)
	h.online(key, "ada")
	h.do("POST", "/v1/specialists/ada/heartbeat", nil, key).want(200)
}

// TestPresenceSnapshot: the public count contains no names, and one response is cached for ten seconds.
func TestPresenceSnapshot(t *testing.T) {
	h, key := onCall(t, 1)
	if r := h.do("GET", "/v1/presence/snapshot", nil).want(200); r.raw != `{"available":false,"count":0}` {
		t.Errorf("without available specialists: got %s", r.raw)
	}
	h.online(key, "ada")
	if r := h.do("GET", "/v1/presence/snapshot", nil).want(200); r.raw != `{"available":false,"count":0}` {
		t.Errorf("within ten seconds: got %s, want the same answer", r.raw)
	}
	other, key := onCall(t, 1)
	other.online(key, "ada", "bea")
	if r := other.do("GET", "/v1/presence/snapshot", nil).want(200); r.raw != `{"available":true,"count":2}` {
		t.Errorf("with two available specialists: got %s", r.raw)
	}
}

func TestSessionsOverHTTP(t *testing.T) {
	h, key := onCall(t, 1)
	h.online(key, "ada", "bea")
	r := h.do("POST", "/v1/sessions", map[string]any{"clientId": client(1)}).want(201)
	if r.text("session", "status") != "requested" || r.get("session", "specialistId") != nil ||
		r.text("session", "expiresAt") == "" {
		t.Errorf("a request: got %s", r.raw)
	}
	session := "/v1/sessions/" + r.text("session", "id")
	if again := h.request(1); again != session {
		t.Errorf("a second request returned %s, want %s", again, session)
	}
	refused := func(r *reply, reason string) {
		t.Helper()
		if r.problem(409, "not_bookable"); r.text("reason") != reason || r.text("title") != "Not possible now" {
			t.Errorf("got %s, want the reason %s", r.raw, reason)
		}
	}
	act := func(what string, body any) *reply {
		t.Helper()
		return h.do("POST", session+"/"+what, body, key)
	}
	refused(act("end", nil), "session_not_active")
	act("accept", map[string]any{"specialistId": "nobody"}).problem(422, "validation_failed").field("specialistId")
	act("accept", map[string]any{}).problem(422, "validation_failed").field("specialistId")
	if r := act("accept", map[string]any{"specialistId": "ada"}).want(200); r.text("session", "status") != "active" ||
		r.text("session", "acceptedAt") == "" {
		t.Errorf("accepted: got %s", r.raw)
	}
	refused(act("accept", map[string]any{"specialistId": "bea"}), "already_accepted")
	second := h.request(2)
	refused(h.do("POST", second+"/accept", map[string]any{"specialistId": "ada"}, key), "at_capacity")
	if r := act("payment", map[string]any{"pending": true}).want(200); r.text("session",
		"status") != "pending_payment" {
		t.Errorf("payment: got %s", r.raw)
	}
	if r := act("reroute", map[string]any{"specialistId": "bea"}).want(200); r.text("session",
		"specialistId") != "bea" {
		t.Errorf("rerouted: got %s", r.raw)
	}
	if r := act("end", map[string]any{"outcome": "helped"}).want(200); r.text("session", "status") != "ended" ||
		r.text("session", "outcome") != "helped" {
		t.Errorf("ended: got %s", r.raw)
	}
	refused(act("reroute", map[string]any{"specialistId": "ada"}), "session_over")
	h.do("POST", "/v1/specialists/bea/offline", nil, key).want(200)
	refused(h.do("POST", second+"/accept", map[string]any{"specialistId": "bea"}, key), "not_online")

	// The client and the callers who take sessions can see the session. Only the client can cancel it. Only staff see
	// its outcome.
	for _, c := range []struct {
		who     string
		header  header
		status  int
		outcome bool
	}{
		{"no client", nil, 422, false}, {"another client", header{"Holdfast-Client": client(2)}, 403, false}, {"its client", header{"Holdfast-Client": client(1)}, 200, false},
		{"an agent's key", h.key("agent"), 422, false}, {"a presence key", key, 200, false},
		{"an admin key", asAdmin, 200, true}, {"another specialist",
			h.signedIn("sam@clinic.example", "specialist", "ada"), 200, false},
		{"its specialist", h.signedIn("kim@clinic.example", "specialist", "bea"), 200, true},
	} {
		got := h.do("GET", session, nil, c.header).want(c.status)
		if strings.Contains(got.raw, client(1)) || strings.Contains(got.raw, "helped") != c.outcome {
			t.Errorf("%s got %s; want no client, and the outcome: %v", c.who, got.raw, c.outcome)
		}
		if c.status != 200 || c.who == "its client" {
			continue
		}
		if got := h.do("GET", "/v1/sessions?status=ended", nil, c.header).want(200); strings.Contains(got.raw,
			"helped") != c.outcome {
			t.Errorf("the list for %s is %s; want the outcome: %v", c.who, got.raw, c.outcome)
		}
	}
	// Cancelling an ended session changes nothing, and does not show its outcome either.
	if r := h.do("POST", session+"/cancel", nil, header{"Holdfast-Client": client(1)}).want(200); r.text("session",
		"status") != "ended" || strings.Contains(r.raw, "helped") {
		t.Errorf("cancelled after its end: got %s, want the session without its outcome", r.raw)
	}
	// A simple client sends its secret in the query, as on the other routes.
	h.do("GET", session+"?clientId="+client(1), nil).want(200)
	h.do("GET", session+"?clientId="+client(2), nil).problem(403, "not_owner")
	h.do("POST", second+"/cancel", nil).problem(422, "validation_failed").field("clientId")
	if r := h.do("POST", second+"/cancel", map[string]any{"clientId": client(1)}).problem(403,
		"not_owner"); strings.Contains(r.raw, "hold") {
		t.Errorf("an error about a session mentions holds: %s", r.raw)
	}
	if r := h.do("POST", second+"/cancel", nil, header{"Holdfast-Client": client(2)}).want(200); r.text("session",
		"status") != "cancelled" {
		t.Errorf("cancelled: got %s", r.raw)
	}

	list := h.do("GET", "/v1/sessions?status=ended&status=cancelled", nil, key).want(200).body["sessions"].([]any)
	if len(list) != 2 {
		t.Errorf("two sessions have ended, the list has %v", list)
	}
	if list := h.do("GET", "/v1/sessions?specialistId=bea", nil,
		key).want(200).body["sessions"].([]any); len(list) != 1 {
		t.Errorf("one session belongs to bea, the list has %v", list)
	}
	h.do("GET", "/v1/sessions?status=open", nil, key).problem(422, "validation_failed").field("status")
	h.do("GET", "/v1/sessions?limit=5&limit=6", nil, key).problem(422, "validation_failed").field("limit")
	repeated := h.do("GET", "/v1/sessions?status=ended"+strings.Repeat("&status=cancelled&status=ended", 500), nil,
		key).want(200)
	if got := len(repeated.body["sessions"].([]any)); got != len(list) {
		t.Errorf("the same status a thousand times lists %d sessions, want %d", got, len(list))
	}
	h.do("GET", "/v1/sessions?limit=501", nil, key).problem(422, "validation_failed").field("limit")
	for _, path := range []string{"/v1/sessions/unknown", "/v1/sessions/a%20b"} {
		h.do("GET", path, nil, key).problem(404, "not_found")
		h.do("POST", path+"/accept", map[string]any{"specialistId": "ada"}, key).problem(404, "not_found")
	}
	for _, what := range []string{"accept", "end", "reroute", "payment"} {
		h.do("POST", session+"/"+what, map[string]any{}).problem(401, "unauthorized")
	}
	h.do("POST", "/v1/sessions", map[string]any{"clientId": "short"}).problem(422,
		"validation_failed").field("clientId")
	h.do("POST", session+"/payment", `{}`, key).problem(422, "validation_failed").field("pending")
	h.do("POST", session+"/payment", `{"pending":"yes"}`, key).problem(422, "validation_failed").field("pending")
	h.do("POST", session+"/end", map[string]any{"outcome": strings.Repeat("x", 201)}, key).problem(422,
		"validation_failed").field("outcome")
}

func TestSpecialistChangesOwnSessions(t *testing.T) {
	h, key := onCall(t, 2)
	h.online(key, "ada", "bea")
	ada, bea := h.signedIn("ada@clinic.example", "specialist", "ada"),
		h.signedIn("bea@clinic.example", "specialist", "bea")
	session := h.request(1)
	h.do("POST", session+"/end", nil, bea).problem(409, "not_bookable") // no specialist has accepted it yet
	h.do("POST", session+"/accept", map[string]any{"specialistId": "bea"}, ada).problem(403, "forbidden")
	if r := h.do("POST", session+"/accept", map[string]any{}, ada).want(200); r.text("session",
		"specialistId") != "ada" {
		t.Errorf("accepted without a name: got %s, want ada", r.raw)
	}
	for what, body := range map[string]map[string]any{"end": {}, "payment": {"pending": true},
		"reroute": {"specialistId": "bea"}} {
		h.do("POST", session+"/"+what, body, bea).problem(403, "forbidden")
	}
	h.do("POST", session+"/reroute", map[string]any{"specialistId": "bea"}, ada).want(200)
	h.do("POST", session+"/end", nil, ada).problem(403, "forbidden")
	h.do("POST", session+"/end", nil, bea).want(200)
}

func TestSessionsAreIdempotentByKey(t *testing.T) {
	h, _ := onCall(t, 1)
	once := header{"Idempotency-Key": "request-1"}
	first := h.do("POST", "/v1/sessions", map[string]any{"clientId": client(1)}, once).want(201)
	h.do("POST", "/v1/sessions/"+first.text("session", "id")+"/cancel", map[string]any{"clientId": client(1)}).want(200)
	again := h.do("POST", "/v1/sessions", map[string]any{"clientId": client(1)}, once).want(201)
	if again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("second request: got %s, want the first answer", again.raw)
	}
}

func TestPresenceMetrics(t *testing.T) {
	h, key := onCall(t, 1)
	h.online(key, "ada", "bea")
	h.do("POST", h.request(1)+"/accept", map[string]any{"specialistId": "ada"}, key).want(200)
	h.selects(1, h.at(0), nil).want(200)
	r := h.do("GET", "/metrics", nil).want(http.StatusOK)
	for _, line := range []string{"holdfast_specialists_online 2", "holdfast_specialists_available 1",
		"holdfast_selections 1"} {
		if !strings.Contains(r.raw, "\n"+line+"\n") {
			t.Errorf("the metrics have no %q", line)
		}
	}
}

// TestSessionShowsPatientToStaffOnly: the specialists see the patient of a request and the reason for it, and the
// client that sent it gets no personal data. After a specialist has accepted a session, colleagues do not see its
// patient. After a session has ended, no caller sees its patient.
func TestSessionShowsPatientToStaffOnly(t *testing.T) {
	h, key := onCall(t, 1)
	h.online(key, "ada", "bea")
	ada, bea := h.signedIn("ada@clinic.example", "specialist", "ada"), h.signedIn("bea@clinic.example", "specialist", "bea")
	made := h.do("POST", "/v1/sessions", map[string]any{"clientId": client(1), "appointmentTypeId": "checkup",
		"reason": "rosa-canary-cough", "patient": map[string]any{"name": "Rosa Canary", "phone": "030 5550101"}}).want(201)
	path := "/v1/sessions/" + made.text("session", "id")
	shows := func(r *reply) bool { return strings.Contains(strings.ToLower(r.raw), "canary") }
	own := header{"Holdfast-Client": client(1)}
	if shows(made) || made.text("session", "appointmentTypeId") != "checkup" || shows(h.do("GET", path, nil, own).want(200)) {
		t.Errorf("the client's answer has personal data, or no type: %s", made.raw)
	}
	for _, as := range []header{ada, bea, key, asAdmin} {
		if r := h.do("GET", "/v1/sessions?status=requested", nil, as).want(200); !shows(r) {
			t.Errorf("the request misses its patient: %s", r.raw)
		}
	}
	if r := h.do("POST", path+"/decline", nil, bea).want(200); shows(r) || r.text("session", "status") != "requested" {
		t.Errorf("declined by one of two: %s", r.raw)
	}
	h.do("POST", path+"/decline", map[string]any{"specialistId": "ada"}, bea).problem(403, "forbidden")
	if r := h.do("POST", path+"/accept", map[string]any{}, ada).want(200); shows(r) {
		t.Errorf("the stored answer contains personal data: %s", r.raw)
	}
	if !shows(h.do("GET", path, nil, ada).want(200)) || shows(h.do("GET", path, nil, bea).want(200)) {
		t.Error("the session's specialist must see the patient, and a colleague must not")
	}
	h.do("POST", path+"/decline", nil, bea).problem(409, "not_bookable")
	h.do("POST", path+"/end", nil, ada).want(200)
	if r := h.do("GET", "/v1/sessions", nil, asAdmin).want(200); shows(r) {
		t.Errorf("a session that has ended has a patient: %s", r.raw)
	}
	h.do("POST", "/v1/sessions", map[string]any{"clientId": client(2), "appointmentTypeId": "unknown"}).
		problem(422, "validation_failed").field("appointmentTypeId")
}

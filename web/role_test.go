package web_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// These tests check permissions. testdata/role/routes.txt has a line for every route of the router, and a column for
// every kind of caller, with the caller's own ids and with those of others.

// roleColumns are the callers, in the order of the table. The subject of a request (the appointment, hold, session or
// calendar that it names) belongs to the first client and to ada; in the last column it belongs to ada's colleague.
var roleColumns = []string{"nobody", "client", "other", "link", "wrong", "agent", "presence", "admin", "owner", "recep", "own", "foreign"}

// roleLine is one line of the table: the expected response for each column, and the request.
type roleLine struct {
	number      int
	want        []string // ok for 2xx, or the status
	method      string
	path, query string // as in the router
	body        string // may name subjects in braces
}

func readRoleTable(t *testing.T) []roleLine {
	t.Helper()
	raw, err := os.ReadFile("../testdata/role/routes.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []roleLine
	for i, text := range strings.Split(string(raw), "\n") {
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		words := strings.Fields(text)
		n := len(roleColumns)
		if len(words) < n+2 {
			t.Fatalf("line %d has %d words, want %d columns, a method and a path", i+1, len(words), n)
		}
		line := roleLine{number: i + 1, want: words[:n], method: words[n]}
		line.path, line.query, _ = strings.Cut(words[n+1], "?")
		_, line.body, _ = strings.Cut(text, words[n+1])
		line.body = strings.TrimSpace(line.body)
		lines = append(lines, line)
	}
	return lines
}

// roles is a house with one caller of each kind.
type roles struct {
	*house
	callers map[string]header
	slots   int // number of starts that slot has returned
	clients int
}

func newRoles(t *testing.T) *roles {
	r := &roles{house: newHouse(t), callers: map[string]header{
		"nobody": {}, "client": {}, "other": {}, "admin": asAdmin,
	}}
	for _, id := range []string{"ada", "bea"} {
		r.do("PATCH", "/v1/specialists/"+id, map[string]any{"maxSessions": 100}, asAdmin).want(200)
	}
	r.do("PATCH", "/v1/settings", map[string]any{"onlineArrival": true, "onlineRecall": true}, asAdmin).want(200)
	r.callers["agent"], r.callers["presence"] = r.key("agent"), r.key("presence")
	r.callers["owner"] = r.signedIn("owner@clinic.example", "owner", "")
	r.callers["recep"] = r.signedIn("desk@clinic.example", "reception", "")
	r.callers["own"] = r.signedIn("ada@clinic.example", "specialist", "ada")
	r.callers["foreign"] = r.callers["own"]
	r.callers["link"] = r.appointment("ada", r.client(), r.slot())
	r.callers["wrong"] = r.appointment("ada", r.client(), r.slot())
	return r
}

// slot returns a free start with room for two appointments.
func (r *roles) slot() string {
	r.slots++
	return r.at(60 * r.slots)
}

func (r *roles) client() string {
	r.clients++
	return client(r.clients)
}

// appointment books for a client and returns the header of its manage link.
func (r *roles) appointment(specialistID, client, start string) header {
	r.t.Helper()
	a := r.do("POST", "/v1/appointment-types/checkup/book", map[string]any{
		"slotStartDate": start, "specialistId": specialistID, "clientId": client, "patient": patient(1),
	}).want(201)
	link := a.managing()
	link["id"] = a.text("appointment", "id")
	return link
}

// secondSignIn signs a user in on another browser and returns the id and the cookie of that sign-in.
func (r *roles) secondSignIn(email string) (id string, cookie header) {
	r.t.Helper()
	answer := r.do("POST", "/v1/auth/sign-in", map[string]any{"email": email, "password": "a few words together"}).want(200)
	value, _, _ := strings.Cut(answer.header.Get("Set-Cookie"), ";")
	cookie = header{"Cookie": value}
	for _, x := range r.do("GET", "/v1/auth/sign-ins", nil, cookie).want(200).body["signIns"].([]any) {
		if x := x.(map[string]any); x["current"] == true {
			id = x["id"].(string)
		}
	}
	return id, cookie
}

// cell is one request of the table: a line sent by a caller, with subjects created for it.
type cell struct {
	*roles
	column string
	line   *roleLine
	made   map[string]string // subjects, by name
	header header
}

func (r *roles) cell(column string, line *roleLine) *cell {
	c := &cell{roles: r, column: column, line: line, made: map[string]string{"specialist": "ada", "colleague": "bea"}}
	if column == "foreign" {
		c.made["specialist"], c.made["colleague"] = "bea", "ada"
	}
	c.made["client"] = r.client()
	if strings.HasPrefix(line.path, "/v1/sessions/") || strings.HasSuffix(line.path, "/heartbeat") {
		for _, id := range []string{"ada", "bea"} {
			r.do("POST", "/v1/specialists/"+id+"/online", nil, asAdmin).want(200)
		}
	}
	c.header = header{"X-Forwarded-For": "203.0.113.9", "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
	maps.Copy(c.header, r.callers[column])
	delete(c.header, "id")
	switch column {
	case "nobody":
	case "client":
		c.header["Holdfast-Client"] = c.made["client"]
	default:
		c.header["Holdfast-Client"] = r.client()
	}
	if line.path == "/v1/auth/sign-out" && c.header["Cookie"] != "" {
		email := map[string]string{"owner": "owner", "recep": "desk"}[column]
		if email == "" {
			email = "ada"
		}
		_, c.header = r.secondSignIn(email + "@clinic.example")
	}
	return c
}

var subjectName = regexp.MustCompile(`\{(\w+)\}`)

// fill replaces the names in a template with subjects. It creates each subject once.
func (c *cell) fill(template string) string {
	return subjectName.ReplaceAllStringFunc(template, func(name string) string {
		name = name[1 : len(name)-1]
		if name == "id" {
			name = c.noun()
		}
		if c.made[name] == "" {
			c.made[name] = c.make(name)
		}
		return c.made[name]
	})
}

// noun returns the subject that {id} in the path refers to.
func (c *cell) noun() string {
	switch part := strings.Split(c.line.path, "/")[2]; {
	case c.line.path == "/v1/specialists/{id}" && c.line.method == "DELETE":
		return "spareSpecialist"
	case part == "appointment-types" && c.line.method == "DELETE":
		return "spareType"
	case part == "auth":
		return "signIn"
	case part == "calendars":
		return "noCalendar"
	case part == "agent":
		return "queue"
	case part == "settings":
		return "webhook"
	case part == "Schedule" || part == "Slot":
		return part
	default:
		return strings.ToLower(strings.TrimSuffix(part, "s"))
	}
}

// make creates the subject with this name and returns its id.
func (c *cell) make(name string) string {
	c.t.Helper()
	n := c.clients
	switch name {
	case "noCalendar":
		return "unknown.ics"
	case "Schedule", "Slot": // of FHIR: ada's check-ups, and one of them
		return map[string]string{"Schedule": "2bf099d80a15178542a2", "Slot": "2bf099d80a15178542a2-" + fmt.Sprint(c.start.Unix())}[name]
	case "slot", "later":
		return c.slot()
	case "day":
		return c.day(100)
	case "date":
		return c.day(100 + n)
	case "appointment-type":
		return "checkup"
	case "spareType":
		return c.do("POST", "/v1/appointment-types", map[string]any{"name": "Spare"}, asAdmin).want(201).text("appointmentType", "id")
	case "spareSpecialist":
		return c.do("POST", "/v1/specialists", map[string]any{"name": "Spare"}, asAdmin).want(201).text("specialist", "id")
	case "appointment":
		link := c.appointment(c.made["specialist"], c.made["client"], c.slot())
		if c.column == "link" {
			c.header["Holdfast-Manage"] = link["Holdfast-Manage"]
		}
		return link["id"]
	case "request":
		id := c.asked(c.made["specialist"], c.made["client"], c.slot())
		if c.column == "link" {
			c.header["Holdfast-Manage"] = c.requestLink(id)
		}
		return id
	case "waitlist":
		id := c.waiting(n)
		if c.column == "link" {
			c.header["Holdfast-Manage"] = c.waitingToken(id)
		}
		return id
	case "hold":
		return c.do("POST", "/v1/holds", map[string]any{
			"appointmentTypeId": "checkup", "slotStartDate": c.slot(), "specialistId": c.made["specialist"], "clientId": c.made["client"],
		}).want(201).text("holdId")
	case "override":
		return c.do("POST", "/v1/specialists/"+c.made["specialist"]+"/overrides", map[string]any{"date": c.day(100), "closed": true}, asAdmin).want(201).text("override", "id")
	case "person-note":
		return c.do("POST", "/v1/appointments/"+c.make("appointment")+"/person-notes", map[string]any{"text": "needs a lift"}, asAdmin).want(201).text("id")
	case "person-link":
		return "no-such-link"
	case "block-set":
		spans := []map[string]any{{"from": c.at(0)[:10], "start": "01:00", "end": "01:30"}, {"from": c.at(0)[:10], "start": "02:00", "end": "02:30"}}
		made := c.do("POST", "/v1/blocks", map[string]any{"specialistIds": []string{c.made["specialist"]}, "spans": spans}, asAdmin)
		return made.want(201).text("block", "setId")
	case "block", "absence":
		return c.do("POST", "/v1/specialists/"+c.made["specialist"]+"/blocks", map[string]any{"start": c.at(-90), "end": c.at(-60)}, asAdmin).want(201).text("block", "id")
	case "session":
		id := c.do("POST", "/v1/sessions", map[string]any{"clientId": c.made["client"]}).want(201).text("session", "id")
		if slices.Contains([]string{"end", "reroute", "payment"}, c.line.path[strings.LastIndex(c.line.path, "/")+1:]) {
			c.do("POST", "/v1/sessions/"+id+"/accept", map[string]any{"specialistId": c.made["specialist"]}, asAdmin).want(200)
		}
		return id
	case "queue":
		return "op-1-unknown"
	case "webhook":
		return "unknown"
	case "email":
		return fmt.Sprintf("new%d@clinic.example", n)
	case "user":
		return c.do("GET", "/v1/users", nil, asAdmin).want(200).body["users"].([]any)[0].(map[string]any)["id"].(string)
	case "api-key":
		return c.do("POST", "/v1/api-keys", map[string]any{"name": "spare", "scope": "agent"}, asAdmin).want(201).text("apiKey", "id")
	case "signIn":
		email := "ada@clinic.example"
		if c.column == "foreign" {
			email = "desk@clinic.example"
		}
		id, _ := c.secondSignIn(email)
		return id
	case "patient", "auth":
		who := c.identified(asAdmin, "call-"+strconv.Itoa(n))
		c.made["patient"], c.made["auth"] = who["patientGUID"].(string), who["bookingAuthToken"].(string)
		return c.made[name]
	case "bookingToken":
		found := c.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup", "from": c.day(50), "count": 1}, asAdmin).want(200)
		return found.get("slots").([]any)[0].(map[string]any)["bookingToken"].(string)
	}
	c.t.Fatalf("line %d contains %q, for which the test creates no object", c.line.number, name)
	return ""
}

// send sends the request with additional headers. For a stream, it reads only the header of the response.
func (c *cell) send(body string, more header) *reply {
	c.t.Helper()
	target := c.server.URL + c.fill(c.line.path)
	if c.line.query != "" {
		target += "?" + c.fill(c.line.query)
	}
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequest(c.line.method, target, content)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, set := range []header{c.header, more} {
		for name, value := range set {
			r.Header.Set(name, value)
		}
	}
	answer, err := c.server.Client().Transport.RoundTrip(r) // does not follow redirects
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	got := &reply{t: c.t, status: answer.StatusCode, header: answer.Header}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") {
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			c.t.Fatal(err)
		}
		got.raw = string(raw)
	}
	return got
}

func TestEveryRouteByRoleAndForeignID(t *testing.T) {
	if testing.Short() {
		t.Skip("sends every request")
	}
	r, lines := newRoles(t), readRoleTable(t)
	start, wrong := time.Now(), 0
	for i := range lines {
		line := &lines[i]
		for j, column := range roleColumns {
			c := r.cell(column, line)
			body := c.fill(line.body)
			answer := c.send(body, nil)
			got := strconv.Itoa(answer.status)
			if answer.status/100 == 2 {
				got = "ok"
			}
			if got != line.want[j] {
				wrong++
				t.Errorf("line %d: %s %s by %s: got %s, want %s\n%.300s", line.number, line.method, line.path, column, got, line.want[j], answer.raw)
			}
		}
	}
	t.Logf("%d requests × %d callers: %d answers, %d wrong, in %s", len(lines), len(roleColumns), len(lines)*len(roleColumns), wrong,
		time.Since(start).Round(time.Millisecond))
}

// TestEveryPostCanBeRepeated: for every POST, a repeat under its key gets exactly the same response, and the same key
// with a different body is refused.
func TestEveryPostCanBeRepeated(t *testing.T) {
	r, lines := newRoles(t), readRoleTable(t)
	seen := make(map[string]bool)
	for i := range lines {
		line := &lines[i]
		if line.method != "POST" || seen[line.path] {
			continue
		}
		seen[line.path] = true
		may := slices.IndexFunc([]string{"admin", "own", "client"}, func(name string) bool { return line.want[slices.Index(roleColumns, name)] == "ok" })
		if may < 0 {
			continue // needs a queued operation (see TestQueueOnTheWire), or refuses every caller
		}
		c := r.cell([]string{"admin", "own", "client"}[may], line)
		body, once := c.fill(line.body), key("once "+strconv.Itoa(i))
		first := c.send(body, once)
		if first.status/100 != 2 {
			t.Errorf("%s: got %d\n%s", line.path, first.status, first.raw)
			continue
		}
		again := c.send(body, once)
		if notRemembered[line.path] != "" {
			if again.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("%s: the answer was stored; want it not stored: %s", line.path, notRemembered[line.path])
			}
			continue
		}
		if again.status != first.status || again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s repeated under its key: got %d %s (replayed: %q), want %d %s again", line.path, again.status, again.raw,
				again.header.Get("Idempotency-Replayed"), first.status, first.raw)
		}
		other := " " + body
		if body == "" {
			other = "{}"
		}
		if r := c.send(other, once); r.status != 422 || !strings.Contains(r.raw, "idempotency_mismatch") {
			t.Errorf("%s with another body under the same key: got %d %s, want 422 idempotency_mismatch", line.path, r.status, r.raw)
		}
	}
}

// TestEveryRouteHasARole: a new route needs a line in the table.
func TestEveryRouteHasARole(t *testing.T) {
	routes := web.RoutesOf(newHouse(t).web)
	listed := make(map[string]bool)
	for _, line := range readRoleTable(t) {
		listed[line.method+" "+line.path] = true
		if !slices.Contains(routes, line.method+" "+line.path) {
			t.Errorf("line %d: %s %s is not a route", line.number, line.method, line.path)
		}
	}
	for _, route := range routes {
		if !listed[route] {
			t.Errorf("%s has no line in testdata/role/routes.txt with its allowed callers", route)
		}
	}
}

package web_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// This test sends 10,000 malformed requests to all routes, from callers that are allowed to use them. No response is a
// 5xx, no handler panics, and every refusal is a problem with a detail.

const malformedRequests = 10_000

func TestMalformedRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("sends every request")
	}
	h, lines := newHouse(t), readRoleTable(t)
	r := &roles{house: h, callers: map[string]header{"client": {}, "admin": asAdmin, "agent": h.key("agent"),
		"own": h.signedIn("ada@clinic.example", "specialist", "ada")}}
	for _, id := range []string{"ada", "bea"} {
		r.do("PATCH", "/v1/specialists/"+id, map[string]any{"maxSessions": 100}, asAdmin).want(200)
	}
	who := []string{"client", "admin", "agent", "own"}
	var say []malformed
	for i := range lines {
		// The subjects are created once for each route and caller. The requests are changed afterwards.
		for _, column := range who {
			if lines[i].path == "/v1/auth/sign-out" || lines[i].path == "/v1/auth/sign-in" ||
				strings.HasSuffix(lines[i].path, "/ics") {
				continue // the first ends the sign-in, and the others are tested below
			}
			c := r.cell(column, &lines[i])
			say = append(say, malformed{lines[i].method, c.fill(lines[i].path), lines[i].query, c.fill(lines[i].body),
				c.header})
		}
	}
	for _, path := range []string{"/v1/appointments/managed/ics?token=x", "/v1/auth/sign-in", "/manage", "/staff",
		"/ui/x", "/", "/embed", "/nothing/at/all"} {
		target, query, _ := strings.Cut(path, "?")
		say = append(say, malformed{"GET", target, query, "", header{}},
			malformed{"POST", target, query, `{"email":"a@b.c","password":"x"}`, header{}})
	}
	statuses := make(map[int]int)
	for n := range malformedRequests {
		random := rand.New(rand.NewPCG(uint64(n), 12)) // so that a single request can be repeated
		m := say[n%len(say)]
		m.header = make(map[string]string)
		for name, value := range say[n%len(say)].header {
			m.header[name] = value
		}
		for range 1 + random.IntN(2) {
			m.bend(random)
		}
		w := m.send(h)
		statuses[w.Code/100]++
		if w.Code >= 500 {
			t.Errorf("request %d: %s %q ?%q %q %q answered %d: %s", n, m.method, m.path, m.query, m.header, m.body,
				w.Code, w.Body)
		}
		inItsWords := m.path == "/mcp" || strings.Contains(w.Body.String(), `"llm_guidance"`) ||
			strings.Contains(w.Body.String(), `{"resourceType":"OperationOutcome",`) ||
			// the response to a HEAD request has only headers
			m.method == "HEAD" && w.Header().Get("Content-Type") == "application/fhir+json"
		if w.Code >= 400 && w.Header().Get("Content-Type") != "application/problem+json" && !inItsWords {
			t.Errorf("request %d: %s %q answered %d as %q: %.200s", n, m.method, m.path, w.Code,
				w.Header().Get("Content-Type"), w.Body)
		}
	}
	if log := h.log.String(); strings.Contains(log, "panicked") {
		t.Errorf("a handler panicked: %.3000s", log[strings.Index(log, "panicked"):])
	}
	if statuses[4] < malformedRequests/3 {
		t.Errorf("only %d of %d were refused: too few are malformed; got %v", statuses[4], malformedRequests,
			statuses)
	}
	t.Logf("%d malformed requests, %d answered with a 5xx; by hundreds: %v", malformedRequests, statuses[5], statuses)
}

// malformed is a request that bend makes malformed.
type malformed struct {
	method, path, query, body string
	header                    map[string]string
}

// oddities are JSON values that are invalid for most fields.
var oddities = []string{
	"null", "true", "-1", "0", "1e400", "9223372036854775808", "0.5", `""`, `"\u0000"`, `"\ud800"`, "[]", "{}", `["a"]`,
	`{"a":1}`, `"2026-02-30"`, `"24:01"`, `"0000-00-00T00:00:00Z"`, `"9999-12-31T23:59:59+23:59"`,
	`"2026-11-23T09:00:00"`, `"../../etc/passwd"`, `"' OR 1=1 --"`, `"<script>"`, `"🦷"`, "\"\xff\xfe\"",
}

// oddValues are values that are invalid for most headers, query parameters and parts of paths.
var oddValues = []string{"", " ", "\x00", "\xff", "%", "%zz", "%00", "-1", "1e9", "null", "..", "a/b", "🦷",
	"' OR 1=1 --", `"`, ",", ";q=", "Bearer", "W/\"\"", "managed", "\r\nX: y"}

// bend adds one error to the request.
func (m *malformed) bend(r *rand.Rand) {
	word := oddValues[r.IntN(len(oddValues))]
	if r.IntN(8) == 0 {
		word = strings.Repeat("A", 1<<r.IntN(14))
	}
	switch r.IntN(10) {
	case 0: // cut off
		if m.body != "" {
			m.body = m.body[:r.IntN(len(m.body))]
		}
	case 1: // a byte changed
		if m.body != "" {
			b := []byte(m.body)
			b[r.IntN(len(b))] = byte(r.IntN(256))
			m.body = string(b)
		}
	case 2, 3: // a value of another type
		if at := places(m.body); len(at) > 0 {
			p := at[r.IntN(len(at))]
			m.body = m.body[:p[0]] + oddities[r.IntN(len(oddities))] + m.body[p[1]:]
		} else {
			m.body = oddities[r.IntN(len(oddities))]
		}
	case 4: // an unknown field, or a repeated one
		m.body = strings.Replace(m.body, "{", fmt.Sprintf(`{%q:%s,`, word, oddities[r.IntN(len(oddities))]), 1)
	case 5: // deeply nested, or long
		m.body = strings.Repeat([]string{"[", `{"a":`, `"`, " ", "9"}[r.IntN(5)], 1<<r.IntN(17))
	case 6:
		name := []string{"Idempotency-Key", "If-Match", "If-None-Match", "Authorization", "Cookie", "Holdfast-Client",
			"Holdfast-Manage", "Content-Type",
			"Accept", "Accept-Encoding", "Accept-Language", "Last-Event-ID", "Origin", "X-Forwarded-For", "Forwarded",
			"Mcp-Session-Id", "Mcp-Protocol-Version"}[r.IntN(17)]
		m.header[name] = map[string]string{"Authorization": "Bearer ", "Cookie": "holdfast_sign_in="}[name] + word
	case 7:
		name := []string{"from", "to", "clientId", "specialistId", "appointmentTypeId", "slotStartDate", "cursor",
			"limit", "status", "date", "selected", "after",
			"q", "leaseMs", "dryRun", "token", "colleagues", word}[r.IntN(18)]
		m.query += "&" + name + "=" + []string{word, url.QueryEscape(word),
			strings.Trim(oddities[r.IntN(len(oddities))], `"`)}[r.IntN(3)]
	case 8: // another value of the same kind
		parts := strings.Split(m.path, "/")
		parts[len(parts)-1-r.IntN(min(2, len(parts)-1))] = word
		m.path = strings.Join(parts, "/")
	case 9:
		m.method = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get",
			"PROPFIND"}[r.IntN(10)]
	}
}

// places returns the approximate positions of the values of a JSON document: after each colon.
func places(body string) (at [][2]int) {
	if len(body) > 4096 {
		return nil
	}
	for i := range len(body) {
		if body[i] != ':' {
			continue
		}
		end := i + 1
		for end < len(body) && !strings.ContainsRune(",}]", rune(body[end])) {
			end++
		}
		at = append(at, [2]int{i + 1, end})
	}
	return at
}

// send calls the handler without the network, so that the request can contain anything. It disconnects from a stream
// after 5 ms.
func (m *malformed) send(h *house) *httptest.ResponseRecorder {
	ctx, leave := context.WithTimeout(context.Background(), 10*time.Minute)
	defer leave()
	if strings.HasSuffix(m.path, "/stream") {
		// Cancel the request instead of setting a deadline: on a slow machine, the server would respond with 503 once
		// the deadline had passed.
		var gone context.CancelFunc
		ctx, gone = context.WithCancel(ctx)
		defer time.AfterFunc(5*time.Millisecond, gone).Stop()
	}
	var body io.Reader = http.NoBody
	if m.body != "" {
		body = strings.NewReader(m.body)
	}
	r := httptest.NewRequest("POST", "/", body).WithContext(ctx)
	r.Method, r.URL = m.method, &url.URL{Path: m.path, RawQuery: m.query}
	for name, value := range m.header {
		r.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	w := httptest.NewRecorder()
	h.web.Handler().ServeHTTP(w, r)
	return w
}

package web_test

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// These tests check the rules that apply to every route.

func TestEveryGetAnswersHead(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{
		"/v1/clinic", "/v1/appointment-types", "/v1/appointment-types/checkup",
		"/v1/appointment-types/checkup/timeslots", "/v1/specialists", "/v1/appointment-types/checkup/next-available",
		"/livez", "/readyz", "/openapi.yaml", "/docs", "/docs/errors", "/docs/backup", "/docs/pictures/board-light.png",
		"/openapi.json", "/",
	} {
		// otherwise Go's client requests gzip for a GET and hides the original headers
		plain := header{"Accept-Encoding": "identity"}
		head, get := h.do("HEAD", path, nil, plain).want(200), h.do("GET", path, nil, plain).want(200)
		if head.raw != "" {
			t.Errorf("HEAD %s has a body", path)
		}
		for _, name := range []string{"Content-Type", "Content-Length"} {
			if got, want := head.header.Get(name), get.header.Get(name); got != want {
				t.Errorf("HEAD %s: %s is %q, and %q for GET", path, name, got, want)
			}
		}
	}
	if r := h.do("HEAD", "/v1/appointment-types/nobody", nil).want(404); r.raw != "" {
		t.Error("a HEAD with the status 404 has a body")
	}
}

func TestUnknownRouteIsProblem(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/nothing", "/v1", "/v1/", "/v1/holds/", "/V1/holds", "/v1/appointments/a%2Fb",
		"/v1/appointments/a/b/c", "//v1/clinic", "/v1/../livez", "/.git/config", "/ui/0000/lib/api.js"} {
		h.do("GET", path, nil).problem(404, "not_found")
	}
}

func TestWrongMethodHasAllowHeader(t *testing.T) {
	h := newHouse(t)
	for path, want := range map[string][]string{
		"/v1/holds":              {"GET", "HEAD", "POST", "PATCH", "DELETE"},
		"/v1/holds/release":      {"POST"},
		"/v1/appointments/x/ics": {"GET", "HEAD"},
	} {
		r := h.do("PUT", path, "{}").problem(405, "method_not_allowed")
		for _, method := range want {
			if !strings.Contains(r.header.Get("Allow"), method) {
				t.Errorf("PUT %s: Allow is %q and misses %s", path, r.header.Get("Allow"), method)
			}
		}
	}
	// OPTIONS lists every method of a path, also those that a page of another website may not use.
	for path, want := range map[string]string{
		"/v1/clinic": "GET, HEAD, OPTIONS, PUT", "/v1/holds": "DELETE, GET, HEAD, OPTIONS, PATCH, POST",
		"/v1/appointments": "GET, HEAD, OPTIONS, POST",
	} {
		got := strings.Split(h.do("OPTIONS", path, nil).want(204).header.Get("Allow"), ", ")
		slices.Sort(got)
		if strings.Join(got, ", ") != want {
			t.Errorf("OPTIONS %s: Allow is %q, want %s", path, got, want)
		}
	}
	if r := h.do("POST", "/", "{}").problem(405, "method_not_allowed"); r.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST /: Allow is %q", r.header.Get("Allow"))
	}
}

func TestAnswersHaveSecurityHeaders(t *testing.T) {
	h := newHouse(t)
	for _, r := range []*reply{
		h.do("GET", "/v1/clinic", nil), h.do("GET", "/nothing", nil), h.do("PUT", "/livez", nil),
		h.do("POST", "/v1/holds", "{"), h.do("GET", "/docs", nil), h.do("GET", "/", nil),
		h.do("GET", "/v1/appointment-types/checkup/timeslots", nil),
	} {
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff",
			"Referrer-Policy": "no-referrer"} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if policy := r.header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("the policy is %q", policy)
		}
		if r.header.Get("X-Request-Id") == "" {
			t.Error("the answer has no request id")
		}
	}
	for _, path := range []string{"/v1/appointments", "/v1/settings", "/v1/api-keys", "/v1/audit", "/v1/export"} {
		if got := h.do("GET", path, nil, asAdmin).want(200).header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("%s, which requires a credential: Cache-Control is %q, want no-store", path, got)
		}
	}
}

// TestBodiesAreStrict: a document that is wrong as a whole is refused before its values are checked.
func TestBodiesAreStrict(t *testing.T) {
	h := newHouse(t)
	good := `"appointmentTypeId":"checkup","slotStartDate":"` + h.at(0) + `","clientId":"` + client(1) + `"`
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		says       string // in the detail, or the field
	}{
		{"empty", "", 400, "malformed_body", "empty"},
		{"blank", "  \n ", 400, "malformed_body", "empty"},
		{"cut off", `{"appointmentTypeId":"che`, 400, "malformed_body", "not JSON"},
		{"not JSON", `appointmentTypeId=checkup`, 400, "malformed_body", "not JSON"},
		{"a list", `[]`, 400, "malformed_body", "JSON object"},
		{"a text", `"hello"`, 400, "malformed_body", "JSON object"},
		{"null", `null`, 400, "malformed_body", "JSON object"},
		{"something after its end", `{` + good + `} {}`, 400, "malformed_body", "not JSON"},
		{"a comma too many", `{` + good + `,}`, 400, "malformed_body", "not JSON"},
		{"NaN", `{` + good + `,"ttlSeconds":NaN}`, 400, "malformed_body", "not JSON"},
		{"an unknown field", `{` + good + `,"slotStart":"now"}`, 400, "malformed_body", `"slotStart" is unknown`},
		{"a field in other letters", `{` + good + `,"CLIENTID":"x"}`, 400, "malformed_body", `"CLIENTID" is unknown`},
		{"a field twice", `{` + good + `,"clientId":"` + client(2) + `"}`, 400, "malformed_body",
			`"clientId" appears twice`},
		{"a field twice, once escaped", `{` + good + `,"client\u0049d":"` + client(2) + `"}`, 400, "malformed_body",
			`"clientId" appears twice`},
		{"not UTF-8", `{` + good + `,"specialistId":"` + "\xff\xfe" + `"}`, 400, "malformed_body", "UTF-8"},
		{"a byte order mark", "\xef\xbb\xbf{" + good + "}", 400, "malformed_body", "not JSON"},
		{"deep", strings.Repeat("[", 30000), 400, "malformed_body", "not JSON"},
		{"deep in a field", `{` + good + `,"specialistId":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) +
			`}`, 400, "malformed_body", "not JSON"},
		{"a number for a text", `{"appointmentTypeId":7,"slotStartDate":"` + h.at(0) + `","clientId":"` + client(1) +
			`"}`, 422, "validation_failed", "appointmentTypeId"},
		{"a text for a number", `{` + good + `,"ttlSeconds":"30"}`, 422, "validation_failed", "ttlSeconds"},
		{"a fraction for a whole number", `{` + good + `,"ttlSeconds":30.5}`, 422, "validation_failed", "ttlSeconds"},
		{"a number past all bounds", `{` + good + `,"ttlSeconds":1e400}`, 422, "validation_failed", "ttlSeconds"},
		{"a list for a text", `{` + good + `,"specialistId":["ada"]}`, 422, "validation_failed", "specialistId"},
		{"a number for the client", `{"appointmentTypeId":"checkup","slotStartDate":"` + h.at(0) + `","clientId":7}`,
			422, "validation_failed", "clientId"},
		{"the first of two", `{"clientId":[{"ttlSeconds":1}],"ttlSeconds":"x"}`, 422, "validation_failed", "clientId"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			r := h.do("POST", "/v1/holds", c.body).problem(c.status, c.code)
			if c.status == 422 {
				r.field(c.says)
			} else if !strings.Contains(r.text("detail"), c.says) {
				t.Errorf("the detail is %q and does not contain %q", r.text("detail"), c.says)
			}
		})
	}
	h.t = t
	// The same applies inside an object.
	r := h.do("POST", "/v1/appointment-types/checkup/book", `{"clientId":"`+client(1)+
		`","patient":{"name":7}}`).problem(422, "validation_failed")
	r.field("patient.name")
	r = h.do("POST", "/v1/appointment-types/checkup/book", `{"clientId":"`+client(1)+
		`","patient":{"name":"A","nmae":"B"}}`).problem(400, "malformed_body")
	if !strings.Contains(r.text("detail"), `"patient.nmae"`) {
		t.Errorf("the detail does not name the field: %s", r.raw)
	}
}

func TestBodyIsSmallAndJSON(t *testing.T) {
	h := newHouse(t)
	big := `{"clientId":"` + strings.Repeat("x", 1<<20) + `"}`
	h.do("POST", "/v1/holds", big).problem(413, "payload_too_large")
	h.do("POST", "/v1/holds", strings.Repeat(" ", 64<<10)+"{}").problem(413, "payload_too_large")
	// An import may be larger, and is read to its end.
	h.do("POST", "/v1/import", strings.Repeat(" ", 128<<10)+"{}", asAdmin).want(200)

	// A body without an announced length.
	r, err := http.NewRequest("POST", h.server.URL+"/v1/holds", io.MultiReader(strings.NewReader(big)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := h.server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 413 {
		t.Errorf("a chunked body of 1 MB: got %d, want 413", answer.StatusCode)
	}

	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "text/json",
		"application/json; charset=latin1", "application/jsonx", "multipart/form-data; boundary=x", ";"} {
		h.do("POST", "/v1/holds", "{}", header{"Content-Type": contentType}).problem(415, "unsupported_media_type")
	}
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8",
		"Application/JSON;charset=UTF-8"} {
		h.do("POST", "/v1/holds", "{}", header{"Content-Type": contentType}).problem(422, "validation_failed")
	}
	for coding, want := range map[string]int{"gzip": 415, "br": 415, "identity": 422} {
		refused := h.do("POST", "/v1/holds", "{}", header{"Content-Encoding": coding}).want(want)
		if detail := refused.text("detail"); want == 415 && !strings.Contains(detail, "without Content-Encoding") {
			t.Errorf("%s: got %q, want the advice to send the body uncompressed", coding, detail)
		}
	}
}

func TestCrossSiteWriteIsRefused(t *testing.T) {
	h := newHouseAt(t, "https://book.example.org")
	body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1)}
	h.do("POST", "/v1/holds", body, header{"Sec-Fetch-Site": "cross-site",
		"Origin": "https://evil.example"}).problem(403, "forbidden")
	h.do("POST", "/v1/holds", body, header{"Origin": "https://evil.example"}).problem(403, "forbidden")
	h.do("POST", "/v1/holds", body, header{"Sec-Fetch-Site": "same-origin"}).want(201)
	// behind a proxy that rewrites Host
	h.do("POST", "/v1/holds", body, header{"Origin": "https://book.example.org"}).want(201)
	h.do("POST", "/v1/holds", body).want(201) // a program
	h.do("GET", "/v1/clinic", nil, header{"Sec-Fetch-Site": "cross-site"}).want(200)
}

// TestTruncatedBodyIsRefused: the server responds to a request whose body ends early, and the body does not block the
// request's handler.
func TestTruncatedBodyIsRefused(t *testing.T) {
	h := newHouse(t)
	conn, err := net.Dial("tcp", h.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(conn, "POST /v1/holds HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"a\":")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), "malformed_body") {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestProblemsLinkToTheirSection(t *testing.T) {
	h := newHouseAt(t, "https://book.example.org")
	r := h.do("GET", "/v1/appointment-types/nobody", nil).problem(404, "not_found")
	if got, want := r.text("type"), "https://book.example.org/docs/errors#not_found"; got != want {
		t.Errorf("got the type %q, want %q", got, want)
	}
	page := h.do("GET", "/docs/errors", nil).want(200).raw
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		if !strings.Contains(page, `<h2 id="`+code.(string)+`">`) {
			t.Errorf("docs/errors.md has no section for %s", code)
		}
	}
}

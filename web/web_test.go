package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/web"
)

// house is the server under test. The tests in this package send HTTP requests to the real server with the real engine,
// database and table of holds, and check the responses.
type house struct {
	written *writtenAnswers
	t       testing.TB
	server  *httptest.Server
	engine  *engine.Engine
	web     *web.Server
	log     *lockedBuffer
	start   time.Time // a slot start: noon, two days ahead
}

const adminKey = "a-bootstrap-admin-key-for-tests"

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// newHouse opens a clinic that is always open, in UTC: specialists ada and bea; types "checkup" of 30 minutes,
// "surgery" of 60 minutes with buffers, "class" of 60 minutes with 3 seats, "cooling" of 30 minutes with a cooldown of
// a day.
func newHouse(t testing.TB, change ...func(*web.Options)) *house {
	t.Helper()
	return newHouseOf(t, engine.Options{}, change...)
}

func newHouseOf(t testing.TB, decides engine.Options, change ...func(*web.Options)) *house {
	t.Helper()
	ctx := context.Background()
	db := enginetest.Database(t)
	live := enginetest.Holds(t, db)
	h := &house{t: t, log: new(lockedBuffer), written: &writtenAnswers{Store: db}, start: enginetest.Noon(time.UTC, 2)}
	logger := slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	decides.Store, decides.Holds, decides.AdminKey, decides.Logger = h.written, live, adminKey, logger
	decides.QuickPasswords = true
	if h.engine, err = engine.New(ctx, decides); err != nil {
		t.Fatal(err)
	}
	if _, err := h.engine.Clinic.Import(ctx, "system", clinicFile()); err != nil {
		t.Fatal(err)
	}
	o := web.Options{Logger: logger, Version: "test", Patience: 5 * time.Minute} // for busy machines
	for _, c := range change {
		c(&o)
	}
	if h.web, err = web.New(h.engine, o); err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewServer(h.web.Handler())
	t.Cleanup(h.server.Close)
	enginetest.Run(t, h.engine.Run, h.web.Run) // ends before Close, which would wait for the streams
	return h
}

// clinicFile returns the clinic of the tests. ada has a higher priority than bea.
func clinicFile() clinic.File { return enginetest.ClinicFile(map[string]int{"ada": 10, "bea": 5}) }

// newHouseAt returns a house whose server was started with the public address of its pages.
func newHouseAt(t testing.TB, baseURL string) *house {
	t.Helper()
	return newHouseOf(t, engine.Options{BaseURL: baseURL})
}

// client returns the client id of client n.
func client(n int) string { return fmt.Sprintf("client-secret-%04d", n) }

// at returns the slot start the given number of minutes after the house's start, in the wire format.
func (h *house) at(minutes int) string {
	return h.start.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339)
}

// reply is a response with its whole body.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	raw    string
	body   map[string]any
}

type header map[string]string

// asAdmin is the header of a request with the admin key.
var asAdmin = header{"Authorization": "Bearer " + adminKey}

// do sends a request. A body that is not a string is sent as JSON.
func (h *house) do(method, path string, body any, headers ...header) *reply {
	h.t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			h.t.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, h.server.URL+path, content)
	if err != nil {
		h.t.Fatal(err)
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, set := range headers {
		for name, value := range set {
			r.Header.Set(name, value)
			if value == "" {
				r.Header.Del(name)
			}
		}
	}
	answer, err := h.server.Client().Transport.RoundTrip(r) // does not follow redirects
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	got := &reply{t: h.t, status: answer.StatusCode, header: answer.Header, raw: string(raw)}
	if kind := answer.Header.Get("Content-Type"); strings.Contains(kind, "json") && !strings.Contains(kind, "ndjson") &&
		len(raw) > 0 {
		if err := json.Unmarshal(raw, &got.body); err != nil {
			h.t.Fatalf("%s %s: the answer is not JSON: %v\n%s", method, path, err, raw)
		}
	}
	got.conforms(method, path)
	return got
}

// want fails the test unless the response has this status.
func (r *reply) want(status int) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("got %d, want %d\n%s", r.status, status, r.raw)
	}
	return r
}

// problem fails the test unless the response is a problem with this status and code, a title and a detail.
func (r *reply) problem(status int, code string) *reply {
	r.t.Helper()
	r.want(status)
	if r.body["code"] != code {
		r.t.Errorf("got the code %v, want %s\n%s", r.body["code"], code, r.raw)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.t.Errorf("got Content-Type %q, want application/problem+json", got)
	}
	if r.body["status"] != float64(status) {
		r.t.Errorf("got the status %v in the body, want %d", r.body["status"], status)
	}
	for _, name := range []string{"title", "detail"} {
		if s, _ := r.body[name].(string); s == "" {
			r.t.Errorf("the problem has no %s\n%s", name, r.raw)
		}
	}
	if s, _ := r.body["type"].(string); !strings.HasSuffix(s, "/docs/errors#"+code) {
		r.t.Errorf("got the type %v, want a link to the code's section", r.body["type"])
	}
	return r
}

// field fails the test unless errors lists this field, and returns its message.
func (r *reply) field(name string) string {
	r.t.Helper()
	list, _ := r.body["errors"].([]any)
	for _, e := range list {
		if e, _ := e.(map[string]any); e["field"] == name {
			message, _ := e["message"].(string)
			if message == "" {
				r.t.Errorf("nothing is said of %s\n%s", name, r.raw)
			}
			return message
		}
	}
	r.t.Errorf("errors does not name %s\n%s", name, r.raw)
	return ""
}

// get returns a value of the body by its path: get("appointment", "id").
func (r *reply) get(path ...string) any {
	var v any = r.body
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// text returns a string of the body by its path.
func (r *reply) text(path ...string) string {
	r.t.Helper()
	s, ok := r.get(path...).(string)
	if !ok {
		r.t.Fatalf("%v is no text in %s", path, r.raw)
	}
	return s
}

// hold requests a hold for client n.
func (h *house) hold(n int, appointmentType, start string, more ...map[string]any) *reply {
	h.t.Helper()
	body := map[string]any{"appointmentTypeId": appointmentType, "slotStartDate": start, "clientId": client(n)}
	for _, m := range more {
		for k, v := range m {
			body[k] = v
		}
	}
	return h.do("POST", "/v1/holds", body)
}

// patient returns the patient data of client n.
func patient(n int) map[string]any {
	return map[string]any{"name": fmt.Sprintf("Patient %d", n), "email": fmt.Sprintf("p%d@example.org", n),
		"phone": "030 1234567"}
}

// book requests a booking for client n.
func (h *house) book(n int, appointmentType string, body map[string]any, headers ...header) *reply {
	h.t.Helper()
	all := map[string]any{"clientId": client(n), "patient": patient(n)}
	for k, v := range body {
		all[k] = v
	}
	return h.do("POST", "/v1/appointment-types/"+appointmentType+"/book", all, headers...)
}

// managing returns the header with the manage link of a booking's response.
func (r *reply) managing() header {
	r.t.Helper()
	_, token, ok := strings.Cut(r.text("appointment", "manageUrl"), "/manage#")
	if !ok {
		r.t.Fatalf("no manage link in %s", r.raw)
	}
	return header{"Holdfast-Manage": token}
}

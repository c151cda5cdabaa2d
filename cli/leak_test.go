package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/notice/noticetest"
)

// These tests check that no personal data leaks when all external systems fail. The practice system, the mail server
// and the webhook receiver refuse every request, and each of them repeats in its refusal everything that it received.

// canaries lists personal data of patients and secrets of programs. They must not leave the server: in its log, events,
// webhooks, metrics or public responses.
var canaries = []string{"Canaryname", "Canarychild", "canarymail", "5550123", "1961-07-04", "07/04/1961", "canarynote",
	"canaryclient", "canarypassword", "canarysmtp"}

// gossip starts a practice system that repeats in its responses everything that it receives.
func gossip(t *testing.T) *httptest.Server {
	value := regexp.MustCompile(`>([^<>]+)<`)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		text := string(body)
		var heard []string
		for _, m := range value.FindAllStringSubmatch(text, -1) {
			heard = append(heard, strings.TrimSpace(m[1]))
		}
		status, said := "Error", "<ErrorMessage>Canaryname Surname, born 07/04/1961, 0170 5550123, canarynote: "+
			strings.Join(heard, " ")+" is too much</ErrorMessage><Records />"
		if strings.Contains(text, "<Procedure>SetPatient<") && strings.Contains(text, "Welcome") {
			status, said = "Success", "<Records><Record><Result>Patient Added: 3f2504e0-4f89-11d3-9a0c-0305e82c3301</Result></Record></Records>"
		}
		if strings.Contains(text, "<Procedure>SetAppointment<") {
			said = "<ErrorMessage>Too many requests, Canaryname Surname</ErrorMessage><Records />"
		}
		w.Header().Set("Content-Type", "application/xml; charset=utf-8")
		_, _ = fmt.Fprintf(w, `<?xml version="1.0" encoding="utf-8"?><GetDataResponse xmlns="http://schemas.practica.ws/cloud9/partners/"><ResponseStatus>%s</ResponseStatus>%s</GetDataResponse>`, status, said)
	}))
	t.Cleanup(s.Close)
	return s
}

// notAtHome returns the response of a mail server that repeats its input.
func notAtHome(line string) string {
	return "450 Canaryname Surname, canarynote: " + line + " is not at home"
}

func TestNothingPersonalLeaksInOutages(t *testing.T) {
	t.Parallel()
	var told transcript // the data that the webhook receiver received
	hooks := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = told.Write(body)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "Canaryname Surname: %s", body)
	}))
	defer hooks.Close()
	dir, log := clinicDir(t), &transcript{}
	cfg, _, err := resolved(t, nil, "--data", dir, "--admin-key", longEnough, "--rate-limit", "off",
		"--upstream-url", gossip(t).URL+"/GetData.ashx", "--upstream-client-id", "c", "--upstream-user", "u",
		"--upstream-password", "canarypassword", "--upstream-spacing", "1ms", "--upstream-retry-delay", "1ms",
		"--upstream-quarantine", "1ms", "--queue-backoff", "1ms", "--queue-max-attempts", "2",
		"--smtp-url", "smtp://"+noticetest.MailServer(t, notAtHome), "--mail-from", "post@clinic.example",
		"--webhook-allow-private", "--debug-replies")
	if err != nil {
		t.Fatal(err)
	}
	h, err := openHouse(t.Context(), cfg, houseOptions{version: "test",
		log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(h.serve(ctx, listener), h.close()) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	if _, err := h.engine.Clinic.Import(ctx, localActor, openClinic(t)); err != nil {
		t.Fatal(err)
	}
	base := "http://" + listener.Addr().String()
	send := func(method, path, key string, body any) (int, string) {
		t.Helper()
		return asked(t, method, base+path, body, bearer(key))
	}
	events := &transcript{}
	for _, path := range []string{"/v1/staff/stream", "/v1/presence/stream",
		"/v1/holds/stream?appointmentTypeId=checkup"} {
		overhear(t, ctx, base+path, events)
	}
	agentKey := strings.TrimSpace(must(t, "apikey", "create", "--data", dir, "--name", "agent", "--scope", "agent"))
	if status, body := send("PUT", "/v1/settings", longEnough,
		map[string]any{"webhooks": []map[string]any{{"url": hooks.URL}}}); status != 200 {
		t.Fatalf("settings: %d %s", status, body)
	}

	// A visitor books, and the practice system refuses the patient. The email and the webhook for the booking fail too.
	noon := enginetest.Noon(time.UTC, 3)
	person := map[string]any{"name": "Canaryname Surname", "email": "canarymail@example.org", "phone": "0170 5550123",
		"birthDate": "1961-07-04", "notes": "canarynote"}
	var public []string
	status, body := send("POST", "/v1/appointment-types/checkup/book", "", map[string]any{
		"clientId": "canaryclient-0123456789", "slotStartDate": noon.Format(time.RFC3339), "patient": person,
	})
	if public = append(public, body); status != 201 {
		t.Fatalf("book: %d %s", status, body)
	}
	// An agent's first caller is refused. The booking of the second waits in the queue until it fails.
	caller := map[string]any{"firstName": "Canaryname", "lastName": "Surname", "birthDate": "1961-07-04",
		"phone": "0170 5550123", "email": "canarymail@example.org"}
	if status, body = send("POST", "/v1/agent/patients", agentKey, caller); status != 422 && status != 503 {
		t.Errorf("a patient whom the practice system refuses: %d %s", status, body)
	}
	public = append(public, body)
	caller["lastName"] = "Welcome"
	var who map[string]any
	if status, body = send("POST", "/v1/agent/patients", agentKey, caller); status != 200 ||
		json.Unmarshal([]byte(body), &who) != nil {
		t.Fatalf("a patient whom the practice system accepts: %d %s", status, body)
	}
	public = append(public, body)
	status, body = send("POST", "/v1/agent/appointments", agentKey, with(who, map[string]any{
		"startTime": noon.Add(2 * time.Hour).Format("01/02/2006 03:04 PM"), "minutes": 30, "childName": "Canarychild",
		"note": "DOB: 07/04/1961 canarynote", "scheduleColumnGUID": "66666666-7777-4888-8999-000000000000",
		"appointmentTypeGUID": "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff",
	}))
	if public = append(public, body); status != 202 {
		t.Fatalf("a queued booking: %d %s", status, body)
	}
	eventually(t, "everything has failed", func() bool {
		status, body := get(t, base+"/v1/queue-status?status=failed&kind=all", longEnough)
		return status == 200 && strings.Count(body, `"kind":"upstream.book"`) == 2 &&
			strings.Count(body, `"kind":"email"`) >= 2 && strings.Contains(body, `"kind":"webhook"`)
	})
	_, seen := get(t, base+"/v1/queue-status", agentKey)
	_, metrics := get(t, base+"/metrics", "")
	_, names := get(t, base+"/v1/queue-status", longEnough)
	if !strings.Contains(names, "Canarychild") {
		t.Errorf("the front desk does not see the patient of an operation: %s", names)
	}
	for what, text := range map[string]string{
		"the log": log.String(), "the events": events.String(), "a webhook": told.String(), "the metrics": metrics,
		"the queue as an agent sees it": seen, "queue list": must(t, "queue", "list", "--data", dir),
		"a public answer":             strings.Join(public, "\n"),
		"an error for the front desk": regexp.MustCompile(`"childName":"[^"]*"`).ReplaceAllString(names, ""),
	} {
		if len(text) < 20 {
			t.Errorf("%s is empty, and proves nothing", what)
		}
		for _, canary := range append(canaries, agentKey, longEnough) {
			if i := strings.Index(text, canary); i >= 0 {
				t.Errorf("%s has %q: …%s…", what, canary, text[max(0, i-150):min(len(text), i+80)])
			}
		}
	}
}

// overhear writes the data of the stream at url to the writer to, until ctx ends.
func overhear(t *testing.T, ctx context.Context, url string, to io.Writer) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+longEnough)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, answer.Status)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(to, answer.Body)
		answer.Body.Close()
	}()
	t.Cleanup(func() { <-done })
}

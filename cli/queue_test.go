package cli

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdfast/cli/demo"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// TestUpstreamSettings: with complete settings of the practice system, the server starts. If settings are missing, the
// error names them.
func TestUpstreamSettings(t *testing.T) {
	t.Parallel()
	whole := []string{"--upstream-url", "https://pms.example/GetData.ashx", "--upstream-client-id", "c",
		"--upstream-user", "u", "--upstream-password", "p"}
	for _, c := range []struct {
		name string
		args []string
		says string // empty means that the settings are accepted
	}{
		{"all of it", whole, ""},
		{"with its times", append([]string{"--upstream-spacing", "1s", "--upstream-retry-delay=10ms",
			"--upstream-timeout", "2s", "--upstream-quarantine", "3s"}, whole...), ""},
		{"no password", whole[:6], "--upstream-password"},
		{"no address", whole[2:], "--upstream-url"},
		{"no address at all", []string{"--upstream-url", "pms"}, "full address"},
		{"credentials in the address", []string{"--upstream-url", "https://u:p@pms.example/"}, "use --upstream-user and --upstream-password"},
		{"a time without a unit", []string{"--upstream-spacing", "10"}, "--upstream-spacing"},
		{"neither true nor false", []string{"--debug-replies=perhaps"}, "--debug-replies"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, _, err := resolved(t, nil, append([]string{"--data", filepath.Join(t.TempDir(), "data")},
				c.args...)...)
			if err == nil {
				var h *house
				if h, err = openHouse(t.Context(), cfg, houseOptions{log: slog.New(slog.DiscardHandler)}); err == nil {
					err = h.close()
				}
			}
			switch {
			case c.says == "" && err != nil:
				t.Errorf("got %v, want success", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) ||
				!errors.As(err, &usageError{})):
				t.Errorf("got %v, want an error with %q", err, c.says)
			}
		})
	}
}

// TestTrueOrFalse: a boolean flag works without a value, with =VALUE, and with the value as the next argument.
func TestTrueOrFalse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args string
		want bool
	}{
		{"--debug-replies", true}, {"--debug-replies=true", true}, {"--debug-replies true", true},
		{"--debug-replies --data x", true}, {"--debug-replies=false", false}, {"--debug-replies false", false},
		{"", false},
	} {
		cfg, _, err := resolved(t, nil, joinYes(strings.Fields(c.args))...)
		if err != nil || cfg.upstream.debugReplies != c.want {
			t.Errorf("%q: got %v, %v; want %v", c.args, cfg.upstream.debugReplies, err, c.want)
		}
	}
}

// TestQueueListAndRetry: a failed delivery is listed and retried on the command line, with a running server and without
// one, and the next server delivers it. The list writes times in the clinic's zone, which is not UTC here.
func TestQueueListAndRetry(t *testing.T) {
	t.Parallel()
	dir := clinicDir(t)
	zone, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	file := knownUpstream(t)
	file.Clinic.Timezone = zone.String()
	starts := enginetest.Noon(time.UTC, 3).In(zone)
	fake := upstreamtest.New(upstreamtest.Options{})
	practice := httptest.NewServer(fake)
	defer practice.Close()
	start := func() (base string, stop context.CancelFunc, ended chan error) {
		t.Helper()
		cfg, _, err := resolved(t, nil, "--data", dir, "--upstream-url", practice.URL+"/GetData.ashx",
			"--upstream-client-id", "c", "--upstream-user", "u",
			"--upstream-password", "p", "--upstream-spacing", "1ms", "--upstream-retry-delay", "1ms", "--queue-backoff",
			"1ms", "--queue-max-attempts", "1",
			"--admin-key", longEnough)
		if err != nil {
			t.Fatal(err)
		}
		h, err := openHouse(t.Context(), cfg, houseOptions{version: "test", log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended = make(chan error, 1)
		go func() { ended <- errors.Join(h.serve(ctx, listener), h.close()) }()
		t.Cleanup(stop)
		_, err = h.engine.Clinic.Import(ctx, localActor, file)
		if err != nil {
			t.Fatal(err)
		}
		return "http://" + listener.Addr().String(), stop, ended
	}
	base, stop, ended := start()
	for range 3 {
		fake.Outcomes(upstreamtest.RateLimited)
	}
	booked := postAgent(t, base, "/v1/agent/appointments",
		with(postAgent(t, base, "/v1/agent/patients", map[string]any{"firstName": "Jane", "lastName": "Roe"}),
			map[string]any{
				"startTime": upstream.FormatTime(starts, zone),
				"minutes":   30, "scheduleColumnGUID": "66666666-7777-4888-8999-000000000000",
				"appointmentTypeGUID": "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff",
			}))
	id, _ := booked["operationId"].(string)
	if id == "" {
		t.Fatalf("got %v, want it queued", booked)
	}
	listed := func() string { return must(t, "queue", "list", "--data", dir) }
	eventually(t, "given up", func() bool { return strings.Contains(listed(), "1 failed") })
	contains(t, "queue list", listed(), id, "upstream.book", "1/1", "rate limited", starts.Format(time.RFC3339))
	fake.Outcomes(upstreamtest.RateLimited)
	contains(t, "queue retry", must(t, "queue", "retry", id, "--data", dir), "queued for retry")
	eventually(t, "given up again", func() bool { return strings.Contains(listed(), "1 failed") })
	fake.Outcomes(upstreamtest.RateLimited)
	contains(t, "queue retry --failed", must(t, "queue", "retry", "--failed", "--data", dir),
		"1 queued for retry; 0 need review")
	eventually(t, "given up once more", func() bool { return strings.Contains(listed(), "1 failed") })
	if got := command(t, nil, "", "queue", "retry", id, "--failed", "--data", dir); got.code != 2 {
		t.Errorf("an id and --failed: exit code %d, want 2", got.code)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	contains(t, "queue list without a server", listed(), id, "1 failed")
	contains(t, "queue retry without a server", must(t, "queue", "retry", id, "--data", dir), "queued for retry")
	if got := listed(); !regexp.MustCompile(regexp.QuoteMeta(id) + ` +upstream\.book +pending `).MatchString(got) {
		// the list may also contain an email that was not attempted before the server stopped
		t.Errorf("afterwards: got %s, want %s to wait", got, id)
	}
	if got := command(t, nil, "", "queue", "retry", "op-1-unknown", "--data", dir); got.code != 1 ||
		got.stderr != "holdfast: there is no operation op-1-unknown. See: holdfast queue list\n" {
		t.Errorf("retry of an unknown id: exit code %d, it printed %s", got.code, got.stderr)
	}
	_, stop, ended = start()
	eventually(t, "delivered", func() bool { return strings.Contains(listed(), "0 waiting, 0 running, 0 failed") })
	if s := fake.Score(); s.Appointments != 1 {
		t.Errorf("practice system %+v, want one appointment", s)
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// knownUpstream returns the clinic in testdata, with upstream ids for ada and the check-up.
func knownUpstream(t *testing.T) clinic.File {
	t.Helper()
	text, err := os.ReadFile(harbour)
	if err != nil {
		t.Fatal(err)
	}
	var file clinic.File
	if err := decodeStrictly(text, &file); err != nil {
		t.Fatal(err)
	}
	file.Clinic.Timezone = "UTC"
	file.Specialists[0].Upstream = &clinic.UpstreamSpecialist{
		ScheduleViewGUID:   "11111111-2222-4333-8444-555555555555",
		ScheduleColumnGUID: "66666666-7777-4888-8999-000000000000",
	}
	file.AppointmentTypes[0].Upstream = &clinic.UpstreamType{AppointmentTypeGUID: "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"}
	return file
}

func postAgent(t *testing.T, base, path string, body map[string]any) map[string]any {
	t.Helper()
	_, answer := asked(t, http.MethodPost, base+path, body, bearer(longEnough))
	return decoded(t, answer)
}

// with returns a request body with the patient and the token from a response, and with further fields.
func with(who, more map[string]any) map[string]any {
	body := map[string]any{"patientGUID": who["patientGUID"], "bookingAuthToken": who["bookingAuthToken"]}
	for k, v := range more {
		body[k] = v
	}
	return body
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// TestDemoAgentBooks: the demo's practice system contains the ids that the demo's clinic uses, and the demo's agent
// books there.
func TestDemoAgentBooks(t *testing.T) {
	t.Parallel()
	cfg, _, err := resolved(t, nil, "--data", filepath.Join(t.TempDir(), "data"), "--rate-limit", "off", "--admin-key",
		longEnough)
	if err != nil {
		t.Fatal(err)
	}
	clinic, err := demo.ClinicAt(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	fake := demoPractice(&cfg, clinic)
	log := slog.New(slog.DiscardHandler)
	h, err := openHouse(t.Context(), cfg, houseOptions{log: log, demo: true, line: fake})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.engine.Clinic.Import(t.Context(), localActor, clinic); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(h.serve(ctx, listener), h.close()) }()
	a := demo.NewAgent("http://"+listener.Addr().String(), longEnough, clinic, log)
	if err := a.TakeCall(ctx); err != nil {
		t.Error(err)
	}
	list, _, err := h.engine.Booking.Appointments(ctx, store.AppointmentFilter{})
	if err != nil || len(list) != 1 || list[0].Source != store.SourceAgent ||
		list[0].UpstreamState != store.UpstreamConfirmed || fake.Score().Appointments != 1 {
		t.Errorf("booked %+v, %v; practice system %+v; want one there", list, err, fake.Score())
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

package web_test

import (
	"bufio"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/web"
)

// These tests check the metrics: there are few lines, they contain no text from a request, and each figure counts the
// right events.

// scrape returns the text of /metrics.
func (h *house) scrape() string {
	h.t.Helper()
	return h.do("GET", "/metrics", nil).want(http.StatusOK).raw
}

// metric returns the value of one line, or "" if the line is missing.
func metric(text, series string) string {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), series+" "); found {
			return value
		}
	}
	return ""
}

// TestIdleMetricsAreShort: with a label for each route and bucket there would be 2,446 lines.
func TestIdleMetricsAreShort(t *testing.T) {
	h := newHouse(t)
	h.do("GET", "/", nil)
	h.do("GET", "/v1/clinic", nil)
	if n := strings.Count(h.scrape(), "\n"); n > 400 {
		t.Errorf("got %d lines, want at most 400", n)
	}
}

// TestBusyMetricsAreShort: every route gets one request, which it refuses.
func TestBusyMetricsAreShort(t *testing.T) {
	h := newHouse(t)
	parameter := regexp.MustCompile(`\{\w+\}`)
	for _, route := range web.RoutesOf(h.web) {
		method, pattern, _ := strings.Cut(route, " ")
		if !strings.HasSuffix(pattern, "/stream") {
			h.do(method, parameter.ReplaceAllString(pattern, "unknown"), nil)
		}
	}
	// All requests that match no route or use the wrong method form one series.
	h.do("GET", "/nothing/is/here", nil)
	h.do("PUT", "/v1/holds/stream", nil)
	h.do("OPTIONS", "/v1/clinic", nil)
	if n := strings.Count(h.scrape(), "\n"); n > 800 {
		t.Errorf("got %d lines, want at most 800", n)
	}
}

// TestMetricsCountEvents: a hold, a booking, a refusal, a stream and a missing backup are counted.
func TestMetricsCountEvents(t *testing.T) {
	h := newHouse(t)
	before := h.scrape()
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0),
		"clientId": client(1)}).want(201)
	h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{
		"clientId": client(2), "slotStartDate": h.at(30), "specialistId": "ada",
		"patient": map[string]any{"name": "A Canary", "email": "canary@example.org"},
	}).want(201)
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(30),
		"clientId": client(3), "specialistId": "ada"}).problem(409, "slot_taken")
	after := h.scrape()
	for series, want := range map[string][2]string{
		"holdfast_holds":                                                                         {"0", "1"},
		`holdfast_bookings_total{source="web"}`:                                                  {"0", "1"},
		`holdfast_bookings_total{source="staff"}`:                                                {"0", "0"},
		"holdfast_holds_given_total":                                                             {"0", "1"},
		`holdfast_refusals_total{act="hold",reason="slot_taken"}`:                                {"0", "1"},
		`holdfast_refusals_total{act="book",reason="slot_taken"}`:                                {"0", "0"},
		`holdfast_http_requests_total{class="4xx",route="POST /v1/holds"}`:                       {"", "1"},
		`holdfast_http_requests_total{class="2xx",route="POST /v1/appointment-types/{id}/book"}`: {"", "1"},
		"holdfast_backup_age_seconds":                                                            {"+Inf", "+Inf"},
		`holdfast_storage_mode{mode="memory"}`:                                                   {"1", "1"},
		`holdfast_storage_mode{mode="fallback"}`:                                                 {"0", "0"},
		`holdfast_streams{kind="appointment_type",type="checkup"}`:                               {"0", "0"},
		"holdfast_conflicts_total":                                                               {"0", "0"},
	} {
		if got := [2]string{metric(before, series), metric(after, series)}; got != want {
			t.Errorf("%s: got %q before and after, want %q", series, got, want)
		}
	}
	for _, series := range []string{"holdfast_write_seconds_count", "holdfast_fsync_seconds_count"} {
		if metric(before, series) == metric(after, series) {
			t.Errorf("%s remains %s after a write", series, metric(after, series))
		}
	}
	if strings.Contains(strings.ToLower(after), "canary") || strings.Contains(after, client(2)) {
		t.Error("the metrics contain a person or a client")
	}
}

// BenchmarkScrape reads the metrics of a server with 20 specialists and no queue over HTTP. The target is a p99 of at
// most 5 ms.
func BenchmarkScrape(b *testing.B) {
	server := benchHouse(b, 20)
	var took []time.Duration
	lines := 0
	for b.Loop() {
		began := time.Now()
		reply, err := http.Get(server.URL + "/metrics")
		if err != nil {
			b.Fatal(err)
		}
		text, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || reply.StatusCode != http.StatusOK {
			b.Fatalf("got %d, %v", reply.StatusCode, err)
		}
		took = append(took, time.Since(began))
		lines = strings.Count(string(text), "\n")
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(lines), "lines")
	b.ReportMetric(0, "ns/op")
}

//go:build unix

package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/notice"
)

// BenchmarkBookFromSite measures the additional cost of a booking from another website's page, compared with a booking
// from the server's own page: the origin check and the CORS headers. It sends no preflight requests, because a browser
// sends at most one every 10 minutes.
//
//	go test ./web -run '^$' -bench BookFromSite -benchtime 1x
func BenchmarkBookFromSite(b *testing.B) {
	const site = "https://www.example.org"
	start, named := benchMonday(), func(s *clinic.Settings) { s.CORSOrigins = []string{site} }
	server := benchHouseSet(b, named, nil)
	plain, fromSite := bookAt(b, benchHouse(b, 100), start), bookAt(b, server, start)
	compareBookings(b, plain, func(n int64) *http.Request {
		r := fromSite(n)
		r.Header.Set("Origin", site)
		return r
	})
}

// BenchmarkBookWithRule measures the additional cost of a booking if the booking rule first calls a program on the same
// machine. The program allows the booking immediately.
//
//	go test ./web -run '^$' -bench BookWithRule -benchtime 1x
func BenchmarkBookWithRule(b *testing.B) {
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"decision": "allow"}`)
	}))
	b.Cleanup(program.Close)
	start, hooks := benchMonday(), notice.NewHooks(notice.HookOptions{AllowPrivate: true})
	server := benchHouseSet(b, func(s *clinic.Settings) {
		s.BookingRule = clinic.BookingRule{URL: program.URL, TimeoutMillis: 2000, OnFailure: clinic.RuleRefuses}
	}, hooks)
	compareBookings(b, bookAt(b, benchHouse(b, 100), start), bookAt(b, server, start))
}

// benchHouseSet is benchHouse with 100 specialists and these settings. hooks may be nil.
func benchHouseSet(b *testing.B, set func(*clinic.Settings), hooks *notice.Hooks) *httptest.Server {
	b.Helper()
	return benchHouseWith(b, 100, benchStore(b), func(o *engine.Options) { o.Notices.Hooks = hooks }, set)
}

// compareBookings alternates bookings of two kinds, so that other work on the machine affects both. For each kind it
// reports the processor time over 32 connections, including the client's, and the response time for a single caller.
func compareBookings(b *testing.B, without, with func(int64) *http.Request) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}}
	defer client.CloseIdleConnections()
	const turns, many, few = 5, 2000, 200
	kinds := []asked{{without, http.StatusCreated}, {with, http.StatusCreated}}
	n := int64(1)
	for b.Loop() {
		var used, waited [2]time.Duration
		for range turns {
			for i, kind := range kinds {
				before := processorTime(b)
				hammer(b, client, 32, kind, n, many)
				used[i] += processorTime(b) - before
				waited[i] += hammer(b, client, 1, kind, n+many, few)
			}
			n += many + few
		}
		for i, name := range []string{"without", "with"} {
			b.ReportMetric(float64(used[i].Microseconds())/(turns*many), name+"-cpu-µs")
			b.ReportMetric(float64(waited[i].Microseconds())/(turns*few), name+"-µs")
		}
		b.ReportMetric(0, "ns/op")
	}
}

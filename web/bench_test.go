package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"holdfast/engine"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/web"
)

// The figures of package web are ratios: each benchmark of a route stands beside one of a handler that does nothing,
// over the same kind of connection and client.
//
//	go test ./web -run '^$' -bench 'HTTP|Noop' -benchtime 1s

// benchHouse has this many specialists who work on weekdays from 9 to 5, all of them serving "checkup" and "tiny". Its
// log is written, and thrown away.
func benchHouse(b *testing.B, specialists int) *httptest.Server {
	b.Helper()
	return benchHouseOn(b, specialists, benchStore(b))
}

func benchStore(b *testing.B) store.Store {
	b.Helper()
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(b.TempDir(), "holdfast.db")})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

func benchHouseOn(b *testing.B, specialists int, db store.Store) *httptest.Server {
	b.Helper()
	ctx := context.Background()
	live := memory.New(memory.Options{Booked: engine.Booked(db)})
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	e, err := engine.New(ctx, engine.Options{Store: db, Holds: live, Logger: logger, AdminKey: adminKey})
	if err != nil {
		b.Fatal(err)
	}
	f := engine.ClinicFile{Clinic: &engine.ClinicEntry{Name: "Harbour Clinic", Timezone: "UTC"}}
	checkup := engine.AppointmentTypeEntry{
		ID: "checkup", Name: "Check-up", DurationMinutes: 30, HorizonDays: 60, Capacity: 1, HoldTTLSeconds: 1, MaxHoldSeconds: 900, HoldQuota: 100, Active: true,
	}
	tiny := checkup
	tiny.ID, tiny.DurationMinutes, tiny.HorizonDays = "tiny", 1, 365
	for i := range specialists {
		p := engine.SpecialistEntry{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Active: true}
		for day := 1; day <= 5; day++ {
			p.WeeklyHours = append(p.WeeklyHours, engine.HoursEntry{Weekday: store.Weekday(day), Start: 9 * 60, End: 17 * 60})
		}
		f.Specialists = append(f.Specialists, p)
		checkup.Specialists = append(checkup.Specialists, engine.AssignmentEntry{SpecialistID: p.ID})
	}
	tiny.Specialists = checkup.Specialists
	f.AppointmentTypes = []engine.AppointmentTypeEntry{checkup, tiny}
	if _, err := e.Import(ctx, "system", f); err != nil {
		b.Fatal(err)
	}
	s, err := web.New(e, web.Options{Logger: logger})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	b.Cleanup(func() {
		server.Close()
		if err := live.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return server
}

// hammer sends requests over 32 connections that stay open.
func hammer(b *testing.B, request func(n int64) *http.Request, want int) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}
	defer client.CloseIdleConnections()
	var n atomic.Int64
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			answer, err := client.Do(request(n.Add(1)))
			if err != nil {
				b.Error(err)
				return
			}
			size, err := io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
			if err != nil || answer.StatusCode != want {
				b.Errorf("got %d and %d bytes: %v", answer.StatusCode, size, err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// noop answers at once with a body of this many bytes.
func noop(b *testing.B, method string, size int) *httptest.Server {
	tree := httprouter.New()
	body := bytes.Repeat([]byte("x"), size)
	tree.Handle(method, "/v1/*rest", func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write(body)
	})
	server := httptest.NewServer(tree)
	b.Cleanup(server.Close)
	return server
}

func post(b *testing.B, url, body string) *http.Request {
	r, err := http.NewRequest("POST", url, bytes.NewReader([]byte(body)))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	return r
}

func get(b *testing.B, url string) *http.Request {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// benchHold is the nth hold: another client and another minute each time.
func benchHold(start time.Time, n int64) string {
	at := start.AddDate(0, 0, 7*int(n/(480*20)%40)).Add(time.Duration(n%480) * time.Minute)
	return fmt.Sprintf(`{"appointmentTypeId":"tiny","slotStartDate":"%s","specialistId":"s%02d","clientId":"client-secret-%016d"}`,
		at.Format(time.RFC3339), n/480%20, n)
}

func benchMonday() time.Time {
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, 1)
	}
	return day.Add(9 * time.Hour)
}

func BenchmarkHoldHTTP(b *testing.B) {
	server, start := benchHouse(b, 20), benchMonday()
	hammer(b, func(n int64) *http.Request { return post(b, server.URL+"/v1/holds", benchHold(start, n)) }, http.StatusCreated)
}

func BenchmarkHoldNoop(b *testing.B) {
	server, start := noop(b, "POST", 280), benchMonday()
	hammer(b, func(n int64) *http.Request { return post(b, server.URL+"/v1/holds", benchHold(start, n)) }, http.StatusOK)
}

// oneByOne writes each request in a transaction of its own, as a server without group commit does.
type oneByOne struct {
	store.Store
	mu sync.Mutex
}

func (s *oneByOne) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Write(ctx, fn)
}

// BenchmarkBookHTTP books over 32 connections, turn by turn at a server as it is and at one that commits each booking by
// itself, and reports both and their ratio.
func BenchmarkBookHTTP(b *testing.B) {
	const callers, each = 32, 1600
	start := benchMonday()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	ours, theirs := benchHouse(b, 20), benchHouseOn(b, 20, &oneByOne{Store: benchStore(b)})
	var n int64 // of the booking, the same ones at both
	turn := func(server *httptest.Server) time.Duration {
		var calls sync.WaitGroup
		began := time.Now()
		for caller := range int64(callers) {
			calls.Go(func() {
				for i := n + caller; i < n+each; i += callers {
					r := post(b, server.URL+"/v1/appointment-types/tiny/book", benchBooking(start, i))
					r.Header.Set("Idempotency-Key", fmt.Sprintf("booking-%d", i))
					answer, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					body, err := io.ReadAll(answer.Body)
					answer.Body.Close()
					if err != nil || answer.StatusCode != http.StatusCreated {
						b.Errorf("booking %d: got %d: %s (%v)", i, answer.StatusCode, body, err)
						return
					}
				}
			})
		}
		calls.Wait()
		return time.Since(began)
	}
	for b.Loop() {
		var together, alone time.Duration
		for range 3 {
			together += turn(ours)
			alone += turn(theirs)
			n += each
		}
		b.ReportMetric(3*each/together.Seconds(), "bookings/s")
		b.ReportMetric(3*each/alone.Seconds(), "one-by-one/s")
		b.ReportMetric(alone.Seconds()/together.Seconds(), "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// benchBooking is the nth booking: the time and the client of the nth hold.
func benchBooking(start time.Time, n int64) string {
	hold := strings.TrimPrefix(benchHold(start, n), `{"appointmentTypeId":"tiny",`)
	return `{"patient":{"name":"Rosa Winter","email":"rosa@example.org","phone":"030 1234567"},` + hold
}

// 30 days of 20 specialists, from the cache.
func benchTimeslots(server *httptest.Server) string {
	from := store.DateOf(time.Now().UTC()).AddDays(1)
	return server.URL + "/v1/appointment-types/checkup/timeslots?from=" + from.String() + "&to=" + from.AddDays(30).String()
}

func BenchmarkTimeslotsHTTP(b *testing.B) {
	server := benchHouse(b, 20)
	url := benchTimeslots(server)
	hammer(b, func(int64) *http.Request { return get(b, url) }, http.StatusOK)
}

// The handler that does nothing sends as many bytes.
func BenchmarkTimeslotsNoop(b *testing.B) {
	answer, err := http.Get(benchTimeslots(benchHouse(b, 20)))
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	size, err := io.Copy(io.Discard, answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d bytes", size)
	server := noop(b, "GET", int(size))
	hammer(b, func(int64) *http.Request { return get(b, server.URL+"/v1/timeslots") }, http.StatusOK)
}

// The handler that does nothing and says nothing.
func BenchmarkNoop(b *testing.B) {
	server := noop(b, "GET", 2)
	hammer(b, func(int64) *http.Request { return get(b, server.URL+"/v1/timeslots") }, http.StatusOK)
}

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
	"testing"
	"time"

	"github.com/julienschmidt/httprouter"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/web"
)

// The benchmarks of package web report ratios: each benchmark of a route alternates with a handler that only reads the
// body and sends the same number of bytes, over the same kind of connection and client.
//
//	go test ./web -run '^$' -bench HTTP -benchtime 1x

// benchHouse opens a clinic with this many specialists who work on weekdays from 9 to 5 and serve "checkup" and
// "tiny". Its log is written and discarded.
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
	return benchHouseWith(b, specialists, db, func(*engine.Options) {})
}

// benchHouseWith is benchHouseOn with additional engine options and settings. If the options contain a queue, the
// engine delivers its operations.
func benchHouseWith(b *testing.B, specialists int, db store.Store, more func(*engine.Options),
	settings ...func(*clinic.Settings)) *httptest.Server {
	b.Helper()
	ctx := context.Background()
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	options := engine.Options{Store: db, Holds: live, Logger: logger, AdminKey: adminKey}
	more(&options)
	e, err := engine.New(ctx, options)
	if err != nil {
		b.Fatal(err)
	}
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC"}}
	if options.Queue != nil {
		f.Clinic.Settings = &clinic.Settings{ReminderHours: clinic.SetupReminderHours}
	}
	checkup := clinic.AppointmentTypeEntry{
		ID: "checkup", Name: "Check-up", DurationMinutes: 30, HorizonDays: 60, Capacity: 1, HoldTTLSeconds: 1, MaxHoldSeconds: 900, HoldQuota: 100, Active: true,
	}
	tiny := checkup
	tiny.ID, tiny.DurationMinutes, tiny.HorizonDays = "tiny", 1, 365
	for i := range specialists {
		p := clinic.SpecialistEntry{ID: fmt.Sprintf("s%02d", i), Name: "Dr", Active: true}
		for day := 1; day <= 5; day++ {
			p.WeeklyHours = append(p.WeeklyHours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 9 * 60, End: 17 * 60})
		}
		f.Specialists = append(f.Specialists, p)
		checkup.Specialists = append(checkup.Specialists, clinic.AssignmentEntry{SpecialistID: p.ID})
	}
	tiny.Specialists = checkup.Specialists
	f.AppointmentTypes = []clinic.AppointmentTypeEntry{checkup, tiny}
	if _, err := e.Clinic.Import(ctx, "system", f); err != nil {
		b.Fatal(err)
	}
	for _, set := range settings {
		if _, err := e.Clinic.UpdateSettings(ctx, "system", set); err != nil {
			b.Fatal(err)
		}
	}
	s, err := web.New(e, web.Options{Logger: logger})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(s.Handler())
	var running sync.WaitGroup
	runs, stop := context.WithCancel(ctx)
	if options.Queue != nil {
		running.Go(func() { e.Run(runs) })
	}
	b.Cleanup(func() {
		server.Close()
		stop()
		running.Wait()
		if err := live.Close(); err != nil {
			b.Error(err)
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return server
}

// asked is one side of a comparison: the nth request, and the expected status.
type asked struct {
	request func(n int64) *http.Request
	want    int
}

// versus sends requests to ours and to peer in alternating rounds of each requests over 32 persistent connections, so
// that other load on the machine affects both. It reports both rates and their ratio.
func versus(b *testing.B, ours, peer asked, each int64) {
	b.Helper()
	versusOver(b, 32, ours, peer, each)
}

func versusOver(b *testing.B, callers int, ours, peer asked, each int64) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: callers, DisableCompression: true}}
	defer client.CloseIdleConnections()
	const turns = 5
	n := int64(1)
	for b.Loop() {
		var our, their time.Duration
		for range turns {
			their += hammer(b, client, callers, peer, n, each)
			our += hammer(b, client, callers, ours, n, each)
			n += each
		}
		b.ReportMetric(float64(turns*each)/our.Seconds(), "requests/s")
		b.ReportMetric(float64(turns*each)/their.Seconds(), "peer/s")
		b.ReportMetric(their.Seconds()/our.Seconds(), "ratio")
		b.ReportMetric(0, "ns/op")
	}
}

// hammer sends count requests, starting with number first, and returns the time until all responses have arrived.
func hammer(b *testing.B, client *http.Client, callers int, to asked, first, count int64) time.Duration {
	b.Helper()
	var calls sync.WaitGroup
	began := time.Now()
	for caller := range callers {
		caller, callers := int64(caller), int64(callers)
		calls.Go(func() {
			for n := first + caller; n < first+count; n += callers {
				answer, err := client.Do(to.request(n))
				if err != nil {
					b.Error(err)
					return
				}
				size, err := io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				if err != nil || answer.StatusCode != to.want {
					b.Errorf("request %d: got %d and %d bytes: %v", n, answer.StatusCode, size, err)
					return
				}
			}
		})
	}
	calls.Wait()
	return time.Since(began)
}

// noop returns a server that responds immediately with a body of size bytes.
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

// benchHold returns the body of the nth hold. Each hold has a different client and a different minute.
func benchHold(start time.Time, n int64) string {
	at := start.AddDate(0, 0, 7*int(n/(480*100)%40)).Add(time.Duration(n%480) * time.Minute)
	return fmt.Sprintf(`{"appointmentTypeId":"tiny","slotStartDate":"%s","specialistId":"s%02d","clientId":"client-secret-%016d"}`,
		at.Format(time.RFC3339), n/480%100, n)
}

func benchMonday() time.Time {
	day := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, 1)
	}
	return day.Add(9 * time.Hour)
}

func BenchmarkHoldHTTP(b *testing.B) {
	server, peer, start := benchHouse(b, 100), noop(b, "POST", 280), benchMonday()
	hold := func(url string) func(int64) *http.Request {
		return func(n int64) *http.Request { return post(b, url+"/v1/holds", benchHold(start, n)) }
	}
	versus(b, asked{hold(server.URL), http.StatusCreated}, asked{hold(peer.URL), http.StatusOK}, 4000)
}

// oneByOne writes each request in its own transaction, like a server without group commit.
type oneByOne struct {
	store.Store
	mu sync.Mutex
}

func (s *oneByOne) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Store.Write(ctx, fn)
}

// BenchmarkBookHTTP compares the speed of bookings on the same server with and without group commit. Without it, the
// server writes each booking in its own transaction. The gain depends on the disk: it grows with the time that an
// fdatasync takes.
func BenchmarkBookHTTP(b *testing.B) {
	start := benchMonday()
	book := func(server *httptest.Server) asked { return asked{bookAt(b, server, start), http.StatusCreated} }
	versus(b, book(benchHouse(b, 100)), book(benchHouseOn(b, 100, &oneByOne{Store: benchStore(b)})), 1600)
}

// BenchmarkBookNoop compares bookings with a peer that reads the same requests and responds with the same number of
// bytes.
func BenchmarkBookNoop(b *testing.B) {
	for _, callers := range []int{32, 128} {
		b.Run(fmt.Sprintf("connections=%d", callers), func(b *testing.B) {
			start, server, peer := benchMonday(), benchHouse(b, 100), noop(b, "POST", 1100)
			versusOver(b, callers, asked{bookAt(b, server, start), http.StatusCreated}, asked{bookAt(b, peer, start), http.StatusOK}, 4000)
		})
	}
}

// bookAt returns a function that returns the nth booking as a request to a server.
func bookAt(b *testing.B, server *httptest.Server, start time.Time) func(int64) *http.Request {
	return func(n int64) *http.Request {
		r := post(b, server.URL+"/v1/appointment-types/tiny/book", benchBooking(start, n))
		r.Header.Set("Idempotency-Key", fmt.Sprintf("booking-%d", n))
		return r
	}
}

// benchBooking returns the body of the nth booking, with the time and the client of the nth hold.
func benchBooking(start time.Time, n int64) string {
	hold := strings.TrimPrefix(benchHold(start, n), `{"appointmentTypeId":"tiny",`)
	return `{"patient":{"name":"Rosa Winter","email":"rosa@example.org","phone":"030 1234567"},` + hold
}

// benchTimeslots returns the URL that lists the timeslots of all specialists for 30 days.
func benchTimeslots(server *httptest.Server) string {
	from := store.DateOf(time.Now().UTC()).AddDays(1)
	return server.URL + "/v1/appointment-types/checkup/timeslots?from=" + from.String() + "&to=" + from.AddDays(30).String()
}

func BenchmarkTimeslotsHTTP(b *testing.B) {
	url := benchTimeslots(benchHouse(b, 20))
	_, body := sendOnce(b, get(b, url))
	peer := noop(b, "GET", len(body))
	versus(b, asked{func(int64) *http.Request { return get(b, url) }, http.StatusOK},
		asked{func(int64) *http.Request { return get(b, peer.URL+"/v1/timeslots") }, http.StatusOK}, 2000)
}

package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
	"holdfast/web"
)

// house is the clinic behind the pages. It is in UTC and open from 08:00 to 18:00 every day. Its specialists are Dr Ada
// Brandt and Dr Karim Haddad. Its types are "checkup" of 30 minutes and "longer" of 60 minutes, with both specialists,
// and "class" of 60 minutes with 3 seats, with Dr Brandt.
type house struct {
	t      testing.TB
	url    string // http://127.0.0.1:port
	engine *engine.Engine
	db     *sqlite.Store

	// date is the local date of the bookings. It is the day after tomorrow, so the whole day is in the future at any
	// hour.
	date string
	// lose drops the responses to the next requests whose path ends in this string.
	lose atomic.Pointer[string]
	// opensPlans is set by a test that opens downtime plans with the password. Other tests derive weaker keys for them.
	opensPlans bool

	// running is the server's handler between start and stop, and stop ends the server.
	running atomic.Pointer[http.Handler]
	stop    func()
}

const adminKey = "a-bootstrap-admin-key-for-tests"

func newHouse(t testing.TB, change ...func(*clinic.File)) *house {
	t.Helper()
	return newHouseWith(t, engine.Options{}, web.Options{}, change...)
}

// newHouseWith does the same as newHouse, with additional options for the engine and with options for the pages.
func newHouseWith(t testing.TB, o engine.Options, w web.Options, change ...func(*clinic.File)) *house {
	t.Helper()
	ctx := context.Background()
	db := enginetest.Database(t)
	h := &house{t: t, db: db, date: enginetest.Noon(time.UTC, 2).Format(time.DateOnly)}
	serve := h.start(o, w)
	file := clinicFile()
	for _, c := range change {
		c(&file)
	}
	if _, err := h.engine.Clinic.Import(ctx, "system", file); err != nil {
		t.Fatal(err)
	}
	serve()
	listening := httptest.NewServer(delayed(h.losing(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		handler := h.running.Load()
		if handler == nil {
			panic(http.ErrAbortHandler) // the server is stopped
		}
		(*handler).ServeHTTP(rw, r)
	}))))
	h.url = listening.URL
	t.Cleanup(func() {
		h.stop() // this ends the streams, which Close would otherwise wait for
		listening.CloseClientConnections()
		listening.Close()
	})
	return h
}

// start creates an engine and a server on the database, with an empty table of holds, as the program does when it
// starts. They run once serve is called. stop ends them, and later requests fail.
func (h *house) start(o engine.Options, w web.Options) (serve func()) {
	h.t.Helper()
	live := memory.New(memory.Options{Booked: booking.Booked(h.db)})
	o.Store, o.Holds, o.AdminKey, w.Version = h.db, live, adminKey, "test"
	o.QuickPasswords = true
	var err error
	if h.engine, err = engine.New(context.Background(), o); err != nil {
		h.t.Fatal(err)
	}
	server, err := web.New(h.engine, w)
	if err != nil {
		h.t.Fatal(err)
	}
	run, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	h.stop = func() {
		h.running.Store(nil)
		cancel()
		running.Wait()
		if err := live.Close(); err != nil {
			h.t.Error(err)
		}
	}
	return func() {
		running.Go(func() { h.engine.Run(run) })
		running.Go(func() { server.Run(run) })
		handler := server.Handler()
		h.running.Store(&handler)
	}
}

func clinicFile() clinic.File {
	f := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Clinic", Timezone: "UTC", Locale: "en"}}
	f.Clinic.Phone, f.Clinic.Address = "030 1234567", "Quay 1, Harbour"
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 8 * 60, End: 18 * 60})
	}
	for _, who := range [][2]string{{"ada", "Dr Ada Brandt"}, {"karim", "Dr Karim Haddad"}} {
		f.Specialists = append(f.Specialists, clinic.SpecialistEntry{ID: who[0],
			Name: who[1], Timezone: "UTC", Active: true, WeeklyHours: hours})
	}
	both := []clinic.AssignmentEntry{{SpecialistID: "ada", Priority: 10}, {SpecialistID: "karim", Priority: 5}}
	for _, t := range []clinic.AppointmentTypeEntry{
		{ID: "checkup", Name: "Check-up", Description: "A look at everything", DurationMinutes: 30, Specialists: both},
		{ID: "longer", Name: "Longer visit", DurationMinutes: 60, Specialists: both},
		{ID: "class", Name: "Breathing class", DurationMinutes: 60, Capacity: 3, Specialists: both[:1]},
	} {
		t.HorizonDays, t.Capacity, t.Active = 60, max(t.Capacity, 1), true
		t.HoldTTLSeconds, t.MaxHoldSeconds, t.HoldQuota = 30, 900, 3
		f.AppointmentTypes = append(f.AppointmentTypes, t)
	}
	return f
}

// losing behaves like the server, with two exceptions: it drops the responses that lose selects (the request takes
// effect, and the connection breaks before the response is sent), and it serves axe, because pages may load scripts
// only from their own server.
func (h *house) losing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == axePath {
			rw.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			rw.Header().Set("Cache-Control", "max-age=3600")
			_, _ = rw.Write(axe) // the browser may have closed the connection
			return
		}
		if lost := h.lose.Load(); lost != nil && strings.HasSuffix(r.URL.Path, *lost) {
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		next.ServeHTTP(rw, r)
	})
}

// loseAnswers drops the responses to requests whose path ends in path. An empty path turns this off.
func (h *house) loseAnswers(path string) {
	if path == "" {
		h.lose.Store(nil)
		return
	}
	h.lose.Store(&path)
}

// at returns a slot start on the house's date in the wire format: at("10:00").
func (h *house) at(clock string) string { return h.date + "T" + clock + ":00Z" }

// reply is a response from the API.
type reply struct {
	status int
	raw    string
	body   map[string]any
}

// get returns a value of the body by its path: get("appointment", "id").
func (r reply) get(path ...string) any {
	var v any = r.body
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

type header map[string]string

var asAdmin = header{"Authorization": "Bearer " + adminKey}

// call calls the API directly, without the browser.
func (h *house) call(method, path string, body any, headers ...header) reply {
	h.t.Helper()
	got, err := h.ask(method, path, body, headers...)
	if err != nil {
		h.t.Fatal(err)
	}
	return got
}

// ask does the same as call. It is for goroutines, which must not end a test.
func (h *house) ask(method, path string, body any, headers ...header) (reply, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return reply{}, err
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, h.url+path, content)
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	for _, set := range headers {
		for name, value := range set {
			r.Header.Set(name, value)
		}
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	got := reply{status: answer.StatusCode, raw: string(raw)}
	_ = json.Unmarshal(raw, &got.body) // a response that is not JSON has no body
	return got, err
}

// must does the same as call, and fails the test if the response has a different status.
func (h *house) must(status int, method, path string, body any, headers ...header) reply {
	h.t.Helper()
	got := h.call(method, path, body, headers...)
	if got.status != status {
		h.t.Fatalf("%s %s: got %d, want %d\n%s", method, path, got.status, status, got.raw)
	}
	return got
}

// hold holds one specialist's time for another client.
func (h *house) hold(client, specialist, start string, ttlSeconds int) reply {
	h.t.Helper()
	return h.must(201, "POST", "/v1/holds", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": start, "specialistId": specialist, "clientId": client,
		"ttlSeconds": ttlSeconds,
	})
}

// holdAll holds a time with every specialist who offers it, so that the page for any specialist shows it as held.
func (h *house) holdAll(client, start string) {
	h.t.Helper()
	for _, specialist := range []string{"ada", "karim"} {
		h.hold(client, specialist, start, 300)
	}
}

// bookings lists the confirmed appointments of the next 30 days, as an admin sees them.
func (h *house) bookings() []map[string]any {
	h.t.Helper()
	today := time.Now().UTC()
	days := "&from=" + today.Format(time.DateOnly) + "&to=" + today.AddDate(0, 0, 30).Format(time.DateOnly)
	got := h.must(200, "GET", "/v1/appointments?status=confirmed&limit=200"+days, nil, asAdmin)
	var list []map[string]any
	all, _ := got.get("appointments").([]any)
	for _, a := range all {
		list = append(list, a.(map[string]any))
	}
	return list
}

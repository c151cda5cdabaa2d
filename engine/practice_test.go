package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
)

// testPractice is a practice for the tests of agents and the queue: the real engine with a real database, a real
// queue file and the real table of holds, in front of the fake upstream. It can be stopped and started again on the
// same files, as a restart does.
type testPractice struct {
	*engine.Engine
	t        testing.TB
	dir      string
	keys     *token.Keyring
	upstream *upstreamtest.Server // nil: none is configured
	line     *line                // to the upstream
	change   func(*engine.Options)
	log      lockedBuffer

	store *sqlite.Store
	queue *bolt.Queue
	holds *memory.Backend
	pacer *upstream.Pacer
	stop  func()
	fatal error
}

// practiceOptions configure a test practice.
type practiceOptions struct {
	upstream    *upstreamtest.Options
	specialists int // chairs; 1 if zero
	change      func(*engine.Options)
	file        func(*clinic.File)
}

// The GUIDs of a practice's chairs and its type. They are invented.
const (
	viewGUID = "11111111-2222-4333-8444-555555555555"
	typeGUID = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
)

func columnGUID(n int) string  { return fmt.Sprintf("66666666-7777-4888-8999-%012d", n) }
func patientGUID(n int) string { return fmt.Sprintf("3f2504e0-4f89-41d3-9a0c-%012d", n) }

var zoneOfPractice = mustZone("America/New_York")

func mustZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

// newPractice opens a practice. An upstream has every chair and the type "cleaning" of 30 minutes.
func newPractice(t testing.TB, o practiceOptions) *testPractice {
	t.Helper()
	p := &testPractice{t: t, dir: t.TempDir(), keys: token.Generate(time.Now()), change: o.change}
	if o.upstream != nil {
		if o.upstream.Zone == nil {
			o.upstream.Zone = zoneOfPractice
		}
		p.upstream = upstreamtest.New(*o.upstream)
		p.line = &line{to: p.upstream}
	}
	p.start()
	t.Cleanup(func() {
		p.end()
		if p.fatal != nil {
			t.Errorf("the queue was given up: %v", p.fatal)
		}
	})
	file := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Dental", Timezone: "America/New_York", Locale: "en"}}
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	var everyone []clinic.AssignmentEntry
	for n := range max(o.specialists, 1) {
		s := clinic.SpecialistEntry{ID: fmt.Sprintf("chair%d", n), Name: fmt.Sprintf("Chair %d", n), Timezone: "America/New_York", Active: true, WeeklyHours: hours}
		if p.upstream != nil {
			s.Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: viewGUID, ScheduleColumnGUID: columnGUID(n)}
		}
		file.Specialists = append(file.Specialists, s)
		everyone = append(everyone, clinic.AssignmentEntry{SpecialistID: s.ID, Priority: 1})
	}
	kind := clinic.AppointmentTypeEntry{
		ID: "cleaning", Name: "Cleaning", DurationMinutes: 30, HorizonDays: 365, Capacity: 1, HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3,
		Active: true, Specialists: everyone,
	}
	if p.upstream != nil {
		kind.Upstream = &clinic.UpstreamType{AppointmentTypeGUID: typeGUID}
	}
	file.AppointmentTypes = append(file.AppointmentTypes, kind)
	if o.file != nil {
		o.file(&file)
	}
	if _, err := p.Clinic.Import(context.Background(), "system", file); err != nil {
		t.Fatal(err)
	}
	return p
}

// start opens the files and runs the engine.
func (p *testPractice) start() {
	p.t.Helper()
	ctx := context.Background()
	enginetest.Empty(p.t, filepath.Join(p.dir, "holdfast.db"))
	var err error
	if p.store, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(p.dir, "holdfast.db")}); err != nil {
		p.t.Fatal(err)
	}
	if p.queue, err = bolt.Open(ctx, bolt.Options{Path: filepath.Join(p.dir, "queue.bolt")}); err != nil {
		p.t.Fatal(err)
	}
	p.holds = memory.New(memory.Options{Booked: booking.Booked(p.store)})
	p.pacer = upstream.NewPacer(0)
	o := engine.Options{
		Store: p.store, Holds: p.holds, Queue: p.queue, QueueRebuilt: p.queue.Rebuilt(), Keyring: p.keys, Pacer: p.pacer,
		Logger: slog.New(slog.NewTextHandler(&p.log, nil)), OnFatal: func(err error) { p.fatal = err },
		Presence: presence.Options{Sweep: 100 * time.Hour, Mirror: 100 * time.Hour, Reconcile: 100 * time.Hour},
	}
	if p.upstream != nil {
		if o.Upstream, err = upstream.New(upstream.Options{
			URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret", Pacer: p.pacer, HTTP: &http.Client{Transport: p.line},
		}); err != nil {
			p.t.Fatal(err)
		}
	}
	if p.change != nil {
		p.change(&o)
	}
	if p.Engine, err = engine.New(ctx, o); err != nil {
		p.t.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Engine.Run(run)
	}()
	p.stop = func() {
		cancel()
		<-done
	}
}

// end stops everything and checks the database.
func (p *testPractice) end() {
	p.t.Helper()
	p.stop()
	if err := p.store.Check(context.Background()); err != nil {
		p.t.Errorf("the database breaks its own rules: %v", err)
	}
	p.close()
}

func (p *testPractice) close() {
	p.t.Helper()
	if err := errors.Join(p.holds.Close(), p.queue.Close(), p.store.Close()); err != nil {
		p.t.Error(err)
	}
}

// restart interrupts the running engine and starts it again on the same files.
func (p *testPractice) restart() {
	p.t.Helper()
	p.end()
	p.start()
}

// restartOften is restart without checking the whole database each time, for long stories.
func (p *testPractice) restartOften() {
	p.t.Helper()
	p.stop()
	p.close()
	p.start()
}

var agentKey = record.Principal{KeyID: "agent-key", Scope: store.ScopeAgent}

// slotAt returns the start n half hours after tomorrow's midnight in the practice's zone.
func (p *testPractice) slotAt(n int) time.Time {
	y, m, d := time.Now().In(zoneOfPractice).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, zoneOfPractice).Add(time.Duration(n) * 30 * time.Minute).UTC()
}

// wish returns a booking of slot n in the first chair for patient n, with its own token.
func (p *testPractice) wish(n int) agent.BookRequest { return p.wishFor(n, 0, p.slotAt(n)) }

func (p *testPractice) wishFor(patient, chair int, start time.Time) agent.BookRequest {
	p.t.Helper()
	signed, _, err := p.keys.IssueBookingAuth("session", patientGUID(patient), time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	column, view, kind := columnGUID(chair), viewGUID, typeGUID
	if p.upstream == nil {
		column, view, kind = fmt.Sprintf("chair%d", chair), "", "cleaning"
	}
	return agent.BookRequest{
		PatientGUID: patientGUID(patient), BookingAuthToken: signed, StartTime: upstream.FormatTime(start, zoneOfPractice),
		ScheduleViewGUID: view, ScheduleColumnGUID: column, AppointmentTypeGUID: kind, Minutes: 30,
	}
}

func (p *testPractice) ask(b agent.BookRequest) agent.Answer {
	p.t.Helper()
	a, err := p.Agent.Book(context.Background(), agentKey, b)
	if err != nil {
		p.t.Fatalf("book: %v", err)
	}
	return a
}

// bookings returns all appointments.
func (p *testPractice) bookings() []store.Appointment {
	p.t.Helper()
	var all []store.Appointment
	for cursor := ""; ; {
		list, next, err := p.store.Appointments(context.Background(), store.AppointmentFilter{Cursor: cursor, Limit: 500})
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, list...)
		if cursor = next; next == "" {
			return all
		}
	}
}

// bookingOf returns the only appointment.
func (p *testPractice) bookingOf() store.Appointment {
	p.t.Helper()
	all := p.bookings()
	if len(all) != 1 {
		p.t.Fatalf("there are %d appointments, want 1", len(all))
	}
	return all[0]
}

// until waits in virtual time until ok returns true, for at most limit.
func (p *testPractice) until(limit time.Duration, what string, ok func() bool) {
	p.t.Helper()
	for end := time.Now().Add(limit); !ok(); {
		if time.Now().After(end) {
			n, _ := p.queue.Counts(context.Background())
			list, _ := p.queue.Operations(context.Background(), store.OperationFilter{})
			promised, _ := p.store.Outbox(context.Background(), "", 10)
			p.t.Fatalf("after %s still not: %s; the queue has %+v: %+v\npromised: %+v", limit, what, n, list, promised)
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// settled reports whether no operation is pending.
func (p *testPractice) settled() bool {
	n, err := p.queue.Counts(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	list, err := p.store.Outbox(context.Background(), "", 500)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, op := range list {
		if !op.Status.Final() {
			return false
		}
	}
	return n.Pending+n.Processing == 0
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// line is the connection to the upstream. It can be cut, so that nothing is sent, or dead, so that no answer returns.
type line struct {
	to http.RoundTripper

	mu        sync.Mutex
	cut, dead bool
	calls     []time.Time // while it was cut or dead
}

func (l *line) set(cut, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.dead = cut, dead
}

func (l *line) tried() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	cut, dead := l.cut, l.dead
	if cut || dead {
		l.calls = append(l.calls, time.Now())
	}
	l.mu.Unlock()
	switch {
	case cut:
		return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	case dead:
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return l.to.RoundTrip(r)
}

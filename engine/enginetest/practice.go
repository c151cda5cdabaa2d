package enginetest

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
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/bolt"
	"holdfast/store/sqlite"
	"holdfast/store/sqlite/sqlitetest"
)

// AlwaysOpen returns a chair that the practice-management system lists as open every day.
func AlwaysOpen() []upstreamtest.Column {
	return []upstreamtest.Column{{ScheduleViewGUID: ViewGUID, ScheduleColumnGUID: ColumnGUID(0),
		Weekdays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}}
}

// LookUp is the procedure that looks up a patient's appointments.
const LookUp = "GetAppointmentListByPatient"

// Asked returns the times of the calls to a procedure.
func (p *TestPractice) Asked(procedure string) (at []time.Time) {
	for _, c := range p.Upstream.Calls() {
		if c.Procedure == procedure {
			at = append(at, c.At)
		}
	}
	return at
}

// Jane is a patient whom the practice-management system does not have yet.
var Jane = agent.Patient{FirstName: "Jane", LastName: "Roe", BirthDate: "1980-02-03", Phone: "+1 555 0100",
	UUI: "call-1"}

// OpenPractice opens a practice whose upstream lists its openings. The engine fetches them every 5 minutes and uses
// them for at most an hour.
func OpenPractice(t *testing.T, columns []upstreamtest.Column) *TestPractice {
	return NewPractice(t, PracticeOptions{
		Upstream: &upstreamtest.Options{Columns: columns},
		Change: func(o *engine.Options) {
			o.Practice.OpeningsEvery, o.Practice.OpeningsMaxAge, o.TimeslotsCacheTTL = 5*time.Minute, time.Hour,
				24*time.Hour
		},
		File: func(f *clinic.File) { f.AppointmentTypes[0].HorizonDays = 20 },
	})
}

// TestPractice is a practice for the tests of agents and the queue: the real engine with a real database, a real queue
// file and the real table of holds, connected to the fake upstream. It can be stopped and started again on the same
// files, as in a restart.
type TestPractice struct {
	*engine.Engine
	T        testing.TB
	Dir      string
	Keys     *token.Keyring
	Upstream *upstreamtest.Server // nil means that no upstream is configured
	Line     *Line                // connection to the upstream
	Change   func(*engine.Options)
	Log      Buffer

	Store *sqlite.Store
	Queue *bolt.Queue
	Holds *memory.Backend
	Pacer *upstream.Pacer
	Stop  func()
	Fatal error
}

// PracticeOptions configure a test practice.
type PracticeOptions struct {
	Upstream    *upstreamtest.Options
	Specialists int // number of chairs; 0 means 1
	Change      func(*engine.Options)
	File        func(*clinic.File)
}

// The GUIDs of a practice's chairs and its type. They are made up.
const (
	ViewGUID = "11111111-2222-4333-8444-555555555555"
	TypeGUID = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
)

// ColumnGUID returns the GUID of the nth chair.
func ColumnGUID(n int) string { return fmt.Sprintf("66666666-7777-4888-8999-%012d", n) }

// PatientGUID returns the GUID of the nth patient.
func PatientGUID(n int) string { return fmt.Sprintf("3f2504e0-4f89-41d3-9a0c-%012d", n) }

// PracticeZone is the zone of every test practice.
var PracticeZone = mustZone("America/New_York")

func mustZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

// NewPractice opens a practice. If there is an upstream, it contains every chair and the 30-minute type "cleaning".
func NewPractice(t testing.TB, o PracticeOptions) *TestPractice {
	t.Helper()
	p := &TestPractice{T: t, Dir: t.TempDir(), Keys: token.Generate(time.Now()), Change: o.Change}
	if o.Upstream != nil {
		if o.Upstream.Zone == nil {
			o.Upstream.Zone = PracticeZone
		}
		p.Upstream = upstreamtest.New(*o.Upstream)
		p.Line = &Line{to: p.Upstream}
	}
	p.Open()
	t.Cleanup(func() {
		p.End()
		if p.Fatal != nil {
			t.Errorf("the queue was given up: %v", p.Fatal)
		}
	})
	file := clinic.File{Clinic: &clinic.FileClinic{Name: "Harbour Dental", Timezone: "America/New_York", Locale: "en"}}
	var hours []clinic.HoursEntry
	for day := range 7 {
		hours = append(hours, clinic.HoursEntry{Weekday: store.Weekday(day), Start: 0, End: 1440})
	}
	var everyone []clinic.AssignmentEntry
	for n := range max(o.Specialists, 1) {
		s := clinic.SpecialistEntry{ID: fmt.Sprintf("chair%d", n), Name: fmt.Sprintf("Chair %d", n),
			Timezone: "America/New_York", Active: true, WeeklyHours: hours}
		if p.Upstream != nil {
			s.Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: ViewGUID, ScheduleColumnGUID: ColumnGUID(n)}
		}
		file.Specialists = append(file.Specialists, s)
		everyone = append(everyone, clinic.AssignmentEntry{SpecialistID: s.ID, Priority: 1})
	}
	kind := clinic.AppointmentTypeEntry{
		ID: "cleaning", Name: "Cleaning", DurationMinutes: 30, HorizonDays: 365, Capacity: 1, HoldTTLSeconds: 30,
		MaxHoldSeconds: 900, HoldQuota: 3, Active: true, Specialists: everyone,
	}
	if p.Upstream != nil {
		kind.Upstream = &clinic.UpstreamType{AppointmentTypeGUID: TypeGUID}
	}
	file.AppointmentTypes = append(file.AppointmentTypes, kind)
	if o.File != nil {
		o.File(&file)
	}
	if _, err := p.Clinic.Import(context.Background(), "system", file); err != nil {
		t.Fatal(err)
	}
	return p
}

// Open opens the files and runs the engine.
func (p *TestPractice) Open() {
	p.T.Helper()
	ctx := context.Background()
	sqlitetest.Empty(p.T, filepath.Join(p.Dir, "holdfast.db"))
	var err error
	if p.Store, err = sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(p.Dir, "holdfast.db")}); err != nil {
		p.T.Fatal(err)
	}
	if p.Queue, err = bolt.Open(ctx, bolt.Options{Path: filepath.Join(p.Dir, "queue.bolt")}); err != nil {
		p.T.Fatal(err)
	}
	p.Holds = memory.New(memory.Options{Booked: booking.Booked(p.Store)})
	p.Pacer = upstream.NewPacer(0)
	o := engine.Options{
		Store: p.Store, Holds: p.Holds, Queue: p.Queue, QueueRebuilt: p.Queue.Rebuilt(), Keyring: p.Keys,
		QuickPasswords: true,
		Pacer:          p.Pacer, Logger: slog.New(slog.NewTextHandler(&p.Log, nil)),
		OnFatal:  func(err error) { p.Fatal = err },
		Presence: presence.Options{Sweep: 100 * time.Hour, Mirror: 100 * time.Hour, Reconcile: 100 * time.Hour},
	}
	if p.Upstream != nil {
		if o.Upstream, err = upstream.New(upstream.Options{
			URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret",
			Pacer: p.Pacer, HTTP: &http.Client{Transport: p.Line},
		}); err != nil {
			p.T.Fatal(err)
		}
	}
	if p.Change != nil {
		p.Change(&o)
	}
	if p.Engine, err = engine.New(ctx, o); err != nil {
		p.T.Fatal(err)
	}
	run, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.Engine.Run(run)
	}()
	p.Stop = func() {
		cancel()
		<-done
	}
}

// End stops everything and checks the database.
func (p *TestPractice) End() {
	p.T.Helper()
	p.Stop()
	if err := p.Store.Check(context.Background()); err != nil {
		p.T.Errorf("the database breaks its own rules: %v", err)
	}
	p.close()
}

func (p *TestPractice) close() {
	p.T.Helper()
	if err := errors.Join(p.Holds.Close(), p.Queue.Close(), p.Store.Close()); err != nil {
		p.T.Error(err)
	}
}

// Restart interrupts the running engine and starts it again on the same files.
func (p *TestPractice) Restart() {
	p.T.Helper()
	p.End()
	p.Open()
}

// RestartOften is like Restart, but does not check the whole database each time. It is meant for long tests.
func (p *TestPractice) RestartOften() {
	p.T.Helper()
	p.Stop()
	p.close()
	p.Open()
}

// AgentKey is the principal of an agent.
var AgentKey = record.Principal{KeyID: "agent-key", Scope: store.ScopeAgent}

// SlotAt returns the start time n half hours after the start of tomorrow in the practice's zone.
func (p *TestPractice) SlotAt(n int) time.Time {
	y, m, d := time.Now().In(PracticeZone).Date()
	return time.Date(y, m, d+1, 0, 0, 0, 0, PracticeZone).Add(time.Duration(n) * 30 * time.Minute).UTC()
}

// Wish returns patient n's booking request for slot n in the first chair, with the patient's own token.
func (p *TestPractice) Wish(n int) agent.BookRequest { return p.WishFor(n, 0, p.SlotAt(n)) }

// WishFor returns a patient's booking request for a start time in a chair, with the patient's own token.
func (p *TestPractice) WishFor(patient, chair int, start time.Time) agent.BookRequest {
	p.T.Helper()
	signed, _, err := p.Keys.IssueBookingAuth("session", PatientGUID(patient), time.Now())
	if err != nil {
		p.T.Fatal(err)
	}
	column, view, kind := ColumnGUID(chair), ViewGUID, TypeGUID
	if p.Upstream == nil {
		column, view, kind = fmt.Sprintf("chair%d", chair), "", "cleaning"
	}
	return agent.BookRequest{
		PatientGUID: PatientGUID(patient), BookingAuthToken: signed,
		StartTime: upstream.FormatTime(start, PracticeZone), ScheduleViewGUID: view, ScheduleColumnGUID: column,
		AppointmentTypeGUID: kind, Minutes: 30,
	}
}

// Ask books the way an agent does and returns the Answer.
func (p *TestPractice) Ask(b agent.BookRequest) agent.Answer {
	p.T.Helper()
	a, err := p.Agent.Book(context.Background(), AgentKey, b)
	if err != nil {
		p.T.Fatalf("book: %v", err)
	}
	return a
}

// Bookings returns all appointments.
func (p *TestPractice) Bookings() []store.Appointment {
	p.T.Helper()
	var all []store.Appointment
	for cursor := ""; ; {
		list, next, err := p.Store.Appointments(context.Background(),
			store.AppointmentFilter{Cursor: cursor, Limit: 500})
		if err != nil {
			p.T.Fatal(err)
		}
		all = append(all, list...)
		if cursor = next; next == "" {
			return all
		}
	}
}

// BookingOf returns the practice's only appointment.
func (p *TestPractice) BookingOf() store.Appointment {
	p.T.Helper()
	all := p.Bookings()
	if len(all) != 1 {
		p.T.Fatalf("there are %d appointments, want 1", len(all))
	}
	return all[0]
}

// Until waits in virtual time until ok returns true, for at most limit.
func (p *TestPractice) Until(limit time.Duration, what string, ok func() bool) {
	p.T.Helper()
	for end := time.Now().Add(limit); !ok(); {
		if time.Now().After(end) {
			n, _ := p.Queue.Counts(context.Background())
			list, _ := p.Queue.Operations(context.Background(), store.OperationFilter{})
			promised, _ := p.Store.Outbox(context.Background(), "", 10)
			p.T.Fatalf("after %s still not: %s; the queue has %+v: %+v\npromised: %+v", limit, what, n, list, promised)
		}
		time.Sleep(time.Second)
		synctest.Wait()
	}
}

// Settled reports whether no operation is pending, apart from those that wait until a person decides about an earlier
// operation of the same appointment.
func (p *TestPractice) Settled() bool {
	n, err := p.Queue.Counts(context.Background())
	if err != nil {
		p.T.Fatal(err)
	}
	list, err := p.Store.Outbox(context.Background(), "", 500)
	if err != nil {
		p.T.Fatal(err)
	}
	undecided, waiting := map[string]bool{}, 0
	for _, op := range list {
		upstream := booking.ChannelOf(op.Kind) == "upstream"
		switch {
		case op.Status.Final():
			undecided[op.AppointmentID] = undecided[op.AppointmentID] || upstream && op.NeedsReview
		case upstream && undecided[op.AppointmentID]:
			waiting++
		default:
			return false
		}
	}
	return n.Pending+n.Processing <= waiting
}

// Buffer is a log that several goroutines can write to.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *Buffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *Buffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Line is the connection to the upstream. It can be cut, so that no request is sent, or dead, so that no response comes
// back.
type Line struct {
	to http.RoundTripper

	mu        sync.Mutex
	cut, dead bool
	calls     []time.Time // times of the calls that were made while the line was cut or dead
}

// Set makes the line cut, dead or working.
func (l *Line) Set(cut, dead bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.dead = cut, dead
}

// Tried returns the times of the calls made while the line was cut or dead.
func (l *Line) Tried() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls
}

func (l *Line) RoundTrip(r *http.Request) (*http.Response, error) {
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

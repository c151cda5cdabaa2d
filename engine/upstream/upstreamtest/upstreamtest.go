// Package upstreamtest is a practice-management system that does as it is told: it
// speaks the XML API of package upstream, obeys a script of outcomes (refusals,
// limits, replies that are lost before or after the write, writes that come late,
// garbage) and keeps score, so that a test can count what was booked twice or not at
// all. `holdfast demo` runs against it too, limited to a few writes a minute.
//
// A Server is an http.Handler, to be served on a port, and an http.RoundTripper, to
// be called without a network, which is what works inside a testing/synctest bubble.
// It starts no goroutines and keeps all time with time.Now.
//
// By default it is as careless as the systems it stands for: it has no idempotency
// key and writes the same appointment as often as it is asked to.
package upstreamtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome is what becomes of one call.
type Outcome string

// The outcomes. Each can be had for every procedure; where a procedure writes
// nothing there is nothing to apply.
const (
	OK             Outcome = "ok"
	OKNoGUID       Outcome = "ok_no_guid"       // applied; the answer has no GUID
	RateLimited    Outcome = "rate_limited"     // Too many requests
	SlotTaken      Outcome = "slot_taken"       // Success, with a Result of Error: …
	AlreadyBooked  Outcome = "already_booked"   // Error
	PatientUnknown Outcome = "patient_unknown"  // Success, with a Result of Error: …
	Unauthorized   Outcome = "unauthorized"     // Error: the credentials are not accepted
	LostApplied    Outcome = "lost_applied"     // applied; the connection is cut before the answer
	LostNotApplied Outcome = "lost_not_applied" // the connection is cut, and that is all
	Late           Outcome = "late"             // the connection is cut; applied Step.Delay later
	Slow           Outcome = "slow"             // applied at once, answered Step.Delay later
	Half           Outcome = "half"             // half of the answer, then the connection is cut
	Garbage        Outcome = "garbage"          // bytes that are no XML
	WrongRoot      Outcome = "wrong_root"       // XML of somebody else
	ServerError    Outcome = "server_error"     // HTTP 500
)

// Step is one line of a script.
type Step struct {
	Procedure string // empty means SetAppointment
	Outcome   Outcome
	// Delay is waited before the answer, or by Late before the write. Slow and Late
	// wait 30 s if it is zero.
	Delay time.Duration
	// Applied says whether Half, Garbage, WrongRoot and ServerError write all the same.
	Applied bool
}

// Options are what a Server starts with; the zero value accepts everything.
type Options struct {
	ClientID, User, Password string         // what a request must carry; empty accepts any
	Zone                     *time.Location // of the clinic; nil means UTC
	// WritesPerMinute is how many SetAppointment calls are let through in any 60 s;
	// the others are answered Too many requests. Zero means no limit. They do not use
	// up a line of the script.
	WritesPerMinute int
	Patients        []string // GUIDs of the patients there are; nil means whoever is named
	// NoLookup: the vendor does not let patients be looked up.
	NoLookup bool
	// RefuseTaken makes it careful: an appointment that overlaps another of its column
	// is refused.
	RefuseTaken bool
	Columns     []Column
	ExtraDays   int // how many days GetOnlineReservations lists before and after the requested dates
	// Decide is asked when the script has no line for a call; nil means OK. It is
	// called one call at a time and must not call the Server.
	Decide func(Call) Step
}

// Column is a chair whose free intervals GetOnlineReservations lists.
type Column struct {
	ScheduleViewGUID   string
	ScheduleColumnGUID string
	FromHour, ToHour   int            // local wall clock; 9 and 17 if both are zero
	Minutes            int            // of one interval; 30 if zero
	Weekdays           []time.Weekday // nil means Monday to Friday
}

// Call is one request as it arrived.
type Call struct {
	At                 time.Time
	Procedure          string
	PatientGUID        string    // lower case
	Start              time.Time // UTC; zero unless SetAppointment
	ScheduleColumnGUID string    // lower case; empty unless SetAppointment
	Outcome            Outcome
	Applied            bool // by Late: will be
}

// Appointment is one appointment the Server holds.
type Appointment struct {
	GUID                string
	PatientGUID         string // lower case, as all GUIDs here
	Start               time.Time
	Minutes             int
	ScheduleViewGUID    string
	ScheduleColumnGUID  string
	AppointmentTypeGUID string
	Cancelled           bool
}

// Score is what a test asks for at the end.
type Score struct {
	Writes       int           // SetAppointment calls that arrived, refused ones included
	RateLimited  int           // those of them that were answered Too many requests
	Appointments int           // held now and not cancelled
	Duplicates   int           // of those, how many too many for one patient, start and column
	Pending      int           // late writes still to come
	MinSpacing   time.Duration // the least time between two SetAppointment calls; zero for fewer than two
}

// Server is the fake. It may be called from any number of goroutines.
type Server struct {
	options Options

	mu           sync.Mutex
	script       map[string][]Step // by procedure
	patients     map[string]bool
	charts       []Patient
	comments     map[string][]string
	appointments []Appointment
	index        map[string][]int // a GUID of appointment, patient or column → its appointments
	late         []due
	calls        []Call
	let          []time.Time // when SetAppointment calls were let through, the last minute's
	made         int         // GUIDs given out
}

type due struct {
	at          time.Time
	appointment Appointment
}

// New makes a Server.
func New(o Options) *Server {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	s := &Server{options: o, script: map[string][]Step{}, patients: map[string]bool{}, comments: map[string][]string{}, index: map[string][]int{}}
	for _, guid := range o.Patients {
		s.patients[strings.ToLower(guid)] = true
	}
	return s
}

// Client is an http.Client that calls the Server without a network.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// Script appends lines; each is used up by one call of its procedure.
func (s *Server) Script(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range steps {
		if step.Procedure == "" {
			step.Procedure = "SetAppointment"
		}
		s.script[step.Procedure] = append(s.script[step.Procedure], step)
	}
}

// Outcomes is Script for SetAppointment calls that need no more than the name.
func (s *Server) Outcomes(outcomes ...Outcome) {
	for _, outcome := range outcomes {
		s.Script(Step{Outcome: outcome})
	}
}

// Calls is everything that arrived, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Appointments is everything the Server holds, cancelled ones included, in the
// order written. Late writes are there once their time has come.
func (s *Server) Appointments() []Appointment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(time.Now())
	return slices.Clone(s.appointments)
}

// Comments is the notes of one patient, in the order written.
func (s *Server) Comments(patientGUID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.comments[strings.ToLower(patientGUID)])
}

// Add puts an appointment there behind everybody's back, as the front desk does.
// Its GUID is made up if it is empty.
func (s *Server) Add(a Appointment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.PatientGUID, a.ScheduleViewGUID = strings.ToLower(a.PatientGUID), strings.ToLower(a.ScheduleViewGUID)
	a.ScheduleColumnGUID, a.AppointmentTypeGUID = strings.ToLower(a.ScheduleColumnGUID), strings.ToLower(a.AppointmentTypeGUID)
	if a.GUID == "" {
		a.GUID = s.guid()
	}
	s.hold(a)
}

// Patient is what the Server has of a patient.
type Patient struct {
	GUID                string // lower case
	FirstName, LastName string
	BirthDate           string // 2015-02-03
	Phone, Email        string
}

// AddPatient puts a patient there behind everybody's back, as the front desk does, and returns the GUID, which is made up
// if it is empty.
func (s *Server) AddPatient(p Patient) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addPatient(p)
}

func (s *Server) addPatient(p Patient) string {
	if p.GUID = strings.ToLower(p.GUID); p.GUID == "" {
		p.GUID = s.guid()
	}
	s.patients[p.GUID] = true
	s.charts = append(s.charts, p)
	return p.GUID
}

// Score counts.
func (s *Server) Score() Score {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(time.Now())
	score := Score{Pending: len(s.late)}
	var last time.Time
	for _, call := range s.calls {
		if call.Procedure != "SetAppointment" {
			continue
		}
		if gap := call.At.Sub(last); score.Writes > 0 && (score.Writes == 1 || gap < score.MinSpacing) {
			score.MinSpacing = gap
		}
		last = call.At
		score.Writes++
		if call.Outcome == RateLimited {
			score.RateLimited++
		}
	}
	type key struct {
		patient, column string
		start           int64
	}
	seen := map[key]bool{}
	for _, a := range s.appointments {
		if a.Cancelled {
			continue
		}
		score.Appointments++
		k := key{a.PatientGUID, a.ScheduleColumnGUID, a.Start.Unix()}
		if seen[k] {
			score.Duplicates++
		}
		seen[k] = true
	}
	return score
}

// settle applies the late writes whose time has come.
func (s *Server) settle(now time.Time) {
	s.late = slices.DeleteFunc(s.late, func(d due) bool {
		if d.at.After(now) {
			return false
		}
		if a := d.appointment; !s.options.RefuseTaken || !s.taken(a.ScheduleColumnGUID, a.Start, a.Minutes) {
			s.hold(a)
		}
		return true
	})
}

// hold writes an appointment. The index keeps a simulation of a hundred thousand
// from looking at all of them each time.
func (s *Server) hold(a Appointment) {
	for _, guid := range []string{a.GUID, a.PatientGUID, a.ScheduleColumnGUID} {
		s.index[guid] = append(s.index[guid], len(s.appointments))
	}
	s.appointments = append(s.appointments, a)
}

// guid makes up the next GUID, recognisable as this package's.
func (s *Server) guid() string {
	s.made++
	return fmt.Sprintf("fa4e0000-0000-4000-8000-%012x", s.made)
}

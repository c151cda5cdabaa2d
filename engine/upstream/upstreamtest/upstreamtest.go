// Package upstreamtest is a fake practice-management system for tests. It serves the XML API of package upstream and
// follows a script of outcomes: refusals, limits, replies that are lost before or after the write, late writes,
// garbage. It counts writes, so that a test can find out which appointments were booked twice or not at all. `holdfast
// demo` also uses it, limited to a few writes a minute.
//
// A Server is an http.Handler that can serve on a port, and an http.RoundTripper that can be called without a network,
// which works inside a testing/synctest bubble. It starts no goroutines and reads the time with time.Now.
//
// By default, it is as careless as the real systems: it has no idempotency key and writes the same appointment as often
// as it is requested.
package upstreamtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Outcome is the result of one call.
type Outcome string

// The outcomes. Every procedure can have each of them. In a procedure that writes nothing, "applied" has no effect.
const (
	OK             Outcome = "ok"
	OKNoGUID       Outcome = "ok_no_guid"       // applied; the response contains no GUID
	RateLimited    Outcome = "rate_limited"     // Too many requests
	SlotTaken      Outcome = "slot_taken"       // Success, with a Result of Error: …
	AlreadyBooked  Outcome = "already_booked"   // Error
	PatientUnknown Outcome = "patient_unknown"  // Success, with a Result of Error: …
	Unauthorized   Outcome = "unauthorized"     // Error: the credentials are not accepted
	LostApplied    Outcome = "lost_applied"     // applied; the connection is cut before the response
	LostNotApplied Outcome = "lost_not_applied" // the connection is cut, and nothing is applied
	Late           Outcome = "late"             // the connection is cut; applied Step.Delay later
	Slow           Outcome = "slow"             // applied immediately; the response comes Step.Delay later
	Half           Outcome = "half"             // half of the response, then the connection is cut
	Garbage        Outcome = "garbage"          // bytes that are not XML
	WrongRoot      Outcome = "wrong_root"       // XML of another kind
	ServerError    Outcome = "server_error"     // HTTP 500
)

// Step is one line in a script.
type Step struct {
	Procedure string // empty means SetAppointment
	Outcome   Outcome
	// Delay is the wait before the response or, with Late, before the write. Zero means 30 s for Slow and Late.
	Delay time.Duration
	// Applied makes Half, Garbage, WrongRoot and ServerError write anyway.
	Applied bool
}

// Options configure a Server. The zero value accepts everything.
type Options struct {
	ClientID, User, Password string         // the required credentials; empty accepts any
	Zone                     *time.Location // of the clinic; nil means UTC
	// WritesPerMinute is the maximum number of SetAppointment calls in any 60 s. The Server responds to further calls
	// with "Too many requests", and they use up no line of the script. Zero means no limit.
	WritesPerMinute int
	Patients        []string // GUIDs of the existing patients; nil means that every patient exists
	// NoLookup means that the vendor does not offer a patient look-up.
	NoLookup bool
	// RefuseTaken makes the Server refuse an appointment that overlaps another one in its column.
	RefuseTaken bool
	Columns     []Column
	ExtraDays   int // how many days GetOnlineReservations lists before and after the requested dates
	// Decide chooses the step of a call if the script has no line for it; nil means OK. Calls to Decide do not overlap,
	// and it must not call the Server.
	Decide func(Call) Step
}

// Column is a chair whose free intervals GetOnlineReservations lists.
type Column struct {
	ScheduleViewGUID   string
	ScheduleColumnGUID string
	FromHour, ToHour   int            // local time; 9 and 17 if both are zero
	Minutes            int            // of one interval; 30 if zero
	Weekdays           []time.Weekday // nil means Monday to Friday
}

// Call is one received request.
type Call struct {
	At                 time.Time
	Procedure          string
	PatientGUID        string    // lower case
	Start              time.Time // UTC; zero unless SetAppointment
	ScheduleColumnGUID string    // lower case; empty unless SetAppointment
	Outcome            Outcome
	Applied            bool // with Late: will be applied
}

// Appointment is one stored appointment.
type Appointment struct {
	GUID                string
	PatientGUID         string // lower case, like all GUIDs here
	Start               time.Time
	Minutes             int
	ScheduleViewGUID    string
	ScheduleColumnGUID  string
	AppointmentTypeGUID string
	Cancelled           bool
}

// Score contains the counts that a test checks at its end.
type Score struct {
	Writes       int           // SetAppointment calls that arrived, including refused ones
	RateLimited  int           // those that got the response "Too many requests"
	Appointments int           // stored appointments that are not cancelled
	Duplicates   int           // the number of those in excess of one per patient, start and column
	Pending      int           // late writes that have not been applied yet
	MinSpacing   time.Duration // the minimum time between two SetAppointment calls; zero if there were fewer than two
}

// Server is the fake practice-management system. It is safe for concurrent use.
type Server struct {
	options Options

	mu           sync.Mutex
	script       map[string][]Step // by procedure
	patients     map[string]bool
	charts       []Patient
	comments     map[string][]string
	appointments []Appointment
	index        map[string][]int // from the GUID of an appointment, patient or column to its appointments
	late         []due
	calls        []Call
	let          []time.Time // when SetAppointment calls were admitted in the last minute
	made         int         // the number of GUIDs created
}

type due struct {
	at          time.Time
	appointment Appointment
}

// New returns a Server.
func New(o Options) *Server {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	s := &Server{options: o, script: map[string][]Step{}, patients: map[string]bool{}, comments: map[string][]string{},
		index: map[string][]int{}}
	for _, guid := range o.Patients {
		s.patients[strings.ToLower(guid)] = true
	}
	return s
}

// Client returns an http.Client that calls the Server without a network.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// Script appends steps to the script. Each call of a step's procedure uses up one step.
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

// Outcomes is like Script, for SetAppointment calls that need only the outcome.
func (s *Server) Outcomes(outcomes ...Outcome) {
	for _, outcome := range outcomes {
		s.Script(Step{Outcome: outcome})
	}
}

// Calls returns all received requests, in order.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// Appointments returns all stored appointments, including cancelled ones, in the order of their writes. It includes
// late writes that are due.
func (s *Server) Appointments() []Appointment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle(time.Now())
	return slices.Clone(s.appointments)
}

// Comments returns the notes of one patient, in the order of their writes.
func (s *Server) Comments(patientGUID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.comments[strings.ToLower(patientGUID)])
}

// Add stores an appointment that Holdfast did not write, as the front desk would. If the GUID is empty, Add creates
// one.
func (s *Server) Add(a Appointment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.PatientGUID, a.ScheduleViewGUID = strings.ToLower(a.PatientGUID), strings.ToLower(a.ScheduleViewGUID)
	a.ScheduleColumnGUID, a.AppointmentTypeGUID = strings.ToLower(a.ScheduleColumnGUID),
		strings.ToLower(a.AppointmentTypeGUID)
	if a.GUID == "" {
		a.GUID = s.guid()
	}
	s.hold(a)
}

// Patient is a stored patient.
type Patient struct {
	GUID                string // lower case
	FirstName, LastName string
	BirthDate           string // such as 2015-02-03
	Phone, Email        string
}

// AddPatient stores a patient whom Holdfast did not add, as the front desk would, and returns the GUID. If the GUID is
// empty, AddPatient creates one.
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

// Score returns the counts.
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

// settle applies the late writes that are due.
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

// hold stores an appointment. Thanks to the index, a simulation of a hundred thousand appointments does not have to
// search all of them.
func (s *Server) hold(a Appointment) {
	for _, guid := range []string{a.GUID, a.PatientGUID, a.ScheduleColumnGUID} {
		s.index[guid] = append(s.index[guid], len(s.appointments))
	}
	s.appointments = append(s.appointments, a)
}

// guid creates the next GUID, recognizable as one from this package.
func (s *Server) guid() string {
	s.made++
	return fmt.Sprintf("fa4e0000-0000-4000-8000-%012x", s.made)
}

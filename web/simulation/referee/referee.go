// Package referee judges a simulated clinic. It receives the requests and the responses, and returns an error if a
// response violates a guarantee.
//
// It imports no other package of this module, and the import diagram enforces that. It independently computes hours,
// slots, gaps, assignment, cooldowns and holds according to the documentation, in the most direct way, which is slow.
// If its results differ from the server's, one of the two is wrong.
//
// A Referee is not safe for concurrent use: a simulation passes it one response after another. The simulation passes
// the responses to concurrent requests in any order, once all of them have arrived.
package referee

import (
	"fmt"
	"slices"
	"time"
)

// Clinic is the referee's copy of the schedule.
type Clinic struct {
	Zone        *time.Location
	Specialists map[string]*Specialist
	Types       map[string]*Type
}

// Specialist is the person or chair whose time is booked.
type Specialist struct {
	ID        string
	Zone      *time.Location
	Weekly    map[time.Weekday][]Window
	Overrides map[string][]Window // by local date; no window: closed
	Blocks    map[string]Block    // by id
	Sessions  int                 // the maximum number of concurrent on-demand sessions
}

// Window is a part of a local day, in minutes from midnight, at one place of the clinic. An empty Place means no place.
type Window struct {
	From, To int
	Place    string
}

// Block is a time during which a specialist takes no bookings.
type Block struct{ From, To time.Time }

// Type is a bookable service.
type Type struct {
	ID            string
	Minutes       int
	Step          int // minutes between two starts
	Before, After int // minutes of buffer
	Notice        int // minutes
	Capacity      int
	Cooldown      int            // minutes
	Room          string         // that each appointment also needs, one at a time; empty means none
	Priorities    map[string]int // by specialist
}

// Span is a booked or held time of a specialist.
type Span struct {
	Type, Specialist string
	Start, End       time.Time
	Seat             int
}

// Appointment is an acknowledged appointment.
type Appointment struct {
	Span
	ID        string
	Client    string // empty if it was not booked on a page
	Created   time.Time
	Overbook  bool
	Cancelled bool
	Name      string // of the patient; empty means unknown to the referee
	Answer    string // to the type's question; empty means unknown to the referee
	Erased    bool   // the patient was erased, and the name deleted
}

// Hold is an acknowledged hold.
type Hold struct {
	Span
	ID, Client string
	Until      time.Time
	// Doubtful means that the server may have released the hold, for example because a booking ignored it.
	Doubtful   bool
	Grace      time.Duration // how long the hold may exist after Until
	IsProposal bool          // for the patient of an absent specialist, not for a client
}

// Referee records all acknowledged changes and uses them to judge the responses.
type Referee struct {
	Clinic
	Appointments map[string]*Appointment
	Holds        map[string]*Hold
	Sessions     map[string]*Session
	Proposals    map[string]*Proposal      // the last one for each displaced appointment, by appointment
	lines        map[int64]string          // the waiting-list entries with an open offer at the last check, by start
	idle         map[string]int            // at that check, the number of offers of each entry without an open one
	byDay        map[string][]*Appointment // confirmed, by specialist or room, and UTC date
	texts        map[string]*texting       // appointments whose patients get or have got text messages
	received     []Text                    // the judged messages that the SMS gateway received
	reviewed     time.Time                 // the last review of texts
	batches      []*batch                  // the changes of several appointments at once
	waiting      map[string]string         // the numbers for text messages of waiting-list entries
	offered      []OfferedTime             // all offers and proposals
	offerTexts   map[string]int            // how many messages about each of them have settled
	mustMove     map[string]int            // the messages that may ask for another time, by appointment
}

// New returns a referee with an empty calendar.
func New(c Clinic) *Referee {
	return &Referee{Clinic: c, Appointments: map[string]*Appointment{}, Holds: map[string]*Hold{},
		Sessions: map[string]*Session{}, Proposals: map[string]*Proposal{}, byDay: map[string][]*Appointment{},
		texts: map[string]*texting{}, waiting: map[string]string{}, offerTexts: map[string]int{},
		mustMove: map[string]int{}}
}

// SpanOf returns the time of a slot.
func (r *Referee) SpanOf(kind, specialist string, start time.Time) Span {
	return Span{kind, specialist, start.UTC(), start.UTC().Add(time.Duration(r.Types[kind].Minutes) * time.Minute), 0}
}

// Collide reports whether two spans for the same specialist, or for the same room, cannot both be booked: the gap
// between them is less than the larger of the adjacent buffers, and they are not two seats of one session.
func (r *Referee) Collide(a, b Span) bool {
	if room := r.Types[a.Type].Room; a.Specialist != b.Specialist && (room == "" || room != r.Types[b.Type].Room) {
		return false
	}
	if a.Specialist == b.Specialist && a.Type == b.Type && a.Start.Equal(b.Start) && a.End.Equal(b.End) &&
		a.Seat != b.Seat {
		return false
	}
	if b.Start.Before(a.Start) {
		a, b = b, a
	}
	gap := time.Duration(max(r.Types[a.Type].After, r.Types[b.Type].Before)) * time.Minute
	return b.Start.Before(a.End.Add(gap))
}

// dayKeys returns the keys of byDay for the specialist and the room of a span, on its day plus a number of days.
func (r *Referee) dayKeys(s Span, days int) []string {
	date := " " + s.Start.UTC().AddDate(0, 0, days).Format(time.DateOnly)
	if room := r.Types[s.Type].Room; room != "" {
		return []string{s.Specialist + date, "room " + room + date}
	}
	return []string{s.Specialist + date}
}

// Around lists the confirmed appointments of a span's specialist and room, on its day, the day before and the day
// after. An appointment that shares both the specialist and the room is listed twice.
func (r *Referee) Around(s Span) (all []*Appointment) {
	for day := -1; day <= 1; day++ {
		for _, key := range r.dayKeys(s, day) {
			all = append(all, r.byDay[key]...)
		}
	}
	return all
}

// Booked records an acknowledged appointment: new, moved, or restored after a cancellation.
func (r *Referee) Booked(a Appointment) error {
	if old := r.Appointments[a.ID]; old != nil {
		r.remove(old)
		if a.Client == "" {
			a.Client = old.Client
		}
		a.Created = old.Created
		a.Erased = old.Erased
		if a.Name == "" {
			a.Name = old.Name
		}
		if a.Answer == "" {
			a.Answer = old.Answer
		}
	}
	r.Appointments[a.ID] = &a
	r.displacedTo(&a)
	for _, key := range r.dayKeys(a.Span, 0) {
		r.byDay[key] = append(r.byDay[key], &a)
	}
	if a.Overbook {
		return nil
	}
	for _, other := range r.Around(a.Span) {
		if other.ID != a.ID && !other.Overbook && r.Collide(a.Span, other.Span) {
			return fmt.Errorf("double booking: %s was acknowledged, and %s", a, other)
		}
	}
	return nil
}

// Cancelled records an acknowledged cancellation.
func (r *Referee) Cancelled(id string) error {
	a := r.Appointments[id]
	if a == nil {
		return fmt.Errorf("appointment %s was cancelled, but no client has booked it", id)
	}
	r.remove(a)
	a.Cancelled = true
	r.displacedTo(a)
	return nil
}

func (r *Referee) remove(a *Appointment) {
	for _, key := range r.dayKeys(a.Span, 0) {
		r.byDay[key] = slices.DeleteFunc(r.byDay[key], func(other *Appointment) bool { return other.ID == a.ID })
	}
}

func (s Span) String() string {
	return fmt.Sprintf("%s of %s at %s seat %d", s.Type, s.Specialist, s.Start.Format(time.RFC3339), s.Seat)
}

func (a Appointment) String() string {
	return fmt.Sprintf("%s (%s, overbook %t, cancelled %t)", a.ID, a.Span, a.Overbook, a.Cancelled)
}

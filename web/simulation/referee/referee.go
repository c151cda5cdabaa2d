// Package referee judges a simulated clinic. It is told what was asked and what was answered, and says where that breaks a promise.
//
// It imports nothing of this module, and the import diagram keeps it so: hours, slots, gaps, assignment, cooldowns and holds are
// worked out here once more, in the plainest way, from what the documentation says. What it does slowly the server does fast; where
// the two differ, one of them is wrong.
//
// A Referee is not safe for concurrent use: whoever runs a simulation tells it of one answer after another. What was asked at once
// is told in any order once all of it was answered.
package referee

import (
	"fmt"
	"slices"
	"time"
)

// Clinic is what the referee knows of the schedule.
type Clinic struct {
	Zone        *time.Location
	Specialists map[string]*Specialist
	Types       map[string]*Type
}

// Specialist is whose time is booked.
type Specialist struct {
	ID        string
	Zone      *time.Location
	Weekly    map[time.Weekday][]Window
	Overrides map[string][]Window // by local date; none: closed
	Blocks    map[string]Block    // by id
	Sessions  int                 // on demand, at most so many at once
}

// Window is a stretch of a local day, in minutes from midnight.
type Window struct{ From, To int }

// Block is a stretch in which a specialist takes no bookings.
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
	Room          string         // that each takes besides its specialist, one at a time; empty: none
	Priorities    map[string]int // by specialist
}

// Span is time of a specialist that is booked or held.
type Span struct {
	Type, Specialist string
	Start, End       time.Time
	Seat             int
}

// Appointment is what somebody was told they have.
type Appointment struct {
	Span
	ID        string
	Client    string // empty: not booked on a page
	Created   time.Time
	Overbook  bool
	Cancelled bool
	Name      string // of the patient; empty: not known to the referee
	Erased    bool   // the patient was, and the name is gone
}

// Hold is what somebody was told they hold.
type Hold struct {
	Span
	ID, Client string
	Until      time.Time
	// Doubtful: it may be gone, because its client booked over it or the server may have dropped it.
	Doubtful bool
}

// Referee keeps the books.
type Referee struct {
	Clinic
	Appointments map[string]*Appointment
	Holds        map[string]*Hold
	Sessions     map[string]*Session
	lines        map[int64]string          // the open offers of the waiting list at the last look: to whom, by start
	idle         map[string]bool           // who of it was offered nothing then
	byDay        map[string][]*Appointment // confirmed, by specialist or room, and UTC date
}

// New begins with an empty calendar.
func New(c Clinic) *Referee {
	return &Referee{Clinic: c, Appointments: map[string]*Appointment{}, Holds: map[string]*Hold{}, Sessions: map[string]*Session{}, byDay: map[string][]*Appointment{}}
}

// SpanOf is the time of a slot.
func (r *Referee) SpanOf(kind, specialist string, start time.Time) Span {
	return Span{kind, specialist, start.UTC(), start.UTC().Add(time.Duration(r.Types[kind].Minutes) * time.Minute), 0}
}

// Collide reports whether two spans of one specialist, or of one room, cannot both be: the gap between them is less than the larger of
// the buffers that meet there, and they are not two seats of one session.
func (r *Referee) Collide(a, b Span) bool {
	if room := r.Types[a.Type].Room; a.Specialist != b.Specialist && (room == "" || room != r.Types[b.Type].Room) {
		return false
	}
	if a.Specialist == b.Specialist && a.Type == b.Type && a.Start.Equal(b.Start) && a.End.Equal(b.End) && a.Seat != b.Seat {
		return false
	}
	if b.Start.Before(a.Start) {
		a, b = b, a
	}
	gap := time.Duration(max(r.Types[a.Type].After, r.Types[b.Type].Before)) * time.Minute
	return b.Start.Before(a.End.Add(gap))
}

// dayKeys are under which a span is found: its specialist's day, and its room's.
func (r *Referee) dayKeys(s Span, days int) []string {
	date := " " + s.Start.UTC().AddDate(0, 0, days).Format(time.DateOnly)
	if room := r.Types[s.Type].Room; room != "" {
		return []string{s.Specialist + date, "room " + room + date}
	}
	return []string{s.Specialist + date}
}

// Around lists the confirmed appointments of the specialist and of the room of a span, on its day and on both beside it. One that has
// both in common with it is there twice.
func (r *Referee) Around(s Span) (all []*Appointment) {
	for day := -1; day <= 1; day++ {
		for _, key := range r.dayKeys(s, day) {
			all = append(all, r.byDay[key]...)
		}
	}
	return all
}

// Booked takes note of an appointment that was acknowledged: new, moved, or taken back from its cancellation.
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
	}
	r.Appointments[a.ID] = &a
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

// Cancelled takes note of an acknowledged cancellation.
func (r *Referee) Cancelled(id string) error {
	a := r.Appointments[id]
	if a == nil {
		return fmt.Errorf("an appointment %s was cancelled that nobody was told of", id)
	}
	r.remove(a)
	a.Cancelled = true
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

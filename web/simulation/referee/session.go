package referee

import (
	"fmt"
	"time"
)

// Session is an on-demand session as its people were told of it.
type Session struct {
	ID, Client string
	Status     string // requested, active, pending_payment, ended, cancelled or expired
	Specialist string // who has it; empty: nobody took it
	Expires    time.Time
	Life       time.Time // the last sign of life of one that was taken
}

const (
	// quiet is how long a session that was taken may go without a sign of life.
	quiet = 4 * time.Hour
	// late is how much later than its instant the server may come to end a session that nobody takes, the disk being full now and then.
	late = 20 * time.Second
	// quietLate is the same of one that has gone quiet: it is looked for once a minute.
	quietLate = 5 * time.Minute
)

// inProgress reports whether a session is part of its specialist's load.
func (s *Session) inProgress() bool { return s.Status == "active" || s.Status == "pending_payment" }

// isOpen reports whether anything can still become of a session.
func (s *Session) isOpen() bool { return s.Status == "requested" || s.inProgress() }

// Load is how many sessions a specialist has, and whether that is certain: one of them may have gone quiet just now.
func (r *Referee) Load(specialist string, now time.Time) (n int, certain bool) {
	certain = true
	for _, s := range r.Sessions {
		if s.Specialist == specialist && s.inProgress() {
			n++
			certain = certain && now.Before(s.Life.Add(quiet-quietLate))
		}
	}
	return n, certain
}

// HasRoom reports whether a specialist may be given one more session, and whether that is certain.
func (r *Referee) HasRoom(specialist string, now time.Time) (room, certain bool) {
	n, certain := r.Load(specialist, now)
	return n < r.Specialists[specialist].Sessions, certain
}

// Requested takes note of a request that was acknowledged. A client that waits already is answered with the request it has.
func (r *Referee) Requested(s Session, now time.Time) error {
	for _, other := range r.Sessions {
		if other.ID != s.ID && other.Client == s.Client && other.Status == "requested" && now.Before(other.Expires.Add(-late)) {
			return fmt.Errorf("%s waits for session %s, and was given %s besides", s.Client, other.ID, s.ID)
		}
	}
	if known := r.Sessions[s.ID]; known != nil {
		if known.Client != s.Client || known.Status != "requested" {
			return fmt.Errorf("%s was given session %s, which is %s's and %s", s.Client, s.ID, known.Client, known.Status)
		}
		return nil
	}
	if s.Status != "requested" || s.Specialist != "" {
		return fmt.Errorf("a session that was asked for is %s, of %q", s.Status, s.Specialist)
	}
	r.Sessions[s.ID] = &s
	return nil
}

// Taken takes note of a session that a specialist was given, by asking first or from a colleague.
func (r *Referee) Taken(id, specialist string, handedOn bool, now time.Time) error {
	s := r.Sessions[id]
	switch {
	case s == nil:
		return fmt.Errorf("%s was given session %s, which nobody asked for", specialist, id)
	case handedOn && !s.inProgress(), !handedOn && s.Status != "requested":
		return fmt.Errorf("%s was given session %s, which is %s", specialist, id, s.Status)
	case !handedOn && now.After(s.Expires.Add(late)):
		return fmt.Errorf("%s was given session %s, which lapsed %s ago", specialist, id, now.Sub(s.Expires))
	}
	if room, certain := r.HasRoom(specialist, now); !room && certain && s.Specialist != specialist {
		return fmt.Errorf("%s was given one more session than the %d that are possible at once", specialist, r.Specialists[specialist].Sessions)
	}
	s.Specialist, s.Life = specialist, now
	if !handedOn {
		s.Status = "active"
	}
	return nil
}

// OpenSessions judges the list of all open sessions that the server says there are: each is what its people were told, nobody waits for one
// that is over, and nobody has more than they can.
func (r *Referee) OpenSessions(list []Session, now time.Time) error {
	there, load := map[string]bool{}, map[string]int{}
	for _, s := range list {
		there[s.ID] = true
		known := r.Sessions[s.ID]
		switch {
		case known == nil:
			return fmt.Errorf("session %s is open, and nobody asked for it", s.ID)
		case s.Status == "requested" && now.After(known.Expires.Add(late)):
			return fmt.Errorf("session %s still waits, and lapsed %s ago", s.ID, now.Sub(known.Expires))
		case s.inProgress() && now.After(known.Life.Add(quiet+quietLate)):
			return fmt.Errorf("session %s of %s is open, and was last heard of %s ago", s.ID, s.Specialist, now.Sub(known.Life))
		case s.Status != known.Status || s.Specialist != known.Specialist:
			return fmt.Errorf("session %s is %s, of %q, and was said to be %s, of %q", s.ID, s.Status, s.Specialist, known.Status, known.Specialist)
		}
		if s.inProgress() {
			if load[s.Specialist]++; load[s.Specialist] > r.Specialists[s.Specialist].Sessions {
				return fmt.Errorf("%s has %d sessions at once, and can have %d", s.Specialist, load[s.Specialist], r.Specialists[s.Specialist].Sessions)
			}
		}
	}
	for id, known := range r.Sessions {
		switch {
		case there[id] || !known.isOpen():
		case known.Status == "requested" && now.Before(known.Expires.Add(-time.Second)), known.inProgress() && now.Before(known.Life.Add(quiet-quietLate)):
			return fmt.Errorf("session %s was said to be %s, of %q, and is not open", id, known.Status, known.Specialist)
		default:
			known.Status = "expired"
		}
	}
	return nil
}

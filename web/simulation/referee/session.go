package referee

import (
	"fmt"
	"time"
)

// Session is an on-demand session in the state that the server has acknowledged to its client and the specialists.
type Session struct {
	ID, Client string
	Status     string // requested, active, pending_payment, ended, cancelled or expired
	Specialist string // the specialist who has it; empty if none has accepted it
	Expires    time.Time
	Life       time.Time // the last activity since it was accepted
}

const (
	// quiet is the time without activity after which an accepted session expires.
	quiet = 4 * time.Hour
	// late is the longest delay before the server must expire a session that no specialist has accepted. The delay
	// allows for a disk that is sometimes full.
	late = 20 * time.Second
	// quietLate is the longest such delay for a session without activity. The server checks those sessions once a
	// minute.
	quietLate = 5 * time.Minute
)

// inProgress reports whether a session counts towards its specialist's load.
func (s *Session) inProgress() bool { return s.Status == "active" || s.Status == "pending_payment" }

// isOpen reports whether a session can still change.
func (s *Session) isOpen() bool { return s.Status == "requested" || s.inProgress() }

// Load returns the number of a specialist's sessions in progress. The number is not certain if one of them may be
// expiring now.
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

// HasRoom reports whether a specialist may get one more session, and whether that is certain.
func (r *Referee) HasRoom(specialist string, now time.Time) (room, certain bool) {
	n, certain := r.Load(specialist, now)
	return n < r.Specialists[specialist].Sessions, certain
}

// Requested records an acknowledged request. A client that is already waiting gets its existing request.
func (r *Referee) Requested(s Session, now time.Time) error {
	for _, other := range r.Sessions {
		if other.ID != s.ID && other.Client == s.Client && other.Status == "requested" &&
			now.Before(other.Expires.Add(-late)) {
			return fmt.Errorf("%s waits for session %s, but also got %s", s.Client, other.ID, s.ID)
		}
	}
	if known := r.Sessions[s.ID]; known != nil {
		if known.Client != s.Client || known.Status != "requested" {
			return fmt.Errorf("%s got session %s, which is %s's and %s", s.Client, s.ID, known.Client,
				known.Status)
		}
		return nil
	}
	if s.Status != "requested" || s.Specialist != "" {
		return fmt.Errorf("a requested session is %s, of %q", s.Status, s.Specialist)
	}
	r.Sessions[s.ID] = &s
	return nil
}

// Taken records a session that a specialist has received, by accepting it or from a colleague.
func (r *Referee) Taken(id, specialist string, handedOn bool, now time.Time) error {
	s := r.Sessions[id]
	switch {
	case s == nil:
		return fmt.Errorf("%s got session %s, which no client requested", specialist, id)
	case handedOn && !s.inProgress(), !handedOn && s.Status != "requested":
		return fmt.Errorf("%s got session %s, which is %s", specialist, id, s.Status)
	case !handedOn && now.After(s.Expires.Add(late)):
		return fmt.Errorf("%s got session %s, which expired %s ago", specialist, id, now.Sub(s.Expires))
	}
	if room, certain := r.HasRoom(specialist, now); !room && certain && s.Specialist != specialist {
		return fmt.Errorf("%s got one more session than the maximum of %d", specialist,
			r.Specialists[specialist].Sessions)
	}
	s.Specialist, s.Life = specialist, now
	if !handedOn {
		s.Status = "active"
	}
	return nil
}

// OpenSessions judges the server's list of all open sessions. Each must be in its acknowledged state, none may have
// expired, and no specialist may have more sessions than their limit.
func (r *Referee) OpenSessions(list []Session, now time.Time) error {
	there, load := map[string]bool{}, map[string]int{}
	for _, s := range list {
		there[s.ID] = true
		known := r.Sessions[s.ID]
		switch {
		case known == nil:
			return fmt.Errorf("session %s is open, but no client requested it", s.ID)
		case s.Status == "requested" && now.After(known.Expires.Add(late)):
			return fmt.Errorf("session %s still waits, but expired %s ago", s.ID, now.Sub(known.Expires))
		case s.inProgress() && now.After(known.Life.Add(quiet+quietLate)):
			return fmt.Errorf("session %s of %s is open, but its last heartbeat was %s ago", s.ID, s.Specialist,
				now.Sub(known.Life))
		case s.Status != known.Status || s.Specialist != known.Specialist:
			return fmt.Errorf("session %s is %s, of %q, but was reported as %s, of %q", s.ID, s.Status, s.Specialist,
				known.Status, known.Specialist)
		}
		if s.inProgress() {
			if load[s.Specialist]++; load[s.Specialist] > r.Specialists[s.Specialist].Sessions {
				return fmt.Errorf("%s has %d concurrent sessions, but the maximum is %d", s.Specialist, load[s.Specialist],
					r.Specialists[s.Specialist].Sessions)
			}
		}
	}
	for id, known := range r.Sessions {
		switch {
		case there[id] || !known.isOpen():
		case known.Status == "requested" && now.Before(known.Expires.Add(-time.Second)), known.inProgress() &&
			now.Before(known.Life.Add(quiet-quietLate)):
			return fmt.Errorf("session %s was reported as %s, of %q, but is not open", id, known.Status,
				known.Specialist)
		default:
			known.Status = "expired"
		}
	}
	return nil
}

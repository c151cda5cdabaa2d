package referee

import (
	"fmt"
	"hash/fnv"
	"slices"
	"time"
)

// About is how long before and after the end of a hold the referee accepts both that the hold exists and that it has
// expired.
const About = 200 * time.Millisecond

// Live reports whether a hold is in force at an instant, and whether that is certain.
func (h *Hold) Live(now time.Time) (live, certain bool) {
	left := h.Until.Sub(now)
	return left > 0, !h.Doubtful && (left > About || left < -About-h.Grace)
}

// Held records a hold that was granted at now.
func (r *Referee) Held(h Hold, now time.Time) error {
	for _, other := range r.Holds {
		if live, certain := other.Live(now); live && certain && other.Client != h.Client &&
			r.Collide(h.Span, other.Span) {
			return fmt.Errorf("two clients hold the same time: %s was granted to %s while %s has %s until %s", h.Span, h.Client,
				other.Client, other.Span, other.Until.Format(time.RFC3339Nano))
		}
	}
	for _, a := range r.Around(h.Span) {
		if r.Collide(h.Span, a.Span) {
			return fmt.Errorf("%s was granted to %s, but is booked: %s", h.Span, h.Client, a)
		}
	}
	r.Holds[h.ID] = &h
	return nil
}

// Displaced records a booking that ignores holds. The server may have released the holds that conflict with it.
func (r *Referee) Displaced(s Span) {
	for _, h := range r.Holds {
		if r.Collide(h.Span, s) {
			h.Doubtful = true
		}
	}
}

// Listed judges the server's list of holds. Each hold must be known, none may be missing, and none may conflict with
// another hold or a booking.
func (r *Referee) Listed(list []Hold, now time.Time) error {
	said := map[string]bool{}
	for i, h := range list {
		known := r.Holds[h.ID]
		if known == nil { // responses do not contain the ids of proposals' holds
			known = r.proposalAt(h.Span, now)
		}
		if known == nil {
			return fmt.Errorf("a hold exists that no client was granted: %s %s", h.ID, h.Span)
		}
		said[known.ID] = true
		if known.Span != h.Span {
			return fmt.Errorf("the hold %s is of %s, but was granted for %s", h.ID, h.Span, known.Span)
		}
		if live, certain := known.Live(now); !live && certain {
			return fmt.Errorf("the hold of %s expired %s ago, but still exists", h.Span, now.Sub(known.Until))
		}
		for _, other := range list[:i] {
			if r.Collide(h.Span, other.Span) {
				return fmt.Errorf("two holds overlap: %s and %s", h.Span, other.Span)
			}
		}
		for _, a := range r.Around(h.Span) {
			if !a.Overbook && r.Collide(h.Span, a.Span) {
				return fmt.Errorf("%s is held, but is booked: %s", h.Span, a)
			}
		}
	}
	for id, h := range r.Holds {
		live, certain := h.Live(now)
		if live && certain && !said[id] {
			return fmt.Errorf("the hold of %s by %s has %s left, but is missing", h.Span, h.Client, h.Until.Sub(now))
		}
		if !live && now.Sub(h.Until) > time.Minute+h.Grace {
			delete(r.Holds, id)
		}
	}
	return nil
}

// Answer is the expected response to a request for a slot.
type Answer int

// The responses. If a hold is about to expire, or two rules apply, Granted and Refused are both correct.
const (
	Either Answer = iota
	Granted
	Refused
)

// HeldByOther reports whether another client's hold conflicts with a slot, and whether that is certain.
func (r *Referee) HeldByOther(s Span, client string, now time.Time) (held, certain bool) {
	certain = true
	for _, h := range r.Holds {
		if !r.Collide(h.Span, s) {
			continue
		}
		live, sure := h.Live(now)
		switch {
		case live && h.Client == client: // the client's own hold: a repeat renews it, and another slot may be refused
			certain = certain && h.Type == s.Type && h.Start.Equal(s.Start)
		case live && sure:
			return true, true
		case !sure:
			certain = false
		}
	}
	return false, certain
}

// Expect returns the expected response to a client's request for a slot, with one specialist or any, and at one place
// or any. It also returns the specialist to be assigned (empty: not certain).
func (r *Referee) Expect(kind, specialist, place, client string, start, now time.Time) (Answer, string) {
	var candidates []string
	answer, sure := Refused, true
	for id := range r.Types[kind].Priorities {
		if specialist != "" && id != specialist {
			continue
		}
		s := r.SpanOf(kind, id, start)
		if at, _ := r.PlaceOf(s); !r.Offered(s, now) || place != "" && at != place {
			continue
		}
		for _, seat := range r.FreeSeats(s, "") {
			s.Seat = seat
			held, certain := r.HeldByOther(s, client, now)
			if !certain {
				answer, sure = Either, false
			}
			if !held && certain {
				candidates = append(candidates, id)
				break
			}
		}
	}
	if len(candidates) == 0 {
		return answer, ""
	}
	if !sure || r.holds(client, now) {
		return Granted, "" // a client that already holds one of these slots gets the same one
	}
	return Granted, r.assigned(kind, start, candidates)
}

func (r *Referee) holds(client string, now time.Time) bool {
	for _, h := range r.Holds {
		if h.Client == client && h.Until.After(now.Add(-About)) {
			return true
		}
	}
	return false
}

// assigned returns the specialist to be assigned. The FNV-1a hash of type and start selects among the specialists with
// the highest priority, ordered by id.
func (r *Referee) assigned(kind string, start time.Time, candidates []string) string {
	highest, best := 0, []string(nil)
	for _, id := range candidates {
		switch p := r.Types[kind].Priorities[id]; {
		case best == nil || p > highest:
			highest, best = p, []string{id}
		case p == highest:
			best = append(best, id)
		}
	}
	slices.Sort(best)
	h := fnv.New32a()
	_, _ = h.Write([]byte(kind + ":" + start.UTC().Format(time.RFC3339)))
	return best[int(h.Sum32()%uint32(len(best)))]
}

// Active returns the number of a client's live holds, and whether that number is certain.
func (r *Referee) Active(client string, now time.Time) (n int, certain bool) {
	certain = true
	for _, h := range r.Holds {
		if h.Client != client {
			continue
		}
		live, sure := h.Live(now)
		if live {
			n++
		}
		certain = certain && sure
	}
	return n, certain
}

// Cooling returns Refused while a client's cooldown for a type lasts, Granted if there is none, and Either within a
// second of its end.
func (r *Referee) Cooling(kind, client string, now time.Time) Answer {
	wait := time.Duration(r.Types[kind].Cooldown) * time.Minute
	answer := Granted
	for _, a := range r.Appointments {
		if a.Client != client || a.Type != kind || a.Cancelled || wait == 0 {
			continue
		}
		switch age := now.Sub(a.Created); {
		case age < wait-time.Second:
			return Refused
		case age < wait+time.Second:
			answer = Either
		}
	}
	return answer
}

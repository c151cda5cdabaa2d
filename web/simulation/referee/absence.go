package referee

import (
	"fmt"
	"time"
)

// Proposal is a time that is held for the patient of an appointment whose specialist is away.
type Proposal struct {
	From    Span // the booked time
	Expires time.Time
	Taken   bool // the patient accepted it
	hold    *Hold
	stale   bool // the appointment was moved or cancelled, so the server ends the proposal in its next round
	before  *Proposal
}

// A proposed time stays held for up to afterExpiry after the proposal has expired. If a proposal ends earlier, its time
// is released within afterAnswer, even if the disk is full during some of the server's rounds.
const (
	afterExpiry = 35 * time.Second
	afterAnswer = 3 * time.Minute
)

// Propose records that, from now until expires, a time is held for the patient of an appointment. The time must be
// free.
func (r *Referee) Propose(id string, s Span, expires, now time.Time) error {
	r.EndProposal(id, now)
	if a := r.Appointments[id]; a != nil {
		h := Hold{Span: s, ID: fmt.Sprintf("proposal of %d to %s", now.UnixNano(), id), Client: "patient of " + id,
			Until: expires, Grace: afterExpiry, IsProposal: true}
		if err := r.Held(h, now); err != nil {
			return err
		}
		r.Proposals[id] = &Proposal{From: a.Span, Expires: expires, hold: r.Holds[h.ID], before: r.Proposals[id]}
		return nil
	}
	return fmt.Errorf("%s is proposed for %s, an appointment that does not exist", s, id)
}

// Span returns the proposed time.
func (p *Proposal) Span() Span { return p.hold.Span }

// IsOpen reports whether a patient can still accept a proposal at now, and whether that is certain.
func (p *Proposal) IsOpen(now time.Time) (open, certain bool) {
	if p.Taken || p.stale {
		return false, false
	}
	left := p.Expires.Sub(now)
	return left > 0 && p.hold.Until.Equal(p.Expires), !p.hold.Doubtful && (left > About || left < -time.Minute)
}

// Doubt records that the server may have ended a proposal.
func (p *Proposal) Doubt() { p.hold.Doubtful = true }

// Accepted records that a patient has accepted a proposal, so that its time now belongs to the appointment.
func (r *Referee) Accepted(id string) {
	if p := r.Proposals[id]; p != nil {
		p.Taken = true
		delete(r.Holds, p.hold.ID)
	}
}

// EndProposal records that the proposal for an appointment ended at now and that its time becomes free.
func (r *Referee) EndProposal(id string, now time.Time) {
	p := r.Proposals[id]
	if p == nil || p.Taken || p.hold.Until.Before(now) {
		return
	}
	p.hold.Until, p.hold.Grace, p.hold.Doubtful = now, afterAnswer, false
}

// UndoProposal records that the absence that led to a proposal was undone at now. The proposal that it had replaced may
// still be open.
func (r *Referee) UndoProposal(id string, now time.Time) {
	r.EndProposal(id, now)
	p := r.Proposals[id]
	if p == nil || p.before == nil || p.before.Taken || p.before.stale {
		return
	}
	r.Proposals[id] = p.before
	p.before.hold.Until, p.before.hold.Grace, p.before.hold.Doubtful = p.before.Expires, afterExpiry, true
}

// displacedTo updates the proposal for an appointment that has changed. The proposal becomes stale if the appointment
// no longer has the specialist and the time from which the absence displaced it. If an undo restores them early enough,
// the proposal stays open.
func (r *Referee) displacedTo(a *Appointment) {
	p := r.Proposals[a.ID]
	if p == nil || p.Taken {
		return
	}
	p.stale = a.Cancelled || a.Specialist != p.From.Specialist || !a.Start.Equal(p.From.Start)
	p.hold.Doubtful = true
	if p.Expires.After(p.hold.Until) {
		p.hold.Until, p.hold.Grace = p.Expires, afterExpiry
	}
}

// ReviewProposals ends the proposals whose appointments have changed before now. It marks proposals as doubtful if
// their time is no longer within the hours or is blocked, because the server withdraws them.
func (r *Referee) ReviewProposals(now time.Time) {
	for id, p := range r.Proposals {
		switch {
		case p.Taken:
		case p.stale:
			r.EndProposal(id, now)
		case !r.InHours(p.hold.Span):
			p.Doubt()
		}
	}
}

// proposalAt returns the hold of a proposal for a time. If there are several, it prefers one that is live.
func (r *Referee) proposalAt(s Span, now time.Time) (found *Hold) {
	for _, h := range r.Holds {
		if h.IsProposal && h.Span == s && (found == nil || h.Until.After(now)) {
			found = h
		}
	}
	return found
}

// NewTimes is a line of the plan of an absence: an appointment and the times proposed for it, the best one first.
type NewTimes struct {
	ID    string
	Times []Span
}

// Planned judges the plan of an absence. The plan must list each of the specialist's appointments in that time once.
// Each new time must be free, within the hours and outside the absence. The first times of two appointments must not
// collide.
func (r *Referee) Planned(specialist string, away Block, plan []NewTimes, now time.Time) error {
	listed := map[string]bool{}
	var first []Span
	for _, row := range plan {
		a := r.Appointments[row.ID]
		if a == nil || a.Cancelled || a.Specialist != specialist || listed[row.ID] ||
			!a.Start.Before(away.To) || !away.From.Before(a.End) {
			return fmt.Errorf("the absence of %s from %s to %s displaces %s %v", specialist,
				away.From.Format(time.RFC3339), away.To.Format(time.RFC3339), row.ID, a)
		}
		listed[row.ID] = true
		for i, s := range row.Times {
			held, certain := r.HeldByOther(s, "", now)
			switch {
			case s.Start.Before(a.Start) || !s.Start.After(now):
				return fmt.Errorf("%s is proposed for %s, which is later", s, a)
			case s.Specialist == specialist && r.overlaps(s, away):
				return fmt.Errorf("%s is proposed for %s, and %s is away then or in its buffers", s, a, specialist)
			case !r.InHours(s) || len(r.FreeSeats(s, "")) == 0 || held && certain && r.Types[s.Type].Capacity == 1:
				return fmt.Errorf("%s is proposed for %s, and is not free (held %t)", s, a, held)
			}
			if i > 0 || r.Types[s.Type].Capacity > 1 {
				continue
			}
			for _, other := range first {
				if other.Specialist == s.Specialist && r.Collide(other, s) {
					return fmt.Errorf("%s is the first time of %s, and collides with that of another patient: %s", s, a,
						other)
				}
			}
			first = append(first, s)
		}
	}
	for id, a := range r.Appointments {
		if !a.Cancelled && a.Specialist == specialist && a.Start.After(now) && a.Start.Before(away.To) &&
			away.From.Before(a.End) && !listed[id] {
			return fmt.Errorf("the absence of %s displaces %s, and the plan does not list it", specialist, a)
		}
	}
	return nil
}

// Displaced is a line of a recorded absence: an appointment that cannot take place, and its outcome.
type Displaced struct {
	ID    string
	By    string // move, ask or call; empty: the absence recorded no decision
	From  Span   // as booked
	State string
	Open  bool // a proposal is open
}

// Absent judges one line of a recorded absence: the state of a displaced appointment must agree with the appointment
// and with its proposal.
func (r *Referee) Absent(d Displaced, now time.Time) error {
	a, p := r.Appointments[d.ID], r.Proposals[d.ID]
	if a == nil {
		return fmt.Errorf("an absence displaces %s, an appointment that does not exist", d.ID)
	}
	stays := !a.Cancelled && a.Specialist == d.From.Specialist && a.Start.Equal(d.From.Start)
	var want []string
	switch {
	case a.Cancelled:
		want = []string{"cancelled"}
	case !stays && d.By == "move":
		want = []string{"moved"}
	case !stays && p != nil && p.Taken:
		want = []string{"accepted"}
	case !stays:
		want = []string{"rebooked"}
	case p == nil || p.Taken:
		return nil
	default:
		switch open, certain := p.IsOpen(now); {
		case !certain:
			return nil
		case open && d.By == "ask":
			want = []string{"asked"}
		case open:
			want = []string{"call"}
		case !p.hold.Until.Equal(p.Expires):
			want = []string{"declined", "call"} // withdrawn
		default:
			want = []string{"expired"}
		}
		if open, _ := p.IsOpen(now); open != d.Open {
			return fmt.Errorf("the proposal of %s to %s is open (%t), and is listed as open (%t)", p.Span(), a, open, d.Open)
		}
	}
	for _, state := range want {
		if d.State == state {
			return nil
		}
	}
	return fmt.Errorf("%s, displaced by an absence from %s (%s), is listed as %q, want %v", a, d.From, d.By, d.State, want)
}

package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"holdfast/web/simulation/referee"
)

// absence is a recorded absence, with the decision on each displaced appointment.
type absence struct {
	id, specialist string
	by             map[string]string       // move, ask or call, by appointment
	from           map[string]referee.Span // as booked
	timeless       map[string]bool         // asked for another time, without a proposed one
	until          time.Time
}

// lastAbsenceUndo is how long after the creation of an absence an undo may still succeed.
const lastAbsenceUndo = 16 * time.Second

// timeJSON is a new time for a displaced appointment.
type timeJSON struct {
	SpecialistID               string
	SlotStartDate, SlotEndDate time.Time
	Status                     string
	ExpiresAt                  time.Time
}

func (x *timeJSON) of(kind string) referee.Span {
	return referee.Span{Type: kind, Specialist: x.SpecialistID, Start: x.SlotStartDate.UTC(), End: x.SlotEndDate.UTC()}
}

// away simulates the absence of a specialist. The desk plans the absence and moves, asks or calls the patients. They
// accept the proposed time, choose another one, cancel, decline, or never answer. Then all absences are checked.
func (l *life) away(r *rand.Rand) (err error) {
	if l.faults.isArmed() {
		return nil
	}
	switch n := r.IntN(8); {
	case n < 3 || len(l.absences) == 0:
		err = l.recordAbsence(r)
	case n < 7:
		err = l.answerProposal(r)
	default:
		err = l.letExpire(r)
	}
	if err != nil || l.faults.isOff() {
		return err
	}
	time.Sleep(time.Minute) // the server runs a round every 15 seconds, and a few may find the disk full
	return l.judgeAbsences()
}

// displaceable reports whether the desk looks for a new time for an appointment. Other appointments keep their times.
func (l *life) displaceable(a *referee.Appointment) bool {
	return !a.Overbook && !a.Erased && !l.inVisit[a.ID] && l.Types[a.Type].Capacity == 1 && a.Type != "cleaning" &&
		a.Type != "scarce"
}

// recordAbsence plans an absence around an appointment and records it. In one of three cases, the desk undoes the
// absence, usually before a message is sent, and sometimes too late.
func (l *life) recordAbsence(r *rand.Rand) error {
	a := l.standing(r, false)
	if a == nil || !l.displaceable(a) {
		return nil
	}
	block := referee.Block{From: a.Start.Add(-time.Duration(r.IntN(90)) * time.Minute),
		To: a.End.Add(time.Duration(r.IntN(300)) * time.Minute)}
	if !block.From.After(time.Now()) {
		block.From = a.Start
	}
	body := map[string]any{"specialistId": a.Specialist, "start": stamp(block.From), "end": stamp(block.To),
		"reason": "flu"}
	rows, err := l.planAbsence(a.Specialist, block, body)
	if err != nil {
		return err
	}
	x := &absence{specialist: a.Specialist, by: map[string]string{}, from: map[string]referee.Span{},
		timeless: map[string]bool{}, until: block.To}
	hours := oneOf(r, []int{1, 1, 2, 0})
	var choices []any
	var chosen []referee.Span
	for _, row := range rows {
		known := l.Appointments[row.Appointment.ID]
		x.from[known.ID] = known.Span
		if !l.displaceable(known) || len(row.Times) == 0 {
			continue
		}
		best := row.Times[0]
		if r.IntN(3) == 0 {
			best = oneOf(r, row.Times)
		}
		x.by[known.ID] = oneOf(r, []string{"move", "ask", "ask", "ask", "call"})
		choice := map[string]any{"appointmentId": known.ID, "by": x.by[known.ID], "version": row.Appointment.Version,
			"specialistId": best.SpecialistID, "slotStartDate": stamp(best.SlotStartDate)}
		if x.by[known.ID] == "ask" && l.Proposals[known.ID] == nil && len(l.absences)%3 == 1 {
			x.timeless[known.ID] = true
			delete(choice, "specialistId")
			delete(choice, "slotStartDate")
		}
		chosen = append(chosen, best.of(known.Type))
		choices = append(choices, choice)
	}
	body["choices"], body["holdHours"] = choices, hours
	begun, house := time.Now(), l.house
	reply, err := l.atDesk(&request{method: "POST", path: "/v1/absences", body: body})
	if err != nil {
		return err
	}
	var said struct {
		ID      string
		Results []struct{ AppointmentID, By, Error, Reason string }
	}
	if err := reply.into(&said); err != nil || reply.status != 201 || len(said.Results) != len(choices) {
		return fmt.Errorf("an absence of %d choices was answered %d %s", len(choices), reply.status, reply.raw)
	}
	certain := time.Since(begun) < time.Second && l.house == house
	x.id = said.ID
	l.Specialists[x.specialist].Blocks[x.id] = block
	l.absences[x.id], l.allAbsences = x, append(l.allAbsences, x)
	before, links := map[string]referee.Appointment{}, map[string]string{}
	for i, result := range said.Results {
		id := result.AppointmentID
		if result.Error != "" {
			if err := l.refusedChoice(id, chosen[i], chosen[:i], result.Error, result.Reason, certain); err != nil {
				return err
			}
			delete(x.by, id)
			delete(x.timeless, id)
			continue
		}
		l.displacedBy[id] = x.id
		before[id], links[id] = *l.Appointments[id], l.manage[id]
		if result.By == "move" {
			delete(l.manage, id) // the link belongs to the earlier time
			moved := *l.Appointments[id]
			moved.Span = chosen[i]
			if err := l.Booked(moved); err != nil {
				return err
			}
			l.Displaced(moved.Span)
		}
	}
	if err := l.adoptProposals(x); err != nil {
		return err
	}
	l.counts["displaced"] += len(before)
	if r.IntN(3) > 0 {
		return nil
	}
	return l.undoAbsence(r, x, begun, before, links)
}

// plannedJSON is a line of the plan of an absence.
type plannedJSON struct {
	Appointment appointmentJSON
	Times       []timeJSON
}

// planAbsence requests new times and passes them to the referee.
func (l *life) planAbsence(specialist string, away referee.Block, body map[string]any) ([]plannedJSON, error) {
	reply, err := l.atDesk(&request{method: "POST", path: "/v1/absences/plan", body: body})
	if err != nil {
		return nil, err
	}
	var said struct{ Appointments []plannedJSON }
	if err := reply.into(&said); err != nil || reply.status != 200 {
		return nil, fmt.Errorf("the plan of an absence was answered %d %s", reply.status, reply.raw)
	}
	var plan []referee.NewTimes
	for _, row := range said.Appointments {
		times := referee.NewTimes{ID: row.Appointment.ID}
		for i := range row.Times {
			times.Times = append(times.Times, row.Times[i].of(row.Appointment.AppointmentTypeID))
		}
		plan = append(plan, times)
	}
	return said.Appointments, l.Planned(specialist, away, plan, time.Now())
}

// refusedChoice judges a choice that failed: its time must not have been free, or must collide with the time of an
// earlier choice.
func (l *life) refusedChoice(id string, s referee.Span, earlier []referee.Span, code, reason string,
	certain bool) error {
	held, sure := l.HeldByOther(s, "", time.Now())
	free := len(l.FreeSeats(s, id)) > 0 && l.InHours(s) && !held
	collides := slices.ContainsFunc(earlier, func(other referee.Span) bool { return l.Collide(other, s) })
	if reason == "no_mail" && l.Appointments[id].Name == "" {
		return nil // possibly an erased patient
	}
	refused := slices.Contains([]string{"slot_held", "slot_taken", "not_bookable", "version_mismatch"}, code)
	if certain && sure && free && !collides && refused {
		return fmt.Errorf("%s, which is free, was refused for a displaced appointment: %s %s", s, code, reason)
	}
	return nil
}

// answersJSON contains the lines of an absence.
type answersJSON struct {
	Appointments []struct {
		Appointment   appointmentJSON
		SpecialistID  string
		SlotStartDate time.Time
		By, State     string
		Proposal      *timeJSON
	}
}

// readAbsence reads an absence. gone means that its block has been deleted.
func (l *life) readAbsence(id string) (said answersJSON, gone bool, err error) {
	reply, err := l.do(&request{method: "GET", path: "/v1/absences/" + id, admin: true})
	if err != nil {
		return said, false, err
	}
	var whole struct{ Absence answersJSON }
	if err := reply.into(&whole); err != nil || reply.status != 200 && reply.status != 404 {
		return said, false, fmt.Errorf("absence %s was answered %d %s", id, reply.status, reply.raw)
	}
	return whole.Absence, reply.status == 404, nil
}

// adoptProposals passes the proposals of a new absence to the referee. Each patient who is asked or called must have
// one.
func (l *life) adoptProposals(x *absence) error {
	said, gone, err := l.readAbsence(x.id)
	if err != nil || gone {
		return fmt.Errorf("absence %s was recorded, and is missing (%t): %w", x.id, gone, err)
	}
	for _, row := range said.Appointments {
		id, by := row.Appointment.ID, x.by[row.Appointment.ID]
		if by != "ask" && by != "call" {
			continue
		}
		if l.Away(id); x.timeless[id] {
			continue
		}
		if row.Proposal == nil {
			return fmt.Errorf("no time is proposed for %s, who is displaced (%s)", id, by)
		}
		if err := l.Propose(id, row.Proposal.of(row.Appointment.AppointmentTypeID), row.Proposal.ExpiresAt,
			time.Now()); err != nil {
			return err
		}
		if row.Proposal.Status != "open" {
			l.EndProposal(id, time.Now())
		}
	}
	return nil
}

// undoAbsence undoes an absence a few seconds later. If the undo is in time, everything is as before: the moved
// appointments are back, the proposed times are free, and no patient has been asked.
func (l *life) undoAbsence(r *rand.Rand, x *absence, begun time.Time, before map[string]referee.Appointment,
	links map[string]string) error {
	recorded := time.Now()
	time.Sleep(time.Duration(r.IntN(20)) * time.Second)
	asked, house := time.Now(), l.house
	late := asked.Sub(recorded)
	l.requests++
	reply, err := l.atDesk(&request{method: "DELETE", path: "/v1/absences/" + x.id,
		key: fmt.Sprintf("undo-%s-%d", x.id, l.requests)})
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	switch {
	case reply.status == 409 && certain && asked.Sub(begun) < 9*time.Second:
		return fmt.Errorf("absence %s could be undone after %s, and was not: %s", x.id, late, reply.raw)
	case reply.status == 409:
		return nil
	case reply.status != 200:
		return fmt.Errorf("undoing absence %s was answered %d %s", x.id, reply.status, reply.raw)
	case late > lastAbsenceUndo && len(before) > 0:
		return fmt.Errorf("absence %s was undone %s later", x.id, late)
	}
	var said struct{ Kept []string }
	if err := reply.into(&said); err != nil {
		return err
	}
	delete(l.absences, x.id)
	delete(l.Specialists[x.specialist].Blocks, x.id)
	for id, a := range before {
		kept := slices.Contains(said.Kept, id)
		switch {
		case x.by[id] != "move":
			l.UndoProposal(id, time.Now())
		case kept && certain && len(l.FreeSeats(a.Span, id)) > 0:
			return fmt.Errorf("absence %s was undone, and %s stays although its time is free", x.id, a)
		case !kept:
			l.Displaced(a.Span)
			if err := l.Booked(a); err != nil {
				return err
			}
			l.manage[id] = links[id]
		}
	}
	l.counts["absences undone"]++
	return nil
}

// openProposal draws a displaced appointment with an open proposal.
func (l *life) openProposal(r *rand.Rand) (*referee.Appointment, *referee.Proposal) {
	var list []*referee.Appointment
	for id, p := range l.Proposals {
		if open, certain := p.IsOpen(time.Now()); open && certain && time.Until(p.Expires) > 10*time.Second &&
			l.Appointments[id].Start.After(time.Now().Add(time.Minute)) {
			list = append(list, l.Appointments[id])
		}
	}
	sortBy(list, func(a *referee.Appointment) string { return a.Span.String() + a.Client + a.ID })
	a := oneOf(r, list)
	if a == nil {
		return nil, nil
	}
	return a, l.Proposals[a.ID]
}

// answerProposal answers a proposal as its patient, or as the desk that called the patient. It also checks that no
// other client can hold the proposed time.
func (l *life) answerProposal(r *rand.Rand) error {
	a, p := l.openProposal(r)
	if a == nil {
		return l.recordAbsence(r)
	}
	s := p.Span()
	if err := l.holdSlot(r, s.Type, s.Specialist, oneOf(r, l.clients), s.Start); err != nil {
		return err
	}
	switch r.IntN(5) {
	case 0, 1:
		return l.acceptProposal(r, a, p)
	case 2:
		return l.declineProposal(r, a)
	case 3:
		_, reply, err := l.change(r, a, "cancel", map[string]any{})
		if err != nil || reply.status != 200 {
			return fmt.Errorf("cancelling %s, which is displaced, was answered %v %+v", a, err, reply)
		}
		return l.took(reply, a)
	}
	specialist, start := l.pick(r, a.Type)
	_, reply, err := l.change(r, a, "reschedule", map[string]any{"slotStartDate": stamp(start),
		"specialistId": specialist})
	switch {
	case err != nil || reply.status == 409:
		return err
	case reply.status != 200:
		return fmt.Errorf("moving %s, which is displaced, was answered %d %s", a, reply.status, reply.raw)
	}
	return l.took(reply, a)
}

// acceptProposal accepts a proposal: the appointment moves to the proposed time.
func (l *life) acceptProposal(r *rand.Rand, a *referee.Appointment, p *referee.Proposal) error {
	asked, house := time.Now(), l.house
	if open, certain := p.IsOpen(asked); !open || !certain {
		return nil // the requests before this one took too long
	}
	q, reply, err := l.change(r, a, "proposal/accept", map[string]any{})
	if err != nil {
		return err
	}
	certain := time.Since(asked) < time.Second && l.house == house
	if reply.status != 200 {
		if certain || reply.status != 409 && reply.status != 410 {
			return fmt.Errorf("%s was proposed for %s until %s, and could not be accepted: %d %s", p.Span(), a,
				stamp(p.Expires), reply.status, reply.raw)
		}
		p.Doubt()
		return nil
	}
	var said struct{ Appointment appointmentJSON }
	if err := reply.into(&said); err != nil {
		return err
	}
	if got := said.Appointment.of("").Span; got != p.Span() {
		return fmt.Errorf("%s was proposed for %s and accepted, and the appointment is %s", p.Span(), a, got)
	}
	l.Accepted(a.ID)
	l.counts["proposals accepted"]++
	if err := l.took(reply, a); err != nil || r.IntN(2) == 0 {
		return err
	}
	return l.again(q, reply)
}

// declineProposal declines a proposal: the appointment stays, and the desk calls the patient.
func (l *life) declineProposal(r *rand.Rand, a *referee.Appointment) error {
	q, reply, err := l.change(r, a, "proposal/decline", map[string]any{})
	switch {
	case err != nil || reply.status == 410:
		return err // the proposal expired during the retries
	case reply.status != 200:
		return fmt.Errorf("declining the proposal of %s was answered %d %s", a, reply.status, reply.raw)
	}
	l.EndProposal(a.ID, time.Now())
	l.counts["proposals declined"]++
	if r.IntN(2) == 0 {
		return nil
	}
	return l.again(q, reply)
}

// letExpire waits until an unanswered proposal has expired. The patient must not be able to accept it then.
func (l *life) letExpire(r *rand.Rand) error {
	a, p := l.openProposal(r)
	if a == nil || time.Until(p.Expires) > 2*time.Hour {
		return l.answerProposal(r)
	}
	time.Sleep(time.Until(p.Expires) + 2*time.Minute)
	if l.faults.isOff() {
		return nil
	}
	_, isAway := l.Specialists[p.From.Specialist].Blocks[l.displacedBy[a.ID]]
	if known := l.Appointments[a.ID]; known.Span != p.From || known.Cancelled || !isAway {
		return nil
	}
	_, reply, err := l.change(r, a, "proposal/accept", map[string]any{})
	if err == nil && reply.status != 410 {
		err = fmt.Errorf("%s, proposed for %s, expired at %s, and accepting it was answered %d %s", p.Span(), a,
			stamp(p.Expires), reply.status, reply.raw)
	}
	l.counts["proposals expired"]++
	return err
}

// judgeAbsences passes every recorded absence to the referee.
func (l *life) judgeAbsences() error {
	l.ReviewProposals(time.Now())
	for _, id := range sorted(l.absences) {
		x := l.absences[id]
		if l.faults.isOff() || l.faults.isArmed() {
			return nil
		}
		said, gone, err := l.readAbsence(id)
		if err != nil {
			return err
		}
		if _, isBlocked := l.Specialists[x.specialist].Blocks[id]; gone || !isBlocked {
			if gone && isBlocked && time.Since(x.until) < 24*time.Hour {
				return fmt.Errorf("absence %s is missing, and its time is blocked", id)
			}
			delete(l.absences, id)
			continue
		}
		for _, row := range said.Appointments {
			known := l.Appointments[row.Appointment.ID]
			from, isListed := x.from[row.Appointment.ID]
			if !isListed || l.displacedBy[row.Appointment.ID] != id || known != nil && known.Erased {
				continue // booked later over the block, displaced by another absence, or erased
			}
			if err := l.Absent(referee.Displaced{ID: row.Appointment.ID, By: x.by[row.Appointment.ID], From: from,
				State: row.State, Open: row.Proposal != nil && row.Proposal.Status == "open"}, time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

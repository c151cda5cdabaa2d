package web

import (
	"errors"
	"net/http"
	"time"

	"holdfast/engine/absence"
	"holdfast/engine/record"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// awayBody holds the time range of a specialist's absence.
type awayBody struct {
	SpecialistID string `json:"specialistId"`
	Start        string `json:"start"`
	End          string `json:"end"`
	Reason       string `json:"reason"`
}

func (b *awayBody) away(m *mistakes) absence.Away {
	return absence.Away{SpecialistID: b.SpecialistID, Start: m.instant("start", b.Start), End: m.instant("end", b.End),
		Reason: b.Reason}
}

// timeJSON is a new time for a displaced appointment.
type timeJSON struct {
	SpecialistID  string `json:"specialistId"`
	Place         string `json:"place,omitempty"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// absenceRowJSON is a displaced appointment with its proposed times.
type absenceRowJSON struct {
	Appointment appointmentJSON `json:"appointment"`
	By          string          `json:"by"`
	Times       []timeJSON      `json:"times"`
}

type absencePlanBody struct {
	awayBody
	SameSpecialist bool `json:"sameSpecialist"`
}

// planAbsence proposes new times for the appointments affected by an absence. It writes nothing.
func (s *Server) planAbsence(c *call, b *absencePlanBody) error {
	c.once = nil
	away := b.away(&c.wrong)
	rows, more, err := s.engine.Absence.Plan(c.ctx(), away, b.SameSpecialist)
	if err != nil {
		return err
	}
	list := make([]absenceRowJSON, len(rows))
	for i := range rows {
		r := &rows[i]
		list[i] = absenceRowJSON{deskAppointmentOf(&r.Appointment), string(r.By), []timeJSON{}}
		for _, x := range r.Times {
			list[i].Times = append(list[i].Times, timeJSON{x.SpecialistID, x.Place, httpTime(x.Start), httpTime(x.End)})
		}
	}
	return c.json(http.StatusOK, map[string]any{"appointments": list, "more": more})
}

type absenceBody struct {
	clientBody
	awayBody
	HoldHours int              `json:"holdHours"`
	Choices   []absenceRowBody `json:"choices"`
}

type absenceRowBody struct {
	AppointmentID string `json:"appointmentId"`
	Version       int64  `json:"version"`
	By            string `json:"by"`
	SpecialistID  string `json:"specialistId"`
	SlotStartDate string `json:"slotStartDate"`
}

// createdAbsenceJSON is a recorded absence with the result of each choice.
type createdAbsenceJSON struct {
	ID      string              `json:"id"`
	Block   blockJSON           `json:"block"`
	Results []absenceResultJSON `json:"results"`
}

type absenceResultJSON struct {
	AppointmentID string `json:"appointmentId"`
	By            string `json:"by"`
	Error         string `json:"error,omitempty"`  // an error code from docs/errors.md
	Reason        string `json:"reason,omitempty"` // the reason field of that error
}

// createAbsence blocks the time of an absence and handles each appointment in it as the caller chose: it moves the
// appointment, emails the patient a proposed time, or lists the patient for a phone call.
func (s *Server) createAbsence(c *call, b *absenceBody) error {
	m := &c.wrong
	r := absence.Request{Away: b.away(m), Hold: time.Duration(b.HoldHours) * time.Hour, Actor: c.caller.actor}
	for i := range b.Choices {
		x := &b.Choices[i]
		choice := absence.Choice{AppointmentID: x.AppointmentID, Version: x.Version, By: store.DisplacedBy(x.By),
			SpecialistID: x.SpecialistID}
		if x.SlotStartDate != "" {
			choice.Start = m.instant(indexed("choices", i)+".slotStartDate", x.SlotStartDate)
		}
		r.Choices = append(r.Choices, choice)
	}
	return answerChange(c, http.StatusCreated, createdAbsenceOf, func(once *record.Once) (absence.Created, error) {
		r.Once = once
		return s.engine.Absence.Create(c.ctx(), r)
	})
}

func createdAbsenceOf(made *absence.Created) any {
	results := each(made.Results, func(x *absence.Result) absenceResultJSON {
		result := absenceResultJSON{AppointmentID: x.AppointmentID, By: string(x.By)}
		if x.Err != nil {
			p := problemOf(x.Err, time.Now())
			result.Error, result.Reason = p.Code, p.Reason
		}
		return result
	})
	return createdAbsenceJSON{made.Block.ID, blockOf(&made.Block), results}
}

// answerJSON is the current state of a displaced appointment.
type answerJSON struct {
	Appointment  appointmentJSON `json:"appointment"`
	SpecialistID string          `json:"specialistId"`  // as booked
	SlotStart    string          `json:"slotStartDate"` // as booked
	By           string          `json:"by,omitempty"`
	Channel      string          `json:"channel,omitempty"`
	State        string          `json:"state"`
	Proposal     *proposalJSON   `json:"proposal,omitempty"`
}

// proposalJSON is a time proposed in place of the booked one.
type proposalJSON struct {
	timeJSON
	Status    string `json:"status"`
	ExpiresAt string `json:"expiresAt"`
}

// absenceJSON is a recorded absence.
type absenceJSON struct {
	ID           string       `json:"id"`
	SpecialistID string       `json:"specialistId"`
	Start        string       `json:"start"`
	End          string       `json:"end"`
	Reason       string       `json:"reason,omitempty"`
	Answered     int          `json:"answered"` // appointments with nothing left to do
	ToCall       int          `json:"toCall"`
	Appointments []answerJSON `json:"appointments"`
}

func (s *Server) proposalOf(o *store.WaitlistOffer) *proposalJSON {
	if o == nil {
		return nil
	}
	place := s.engine.Clinic.Current().PlaceAt(o.SpecialistID, o.SlotStart)
	return &proposalJSON{timeJSON{o.SpecialistID, place, httpTime(o.SlotStart), httpTime(o.SlotEnd)}, string(o.Status),
		httpTime(o.ExpiresAt)}
}

func (s *Server) absenceOf(x *absence.Absence) absenceJSON {
	b := blockOf(&x.Block)
	said := absenceJSON{ID: b.ID, SpecialistID: b.SpecialistID, Start: b.Start, End: b.End, Reason: b.Reason,
		Appointments: make([]answerJSON, len(x.Answers))}
	for i := range x.Answers {
		a := &x.Answers[i]
		said.Appointments[i] = answerJSON{
			deskAppointmentOf(&a.Appointment), a.Was.SpecialistID, httpTime(a.Was.SlotStart), string(a.Was.By),
			string(a.Was.Channel), string(a.State), s.proposalOf(a.Offer),
		}
		if a.State.Answered() {
			said.Answered++
		}
		if a.State.ToCall() {
			said.ToCall++
		}
	}
	return said
}

// listAbsences lists the future and current absences, and those that ended within the last 24 hours.
func (s *Server) listAbsences(c *call) error {
	list, err := s.engine.Absence.List(c.ctx())
	return answerList(c, "absences", list, err, s.absenceOf)
}

func (s *Server) getAbsence(c *call) error {
	x, err := s.engine.Absence.Status(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"absence": s.absenceOf(&x)})
}

// undoAbsence reverts an absence that this member of staff has just recorded.
func (s *Server) undoAbsence(c *call) error {
	say := func(x *absence.Undone) any { return map[string][]string{"kept": x.Kept} }
	return answerChange(c, http.StatusOK, say, func(once *record.Once) (absence.Undone, error) {
		return s.engine.Absence.Undo(c.ctx(), c.param("id"), c.caller.actor, once)
	})
}

// proposed returns the latest proposal for an appointment, or nil if there is none for its current time.
func (s *Server) proposed(c *call, a *store.Appointment) (*store.WaitlistOffer, error) {
	x, err := s.engine.Waitlist.ProposalFor(c.ctx(), a)
	if errors.Is(err, store.ErrNotFound) || err == nil && len(x.Offers) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &x.Offers[len(x.Offers)-1], nil
}

// errNothingProposed means that there is no proposed time to accept or decline.
var errNothingProposed = errNotBookable.titled(notNow).because("not_offered",
	"No time is proposed for this appointment at the moment.")

// reachableProposal returns the appointment in the path and its latest proposal.
func (s *Server) reachableProposal(c *call) (*store.WaitlistOffer, error) {
	a, err := s.reachable(c)
	if err != nil {
		return nil, err
	}
	o, err := s.proposed(c, &a)
	if err == nil && o == nil {
		err = errNothingProposed
	}
	return o, err
}

// acceptProposal moves a displaced appointment to the proposed time.
func (s *Server) acceptProposal(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	o, err := s.proposed(c, &a)
	if err == nil && o == nil { // a repeat under a different idempotency key
		o, err = s.engine.Waitlist.AcceptedProposal(c.ctx(), &a)
	}
	if err != nil {
		return err
	}
	if o == nil {
		return errNothingProposed
	}
	a, err = s.engine.Waitlist.Accept(c.ctx(), o.ID, c.caller.actor, c.answering(s.renderAppointment(c)))
	if err != nil {
		return proposalProblem(err)
	}
	return s.sayAppointment(c, &a)
}

// declineProposal declines the proposed time for a displaced appointment. The desk then calls the patient.
func (s *Server) declineProposal(c *call) error {
	o, err := s.reachableProposal(c)
	if err != nil {
		return err
	}
	say := func(o *store.WaitlistOffer) any { return map[string]*proposalJSON{"proposal": s.proposalOf(o)} }
	return answerChange(c, http.StatusOK, say, func(once *record.Once) (store.WaitlistOffer, error) {
		declined, err := s.engine.Waitlist.Decline(c.ctx(), o.ID, c.caller.actor, once)
		if err != nil {
			err = proposalProblem(err)
		}
		return declined, err
	})
}

// proposalProblem converts the errors for a proposal that is no longer open, because the messages for waiting-list
// offers do not fit a proposal. It returns other errors unchanged.
func proposalProblem(err error) error {
	var ended *waitlist.EndedError
	switch {
	case errors.Is(err, record.ErrNotConfirmed):
		return errHoldExpired.titled("The proposal has ended").because("withdrawn", "This appointment is cancelled.")
	case !errors.As(err, &ended):
		return err
	}
	return errHoldExpired.titled("The proposal has ended").because(ended.As,
		"The proposed time is no longer held. Choose another time, or call the clinic.")
}

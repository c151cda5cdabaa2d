package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// visitSlots returns the times when several people can have appointments one after the other. with=child,child names
// the types of the people after the first; people=3 means three appointments of the path's type.
func (s *Server) visitSlots(c *call, q *query) error {
	r := group.SlotsRequest{
		AppointmentTypeIDs: visitTypes(c, q), SpecialistID: q.id("specialistId"), From: q.date("from"),
		To: q.date("to"), Client: q.client(c), Desk: c.caller.may(desk),
	}
	if err := q.err(); err != nil {
		return err
	}
	if err := s.visible(c, r.AppointmentTypeIDs...); err != nil {
		return err
	}
	var err error
	if r.Moving, err = s.movingVisit(c); err != nil {
		return err
	}
	answer, err := s.engine.Group.Visit.Slots(c.ctx(), r)
	if err != nil {
		return err
	}
	slots := make([]timeslotJSON, len(answer.Slots))
	for i, x := range answer.Slots {
		slots[i] = timeslotJSON{httpTime(x.Start), httpTime(x.End), x.Available, x.Held, x.OwnHold, x.SpecialistIDs}
	}
	return c.json(http.StatusOK, map[string]any{
		"appointmentTypeId": answer.AppointmentTypeID, "timezone": answer.Timezone, "from": answer.From.String(),
		"to":         answer.To.String(),
		"generation": answer.Generation, "slots": slots,
	})
}

// movingVisit is like moving, for a list of start times. It returns nil for the link of an appointment that is not part
// of a visit.
func (s *Server) movingVisit(c *call) (*store.Appointment, error) {
	a, err := s.moving(c)
	if err != nil || a == nil || a.VisitID == "" {
		return nil, err
	}
	return a, nil
}

// visitTypes returns the types of the people in a visit, or nil if the query names only one person.
func visitTypes(c *call, q *query) []string {
	first, with := []string{c.param("id")}, q.text("with")
	people := q.whole("people", 2, group.MaxPeople, 0)
	switch {
	case people > 0 && with != "":
		q.add("with", "cannot be combined with people")
	case (people > 0 || with != "") && q.text("place") != "":
		q.add("place", "cannot be combined with people or with")
	case with != "":
		return append(first, strings.Split(with, ",")...)
	case people > 0:
		return slices.Repeat(first, people)
	}
	return nil
}

type holdVisitBody struct {
	clientBody
	AppointmentTypeIDs []string `json:"appointmentTypeIds"`
	SlotStartDate      string   `json:"slotStartDate"`
	SpecialistID       string   `json:"specialistId"`
	TTLSeconds         *int     `json:"ttlSeconds"`
	Displace           bool     `json:"displace"`
	IgnoreHours        bool     `json:"ignoreHours"`
	Instead            string   `json:"instead"`
}

// holdVisit holds the times for all people of a visit, for the desk. The hold is extended and released like any other
// hold.
func (s *Server) holdVisit(c *call, b *holdVisitBody) error {
	if !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can hold time in your own calendar only; name yourself in specialistId.")
	}
	m := &c.wrong
	start := m.instant("slotStartDate", b.SlotStartDate)
	h, err := s.engine.Group.Visit.Hold(c.ctx(), group.HoldRequest{
		AppointmentTypeIDs: b.AppointmentTypeIDs, SlotStart: start, SpecialistID: b.SpecialistID, Client: c.client,
		TTL:      seconds(b.TTLSeconds),
		Displace: b.Displace, IgnoreHours: b.IgnoreHours, Replaces: b.Instead,
	})
	if err != nil {
		return err
	}
	return c.json(http.StatusCreated, holdOf(&h, time.Now()))
}

// visitorBody is one person in a visit. The contact details of all people are in createVisitBody.
type visitorBody struct {
	AppointmentTypeID string            `json:"appointmentTypeId"`
	Name              string            `json:"name"`
	BirthDate         string            `json:"birthDate"`
	Notes             string            `json:"notes"`
	Consent           bool              `json:"consent"`
	NewPatient        bool              `json:"newPatient"`
	SMS               bool              `json:"sms"`
	Answers           map[string]string `json:"answers"`
}

type createVisitBody struct {
	clientBody
	HoldID        string        `json:"holdId"`
	SlotStartDate string        `json:"slotStartDate"`
	SpecialistID  string        `json:"specialistId"`
	People        []visitorBody `json:"people"`
	Contact       struct {
		Email string `json:"email"`
		Phone string `json:"phone"`
	} `json:"contact"`
	Locale      string `json:"locale"`
	Displace    bool   `json:"displace"`
	IgnoreHours bool   `json:"ignoreHours"`
	Notify      *bool  `json:"notify"`
}

// createVisit books the appointments of all people or none.
func (s *Server) createVisit(c *call, b *createVisitBody) error {
	if !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can book into your own calendar only; name yourself in specialistId.")
	}
	m := &c.wrong
	r := group.VisitRequest{
		HoldID: b.HoldID, SlotStart: m.instant("slotStartDate", b.SlotStartDate), SpecialistID: b.SpecialistID,
		Client: c.client, Email: b.Contact.Email,
		Phone: b.Contact.Phone, Locale: b.Locale, Source: store.SourceStaff, Actor: c.caller.actor,
		Silent: c.inSilence(b.Notify), Displace: b.Displace, IgnoreHours: b.IgnoreHours,
	}
	for _, p := range b.People {
		r.People = append(r.People, group.Person{
			AppointmentTypeID: p.AppointmentTypeID, Patient: store.Patient{Name: p.Name, BirthDate: p.BirthDate,
				Notes: p.Notes},
			Said: clinic.Said{Consent: p.Consent, NewPatient: p.NewPatient, SMS: p.SMS, Answers: p.Answers},
		})
	}
	return s.changeVisit(c, http.StatusCreated, func(once *record.Once) ([]store.Appointment, error) {
		r.Once = once
		return s.engine.Group.Visit.Book(c.ctx(), r)
	})
}

// changeVisit responds to a change to a visit with the visit's appointments. The holder of a manage link gets only the
// details of the link's own patient: since the booking, the desk may have entered separate contact details for the
// others.
func (s *Server) changeVisit(c *call, status int, do func(*record.Once) ([]store.Appointment, error)) error {
	return answerChange(c, status, func(list *[]store.Appointment) any {
		said := each(*list, func(a *store.Appointment) any {
			if c.caller.appointment != nil && a.ID != c.appointmentID() {
				return bareAppointmentOf(a)
			}
			return s.appointmentOf(c, a)
		})
		return map[string]any{"visitId": (*list)[0].VisitID, "appointments": said}
	}, do)
}

// getVisit lists all appointments in the visit that an appointment is part of, including cancelled ones. A signed-in
// specialist gets only those in their own calendar.
func (s *Server) getVisit(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	list, err := s.engine.Group.Visit.Of(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"visitId": list[0].VisitID, "appointments": c.reached(list)})
}

// visitorJSON is one person in a visit, for the holder of a manage link who is also that person's contact.
type visitorJSON struct {
	AppointmentID     string `json:"appointmentId"`
	Name              string `json:"name"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	SlotStartDate     string `json:"slotStartDate"`
	SlotEndDate       string `json:"slotEndDate"`
}

// visitors lists the people in an appointment's visit whose appointments are confirmed and who have the same contact
// details as the appointment's patient, and counts all people whose appointments are confirmed. The list is empty if
// the appointment is not part of a visit, or if no person but its own patient is left.
func (s *Server) visitors(c *call, a *store.Appointment) (said []visitorJSON, people int, err error) {
	if a.VisitID == "" {
		return nil, 0, nil
	}
	list, err := s.engine.Group.Visit.Of(c.ctx(), a.ID)
	for _, x := range list {
		if x.Status != store.Confirmed {
			continue
		}
		if people++; x.ID == a.ID || booking.SameContact(&x.Patient, &a.Patient) {
			said = append(said, visitorJSON{x.ID, x.Patient.Name, x.AppointmentTypeID, x.SpecialistID,
				httpTime(x.SlotStart), httpTime(x.SlotEnd)})
		}
	}
	if len(said) == 0 || people == 1 && said[0].AppointmentID == a.ID {
		return nil, 0, err
	}
	return said, people, err
}

// which prepares a change to a series or a visit: it identifies the appointment in the path, its version and the
// caller.
func (s *Server) which(c *call, notify *bool, undoable bool) (group.Which, error) {
	id, version, err := s.change(c)
	return group.Which{ID: id, Version: version, Reaches: c.caller.reaches, Actor: c.caller.actor,
		Silent: c.inSilence(notify), Undoable: undoable}, err
}

type cancelVisitBody struct {
	cancelBody
	Only string `json:"only"`
}

// cancelVisit cancels all appointments in a visit, or that of one person. A patient can do so with any of the visit's
// manage links, up to the clinic's change cut-off.
func (s *Server) cancelVisit(c *call, b *cancelVisitBody) error {
	which, err := s.which(c, b.Notify, b.Undoable)
	if err != nil {
		return err
	}
	return s.changeVisit(c, http.StatusOK, func(once *record.Once) ([]store.Appointment, error) {
		which.Once = once
		return s.engine.Group.Visit.Cancel(c.ctx(), group.Cancel{Which: which, Reason: b.Reason,
			CutOff: c.caller.appointment != nil, Only: b.Only})
	})
}

type moveVisitBody struct {
	clientBody
	SlotStartDate string `json:"slotStartDate"`
	SpecialistID  string `json:"specialistId"`
	HoldID        string `json:"holdId"`
	Displace      bool   `json:"displace"`    // desk only
	IgnoreHours   bool   `json:"ignoreHours"` // desk only
	Notify        *bool  `json:"notify"`
	Undoable      bool   `json:"undoable"` // staff only
}

// moveVisit moves all appointments in a visit. A patient can do so with any of the visit's manage links, under the same
// rules as for a single appointment.
func (s *Server) moveVisit(c *call, b *moveVisitBody) error {
	if (b.IgnoreHours || b.Displace) && !c.caller.may(desk) {
		return errForbidden.with(
			"Only the clinic's own staff can displace a hold or ignore the hours. Leave the field out.",
		)
	}
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can move appointments within your own calendar only.")
	}
	which, err := s.which(c, b.Notify, b.Undoable)
	if err != nil {
		return err
	}
	m := &c.wrong
	r := group.VisitMove{Which: which, SlotStart: m.instant("slotStartDate", b.SlotStartDate),
		SpecialistID: b.SpecialistID, HoldID: b.HoldID, Client: c.client, Displace: b.Displace,
		IgnoreHours: b.IgnoreHours, CutOff: c.caller.appointment != nil}
	if c.caller.specialistID != "" {
		r.SpecialistID = c.caller.specialistID
	}
	return s.changeVisit(c, http.StatusOK, func(once *record.Once) ([]store.Appointment, error) {
		r.Once = once
		return s.engine.Group.Visit.Move(c.ctx(), r)
	})
}

package web

import (
	"net/http"
	"strings"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// patientBody is the patient of an appointment. Public responses do not contain these fields.
type patientBody struct {
	Name      string `json:"name"`
	Email     string `json:"email"`
	Phone     string `json:"phone"`
	BirthDate string `json:"birthDate"`
	Notes     string `json:"notes"`
}

// saidBody is the patient's answers and consent. Public responses do not contain these fields either.
type saidBody struct {
	Consent    bool              `json:"consent"`    // the patient agrees to the clinic's consent text
	NewPatient bool              `json:"newPatient"` // this is the patient's first visit
	SMS        bool              `json:"sms"`        // the patient agrees to text messages
	Answers    map[string]string `json:"answers"`    // by the question's id
}

type bookBody struct {
	clientBody
	saidBody
	HoldID        string      `json:"holdId"`
	SlotStartDate string      `json:"slotStartDate"`
	SpecialistID  string      `json:"specialistId"`
	Place         string      `json:"place"`
	Patient       patientBody `json:"patient"`
	Locale        string      `json:"locale"` // the language of the page and of messages to the patient
}

// book creates a booking for a patient, or for a program with a key. A program needs no client and has no cooldown.
func (s *Server) book(c *call, b *bookBody) error {
	r := booking.Request{
		AppointmentTypeID: c.param("id"), HoldID: b.HoldID, SpecialistID: b.SpecialistID, Place: b.Place,
		Client: c.client, Patient: store.Patient(b.Patient), Said: clinic.Said(b.saidBody), Locale: b.Locale,
		Source: store.SourceWeb, Actor: "client",
	}
	s.checkPlace(&c.wrong, b.Place)
	switch c.caller.scope {
	case store.ScopeAdmin:
		r.Source, r.Actor = store.SourceAPI, c.caller.actor
	case store.ScopeAgent:
		r.Source, r.Actor = store.SourceAgent, c.caller.actor
	}
	if r.Source == store.SourceWeb || r.Source == store.SourceAgent && s.needsApproval(r.AppointmentTypeID) {
		return s.bookPublic(c, r, b.SlotStartDate)
	}
	return s.answerBooking(c, r, b.SlotStartDate, func(a *store.Appointment) any { return s.publicAppointmentOf(c, a) })
}

// needsApproval reports whether bookings of a type need the desk's approval.
func (s *Server) needsApproval(appointmentTypeID string) bool {
	t, err := s.engine.Clinic.AppointmentType(appointmentTypeID)
	return err == nil && t.Page.Approval
}

type createAppointmentBody struct {
	clientBody
	saidBody
	AppointmentTypeID string      `json:"appointmentTypeId"`
	HoldID            string      `json:"holdId"`
	SlotStartDate     string      `json:"slotStartDate"`
	SpecialistID      string      `json:"specialistId"`
	Patient           patientBody `json:"patient"`
	Locale            string      `json:"locale"`
	Overbook          *struct {
		Reason string `json:"reason"`
	} `json:"overbook"`
	IgnoreHours bool  `json:"ignoreHours"`
	Displace    *bool `json:"displace"` // displace another client's hold; default: true if SpecialistID is set
	Notify      *bool `json:"notify"`
}

// createAppointment books for the desk, which may take a time that a visitor holds. If the request names no specialist,
// createAppointment prefers a specialist whose time is not held.
func (s *Server) createAppointment(c *call, b *createAppointmentBody) error {
	displace := b.SpecialistID != ""
	if b.Displace != nil {
		displace = *b.Displace
	}
	r := booking.Request{
		AppointmentTypeID: b.AppointmentTypeID, HoldID: b.HoldID, SpecialistID: b.SpecialistID, Client: c.client,
		Patient: store.Patient(b.Patient), Said: clinic.Said(b.saidBody), Locale: b.Locale, Source: store.SourceStaff,
		Actor: c.caller.actor, IgnoreHours: b.IgnoreHours, Displace: displace, Silent: c.inSilence(b.Notify),
	}
	if !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can book into your own calendar only; name yourself in specialistId.")
	}
	if b.Overbook != nil {
		switch {
		case c.caller.role == store.RoleSpecialist:
			return errForbidden.with("Only an owner or the reception can overbook.")
		case strings.TrimSpace(b.Overbook.Reason) == "":
			c.wrong.add("overbook.reason", "give a reason; it is recorded in the audit log")
		}
		r.OverbookReason = b.Overbook.Reason
	}
	return s.answerBooking(c, r, b.SlotStartDate, func(a *store.Appointment) any { return s.appointmentOf(c, a) })
}

func (s *Server) answerBooking(c *call, r booking.Request, start string, say func(*store.Appointment) any) error {
	r.SlotStart = c.wrong.instant("slotStartDate", start)
	render := func(result any) (int, []byte) {
		a := result.(store.Appointment)
		return rendered(http.StatusCreated, map[string]any{"appointment": say(&a)})
	}
	r.Once = c.answering(render)
	a, err := s.engine.Booking.Book(c.ctx(), r)
	if err != nil {
		return err
	}
	c.rw.Header()["Etag"] = []string{versionTag(&a)}
	c.leave(render, a)
	return nil
}

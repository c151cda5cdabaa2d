package web

import (
	"holdfast/engine/booking"
	"holdfast/store"
)

// changePatientBody corrects the patient of an appointment. A missing field keeps its value.
type changePatientBody struct {
	clientBody
	Patient struct {
		Name      *string `json:"name"`
		Email     *string `json:"email"`
		Phone     *string `json:"phone"`
		BirthDate *string `json:"birthDate"`
		Notes     *string `json:"notes"`
	} `json:"patient"`
	Answers map[string]string `json:"answers"` // by the question's id; an empty answer removes the stored one
	SMS     *bool             `json:"sms"`     // whether the patient agrees to text messages
	Notify  *bool             `json:"notify"`
}

func (s *Server) changePatient(c *call, b *changePatientBody) error {
	id, version, err := s.change(c)
	if err != nil {
		return err
	}
	a, err := s.engine.Booking.ChangePatient(c.ctx(), booking.PatientRequest{
		ID: id, Version: version, Actor: c.caller.actor, Silent: c.inSilence(b.Notify),
		Once: c.answering(s.renderAppointment(c)), Answers: b.Answers, SMS: b.SMS,
		Edit: func(p *store.Patient) {
			set(&p.Name, b.Patient.Name)
			set(&p.Email, b.Patient.Email)
			set(&p.Phone, b.Patient.Phone)
			set(&p.BirthDate, b.Patient.BirthDate)
			set(&p.Notes, b.Patient.Notes)
		},
	})
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

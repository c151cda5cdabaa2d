package web

import (
	"errors"
	"net/http"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/holds"
	"holdfast/store"
)

// requestJSON is a public booking that is waiting for a confirmation, in the form for its client.
type requestJSON struct {
	ID                string `json:"id"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	Status            string `json:"status"`
	SlotStartDate     string `json:"slotStartDate"`
	SlotEndDate       string `json:"slotEndDate"`
	CreatedAt         string `json:"createdAt"`
	ExpiresAt         string `json:"expiresAt"`
	Place             string `json:"place,omitempty"`
	Approval          bool   `json:"approval,omitempty"` // the desk must approve the request
	// WantedStartDate is the time that the patient asked for, if the desk has proposed another.
	WantedStartDate string `json:"wantedStartDate,omitempty"`
	// the patient confirms the request with the link in an email; if false, the desk confirms it
	ByMail bool `json:"byMail"`
}

// requestedJSON is a request in the form for the desk and the holder of its link.
type requestedJSON struct {
	requestJSON
	Patient patientJSON `json:"patient"`
	Intake  *intakeJSON `json:"intake,omitempty"`
	// Obstacle is why the time can no longer be booked, with the codes of not_bookable, or "taken".
	Obstacle string `json:"obstacle,omitempty"`
}

func (s *Server) requestOf(r *store.BookingRequest) requestJSON {
	return requestJSON{
		ID: r.ID, AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Status: string(r.Status),
		SlotStartDate: httpTime(r.SlotStart), SlotEndDate: httpTime(r.SlotEnd), CreatedAt: httpTime(r.CreatedAt),
		ExpiresAt: httpTime(r.ExpiresAt), Place: s.engine.Clinic.Current().PlaceAt(r.SpecialistID, r.SlotStart),
		Approval: r.Approval, WantedStartDate: optionalTime(r.WantedStart),
		ByMail: !r.Approval && r.Patient.Email != "" && s.engine.Message.MailsLinks(),
	}
}

// requestedOf returns a request for the desk and the holder of its link, with the obstacle of an open request.
func (s *Server) requestedOf(c *call, r *store.BookingRequest) (requestedJSON, error) {
	x := requestedJSON{requestJSON: s.requestOf(r), Patient: patientJSON(r.Patient), Intake: intakeOf(&r.Intake)}
	if r.Status != store.RequestOpen {
		return x, nil
	}
	obstacle, err := s.engine.Booking.Obstacle(c.ctx(), booking.RequestedSlot{
		AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Start: r.SlotStart,
		Length: r.SlotEnd.Sub(r.SlotStart),
	})
	x.Obstacle = string(obstacle)
	return x, err
}

// bookPublic books for a patient, or for an agent if the type needs approval. The limits of the public apply to a
// patient. The result is an appointment, or a request that must be confirmed.
func (s *Server) bookPublic(c *call, r booking.Request, start string) error {
	r.SlotStart = c.wrong.instant("slotStartDate", start)
	render := func(result any) (int, []byte) {
		switch x := result.(type) {
		case store.BookingRequest:
			return rendered(http.StatusAccepted, map[string]requestJSON{"request": s.requestOf(&x)})
		case store.Appointment:
			// Omit the patient's data: the caller has just sent them, and another caller who repeats the request must
			// not receive them.
			return rendered(http.StatusCreated,
				map[string]publicAppointmentJSON{"appointment": s.publicAppointmentOf(c, &x)})
		}
		return 0, nil
	}
	r.Once = c.answering(render)
	from := request.Visitor{Unlimited: !s.options.RateLimit || r.Source == store.SourceAgent,
		AdmitHold: func(h *holds.Hold) error { return s.admitHold(c, h, "") }}
	if address := s.address(c.r); address.IsValid() {
		from.Network = network(address)
	}
	booked, err := s.engine.Request.Book(c.ctx(), r, from)
	if err != nil {
		return err
	}
	if booked.Request != nil {
		c.leave(render, *booked.Request)
		return nil
	}
	c.rw.Header()["Etag"] = []string{versionTag(&booked.Appointment)}
	c.leave(render, booked.Appointment)
	return nil
}

// listRequests lists the requests that wait for a confirmation, for the desk.
func (s *Server) listRequests(c *call) error {
	list, err := s.engine.Request.List(c.ctx())
	if err != nil {
		return err
	}
	said := make([]requestedJSON, 0, len(list))
	for i := range list {
		r := &list[i]
		if !c.caller.reaches(r.SpecialistID) {
			continue
		}
		x, err := s.requestedOf(c, r)
		if err != nil {
			return err
		}
		said = append(said, x)
	}
	return c.json(http.StatusOK, map[string]any{"requests": said})
}

// requested returns the id of the request that the path names. It returns an error if this caller may not access the
// request.
func (s *Server) requested(c *call) (id string, err error) {
	if id = c.appointmentID(); c.caller.specialistID == "" {
		return id, nil
	}
	r, err := s.engine.Request.Get(c.ctx(), id)
	if err == nil && !c.caller.reaches(r.SpecialistID) {
		err = errForbidden.with("This request is for another specialist's calendar.")
	}
	return id, err
}

func (s *Server) getRequest(c *call) error {
	id, err := s.requested(c)
	if err != nil {
		return err
	}
	r, err := s.engine.Request.Get(c.ctx(), id)
	if err != nil {
		return err
	}
	x, err := s.requestedOf(c, &r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]requestedJSON{"request": x})
}

// confirmRequestBody contains the time that the caller saw. If the request now has a different time, nothing is booked.
type confirmRequestBody struct {
	SlotStartDate string `json:"slotStartDate"`
}

// confirmRequest books the appointment of a request. The caller is the desk, or has the link from the patient's email,
// which proves that the email address belongs to the caller.
func (s *Server) confirmRequest(c *call, b *confirmRequestBody) error {
	id, err := s.requested(c)
	if err != nil {
		return err
	}
	if !c.caller.may(desk) {
		r, err := s.engine.Request.Get(c.ctx(), id)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && r.Approval && r.WantedStart.IsZero() {
			return errForbidden.with(
				"The clinic decides on this request. To withdraw it, use POST /v1/requests/managed/decline.",
			)
		}
	}
	seen := c.wrong.instant("slotStartDate", b.SlotStartDate)
	a, err := s.engine.Request.Confirm(c.ctx(), id, seen, c.caller.actor, c.answering(s.renderAppointment(c)))
	if err != nil {
		return err
	}
	return s.sayAppointment(c, &a)
}

// declineRequest declines a request and frees its time. If the desk declines it, the server notifies the patient.
func (s *Server) declineRequest(c *call) error {
	id, err := s.requested(c)
	if err != nil {
		return err
	}
	say := func(r *store.BookingRequest) any { return map[string]requestJSON{"request": s.requestOf(r)} }
	return answerChange(c, http.StatusOK, say, func(once *record.Once) (store.BookingRequest, error) {
		return s.engine.Request.Decline(c.ctx(), id, c.caller.actor, c.caller.may(desk), once)
	})
}

type proposeBody struct {
	SlotStartDate string `json:"slotStartDate"`
	SpecialistID  string `json:"specialistId"`
}

// proposeRequest holds another time for the patient, who accepts or declines it with the link to the request.
func (s *Server) proposeRequest(c *call, b *proposeBody) error {
	id, err := s.requested(c)
	if err != nil {
		return err
	}
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can propose times in your own calendar only.")
	}
	start := c.wrong.instant("slotStartDate", b.SlotStartDate)
	say := func(r *store.BookingRequest) any { return map[string]requestJSON{"request": s.requestOf(r)} }
	return answerChange(c, http.StatusOK, say, func(once *record.Once) (store.BookingRequest, error) {
		return s.engine.Request.Propose(c.ctx(), id, b.SpecialistID, start, c.caller.actor, once)
	})
}

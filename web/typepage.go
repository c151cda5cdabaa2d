package web

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"

	"holdfast/engine/record"
	"holdfast/store"
)

// publicPage returns the public part of a type's page. It omits the video link, which only patients with an appointment
// get.
func publicPage(p *store.TypePage) store.TypePage {
	return store.TypePage{
		Group: p.Group, Color: p.Color, Price: p.Price, NewPatientsOnly: p.NewPatientsOnly, Texts: p.Texts,
		Questions: p.Questions, Approval: p.Approval, CancelText: p.CancelText, Remote: p.Remote,
	}
}

// offered returns record.ErrNoAppointmentType for a desk-only type if the caller has no access to the desk. moving is
// the appointment that the caller is about to move, or nil; its type is always allowed.
func (s *Server) offered(c *call, appointmentTypeID string, moving *store.Appointment) error {
	if c.caller.may(desk) || moving != nil && moving.AppointmentTypeID == appointmentTypeID {
		return nil
	}
	if t, err := s.engine.Clinic.AppointmentType(appointmentTypeID); err != nil || !t.Page.DeskOnly {
		return nil // the validation refuses an unknown type
	}
	return record.ErrNoAppointmentType
}

// visible returns record.ErrNoAppointmentType if one of the types is desk-only and the caller has no access to the
// desk. A manage link in the header Holdfast-Manage makes the type of its appointment visible.
func (s *Server) visible(c *call, appointmentTypeIDs ...string) error {
	for _, id := range appointmentTypeIDs {
		if s.offered(c, id, nil) == nil {
			continue
		}
		moving, err := s.moving(c)
		if err != nil {
			return err
		}
		if err := s.offered(c, id, moving); err != nil {
			return err
		}
	}
	return nil
}

type typeOrderBody struct {
	IDs []string `json:"ids"`
}

// orderAppointmentTypes is `PUT /v1/appointment-types/order`. The types in the body come first, in the order of the
// body.
func (s *Server) orderAppointmentTypes(c *call, b *typeOrderBody) error {
	if err := s.engine.Clinic.OrderAppointmentTypes(c.ctx(), c.caller.actor, b.IDs); err != nil {
		return err
	}
	return s.listAppointmentTypes(c)
}

// bootTypeJSON is an appointment type in the data that is embedded in a page. It contains only the fields that patients
// need to choose a type, because every visitor downloads it.
type bootTypeJSON struct {
	ID                  string                    `json:"id"`
	Name                string                    `json:"name"`
	Description         string                    `json:"description,omitempty"`
	DurationMinutes     int                       `json:"durationMinutes"`
	BufferBeforeMinutes int                       `json:"bufferBeforeMinutes,omitempty"`
	BufferAfterMinutes  int                       `json:"bufferAfterMinutes,omitempty"`
	HorizonDays         int                       `json:"horizonDays"`
	Capacity            int                       `json:"capacity"`
	MaxHoldSeconds      int                       `json:"maxHoldSeconds"`
	Specialists         []string                  `json:"specialists"` // ids, highest priority first
	Group               string                    `json:"group,omitempty"`
	Color               string                    `json:"color,omitempty"`
	Price               string                    `json:"price,omitempty"`
	NewPatientsOnly     bool                      `json:"newPatientsOnly,omitempty"`
	Texts               map[string]store.TypeText `json:"texts,omitempty"`
	// the checksum of the type's questions
	Asks       string `json:"asks,omitempty"`
	Approval   bool   `json:"approval,omitempty"`
	CancelText string `json:"cancelText,omitempty"`
	Remote     bool   `json:"remote,omitempty"`
}

// bootTypes lists the types that the public can book.
func (s *Server) bootTypes() []bootTypeJSON {
	list := []bootTypeJSON{}
	for _, t := range s.appointmentTypesFor(s.engine.Clinic.Schedule(), false) {
		j := bootTypeJSON{
			ID: t.ID, Name: t.Name, Description: t.Description, DurationMinutes: t.DurationMinutes,
			BufferBeforeMinutes: t.BufferBeforeMinutes, BufferAfterMinutes: t.BufferAfterMinutes,
			HorizonDays: t.HorizonDays, Capacity: t.Capacity, MaxHoldSeconds: t.MaxHoldSeconds,
			Specialists: make([]string, len(t.Specialists)), Group: t.Group, Color: t.Color, Price: t.Price,
			NewPatientsOnly: t.NewPatientsOnly, Texts: t.Texts, Asks: sumOf(t.Questions), Approval: t.Approval,
			CancelText: t.CancelText, Remote: t.Remote,
		}
		for i, a := range t.Specialists {
			j.Specialists[i] = a.SpecialistID
		}
		list = append(list, j)
	}
	return list
}

// namesOf returns the names of an appointment's type and specialist, by id. A page needs them, because its embedded
// data contains only the types and specialists that can be booked now.
func (s *Server) namesOf(a *store.Appointment) map[string]string {
	now := s.engine.Clinic.Current()
	who, _ := now.Who(a.SpecialistID)
	return map[string]string{a.AppointmentTypeID: now.TypeName(a.AppointmentTypeID, a.Locale), a.SpecialistID: who}
}

// sumOf returns a checksum of a type's questions, so that a page can notice a change. The checksum is empty if there
// are no questions.
func sumOf(questions []store.Question) string {
	if len(questions) == 0 {
		return ""
	}
	text, _ := json.Marshal(questions) // encoding strings and booleans cannot fail
	sum := fnv.New64a()
	_, _ = sum.Write(text)
	return strconv.FormatUint(sum.Sum64(), 36)
}

// moreToSay reports whether the page needs more than names for the choice of a type: either there are many types or
// specialists, or they have details such as groups, prices, places or pictures.
func moreToSay(types []bootTypeJSON, people []specialistJSON) bool {
	const many = 8 // above this number, the page offers a search
	return len(types) > many || len(people) > many ||
		slices.ContainsFunc(types, func(t bootTypeJSON) bool {
			return t.Group != "" || t.Color != "" || t.Price != "" || t.NewPatientsOnly || t.Remote || t.Approval
		}) ||
		slices.ContainsFunc(people, func(p specialistJSON) bool {
			return p.Line != "" || p.Picture != "" || len(p.Places) > 0
		})
}

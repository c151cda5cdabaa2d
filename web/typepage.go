package web

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"strconv"

	"holdfast/engine/record"
	"holdfast/store"
)

// publicPage returns the public part of a type's page. Only patients with an appointment see the link of a video
// call.
func publicPage(p *store.TypePage) store.TypePage {
	return store.TypePage{
		Group: p.Group, Color: p.Color, Price: p.Price, NewPatientsOnly: p.NewPatientsOnly, Texts: p.Texts,
		Questions: p.Questions, Approval: p.Approval, CancelText: p.CancelText, Remote: p.Remote,
	}
}

// offered refuses a desk-only type to callers without a key and to agents. An appointment that they are about to move
// can have any type.
func (s *Server) offered(c *call, appointmentTypeID string, moving *store.Appointment) error {
	if c.caller.may(desk) || moving != nil && moving.AppointmentTypeID == appointmentTypeID {
		return nil
	}
	if t, err := s.engine.Clinic.AppointmentType(appointmentTypeID); err != nil || !t.Page.DeskOnly {
		return nil // the validation refuses an unknown type
	}
	return record.ErrNoAppointmentType
}

// visible refuses types for the desk, as if they did not exist, to callers without a key and to agents. A manage link
// in the header Holdfast-Manage makes the type of its appointment visible.
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

// orderAppointmentTypes is `PUT /v1/appointment-types/order`: the named types come first, in that
// order.
func (s *Server) orderAppointmentTypes(c *call, b *typeOrderBody) error {
	if err := s.engine.Clinic.OrderAppointmentTypes(c.ctx(), c.caller.actor, b.IDs); err != nil {
		return err
	}
	return s.listAppointmentTypes(c)
}

// bootTypeJSON is an appointment type in the data that is embedded in a page. It contains only what the patient
// needs to choose a type, because every visitor downloads it.
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
	Specialists         []string                  `json:"specialists"` // ids, the best priority first
	Group               string                    `json:"group,omitempty"`
	Color               string                    `json:"color,omitempty"`
	Price               string                    `json:"price,omitempty"`
	NewPatientsOnly     bool                      `json:"newPatientsOnly,omitempty"`
	Texts               map[string]store.TypeText `json:"texts,omitempty"`
	// a sum of its questions, which the type itself names
	Asks       string `json:"asks,omitempty"`
	Approval   bool   `json:"approval,omitempty"`
	CancelText string `json:"cancelText,omitempty"`
	Remote     bool   `json:"remote,omitempty"`
}

// bootTypes lists the types that people may book.
func (s *Server) bootTypes() []bootTypeJSON {
	list := []bootTypeJSON{}
	for _, t := range s.appointmentTypesFor(false) {
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

// namesOf returns the names of an appointment's type and specialist by their ids, because a page has only those
// that can be booked now.
func (s *Server) namesOf(a *store.Appointment) map[string]string {
	now := s.engine.Clinic.Current()
	who, _ := now.Who(a.SpecialistID)
	return map[string]string{a.AppointmentTypeID: now.TypeName(a.AppointmentTypeID, a.Locale), a.SpecialistID: who}
}

// sumOf returns a checksum of a type's questions, so that a page can notice a change. It is empty without questions.
func sumOf(questions []store.Question) string {
	if len(questions) == 0 {
		return ""
	}
	text, _ := json.Marshal(questions) // strings and booleans
	sum := fnv.New64a()
	_, _ = sum.Write(text)
	return strconv.FormatUint(sum.Sum64(), 36)
}

// moreToSay reports whether choosing a type needs more than names: many types, groups, places or pictures.
func moreToSay(types []bootTypeJSON, people []specialistJSON) bool {
	const many = 8 // more are searched rather than read
	return len(types) > many || len(people) > many ||
		slices.ContainsFunc(types, func(t bootTypeJSON) bool {
			return t.Group != "" || t.Color != "" || t.Price != "" || t.NewPatientsOnly || t.Remote || t.Approval
		}) ||
		slices.ContainsFunc(people, func(p specialistJSON) bool {
			return p.Line != "" || p.Picture != "" || len(p.Places) > 0
		})
}

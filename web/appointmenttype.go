package web

import (
	"cmp"
	"net/http"
	"slices"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// appointmentTypeJSON is a bookable service. Only the desk gets Upstream and Needs.
type appointmentTypeJSON struct {
	clinic.AppointmentTypeEntry
	Description string `json:"description"` // sent even if it is empty
}

// appointmentTypeOf returns the JSON form of a type. Unless forAdmin is set, it omits non-public fields and deactivated
// specialists.
func (s *Server) appointmentTypeOf(t *store.AppointmentType, forAdmin bool) appointmentTypeJSON {
	j := appointmentTypeJSON{clinic.EntryOf(t), t.Description}
	if !forAdmin {
		j.TypePage, j.Needs, j.Upstream = publicPage(&t.Page), nil, nil
	}
	j.Specialists = slices.DeleteFunc(j.Specialists, func(a clinic.AssignmentEntry) bool {
		p, err := s.engine.Clinic.Specialist(a.SpecialistID)
		return err != nil || !forAdmin && !p.Active
	})
	slices.SortFunc(j.Specialists, func(a, b clinic.AssignmentEntry) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.SpecialistID, b.SpecialistID))
	})
	return j
}

// appointmentTypesFor lists the types of a schedule that this caller may see. The public sees only the active types
// that it may book.
func (s *Server) appointmentTypesFor(now *store.Schedule, forAdmin bool) []appointmentTypeJSON {
	list := []appointmentTypeJSON{}
	for i := range now.AppointmentTypes {
		if t := &now.AppointmentTypes[i]; forAdmin || t.Active && !t.Page.DeskOnly {
			list = append(list, s.appointmentTypeOf(t, forAdmin))
		}
	}
	return list
}

func (s *Server) listAppointmentTypes(c *call) error {
	return c.json(http.StatusOK, map[string]any{"appointmentTypes": s.appointmentTypesFor(s.engine.Clinic.Schedule(), c.caller.may(desk))})
}

func (s *Server) getAppointmentType(c *call) error {
	t, err := s.engine.Clinic.AppointmentType(c.param("id"))
	if err == nil {
		err = s.visible(c, t.ID)
	}
	if err != nil {
		return err
	}
	return s.sayAppointmentType(c, http.StatusOK, &t)
}

func (s *Server) sayAppointmentType(c *call, status int, t *store.AppointmentType) error {
	return c.json(status, s.appointmentTypeAnswer(c, t))
}

func (s *Server) appointmentTypeAnswer(c *call, t *store.AppointmentType) any {
	return map[string]appointmentTypeJSON{"appointmentType": s.appointmentTypeOf(t, c.caller.may(desk))}
}

// appointmentTypeBody creates or changes a type. In a new type, a missing field gets its default.
type appointmentTypeBody = changes[clinic.AppointmentTypeEntry]

// changeType returns the function that applies a body to a type.
func changeType(b *appointmentTypeBody) func(*store.AppointmentType) {
	return func(t *store.AppointmentType) {
		entry := clinic.EntryOf(t)
		b.apply(&entry)
		*t = entry.Type(t.Position)
	}
}

func (s *Server) createAppointmentType(c *call, b *appointmentTypeBody) error {
	t := clinic.DefaultAppointmentType()
	changeType(b)(&t)
	ctx := committing(c, http.StatusCreated, func(t *store.AppointmentType) any {
		return s.appointmentTypeAnswer(c, t)
	})
	made, err := s.engine.Clinic.CreateAppointmentType(ctx, c.caller.actor, t)
	if err != nil {
		return err
	}
	return s.sayAppointmentType(c, http.StatusCreated, &made)
}

func (s *Server) updateAppointmentType(c *call, b *appointmentTypeBody) error {
	if b.names["id"] {
		sameID(c, &b.sent.ID)
	}
	changed, err := s.engine.Clinic.UpdateAppointmentType(c.ctx(), c.caller.actor, c.param("id"), changeType(b))
	if err != nil {
		return err
	}
	return s.sayAppointmentType(c, http.StatusOK, &changed)
}

// sameID refuses a body whose id differs from the id in the path. A body with the same id is valid, because callers
// send back bodies that they have read.
func sameID(c *call, id *string) {
	if id != nil && *id != c.param("id") {
		c.wrong.add("id", "cannot be changed; leave it out")
	}
}

func (s *Server) archiveAppointmentType(c *call) error {
	return c.done(s.engine.Clinic.ArchiveAppointmentType(c.ctx(), c.caller.actor, c.param("id")))
}

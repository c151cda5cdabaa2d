package web

import (
	"cmp"
	"net/http"
	"slices"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// appointmentTypeJSON is a bookable service. Upstream is for admins, and Needs for the desk.
type appointmentTypeJSON struct {
	clinic.AppointmentTypeEntry
	Description string `json:"description"` // also if it is empty
}

// appointmentTypeOf leaves out the fields that are not public, and with them the deactivated specialists.
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

// appointmentTypesFor lists the types that this caller may see: the public sees the active ones that it may book.
func (s *Server) appointmentTypesFor(forAdmin bool) []appointmentTypeJSON {
	list := []appointmentTypeJSON{}
	for i := range s.engine.Clinic.Schedule().AppointmentTypes {
		if t := &s.engine.Clinic.Schedule().AppointmentTypes[i]; forAdmin || t.Active && !t.Page.DeskOnly {
			list = append(list, s.appointmentTypeOf(t, forAdmin))
		}
	}
	return list
}

func (s *Server) listAppointmentTypes(c *call) error {
	return c.json(http.StatusOK, map[string]any{"appointmentTypes": s.appointmentTypesFor(c.caller.may(desk))})
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

// appointmentTypeBody creates or changes a type. A missing field keeps its value, or has the default in a new type.
type appointmentTypeBody struct {
	ID                  *string                   `json:"id"`
	Name                *string                   `json:"name"`
	Description         *string                   `json:"description"`
	DurationMinutes     *int                      `json:"durationMinutes"`
	SlotStepMinutes     *int                      `json:"slotStepMinutes"`
	BufferBeforeMinutes *int                      `json:"bufferBeforeMinutes"`
	BufferAfterMinutes  *int                      `json:"bufferAfterMinutes"`
	MinNoticeMinutes    *int                      `json:"minNoticeMinutes"`
	HorizonDays         *int                      `json:"horizonDays"`
	CooldownMinutes     *int                      `json:"cooldownMinutes"`
	Capacity            *int                      `json:"capacity"`
	HoldTTLSeconds      *int                      `json:"holdTtlSeconds"`
	MaxHoldSeconds      *int                      `json:"maxHoldSeconds"`
	HoldQuota           *int                      `json:"holdQuota"`
	Active              *bool                     `json:"active"`
	Upstream            *clinic.UpstreamType      `json:"upstream"`
	Specialists         *[]clinic.AssignmentEntry `json:"specialists"`
	Needs               *[]store.Need             `json:"needs"`
	typePageBody
}

func (b *appointmentTypeBody) apply(t *store.AppointmentType) {
	set(&t.Name, b.Name)
	set(&t.Description, b.Description)
	set(&t.DurationMinutes, b.DurationMinutes)
	set(&t.SlotStepMinutes, b.SlotStepMinutes)
	set(&t.BufferBeforeMinutes, b.BufferBeforeMinutes)
	set(&t.BufferAfterMinutes, b.BufferAfterMinutes)
	set(&t.MinNoticeMinutes, b.MinNoticeMinutes)
	set(&t.HorizonDays, b.HorizonDays)
	set(&t.CooldownMinutes, b.CooldownMinutes)
	set(&t.Capacity, b.Capacity)
	set(&t.HoldTTLSeconds, b.HoldTTLSeconds)
	set(&t.MaxHoldSeconds, b.MaxHoldSeconds)
	set(&t.HoldQuota, b.HoldQuota)
	set(&t.Active, b.Active)
	set(&t.Needs, b.Needs)
	b.typePageBody.apply(&t.Page)
	if b.Upstream != nil {
		t.UpstreamTypeID = b.Upstream.AppointmentTypeGUID
	}
	if b.Specialists != nil {
		t.Specialists = nil
		for _, a := range *b.Specialists {
			t.Specialists = append(t.Specialists, store.Assignment(a))
		}
	}
}

func (s *Server) createAppointmentType(c *call, b *appointmentTypeBody) error {
	t := clinic.DefaultAppointmentType()
	set(&t.ID, b.ID)
	b.apply(&t)
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
	sameID(c, b.ID)
	changed, err := s.engine.Clinic.UpdateAppointmentType(c.ctx(), c.caller.actor, c.param("id"), b.apply)
	if err != nil {
		return err
	}
	return s.sayAppointmentType(c, http.StatusOK, &changed)
}

// sameID refuses to give a thing another id. A body that was read before may carry its own.
func sameID(c *call, id *string) {
	if id != nil && *id != c.param("id") {
		c.wrong.add("id", "cannot be changed; leave it out")
	}
}

func (s *Server) archiveAppointmentType(c *call) error {
	if err := s.engine.Clinic.ArchiveAppointmentType(c.ctx(), c.caller.actor, c.param("id")); err != nil {
		return err
	}
	return c.done()
}

// done is the answer to a change that has no result to return.
func (c *call) done() error { return c.json(http.StatusOK, map[string]bool{"ok": true}) }

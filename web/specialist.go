package web

import (
	"net/http"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// specialistJSON is the public part of a specialist.
type specialistJSON struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Line    string            `json:"line,omitempty"`
	Lines   map[string]string `json:"lines,omitempty"`
	Places  []string          `json:"places,omitempty"`  // ids of the places where the specialist works
	Picture string            `json:"picture,omitempty"` // a path on this server, which changes with the picture
}

func (s *Server) specialistOf(p *store.Specialist) specialistJSON {
	return specialistJSON{p.ID, p.Name, p.Page.Line, p.Page.Lines, s.engine.Clinic.Current().PlacesOf(p.ID),
		picturePath(p)}
}

// specialistDetailsJSON is a specialist in the form for the desk.
type specialistDetailsJSON struct {
	specialistJSON
	Kind        store.SpecialistKind       `json:"kind,omitempty"` // resource: a room or a device
	Timezone    string                     `json:"timezone"`
	Active      bool                       `json:"active"`
	Email       string                     `json:"email"`
	MaxSessions int                        `json:"maxSessions"`
	Upstream    *clinic.UpstreamSpecialist `json:"upstream,omitempty"`
}

func (s *Server) specialistDetailsOf(p *store.Specialist) specialistDetailsJSON {
	j := specialistDetailsJSON{s.specialistOf(p), p.Kind, p.Timezone, p.Active, p.Email, p.MaxSessions, nil}
	if p.UpstreamScheduleViewID != "" || p.UpstreamColumnID != "" {
		j.Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: p.UpstreamScheduleViewID,
			ScheduleColumnGUID: p.UpstreamColumnID}
	}
	return j
}

// publicSpecialists lists the active specialists without rooms and devices, which cannot be booked on their own.
func (s *Server) publicSpecialists() []specialistJSON {
	list, now := []specialistJSON{}, s.engine.Clinic.Schedule()
	for i := range now.Specialists {
		if p := &now.Specialists[i]; p.Active && p.Kind == store.PersonKind {
			list = append(list, s.specialistOf(p))
		}
	}
	return list
}

func (s *Server) listSpecialists(c *call) error {
	if !c.caller.may(desk) {
		return c.json(http.StatusOK, map[string]any{"specialists": s.publicSpecialists()})
	}
	list, now := []specialistDetailsJSON{}, s.engine.Clinic.Schedule()
	for i := range now.Specialists {
		list = append(list, s.specialistDetailsOf(&now.Specialists[i]))
	}
	return c.json(http.StatusOK, map[string]any{"specialists": list})
}

func (s *Server) getSpecialist(c *call) error {
	p, err := s.engine.Clinic.Specialist(c.param("id"))
	switch {
	case err != nil:
		return err
	case c.caller.may(desk):
		return s.saySpecialist(c, http.StatusOK, &p)
	case !p.Active, p.Kind != store.PersonKind:
		return store.ErrNotFound
	}
	return c.json(http.StatusOK, map[string]specialistJSON{"specialist": s.specialistOf(&p)})
}

func (s *Server) saySpecialist(c *call, status int, p *store.Specialist) error {
	return c.json(status, s.specialistAnswer(p))
}

func (s *Server) specialistAnswer(p *store.Specialist) any {
	return map[string]specialistDetailsJSON{"specialist": s.specialistDetailsOf(p)}
}

// specialistBody creates or changes a specialist. A missing field keeps its value.
type specialistBody struct {
	ID          *string                    `json:"id"`
	Kind        *store.SpecialistKind      `json:"kind"`
	Name        *string                    `json:"name"`
	Timezone    *string                    `json:"timezone"`
	Active      *bool                      `json:"active"`
	Email       *string                    `json:"email"`
	MaxSessions *int                       `json:"maxSessions"`
	Upstream    *clinic.UpstreamSpecialist `json:"upstream"`
	Line        *string                    `json:"line"`
	Lines       *map[string]string         `json:"lines"`
}

func (b *specialistBody) apply(p *store.Specialist) {
	set(&p.Kind, b.Kind)
	set(&p.Name, b.Name)
	set(&p.Timezone, b.Timezone)
	set(&p.Active, b.Active)
	set(&p.Email, b.Email)
	set(&p.MaxSessions, b.MaxSessions)
	set(&p.Page.Line, b.Line)
	set(&p.Page.Lines, b.Lines)
	if b.Upstream != nil {
		p.UpstreamScheduleViewID, p.UpstreamColumnID = b.Upstream.ScheduleViewGUID, b.Upstream.ScheduleColumnGUID
	}
}

func (s *Server) createSpecialist(c *call, b *specialistBody) error {
	p := store.Specialist{Active: true, MaxSessions: 1}
	set(&p.ID, b.ID)
	b.apply(&p)
	ctx := committing(c, http.StatusCreated, s.specialistAnswer)
	made, err := s.engine.Clinic.CreateSpecialist(ctx, c.caller.actor, p)
	if err != nil {
		return err
	}
	return s.saySpecialist(c, http.StatusCreated, &made)
}

func (s *Server) updateSpecialist(c *call, b *specialistBody) error {
	sameID(c, b.ID)
	changed, err := s.engine.Clinic.UpdateSpecialist(c.ctx(), c.caller.actor, c.param("id"), b.apply)
	if err != nil {
		return err
	}
	return s.saySpecialist(c, http.StatusOK, &changed)
}

func (s *Server) archiveSpecialist(c *call) error {
	return c.done(s.engine.Clinic.ArchiveSpecialist(c.ctx(), c.caller.actor, c.param("id")))
}

// hoursJSON is one window of the weekly hours, in local time. The end may be 24:00.
type hoursJSON struct {
	Weekday string `json:"weekday"`
	windowJSON
}

type windowJSON struct {
	Start string `json:"start"`
	End   string `json:"end"`
	Place string `json:"place,omitempty"`
}

func (w *windowJSON) read(m *mistakes, at string) store.Window {
	v := store.Window{Place: w.Place}
	var err error
	if v.Start, err = store.ParseTimeOfDay(w.Start); err != nil {
		m.add(at+"start", "must be a local time like 09:00")
	}
	if v.End, err = store.ParseTimeOfDay(w.End); err != nil {
		m.add(at+"end", "must be a local time like 12:00, at most 24:00")
	}
	return v
}

func (s *Server) getWeeklyHours(c *call) error {
	hours, err := s.engine.Clinic.WeeklyHours(c.param("id"))
	if err != nil {
		return err
	}
	return sayHours(c, hours)
}

func sayHours(c *call, hours []store.WeeklyWindow) error {
	return c.json(http.StatusOK, map[string]any{"weeklyHours": hoursOf(hours)})
}

func hoursOf(hours []store.WeeklyWindow) []hoursJSON {
	return each(hours, func(w *store.WeeklyWindow) hoursJSON {
		return hoursJSON{w.Weekday.String(), windowJSON{w.Start.String(), w.End.String(), w.Place}}
	})
}

// putWeeklyHours replaces the weekly hours. With ?dryRun=true, it changes nothing and returns the slots that the new
// hours would produce.
func (s *Server) putWeeklyHours(c *call, b *[]hoursJSON) error {
	q := c.query()
	dryRun := q.flag("dryRun")
	if err := q.err(); err != nil {
		return err
	}
	m := &c.wrong
	for i := range *m { // the body is the list, so the decoder has no name for it
		(*m)[i].Field = "weeklyHours" + (*m)[i].Field
	}
	hours := make([]store.WeeklyWindow, len(*b))
	for i, w := range *b {
		at := indexed("weeklyHours", i) + "."
		if err := hours[i].Weekday.UnmarshalText([]byte(w.Weekday)); err != nil {
			m.add(at+"weekday", "must be a weekday like monday")
		}
		hours[i].Window = w.read(m, at)
	}
	if dryRun {
		return s.dryRunHours(c, q, hours)
	}
	if err := s.engine.Clinic.PutWeeklyHours(c.ctx(), c.caller.actor, c.param("id"), hours); err != nil {
		return err
	}
	return s.getWeeklyHours(c)
}

// dryRunSlotJSON is a slot that new weekly hours would produce.
type dryRunSlotJSON struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	Start             string `json:"start"`
	End               string `json:"end"`
}

// dryRunHours returns the slots that the hours would produce from one date to another, for one type or for all types of
// the specialist.
func (s *Server) dryRunHours(c *call, q *query, hours []store.WeeklyWindow) error {
	id := c.param("id")
	p, err := s.engine.Clinic.Specialist(id)
	if err != nil {
		return err
	}
	from, to, appointmentTypeID := q.date("from"), q.date("to"), q.id("appointmentTypeId")
	if from == (store.Date{}) {
		zone, err := time.LoadLocation(p.Timezone)
		if err != nil {
			zone = time.UTC
		}
		from = store.DateOf(time.Now().In(zone))
	}
	if to == (store.Date{}) {
		to = from.AddDays(booking.DefaultTimeslotDays)
	}
	if days := from.DaysUntil(to); days <= 0 || days > booking.MaxTimeslotDays {
		q.add("to", "must be 1 to 62 days after from; it is the first day that is not included")
	}
	if err := q.err(); err != nil {
		return err
	}
	types := s.engine.Clinic.Serves(id)
	if appointmentTypeID != "" {
		types = []string{appointmentTypeID}
	}
	slots := []dryRunSlotJSON{}
	for _, t := range types {
		list, err := s.engine.Clinic.DryRunWeeklyHours(c.ctx(), id, t, hours, from, to)
		if err != nil {
			return err
		}
		for _, slot := range list {
			slots = append(slots, dryRunSlotJSON{t, httpTime(slot.Start), httpTime(slot.End)})
		}
	}
	return c.json(http.StatusOK, map[string]any{"dryRun": true, "from": from, "to": to, "slots": slots})
}

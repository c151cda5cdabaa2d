package web

import (
	"net/http"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/series"
	"holdfast/store"
)

// seriesPlanBody says which times are wanted, on the clinic's clock.
type seriesPlanBody struct {
	clientBody
	SpecialistIDs []string `json:"specialistIds"`
	From          string   `json:"from"`
	Time          string   `json:"time"`
	Weekdays      []string `json:"weekdays"`
	EveryWeeks    *int     `json:"everyWeeks"`
	Count         int      `json:"count"`
}

// occurrenceJSON is one time of a series, and whether it can be had.
type occurrenceJSON struct {
	AppointmentID string      `json:"appointmentId,omitempty"`
	SlotStartDate string      `json:"slotStartDate"`
	SlotEndDate   string      `json:"slotEndDate"`
	SpecialistIDs []string    `json:"specialistIds"`
	Reason        string      `json:"reason,omitempty"`
	Nearest       []foundJSON `json:"nearest"`
}

func occurrencesOf(plan []series.Occurrence) map[string][]occurrenceJSON {
	said := make([]occurrenceJSON, len(plan))
	for i, o := range plan {
		said[i] = occurrenceJSON{o.AppointmentID, httpTime(o.Start), httpTime(o.End), append([]string{}, o.SpecialistIDs...), string(o.Reason), foundOf(o.Nearest)}
	}
	return map[string][]occurrenceJSON{"occurrences": said}
}

func foundOf(list []booking.Timeslot) []foundJSON {
	said := make([]foundJSON, len(list))
	for i, t := range list {
		said[i] = foundJSON{httpTime(t.Start), httpTime(t.End), t.Available, t.SpecialistIDs}
	}
	return said
}

// planSeries is `POST /v1/appointment-types/{id}/series-plan`: it changes nothing, and is not kept for a repeat of the request. A
// specialist plans in the own calendar.
func (s *Server) planSeries(c *call, b *seriesPlanBody) error {
	c.once = nil
	var m mistakes
	r := series.Rule{
		AppointmentTypeID: c.param("id"), SpecialistIDs: b.SpecialistIDs, From: m.parseDate("from", b.From), Time: m.clock("time", b.Time),
		Weekdays: m.weekdays("weekdays", b.Weekdays), Count: b.Count, Client: c.client,
	}
	if b.EveryWeeks != nil {
		if r.Every = *b.EveryWeeks; r.Every < 1 {
			m.add("everyWeeks", "must be at least 1")
		}
	}
	if len(b.SpecialistIDs) > 200 {
		m.add("specialistIds", "at most 200 specialists")
	}
	if err := m.err(); err != nil {
		return err
	}
	if own := c.caller.specialistID; own != "" {
		r.SpecialistIDs = []string{own}
	}
	plan, err := s.engine.Series.Plan(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, occurrencesOf(plan))
}

type createSeriesBody struct {
	clientBody
	saidBody
	AppointmentTypeID string `json:"appointmentTypeId"`
	Times             []struct {
		SlotStartDate string `json:"slotStartDate"`
		SpecialistID  string `json:"specialistId"`
	} `json:"times"`
	Patient  patientBody `json:"patient"`
	Locale   string      `json:"locale"`
	Displace bool        `json:"displace"`
	Notify   *bool       `json:"notify"`
}

// createSeries books all times or none.
func (s *Server) createSeries(c *call, b *createSeriesBody) error {
	var m mistakes
	r := series.Request{
		AppointmentTypeID: b.AppointmentTypeID, Patient: store.Patient(b.Patient), Said: clinic.Said(b.saidBody), Locale: b.Locale, Client: c.client, Source: store.SourceStaff,
		Actor: c.caller.actor, Silent: c.inSilence(b.Notify), Displace: b.Displace,
	}
	for i, x := range b.Times {
		r.Times = append(r.Times, series.Time{Start: m.instant(indexed("times", i)+".slotStartDate", x.SlotStartDate), SpecialistID: x.SpecialistID})
		if !c.caller.reaches(x.SpecialistID) {
			return errForbidden.with("You can book into your own calendar only; name yourself in each specialistId.")
		}
	}
	if err := m.err(); err != nil {
		return err
	}
	render := s.renderSeries(c, http.StatusCreated)
	r.Once = c.answering(render)
	list, err := s.engine.Series.Book(c.ctx(), r)
	if err != nil {
		return err
	}
	c.status, c.out = render(list)
	return nil
}

// renderSeries is the answer to every change of a series.
func (s *Server) renderSeries(c *call, status int) func(any) (int, []byte) {
	return func(result any) (int, []byte) {
		list := result.([]store.Appointment)
		said := make([]appointmentJSON, len(list))
		for i := range list {
			said[i] = s.appointmentOf(c, &list[i])
		}
		return rendered(status, map[string]any{"seriesId": list[0].SeriesID, "appointments": said})
	}
}

// getSeries lists all appointments of the series of one, cancelled ones included. A specialist sees those of the own calendar.
func (s *Server) getSeries(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	list, err := s.engine.Series.Of(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"seriesId": list[0].SeriesID, "appointments": c.reached(list)})
}

// reached are those of several appointments that are in calendars of the caller's, as the desk sees them.
func (c *call) reached(list []store.Appointment) []appointmentJSON {
	said := []appointmentJSON{}
	for i := range list {
		if c.caller.reaches(list[i].SpecialistID) {
			said = append(said, deskAppointmentOf(&list[i]))
		}
	}
	return said
}

// from reads which appointments of a series are meant, from one of them on.
func (s *Server) from(c *call, notify *bool) (series.From, error) {
	id, version, err := s.change(c)
	return series.From{ID: id, Version: version, Reaches: c.caller.reaches, Actor: c.caller.actor, Silent: c.inSilence(notify)}, err
}

type cancelSeriesBody struct {
	clientBody
	Reason   string `json:"reason"`
	Notify   *bool  `json:"notify"`
	Undoable bool   `json:"undoable"` // for staff
}

func (s *Server) cancelSeries(c *call, b *cancelSeriesBody) error {
	from, err := s.from(c, b.Notify)
	if err != nil {
		return err
	}
	render := s.renderSeries(c, http.StatusOK)
	from.Once, from.Undoable = c.answering(render), b.Undoable
	list, err := s.engine.Series.CancelFrom(c.ctx(), from, b.Reason)
	if err != nil {
		return err
	}
	c.status, c.out = render(list)
	return nil
}

type moveSeriesBody struct {
	clientBody
	SlotStartDate string   `json:"slotStartDate"`
	SpecialistID  string   `json:"specialistId"`
	Keep          []string `json:"keep"`
	Displace      bool     `json:"displace"`
	Notify        *bool    `json:"notify"`
	Undoable      bool     `json:"undoable"` // for staff
}

func (s *Server) moveOf(c *call, b *moveSeriesBody) (series.Move, error) {
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return series.Move{}, errForbidden.with("You can move appointments within your own calendar only.")
	}
	from, err := s.from(c, b.Notify)
	if err != nil {
		return series.Move{}, err
	}
	var m mistakes
	start := m.instant("slotStartDate", b.SlotStartDate)
	if len(b.Keep) > series.MaxTimes {
		m.add("keep", "at most 52 ids")
	}
	return series.Move{From: from, SlotStart: start, SpecialistID: b.SpecialistID, Keep: b.Keep, Displace: b.Displace}, m.err()
}

// planSeriesMove changes nothing, and is not kept for a repeat of the request.
func (s *Server) planSeriesMove(c *call, b *moveSeriesBody) error {
	c.once = nil
	move, err := s.moveOf(c, b)
	if err != nil {
		return err
	}
	plan, err := s.engine.Series.PlanMove(c.ctx(), move)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, occurrencesOf(plan))
}

func (s *Server) moveSeries(c *call, b *moveSeriesBody) error {
	move, err := s.moveOf(c, b)
	if err != nil {
		return err
	}
	render := s.renderSeries(c, http.StatusOK)
	move.Once, move.Undoable = c.answering(render), b.Undoable
	list, err := s.engine.Series.MoveFrom(c.ctx(), move)
	if err != nil {
		return err
	}
	c.status, c.out = render(list)
	return nil
}

// undoSeries takes back what this member of staff has just done to several of a series.
func (s *Server) undoSeries(c *call) error {
	from, err := s.from(c, nil)
	if err != nil {
		return err
	}
	render := s.renderSeries(c, http.StatusOK)
	from.Once = c.answering(render)
	list, err := s.engine.Series.Undo(c.ctx(), from)
	if err != nil {
		return err
	}
	c.status, c.out = render(list)
	return nil
}

// conflictOf is what is said of a series of which some times cannot be had.
func conflictOf(err *series.ConflictError) problem {
	p := errSlotTaken.titled("Some of the times cannot be had").with("Nothing was changed. Exchange the times listed in errors, or leave them out, and send the request again.")
	for _, c := range err.Conflicts {
		message := whyNot(c.Reason)
		if c.Reason == series.ReasonHeld {
			message = errSlotHeld.Detail
		}
		p.Errors = append(p.Errors, problemField{indexed("times", c.Place), message})
	}
	return p
}

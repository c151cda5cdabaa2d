package web

import (
	"net/http"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/store"
)

// seriesPlanBody describes the requested times, in the clinic's local time.
type seriesPlanBody struct {
	clientBody
	SpecialistIDs []string `json:"specialistIds"`
	From          string   `json:"from"`
	Time          string   `json:"time"`
	Weekdays      []string `json:"weekdays"`
	EveryWeeks    *int     `json:"everyWeeks"`
	Count         int      `json:"count"`
}

// occurrenceJSON is one time of a series, and whether it is free.
type occurrenceJSON struct {
	AppointmentID string      `json:"appointmentId,omitempty"`
	SlotStartDate string      `json:"slotStartDate"`
	SlotEndDate   string      `json:"slotEndDate"`
	SpecialistIDs []string    `json:"specialistIds"`
	Reason        string      `json:"reason,omitempty"`
	Nearest       []foundJSON `json:"nearest"`
}

func occurrencesOf(s *clinic.Schedule, plan []group.Occurrence) map[string][]occurrenceJSON {
	list := each(plan, func(o *group.Occurrence) occurrenceJSON {
		return occurrenceJSON{
			o.AppointmentID, httpTime(o.Start), httpTime(o.End), append([]string{}, o.SpecialistIDs...),
			string(o.Reason), foundOf(s, o.Nearest),
		}
	})
	return map[string][]occurrenceJSON{"occurrences": list}
}

func foundOf(s *clinic.Schedule, list []booking.Timeslot) []foundJSON {
	return each(list, func(t *booking.Timeslot) foundJSON {
		place := ""
		if len(t.SpecialistIDs) > 0 {
			place = s.PlaceAt(t.SpecialistIDs[0], t.Start)
		}
		return foundJSON{httpTime(t.Start), httpTime(t.End), t.Available, t.SpecialistIDs, place}
	})
}

// planSeries is `POST /v1/appointment-types/{id}/series-plan`. It changes nothing, so its response is not stored for a
// repeated request. A signed-in specialist can plan only their own calendar.
func (s *Server) planSeries(c *call, b *seriesPlanBody) error {
	c.once = nil
	m := &c.wrong
	r := group.Rule{
		AppointmentTypeID: c.param("id"), SpecialistIDs: b.SpecialistIDs, From: m.parseDate("from", b.From),
		Time:     m.clock("time", b.Time),
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
	if own := c.caller.specialistID; own != "" {
		r.SpecialistIDs = []string{own}
	}
	plan, err := s.engine.Group.Series.Plan(c.ctx(), r)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, occurrencesOf(s.engine.Clinic.Current(), plan))
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

// createSeries books all times of a series or none.
func (s *Server) createSeries(c *call, b *createSeriesBody) error {
	m := &c.wrong
	r := group.SeriesRequest{
		AppointmentTypeID: b.AppointmentTypeID, Patient: store.Patient(b.Patient), Said: clinic.Said(b.saidBody),
		Locale: b.Locale, Client: c.client, Source: store.SourceStaff,
		Actor: c.caller.actor, Silent: c.inSilence(b.Notify), Displace: b.Displace,
	}
	for i, x := range b.Times {
		r.Times = append(r.Times, group.Time{Start: m.instant(indexed("times", i)+".slotStartDate", x.SlotStartDate),
			SpecialistID: x.SpecialistID})
		if !c.caller.reaches(x.SpecialistID) {
			return errForbidden.with("You can book into your own calendar only; name yourself in each specialistId.")
		}
	}
	return s.changeSeries(c, http.StatusCreated, func(once *record.Once) ([]store.Appointment, error) {
		r.Once = once
		return s.engine.Group.Series.Book(c.ctx(), r)
	})
}

// changeSeries responds to a change to a series with the appointments of the series.
func (s *Server) changeSeries(c *call, status int, do func(*record.Once) ([]store.Appointment, error)) error {
	return answerChange(c, status, func(list *[]store.Appointment) any {
		said := each(*list, func(a *store.Appointment) appointmentJSON { return s.appointmentOf(c, a) })
		return map[string]any{"seriesId": (*list)[0].SeriesID, "appointments": said}
	}, do)
}

// getSeries lists all appointments of the series that an appointment belongs to, including cancelled ones. A signed-in
// specialist gets only those in their own calendar.
func (s *Server) getSeries(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	list, err := s.engine.Group.Series.Of(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]any{"seriesId": list[0].SeriesID, "appointments": c.reached(list)})
}

// reached returns the appointments in the calendars that the caller may access, in the form for the desk.
func (c *call) reached(list []store.Appointment) []appointmentJSON {
	said := []appointmentJSON{}
	for i := range list {
		if c.caller.reaches(list[i].SpecialistID) {
			said = append(said, deskAppointmentOf(&list[i]))
		}
	}
	return said
}

type cancelSeriesBody struct {
	clientBody
	Reason   string `json:"reason"`
	Notify   *bool  `json:"notify"`
	Undoable bool   `json:"undoable"` // staff only
}

func (s *Server) cancelSeries(c *call, b *cancelSeriesBody) error {
	which, err := s.which(c, b.Notify, b.Undoable)
	if err != nil {
		return err
	}
	return s.changeSeries(c, http.StatusOK, func(once *record.Once) ([]store.Appointment, error) {
		which.Once = once
		return s.engine.Group.Series.Cancel(c.ctx(), group.Cancel{Which: which, Reason: b.Reason})
	})
}

type moveSeriesBody struct {
	clientBody
	SlotStartDate string   `json:"slotStartDate"`
	SpecialistID  string   `json:"specialistId"`
	Keep          []string `json:"keep"`
	Displace      bool     `json:"displace"`
	Notify        *bool    `json:"notify"`
	Undoable      bool     `json:"undoable"` // staff only
}

func (s *Server) moveOf(c *call, b *moveSeriesBody) (group.SeriesMove, error) {
	if b.SpecialistID != "" && !c.caller.reaches(b.SpecialistID) {
		return group.SeriesMove{}, errForbidden.with("You can move appointments within your own calendar only.")
	}
	which, err := s.which(c, b.Notify, b.Undoable)
	if err != nil {
		return group.SeriesMove{}, err
	}
	m := &c.wrong
	start := m.instant("slotStartDate", b.SlotStartDate)
	if len(b.Keep) > group.MaxTimes {
		m.add("keep", "at most 52 ids")
	}
	return group.SeriesMove{Which: which, SlotStart: start, SpecialistID: b.SpecialistID, Keep: b.Keep,
		Displace: b.Displace}, nil
}

// planSeriesMove changes nothing, so its response is not stored for a repeated request.
func (s *Server) planSeriesMove(c *call, b *moveSeriesBody) error {
	c.once = nil
	move, err := s.moveOf(c, b)
	if err != nil {
		return err
	}
	plan, err := s.engine.Group.Series.PlanMove(c.ctx(), move)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, occurrencesOf(s.engine.Clinic.Current(), plan))
}

func (s *Server) moveSeries(c *call, b *moveSeriesBody) error {
	move, err := s.moveOf(c, b)
	if err != nil {
		return err
	}
	return s.changeSeries(c, http.StatusOK, func(once *record.Once) ([]store.Appointment, error) {
		move.Once = once
		return s.engine.Group.Series.Move(c.ctx(), move)
	})
}

// undoSeries undoes the last change that this member of staff made to several appointments in a series.
func (s *Server) undoSeries(c *call) error {
	which, err := s.which(c, nil, false)
	if err != nil {
		return err
	}
	return s.changeSeries(c, http.StatusOK, func(once *record.Once) ([]store.Appointment, error) {
		which.Once = once
		return s.engine.Group.Series.Undo(c.ctx(), which)
	})
}

// conflictOf converts a series' conflicts to an API problem.
func conflictOf(err *group.ConflictError) problem {
	p := errSlotTaken.titled("Some times are not available").with(
		"Nothing was changed. Replace or remove the times listed in errors, and send the request again.")
	for _, c := range err.Conflicts {
		message := whyNot(c.Reason)
		if c.Reason == availability.ReasonHeld {
			message = errSlotHeld.Detail
		}
		p.Errors = append(p.Errors, problemField{indexed("times", c.Place), message})
	}
	return p
}

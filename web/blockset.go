package web

import (
	"errors"
	"net/http"
	"slices"

	"holdfast/engine/clinic"
	"holdfast/engine/ical"
	"holdfast/engine/record"
	"holdfast/store"
)

// blocksBody requests several blocks that belong together. Dates and times are in the clinic's local time.
type blocksBody struct {
	clientBody
	SpecialistIDs []string        `json:"specialistIds"`
	Spans         []blockSpanBody `json:"spans"`
	Repeat        *struct {
		EveryWeeks int    `json:"everyWeeks"`
		Until      string `json:"until"`
	} `json:"repeat"`
}

type blockSpanBody struct {
	Title string `json:"title"`
	From  string `json:"from"`
	To    string `json:"to"`
	Start string `json:"start"`
	End   string `json:"end"`
}

func (s *Server) blockForm(c *call, b *blocksBody) (clinic.BlockForm, error) {
	f := clinic.BlockForm{SpecialistIDs: b.SpecialistIDs}
	if c.caller.specialistID != "" && !slices.Equal(b.SpecialistIDs, []string{c.caller.specialistID}) {
		return f, errForbidden.with("You can change your own calendar only; name yourself alone in specialistIds.")
	}
	m := &c.wrong
	if len(b.Spans) > clinic.MaxBlocks {
		m.add("spans", "must be at most 2000")
		return f, m.err()
	}
	for i, x := range b.Spans {
		at := indexed("spans", i) + "."
		if x.To == "" {
			x.To = x.From
		}
		f.Spans = append(f.Spans, clinic.BlockSpan{
			Title: x.Title, From: m.parseDate(at+"from", x.From), To: m.parseDate(at+"to", x.To),
			Whole: x.Start == "" && x.End == "", Start: m.clock(at+"start", x.Start), End: m.clock(at+"end", x.End),
		})
	}
	if b.Repeat != nil {
		f.EveryWeeks, f.Until = b.Repeat.EveryWeeks, m.parseDate("repeat.until", b.Repeat.Until)
	}
	return f, nil
}

// planBlocks returns how many blocks a form would create, and the appointments that those blocks overlap. It changes
// nothing.
func (s *Server) planBlocks(c *call, b *blocksBody) error {
	c.once = nil
	f, err := s.blockForm(c, b)
	if err != nil {
		return err
	}
	list, err := s.engine.Clinic.PlanBlocks(f)
	if err != nil {
		return err
	}
	said, err := s.inTheWay(c, list)
	if err != nil {
		return err
	}
	said["count"] = len(list)
	return c.json(http.StatusOK, said)
}

// inTheWayJSON is an appointment that overlaps a block.
type inTheWayJSON struct {
	appointmentJSON
	Told bool `json:"told"` // the server emailed the patient that the appointment must move
}

func (s *Server) inTheWay(c *call, blocks []store.Block) (map[string]any, error) {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b store.Block) bool {
		return !c.caller.reaches(b.SpecialistID)
	})
	list, more, err := s.engine.Booking.InTheWay(c.ctx(), blocks)
	if err != nil {
		return nil, err
	}
	told, err := s.engine.Message.Told(c.ctx(), list)
	if err != nil {
		return nil, err
	}
	said := each(list, func(a *store.Appointment) inTheWayJSON {
		return inTheWayJSON{deskAppointmentOf(a), told[a.ID]}
	})
	return map[string]any{"appointments": said, "more": more}, nil
}

func (s *Server) createBlocks(c *call, b *blocksBody) error {
	f, err := s.blockForm(c, b)
	if err != nil {
		return err
	}
	say := func(list *[]store.Block) any {
		return map[string]any{"count": len(*list), "block": blockOf(&(*list)[0])}
	}
	return answerChange(c, http.StatusCreated, say, func(once *record.Once) ([]store.Block, error) {
		return s.engine.Clinic.CreateBlocks(c.ctx(), c.caller.actor, f, once)
	})
}

// listInTheWay returns the appointments that overlap a block or any block created with it.
func (s *Server) listInTheWay(c *call) error {
	blocks, err := s.engine.Clinic.BlocksWith(c.param("id"))
	if err != nil {
		return err
	}
	said, err := s.inTheWay(c, blocks)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, said)
}

func (s *Server) deleteBlockSet(c *call) error {
	return c.done(s.engine.Clinic.DeleteBlockSet(c.ctx(), c.caller.actor, c.param("id"), c.caller.reaches))
}

type holidaysBody struct {
	clientBody
	ICS string `json:"ics"`
}

// holidayJSON is an all-day entry of a public calendar.
type holidayJSON struct {
	Title string `json:"title"`
	From  string `json:"from"`
	To    string `json:"to"`
}

// readHolidays reads a public calendar and stores nothing. The caller sends the chosen days to POST /v1/blocks.
func (s *Server) readHolidays(c *call, b *holidaysBody) error {
	c.once = nil
	days, err := ical.Holidays(b.ICS)
	var wrong *ical.HolidayError
	if errors.As(err, &wrong) {
		return fieldError("ics", wrong.Error())
	}
	said := each(days, func(d *ical.Holiday) holidayJSON {
		return holidayJSON{d.Title, d.From.String(), d.To.String()}
	})
	return c.json(http.StatusOK, map[string]any{"days": said})
}

// tellToMove emails a patient that the appointment must be moved.
func (s *Server) tellToMove(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	render := func(any) (int, []byte) { return rendered(http.StatusOK, map[string]bool{"ok": true}) }
	if err := s.engine.Message.AskToMove(c.ctx(), c.param("id"), c.caller.actor, c.answering(render)); err != nil {
		return err
	}
	c.status, c.out = render(nil)
	return nil
}

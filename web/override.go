package web

import (
	"net/http"

	"holdfast/engine/record"
	"holdfast/store"
)

// overrideJSON replaces the weekly hours of one local date: the specialist is closed or has other hours.
type overrideJSON struct {
	ID           string       `json:"id"`
	SpecialistID string       `json:"specialistId"`
	Date         store.Date   `json:"date"`
	Closed       bool         `json:"closed"`
	Hours        []windowJSON `json:"hours,omitempty"`
	Reason       string       `json:"reason,omitempty"`
}

func overrideOf(o *store.Override) overrideJSON {
	j := overrideJSON{ID: o.ID, SpecialistID: o.SpecialistID, Date: o.Date, Closed: o.Closed, Reason: o.Reason}
	for _, w := range o.Hours {
		j.Hours = append(j.Hours, windowJSON{w.Start.String(), w.End.String(), w.Place})
	}
	return j
}

// listOverrides lists the overrides of a specialist. For a colleague's overrides, a signed-in specialist gets the times
// but not the reasons.
func (s *Server) listOverrides(c *call) error {
	overrides, err := s.engine.Clinic.Overrides(c.param("id"))
	return answerList(c, "overrides", overrides, err, func(o *store.Override) overrideJSON {
		j := overrideOf(o)
		if !c.caller.reaches(o.SpecialistID) {
			j.Reason = ""
		}
		return j
	})
}

type overrideBody struct {
	Date   string       `json:"date"`
	Closed bool         `json:"closed"`
	Hours  []windowJSON `json:"hours"`
	Reason string       `json:"reason"`
}

func (s *Server) createOverride(c *call, b *overrideBody) error {
	if !c.caller.reaches(c.param("id")) {
		return errForbidden.with("You can change your own calendar only.")
	}
	m := &c.wrong
	o := store.Override{SpecialistID: c.param("id"), Closed: b.Closed, Reason: b.Reason,
		Date: m.parseDate("date", b.Date)}
	for i := range b.Hours {
		o.Hours = append(o.Hours, b.Hours[i].read(m, indexed("hours", i)+"."))
	}
	say := func(made *store.Override) any { return map[string]overrideJSON{"override": overrideOf(made)} }
	return answerChange(c, http.StatusCreated, say, func(once *record.Once) (store.Override, error) {
		return s.engine.Clinic.PutOverride(c.ctx(), c.caller.actor, o, once)
	})
}

func (s *Server) deleteOverride(c *call) error {
	id := c.param("id")
	if err := ownOnly(c, s.engine.Clinic.Overrides, func(o store.Override) bool { return o.ID == id }); err != nil {
		return err
	}
	return c.done(s.engine.Clinic.DeleteOverride(c.ctx(), c.caller.actor, id))
}

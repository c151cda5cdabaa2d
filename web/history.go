package web

import (
	"net/http"

	"holdfast/store"
)

// historyJSON is what the person of an appointment has had and will have.
type historyJSON struct {
	Coming    []appointmentJSON `json:"coming"`
	Past      []appointmentJSON `json:"past"`
	NoShows   int               `json:"noShows"`
	Cancelled int               `json:"cancelled"`
}

// getHistory answers the appointments of the person that an appointment is for. A specialist sees those in the own calendar.
func (s *Server) getHistory(c *call) error {
	if _, err := s.reachable(c); err != nil {
		return err
	}
	h, err := s.engine.History(c.ctx(), c.param("id"), c.caller.specialistID)
	if err != nil {
		return err
	}
	said := func(list []store.Appointment) []appointmentJSON {
		all := make([]appointmentJSON, len(list))
		for i := range list {
			all[i] = deskAppointmentOf(&list[i])
		}
		return all
	}
	return c.json(http.StatusOK, map[string]historyJSON{"history": {said(h.Coming), said(h.Past), h.NoShows, h.Cancelled}})
}

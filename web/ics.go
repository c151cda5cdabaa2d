package web

import "holdfast/engine/message"

var calendarType = []string{"text/calendar; charset=utf-8; method=PUBLISH"}

// getICS returns an appointment as a calendar file.
func (s *Server) getICS(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	h := c.rw.Header()
	h["Content-Type"] = calendarType
	h["Content-Disposition"] = []string{`attachment; filename="appointment.ics"`}
	c.status, c.out = 200, s.engine.Message.CalendarFile(&a, message.Invitation{ManageURL: s.manageURL(c, &a)})
	return nil
}

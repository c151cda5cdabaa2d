package web

import (
	"net/http"
	"time"
)

// newsAge is how far back the list of online bookings reaches.
const newsAge = 14 * 24 * time.Hour

// bookedOnline lists the recent bookings by patients and agents, the newest first. A specialist sees their own.
func (s *Server) bookedOnline(c *call) error {
	q := c.query()
	since, n := q.instant("since"), q.whole("limit", 1, 200, 50)
	if err := q.err(); err != nil {
		return err
	}
	if first := time.Now().Add(-newsAge); since.Before(first) {
		since = first
	}
	list, err := s.engine.Booking.BookedOnline(c.ctx(), since, c.caller.specialistID, n)
	if err != nil {
		return err
	}
	said := make([]appointmentJSON, len(list))
	for i := range list {
		said[i] = deskAppointmentOf(&list[i])
	}
	return c.json(http.StatusOK, map[string]any{"appointments": said})
}

package web

import (
	"net/http"
	"time"

	"holdfast/engine/booking"
)

// newsAge is how far back the list of online bookings reaches.
const newsAge = 14 * 24 * time.Hour

// bookedOnline lists the recent bookings by patients and agents, newest first. A specialist sees their own.
func (s *Server) bookedOnline(c *call) error {
	since, n, err := newsRange(c)
	if err != nil {
		return err
	}
	list, err := s.engine.Booking.BookedOnline(c.ctx(), since, c.caller.specialistID, n)
	return answerList(c, "appointments", list, err, deskAppointmentOf)
}

// newsRange reads since and limit of a list of news.
func newsRange(c *call) (since time.Time, limit int, err error) {
	q := c.query()
	since, limit = q.instant("since"), q.whole("limit", 1, 200, 50)
	if first := time.Now().Add(-newsAge); since.Before(first) {
		since = first
	}
	return since, limit, q.err()
}

// onlineChangeJSON is one line of the desk's news.
type onlineChangeJSON struct {
	ID          string          `json:"id"`
	Change      string          `json:"change"`
	At          string          `json:"at"`
	Appointment appointmentJSON `json:"appointment"`
	From        *gapJSON        `json:"from,omitempty"`
}

// gapJSON is the time that a move or a cancellation made free.
type gapJSON struct {
	SpecialistID  string `json:"specialistId"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// onlineChanges lists the recent bookings, moves and cancellations that no member of staff made, newest first. A
// specialist sees those of their own calendar.
func (s *Server) onlineChanges(c *call) error {
	since, n, err := newsRange(c)
	if err != nil {
		return err
	}
	list, err := s.engine.Booking.OnlineChanges(c.ctx(), since, c.caller.specialistID, n)
	if err != nil {
		return err
	}
	lines := make([]onlineChangeJSON, len(list))
	for i := range list {
		x := &list[i]
		lines[i] = onlineChangeJSON{x.ID, x.Kind, httpTime(x.At), deskAppointmentOf(&x.Appointment), nil}
		if x.From != (booking.Gap{}) {
			lines[i].From = &gapJSON{x.From.SpecialistID, httpTime(x.From.SlotStart), httpTime(x.From.SlotEnd)}
		}
	}
	return c.json(http.StatusOK, map[string]any{"changes": lines})
}

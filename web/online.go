package web

import (
	"net/http"
	"time"

	"holdfast/engine/booking"
)

// newsAge is the maximum age of entries in the lists of online bookings and online changes.
const newsAge = 14 * 24 * time.Hour

// bookedOnline lists the recent bookings by patients and agents, newest first. A signed-in specialist gets only those
// in their own calendar.
func (s *Server) bookedOnline(c *call) error {
	since, n, err := newsRange(c)
	if err != nil {
		return err
	}
	list, err := s.engine.Booking.BookedOnline(c.ctx(), since, c.caller.specialistID, n)
	return answerList(c, "appointments", list, err, deskAppointmentOf)
}

// newsRange reads the parameters since and limit. If since is older than newsAge, newsRange raises it to that age.
func newsRange(c *call) (since time.Time, limit int, err error) {
	q := c.query()
	since, limit = q.instant("since"), q.whole("limit", 1, 200, 50)
	if first := time.Now().Add(-newsAge); since.Before(first) {
		since = first
	}
	return since, limit, q.err()
}

// onlineChangeJSON is one booking, move or cancellation in the list of online changes.
type onlineChangeJSON struct {
	ID          string          `json:"id"`
	Change      string          `json:"change"`
	At          string          `json:"at"`
	Appointment appointmentJSON `json:"appointment"`
	From        *gapJSON        `json:"from,omitempty"`
}

// gapJSON is the time that a move or a cancellation freed.
type gapJSON struct {
	SpecialistID  string `json:"specialistId"`
	SlotStartDate string `json:"slotStartDate"`
	SlotEndDate   string `json:"slotEndDate"`
}

// onlineChanges lists the recent bookings, moves and cancellations that no member of staff made, newest first. A
// signed-in specialist gets only those in their own calendar. If an appointment has since moved to a colleague, the
// specialist gets it without the patient's data.
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
		a := deskAppointmentOf(&x.Appointment)
		if !c.caller.reaches(x.Appointment.SpecialistID) {
			a = appointmentJSON{publicAppointmentJSON: bareAppointmentOf(&x.Appointment)}
		}
		lines[i] = onlineChangeJSON{x.ID, x.Kind, httpTime(x.At), a, nil}
		if x.From != (booking.Gap{}) {
			lines[i].From = &gapJSON{x.From.SpecialistID, httpTime(x.From.SlotStart), httpTime(x.From.SlotEnd)}
		}
	}
	return c.json(http.StatusOK, map[string]any{"changes": lines})
}

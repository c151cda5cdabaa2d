package web

import (
	"errors"
	"net/http"
	"time"

	"holdfast/engine/busytime"
	"holdfast/web/instant"
)

// busyCalendarBody is the address of a specialist's external calendar.
type busyCalendarBody struct {
	URL string `json:"url"`
}

// busyCalendarJSON is the state of a specialist's external calendar. No response contains the address, because anyone
// who has the address can read the calendar.
type busyCalendarJSON struct {
	On        bool               `json:"on"`
	Host      string             `json:"host,omitempty"` // of the address
	SetAt     string             `json:"setAt,omitempty"`
	AskedAt   string             `json:"askedAt,omitempty"` // omitted before the first attempt
	ReadAt    string             `json:"readAt,omitempty"`  // omitted if it has never been read
	Failure   string             `json:"failure,omitempty"` // why the last attempt to read it failed
	Unread    int                `json:"unread"`            // events that the server could not parse
	Old       bool               `json:"old"`               // the busy times are too old to rely on
	Blocks    int                `json:"blocks"`            // number of future busy times
	Conflicts []busyConflictJSON `json:"conflicts"`
}

// busyConflictJSON is an appointment that overlaps a busy time. It names no person.
type busyConflictJSON struct {
	ID                string `json:"id"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	Start             string `json:"start"`
	End               string `json:"end"`
}

func (s *Server) busyCalendar(c *call, specialistID string) error {
	state, err := s.engine.BusyTime.Of(c.ctx(), specialistID)
	if err != nil {
		return err
	}
	say := func(at time.Time) string {
		if at.IsZero() {
			return ""
		}
		return string(instant.Append(nil, at))
	}
	answer := busyCalendarJSON{
		On: state.IsSet, Host: state.Host, SetAt: say(state.SetAt), AskedAt: say(state.AskedAt),
		ReadAt: say(state.ReadAt), Failure: state.Failure, Unread: state.Unread, Old: state.IsOld, Blocks: state.Blocks,
		Conflicts: []busyConflictJSON{},
	}
	for i := range state.Conflicts {
		a := &state.Conflicts[i]
		answer.Conflicts = append(answer.Conflicts, busyConflictJSON{a.ID,
			a.AppointmentTypeID, say(a.SlotStart), say(a.SlotEnd)})
	}
	return c.json(http.StatusOK, map[string]busyCalendarJSON{"busyCalendar": answer})
}

func (s *Server) getBusyCalendar(c *call) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	return s.busyCalendar(c, p.ID)
}

// putBusyCalendar sets the address of a specialist's external calendar. Its response is not stored under an idempotency
// key, because a repeat has the same result.
func (s *Server) putBusyCalendar(c *call, b *busyCalendarBody) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	c.once = nil
	if err := s.engine.BusyTime.Set(c.ctx(), c.caller.actor, p.ID, b.URL); err != nil {
		return err
	}
	return s.busyCalendar(c, p.ID)
}

// readBusyCalendar reads the external calendar now. If the read fails, the response contains the reason in failure.
func (s *Server) readBusyCalendar(c *call) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	c.once = nil // a repeat reads the calendar again
	if err := s.engine.BusyTime.Read(c.ctx(), p.ID); err != nil && !errors.Is(err, busytime.ErrNone) {
		return err
	}
	return s.busyCalendar(c, p.ID)
}

func (s *Server) deleteBusyCalendar(c *call) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	return c.done(s.engine.BusyTime.Remove(c.ctx(), c.caller.actor, p.ID))
}

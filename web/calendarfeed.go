package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/store"
)

// calendarPattern is the route from which calendar programs read the calendar of a specialist, or one of a patient's
// appointments. The secret is in the path, because calendar programs cannot set headers.
const calendarPattern = "/v1/calendars/{id}"

// calendarFeedBody requests an address for a specialist's calendar.
type calendarFeedBody struct {
	Names bool `json:"names"` // the calendar contains the names of patients
}

// calendarFeedJSON is the address of a specialist's calendar. The URLs are shown once, when the address is created.
type calendarFeedJSON struct {
	On     bool       `json:"on"`
	Names  bool       `json:"names"`
	MadeAt *time.Time `json:"madeAt"`
	URL    string     `json:"url,omitempty"`
	Webcal string     `json:"webcal,omitempty"` // opens the calendar program of a phone
}

func calendarFeedOf(f store.CalendarFeed) calendarFeedJSON {
	if f.Hash == "" {
		return calendarFeedJSON{}
	}
	return calendarFeedJSON{On: true, Names: f.Names, MadeAt: &f.MadeAt}
}

// ownCalendar returns the specialist that the path names. Only an admin and that specialist may share the calendar.
func (s *Server) ownCalendar(c *call) (store.Specialist, error) {
	p, err := s.engine.Clinic.Specialist(c.param("id"))
	if err == nil && !c.caller.may(admin) && (c.caller.specialistID == "" || c.caller.specialistID != p.ID) {
		err = errForbidden.with("Only an owner or the calendar's specialist can share it with other programs.")
	}
	return p, err
}

func (s *Server) getCalendarFeed(c *call) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]calendarFeedJSON{"calendarFeed": calendarFeedOf(p.Page.Feed)})
}

// makeCalendarFeed creates the address of a specialist's calendar. The previous address stops working.
func (s *Server) makeCalendarFeed(c *call, b *calendarFeedBody) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	c.once = nil // a response with a secret is not stored
	secret, made, err := s.engine.Feed.Create(c.ctx(), c.caller.actor, p.ID, b.Names)
	if err != nil {
		return err
	}
	answer := calendarFeedOf(made)
	answer.URL, answer.Webcal = calendarAddress(c, secret)
	return c.json(http.StatusCreated, map[string]calendarFeedJSON{"calendarFeed": answer})
}

// calendarAddress returns the address of a calendar, and the same address with the scheme that opens a phone's calendar
// program.
func calendarAddress(c *call, secret string) (url, webcal string) {
	url = c.base() + "/v1/calendars/" + secret + ".ics"
	_, rest, _ := strings.Cut(url, "://")
	return url, "webcal://" + rest
}

func (s *Server) endCalendarFeed(c *call) error {
	p, err := s.ownCalendar(c)
	if err != nil {
		return err
	}
	return c.done(s.engine.Feed.Revoke(c.ctx(), c.caller.actor, p.ID))
}

// appointmentCalendarJSON is the address from which a calendar program reads one appointment.
type appointmentCalendarJSON struct {
	URL    string `json:"url"`
	Webcal string `json:"webcal"`
}

// getAppointmentCalendar returns the address from which the patient's own calendar reads one appointment. The address
// stays the same, and it allows only reading.
func (s *Server) getAppointmentCalendar(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	secret, err := s.engine.Booking.CalendarToken(c.ctx(), &a, time.Now())
	if errors.Is(err, store.ErrNotFound) {
		err = errNotFound.with("This appointment no longer has a calendar address.")
	}
	if err != nil {
		return err
	}
	var answer appointmentCalendarJSON
	answer.URL, answer.Webcal = calendarAddress(c, secret)
	return c.json(http.StatusOK, map[string]appointmentCalendarJSON{"calendar": answer})
}

// endAppointmentCalendar revokes the address of an appointment's calendar.
func (s *Server) endAppointmentCalendar(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	return c.done(s.engine.Booking.EndCalendar(c.ctx(), c.caller.actor, a.ID))
}

// readCalendar returns the calendar at a secret address. It responds with 304 if the caller's copy is current.
func (s *Server) readCalendar(c *call) error {
	secret, is := strings.CutSuffix(c.param("id"), ".ics")
	if !is {
		return errNotFound.with("There is no such calendar.")
	}
	text, err := s.engine.Feed.Read(c.ctx(), secret, time.Now())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h := c.rw.Header()
	h["Etag"], h["Cache-Control"] = []string{tag}, noCache
	if hasTag(c.r.Header["If-None-Match"], tag) {
		return c.empty(http.StatusNotModified)
	}
	h["Content-Type"] = calendarType
	c.status, c.out = http.StatusOK, text
	return nil
}

package web

import (
	"errors"
	"net/http"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/group"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
	"holdfast/web/instant"
)

// holdJSON is a hold for its owner and for the desk.
type holdJSON struct {
	HoldID            string `json:"holdId"`
	AppointmentTypeID string `json:"appointmentTypeId"`
	SpecialistID      string `json:"specialistId"`
	SlotStartDate     string `json:"slotStartDate"`
	SlotEndDate       string `json:"slotEndDate"`
	Seat              int    `json:"seat"`
	HoldExpiresAt     string `json:"holdExpiresAt"`
	TTLMs             int64  `json:"ttlMs"`
	MaxExpiresAt      string `json:"maxExpiresAt"`
	Place             string `json:"place,omitempty"`
}

func holdOf(h *holds.Hold, now time.Time) holdJSON {
	return holdJSON{
		HoldID: h.ID, AppointmentTypeID: h.AppointmentTypeID, SpecialistID: h.SpecialistID,
		SlotStartDate: httpTime(h.SlotStart), SlotEndDate: httpTime(h.SlotEnd), Seat: h.Seat,
		HoldExpiresAt: milliTime(h.ExpiresAt), TTLMs: max(0,
			h.ExpiresAt.Sub(now).Round(10*time.Millisecond).Milliseconds()),
		MaxExpiresAt: milliTime(h.MaxExpiresAt),
	}
}

// milliTime formats the expiry of a hold or of a refusal: UTC, always with milliseconds. In whole seconds, it would be
// before the expiry, and a caller who waits for it would be refused again.
func milliTime(t time.Time) string { return string(instant.AppendMilli(nil, t)) }

type createHoldBody struct {
	clientBody
	AppointmentTypeID string `json:"appointmentTypeId"`
	SlotStartDate     string `json:"slotStartDate"`
	SpecialistID      string `json:"specialistId"`
	Place             string `json:"place"`
	TTLSeconds        *int   `json:"ttlSeconds"`
	Displace          bool   `json:"displace"`    // desk only
	IgnoreHours       bool   `json:"ignoreHours"` // desk only
	Instead           string `json:"instead"`     // the id of the client's hold that the new one replaces
}

func (s *Server) createHold(c *call, b *createHoldBody) error {
	if (b.Displace || b.IgnoreHours) && !c.caller.may(desk) {
		return errForbidden.with(
			"Only the clinic's own staff can displace a hold or ignore the hours. Leave the field out.",
		)
	}
	if (b.Displace || b.IgnoreHours) && !c.caller.reaches(b.SpecialistID) {
		return errForbidden.with("You can do this in your own calendar only; name yourself in specialistId.")
	}
	m := &c.wrong
	start := m.instant("slotStartDate", b.SlotStartDate)
	s.checkPlace(m, b.Place)
	moving, err := s.moving(c)
	if err != nil {
		return err
	}
	if err := s.offered(c, b.AppointmentTypeID, moving); err != nil {
		return err
	}
	ttl := seconds(b.TTLSeconds)
	if s.options.RateLimit && !c.caller.trusted() {
		ttl = s.engine.Booking.LimitTTL(b.AppointmentTypeID, ttl)
	}
	var h holds.Hold
	if moving != nil && moving.VisitID != "" {
		if b.Place != "" {
			m.add("place", "cannot be combined with the link of a group visit")
		}
		h, err = s.engine.Group.Visit.Hold(c.ctx(), group.HoldRequest{
			AppointmentTypeIDs: []string{b.AppointmentTypeID}, SlotStart: start, SpecialistID: b.SpecialistID,
			Client: c.client, TTL: ttl, Displace: b.Displace, IgnoreHours: b.IgnoreHours, Replaces: b.Instead,
			Moving: moving, Limit: s.holdLimit(c, b.Instead),
		})
	} else {
		h, err = s.engine.Booking.Hold(c.ctx(), booking.HoldRequest{
			AppointmentTypeID: b.AppointmentTypeID, SlotStart: start, SpecialistID: b.SpecialistID, Place: b.Place,
			Client: c.client, TTL: ttl, Displace: b.Displace, IgnoreHours: b.IgnoreHours, Replaces: b.Instead,
			Moving: moving, Limit: s.holdLimit(c, b.Instead),
		})
	}
	if err != nil {
		return err
	}
	if err := s.admitHold(c, &h, b.Instead); err != nil {
		return err
	}
	said := holdOf(&h, time.Now())
	said.Place = s.engine.Clinic.Current().PlaceAt(h.SpecialistID, h.SlotStart)
	return c.json(http.StatusCreated, said)
}

// moving returns the appointment that a patient is about to move, or nil if there is none. Its manage token is in the
// header Holdfast-Manage of the hold request. If the appointment is part of a visit, the hold is for the whole visit.
func (s *Server) moving(c *call) (*store.Appointment, error) {
	token := c.r.Header.Get("Holdfast-Manage")
	if token == "" {
		return nil, nil
	}
	a, err := s.engine.Booking.Managed(c.ctx(), token)
	if errors.Is(err, record.ErrUnauthorized) || errors.Is(err, store.ErrNotFound) {
		return nil, s.deadLink()
	}
	return &a, err
}

type extendHoldBody struct {
	clientBody
	HoldID     string `json:"holdId"`
	TTLSeconds *int   `json:"ttlSeconds"`
	Restart    bool   `json:"restart"`
}

type extendedJSON struct {
	OK            bool   `json:"ok"`
	HoldExpiresAt string `json:"holdExpiresAt"`
	TTLMs         int64  `json:"ttlMs"`
	MaxExpiresAt  string `json:"maxExpiresAt"`
}

func (s *Server) extendHold(c *call, b *extendHoldBody) error {
	ttl := seconds(b.TTLSeconds)
	if s.options.RateLimit && !c.caller.trusted() {
		ttl = s.engine.Booking.LimitExtension(c.ctx(), b.HoldID, ttl)
	}
	h, err := s.engine.Booking.ExtendHold(c.ctx(), b.HoldID, c.client, ttl, b.Restart)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, extendedJSON{true, milliTime(h.ExpiresAt),
		max(0, time.Until(h.ExpiresAt).Milliseconds()), milliTime(h.MaxExpiresAt)})
}

type releaseHoldBody struct {
	clientBody
	HoldID string `json:"holdId"`
}

// deleteHold releases a hold. It reads the hold's id and the client from the body or from the query.
func (s *Server) deleteHold(c *call, b *releaseHoldBody) error {
	q := c.query()
	if b.HoldID == "" {
		b.HoldID = q.text("holdId")
	}
	if b.ClientID == "" {
		if err := c.resolveClient(q.text("clientId")); err != nil {
			return err
		}
	}
	if err := q.err(); err != nil {
		return err
	}
	return s.releaseHold(c, b)
}

func (s *Server) releaseHold(c *call, b *releaseHoldBody) error {
	released, err := s.engine.Booking.ReleaseHold(c.ctx(), b.HoldID, c.client)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]bool{"ok": true, "released": released})
}

// listHolds returns a client's own holds, or all holds if the desk names no client. It never returns the owner of a
// hold.
func (s *Server) listHolds(c *call) error {
	q := c.query()
	client, specialistID := q.client(c), q.id("specialistId")
	all := client == "" && c.caller.may(desk)
	if client == "" && !all {
		q.add("clientId", "send the client whose holds you want to list, in the header Holdfast-Client")
	}
	if err := q.err(); err != nil {
		return err
	}
	var of []string
	if specialistID != "" {
		of = []string{specialistID}
	}
	live, err := s.engine.Booking.Holds(c.ctx(), of...)
	if err != nil {
		return err
	}
	now := time.Now()
	owner, list := client.Owner(), []holdJSON{}
	for i := range live {
		if all || live[i].Owner.Is(owner) {
			list = append(list, holdOf(&live[i], now))
		}
	}
	return c.json(http.StatusOK, map[string]any{"holds": list})
}

package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// settingsAnswer is the settings, and where people find the pages, which they may not decide alone.
type settingsAnswer struct {
	Settings clinic.Settings `json:"settings"`
	Address  addressJSON     `json:"address"`
}

// addressJSON is where people find the pages.
type addressJSON struct {
	URL  string           `json:"url"`  // while nobody has said it, what the request was addressed to
	From clinic.URLSource `json:"from"` // start, settings or guess
}

func (c *call) pagesAddress() addressJSON {
	_, from := c.engine.Clinic.BaseURL()
	return addressJSON{c.base(), from}
}

func (s *Server) getSettings(c *call) error {
	return c.json(http.StatusOK, settingsAnswer{s.engine.Clinic.Settings(), c.pagesAddress()})
}

// maxSettings is room for the largest logo and the texts.
const maxSettings = 512 << 10

// putSettings replaces the settings as a whole, so that what is left out is at its default.
func (s *Server) putSettings(c *call, b *clinic.Settings) error {
	changed, err := s.engine.Clinic.UpdateSettings(c.ctx(), c.caller.actor, func(to *clinic.Settings) { *to = *b })
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, settingsAnswer{changed, c.pagesAddress()})
}

// auditJSON is one line of the audit log.
type auditJSON struct {
	ID      string          `json:"id"`
	At      string          `json:"at"`
	Actor   string          `json:"actor"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Reason  string          `json:"reason,omitempty"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// listAudit lists the log, newest first: ?from=&to=&actor=&action=&subject=&cursor=.
func (s *Server) listAudit(c *call) error {
	q := c.query()
	f := store.AuditFilter{
		From: q.bound("from", s.engine.Clinic.Zone()), To: q.bound("to", s.engine.Clinic.Zone()), Actor: q.text("actor"), Action: q.text("action"),
		Subject: q.text("subject"), Cursor: q.text("cursor"), Limit: q.whole("limit", 1, 500, 100),
	}
	if err := q.err(); err != nil {
		return err
	}
	list, next, err := s.engine.Record.Audit(c.ctx(), f)
	if err != nil {
		return err
	}
	entries := make([]auditJSON, len(list))
	for i, e := range list {
		entries[i] = auditJSON{e.ID, httpTime(e.At), e.Actor, e.Action, e.Subject, e.Reason, e.Before, e.After}
	}
	answer := map[string]any{"audit": entries}
	if next = strings.TrimSpace(next); next != "" {
		answer["nextCursor"] = next
	}
	return c.json(http.StatusOK, answer)
}

type deliveryJSON struct {
	OperationID string `json:"operationId"`
	Channel     string `json:"channel"`
	Notice      string `json:"notice"`
	State       string `json:"state"`
	Detail      string `json:"detail,omitempty"`
	UpdatedAt   string `json:"updatedAt"`
}

// listDeliveries says what became of the notices about one appointment.
func (s *Server) listDeliveries(c *call) error {
	a, err := s.engine.Booking.Appointment(c.ctx(), c.param("id"))
	if err != nil {
		return err
	}
	if !c.caller.reaches(a.SpecialistID) {
		return errForbidden.with("This appointment is in a colleague's calendar.")
	}
	list, err := s.engine.Record.Deliveries(c.ctx(), a.ID)
	if err != nil {
		return err
	}
	answer := make([]deliveryJSON, len(list))
	for i, d := range list {
		answer[i] = deliveryJSON{d.OperationID, d.Channel, d.Notice, d.State, d.Detail, httpTime(d.UpdatedAt)}
	}
	return c.json(http.StatusOK, map[string]any{"deliveries": answer})
}

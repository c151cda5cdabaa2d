package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"holdfast/engine/person"
	"holdfast/engine/record"
	"holdfast/store"
)

// auditJSON is one line of the audit log. ActorName is the current name of a user or an API key.
type auditJSON struct {
	ID        string          `json:"id"`
	At        string          `json:"at"`
	Actor     string          `json:"actor"`
	ActorName string          `json:"actorName,omitempty"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Reason    string          `json:"reason,omitempty"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
}

// listAudit returns the audit log, newest first: ?from=&to=&actor=&action=&subject=&cursor=.
func (s *Server) listAudit(c *call) error {
	q := c.query()
	f := s.auditFilter(q)
	if subject := q.text("subject"); subject != "" {
		f.Subjects = []string{subject}
	}
	if err := q.err(); err != nil {
		return err
	}
	return s.sayAudit(c, f)
}

func (s *Server) auditFilter(q *query) store.AuditFilter {
	zone := s.engine.Clinic.Zone()
	return store.AuditFilter{
		From: q.bound("from", zone), To: q.bound("to", zone), Actor: q.text("actor"), Action: q.text("action"),
		Cursor: q.text("cursor"), Limit: q.whole("limit", 1, 500, 100),
	}
}

// auditSearchBody searches the audit log by appointment, by person or by words. PersonOf is the id of any appointment
// of the person.
type auditSearchBody struct {
	clientBody
	Q             string `json:"q"`
	AppointmentID string `json:"appointmentId"`
	PersonOf      string `json:"personOf"`
	From          string `json:"from"`
	To            string `json:"to"`
	Actor         string `json:"actor"`
	Action        string `json:"action"`
	Cursor        string `json:"cursor"`
	Limit         *int   `json:"limit"`
}

// searchAudit changes nothing, so its response is not stored for a repeated request. It is a POST, because the words
// can be a person's name, and proxies log URLs.
func (s *Server) searchAudit(c *call, b *auditSearchBody) error {
	c.once = nil
	q := queryOf(url.Values{
		"from": {b.From}, "to": {b.To}, "actor": {b.Actor}, "action": {b.Action}, "cursor": {b.Cursor},
		"appointmentId": {b.AppointmentID}, "personOf": {b.PersonOf},
	}, b.Limit)
	f := s.auditFilter(q)
	appointmentID, personOf := q.id("appointmentId"), q.id("personOf")
	if len(b.Q) > 200 {
		q.add("q", "must be at most 200 characters")
	}
	if appointmentID != "" && personOf != "" {
		q.add("personOf", "send either appointmentId or personOf")
	}
	if err := q.err(); err != nil {
		return err
	}
	names, err := s.auditNames(c.ctx())
	if err != nil {
		return err
	}
	f.Words = record.AuditWords(b.Q, names)
	switch {
	case appointmentID != "":
		f.Subjects = []string{"appointment:" + appointmentID}
	case personOf != "":
		if f.Subjects, err = s.subjectsOf(c, personOf); err != nil {
			return err
		}
	}
	return s.sayAudit(c, f)
}

// subjectsOf returns a person's appointments as subjects of the log.
func (s *Server) subjectsOf(c *call, appointmentID string) ([]string, error) {
	h, err := s.engine.Person.History(c.ctx(), appointmentID, person.Viewer{Actor: c.caller.actor})
	if err != nil {
		return nil, err
	}
	subjects := make([]string, 0, len(h.Coming)+len(h.Past))
	for _, list := range [][]store.Appointment{h.Coming, h.Past} {
		for i := range list {
			subjects = append(subjects, "appointment:"+list[i].ID)
		}
	}
	return subjects, nil
}

// listAppointmentAudit lists the log entries of one appointment, newest first. It shows the desk who moved or cancelled
// the appointment.
func (s *Server) listAppointmentAudit(c *call) error {
	a, err := s.reachable(c)
	if err != nil {
		return err
	}
	return s.sayAudit(c, store.AuditFilter{Subjects: []string{"appointment:" + a.ID}, Limit: 100})
}

func (s *Server) sayAudit(c *call, f store.AuditFilter) error {
	list, next, err := s.engine.Record.Audit(c.ctx(), f)
	if errors.Is(err, store.ErrInvalid) {
		return fieldError("cursor", "was not given by this list; start again without one")
	}
	if err != nil {
		return err
	}
	names, err := s.auditNames(c.ctx())
	if err != nil {
		return err
	}
	entries := make([]auditJSON, len(list))
	for i, e := range list {
		_, id, _ := strings.Cut(e.Actor, ":")
		entries[i] = auditJSON{
			e.ID, httpTime(e.At), e.Actor, names[id], e.Action, e.Subject, e.Reason, e.Before, e.After,
		}
	}
	answer := map[string]any{"audit": entries}
	if next = strings.TrimSpace(next); next != "" {
		answer["nextCursor"] = next
	}
	return c.json(http.StatusOK, answer)
}

// auditNames returns the current names of the specialists, types, users and API keys, by id.
func (s *Server) auditNames(ctx context.Context) (map[string]string, error) {
	names := make(map[string]string)
	clinic := s.engine.Clinic.Current()
	for i := range clinic.Specialists {
		names[clinic.Specialists[i].ID] = clinic.Specialists[i].Name
	}
	for i := range clinic.AppointmentTypes {
		names[clinic.AppointmentTypes[i].ID] = clinic.AppointmentTypes[i].Name
	}
	users, err := s.engine.Account.Users(ctx)
	if err != nil {
		return nil, err
	}
	for i := range users {
		names[users[i].ID] = users[i].Name
	}
	keys, err := s.engine.Account.APIKeys(ctx)
	if err != nil {
		return nil, err
	}
	for i := range keys {
		names[keys[i].ID] = keys[i].Name
	}
	return names, nil
}

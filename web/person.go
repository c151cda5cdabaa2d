package web

import (
	"net/http"

	"holdfast/holds"
	"holdfast/store"
)

// erasePersonBody names somebody by exactly one of these. The client here is the one to be forgotten, not the caller.
type erasePersonBody struct {
	Email    string `json:"email"`
	Phone    string `json:"phone"`
	ClientID string `json:"clientId"`
}

// erasedJSON counts what was blanked.
type erasedJSON struct {
	Appointments int `json:"appointments"`
	Operations   int `json:"operations"`
	Answers      int `json:"answers"`
	AuditEntries int `json:"auditEntries"`
	Sessions     int `json:"sessions"`
}

func (s *Server) erasePerson(c *call, b *erasePersonBody) error {
	n, err := s.engine.Erase(c.ctx(), c.caller.actor, store.Person{Email: b.Email, Phone: b.Phone, Owner: holds.ClientID(b.ClientID).Owner().String()})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]erasedJSON{"erased": {n.Appointments, n.Operations, n.Answers, n.AuditEntries, n.Sessions}})
}

package web

import (
	"net/http"
	"time"

	"holdfast/engine"
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
	Requests     int `json:"requests"`
	MailFiles    int `json:"mailFiles"`
}

// remainsJSON is what erasing did not reach.
type remainsJSON struct {
	Copies    []copyJSON `json:"copies"`
	MailFiles []string   `json:"mailFiles"`
}

// copyJSON is a backup, or another copy of the data, that was made before.
type copyJSON struct {
	Name    string `json:"name"`
	MadeAt  string `json:"madeAt"`
	AgeDays int    `json:"ageDays"`
}

func (s *Server) erasePerson(c *call, b *erasePersonBody) error {
	answer := func(n *engine.Erased) any {
		remains := remainsJSON{Copies: []copyJSON{}, MailFiles: append([]string{}, n.MailFilesLeft...)}
		for _, k := range n.Copies {
			remains.Copies = append(remains.Copies, copyJSON{k.Name, httpTime(k.MadeAt), int(time.Since(k.MadeAt).Hours() / 24)})
		}
		return map[string]any{
			"erased": erasedJSON{n.Appointments, n.Operations, n.Answers, n.AuditEntries, n.Sessions, n.Requests, n.MailFiles}, "remains": remains,
		}
	}
	person := store.Person{Email: b.Email, Phone: b.Phone, Owner: holds.ClientID(b.ClientID).Owner().String()}
	n, err := s.engine.Erase(committing(c, http.StatusOK, answer), c.caller.actor, person)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, answer(&n))
}

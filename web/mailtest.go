package web

import (
	"net/http"
	"net/mail"
)

type mailTestJSON struct {
	Delivery string `json:"delivery"` // sent, file, failed or none
	To       string `json:"to"`
	Detail   string `json:"detail,omitempty"` // why it failed
}

// testMail sends one email to the user who requests it, so it needs a signed-in user. The response contains the
// outcome: if the mail server refuses the email, the request itself still succeeds.
func (s *Server) testMail(c *call) error {
	c.once = nil // every test sends a new email
	who, err := c.mine()
	if err != nil {
		return err
	}
	delivery, detail := s.engine.Message.TestMail(c.ctx(), mail.Address{Name: who.Name, Address: who.Email})
	return c.json(http.StatusOK, mailTestJSON{string(delivery), who.Email, detail})
}

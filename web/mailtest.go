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

// testMail sends one email to the user who requests it, so it needs a signed-in person. The outcome is the answer:
// a mail server that refuses is a finding, not an error of this request.
func (s *Server) testMail(c *call) error {
	c.once = nil // every test is a new mail
	who, err := c.mine()
	if err != nil {
		return err
	}
	delivery, detail := s.engine.Message.TestMail(c.ctx(), mail.Address{Name: who.Name, Address: who.Email})
	return c.json(http.StatusOK, mailTestJSON{string(delivery), who.Email, detail})
}

package web

import (
	"net/http"
	"net/mail"

	"holdfast/engine/message"
	"holdfast/engine/notice"
)

// mailServerBody is a mail server as an owner enters it.
type mailServerBody struct {
	Host       string            `json:"host"`
	Port       int               `json:"port"`
	Encryption notice.Encryption `json:"encryption"`
	User       string            `json:"user"`
	Password   string            `json:"password"` // if empty, the password stored for this server and user
	From       string            `json:"from"`
}

func (b *mailServerBody) wish() message.MailServerWish {
	return message.MailServerWish{Host: b.Host, Port: b.Port, Encryption: b.Encryption, User: b.User,
		Password: b.Password, From: b.From}
}

// mailServerAnswer is the configured mail server. It never contains the password.
type mailServerAnswer struct {
	Given      *givenMailServerJSON  `json:"given,omitempty"`  // from the start options of the server; takes precedence
	Chosen     *chosenMailServerJSON `json:"chosen,omitempty"` // an owner's choice
	Sender     string                `json:"sender"`           // the sender's address; empty means no email is sent
	SenderFrom string                `json:"senderFrom"`       // start, choice or clinic
}

type givenMailServerJSON struct {
	Host string `json:"host"`
	Port int    `json:"port"`
}

type chosenMailServerJSON struct {
	Host        string            `json:"host"`
	Port        int               `json:"port"`
	Encryption  notice.Encryption `json:"encryption"`
	User        string            `json:"user"`
	PasswordSet bool              `json:"passwordSet"`
	// false if this server does not have the key that decrypts the password; emails then wait
	PasswordReadable bool   `json:"passwordReadable"`
	From             string `json:"from"`
}

func (s *Server) mailServer() map[string]mailServerAnswer {
	setup := s.engine.Message.Server.Current()
	answer := mailServerAnswer{Sender: setup.Sender, SenderFrom: setup.SenderFrom}
	if g := setup.Given; g != nil {
		answer.Given = &givenMailServerJSON{g.Host, g.Port}
	}
	if c := setup.Chosen; c != nil {
		answer.Chosen = &chosenMailServerJSON{c.Host, c.Port, c.Encryption, c.User, setup.IsSet, setup.IsReadable,
			c.From}
	}
	return map[string]mailServerAnswer{"mailServer": answer}
}

func (s *Server) getMailServer(c *call) error { return c.json(http.StatusOK, s.mailServer()) }

// errDemoMail is for the demo. Its patients are invented, but their email addresses may belong to real people.
var errDemoMail = errForbidden.with(
	"The demo sends no email, because its patients are invented. Start a clinic of your own with holdfast serve.",
)

// putMailServer stores the owner's choice. Its response is not stored for a repeated request: the request contains a
// password, and repeating the request changes nothing.
func (s *Server) putMailServer(c *call, b *mailServerBody) error {
	c.once = nil
	if s.options.Demo {
		return errDemoMail
	}
	if err := s.engine.Message.Server.Put(c.ctx(), c.caller.actor, b.wish()); err != nil {
		return err
	}
	return c.json(http.StatusOK, s.mailServer())
}

func (s *Server) deleteMailServer(c *call) error {
	if err := s.engine.Message.Server.Remove(c.ctx(), c.caller.actor); err != nil {
		return err
	}
	return c.json(http.StatusOK, s.mailServer())
}

type mailTrialJSON struct {
	Delivery string         `json:"delivery"`          // sent or failed
	To       string         `json:"to"`                // the recipient
	Finding  notice.Finding `json:"finding,omitempty"` // the cause of a failure
	Said     string         `json:"said,omitempty"`    // the mail server's reply
}

// tryMailServer sends one email through a mail server that is not saved yet. The email goes to the user who requests
// it, so tryMailServer needs a signed-in user.
func (s *Server) tryMailServer(c *call, b *mailServerBody) error {
	c.once = nil
	if s.options.Demo {
		return errDemoMail
	}
	who, err := c.mine()
	if err != nil {
		return err
	}
	trial, err := s.engine.Message.Server.Try(c.ctx(), mail.Address{Name: who.Name, Address: who.Email}, b.wish())
	if err != nil {
		return err
	}
	answer := mailTrialJSON{Delivery: "sent", To: who.Email, Finding: trial.Finding, Said: trial.Said}
	if trial.Finding != notice.FoundNothing {
		answer.Delivery = "failed"
	}
	return c.json(http.StatusOK, answer)
}

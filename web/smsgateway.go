package web

import (
	"net/http"

	"holdfast/engine/notice"
)

// smsGatewayBody is an SMS gateway as an owner enters it.
type smsGatewayBody struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Headers string `json:"headers"`
	Body    string `json:"body"`
	Success string `json:"success"`
	From    string `json:"from"`
	User    string `json:"user"`
	Secret  string `json:"secret"` // if empty, the secret stored for this request and user
}

func (b *smsGatewayBody) gateway() notice.Gateway {
	return notice.Gateway{
		Method: b.Method, URL: b.URL, Headers: b.Headers, Body: b.Body, Success: b.Success, From: b.From, User: b.User,
	}
}

// smsGatewayTrialBody is a gateway and the phone number for the test message.
type smsGatewayTrialBody struct {
	smsGatewayBody
	To string `json:"to"`
}

// smsGatewayAnswer is the configured SMS gateway. It never contains the secret.
type smsGatewayAnswer struct {
	// from the start options of the server; takes precedence
	Given   *givenSMSGatewayJSON       `json:"given,omitempty"`
	Chosen  *chosenSMSGatewayJSON      `json:"chosen,omitempty"` // an owner's choice
	Presets map[string]gatewayBodyJSON `json:"presets"`
}

type givenSMSGatewayJSON struct {
	Host string `json:"host"`
	From string `json:"from,omitempty"`
}

// gatewayBodyJSON is the template of a request.
type gatewayBodyJSON struct {
	Method  string `json:"method"`
	URL     string `json:"url"`
	Headers string `json:"headers"`
	Body    string `json:"body"`
	Success string `json:"success"`
}

type chosenSMSGatewayJSON struct {
	gatewayBodyJSON
	From           string `json:"from"`
	User           string `json:"user"`
	SecretSet      bool   `json:"secretSet"`
	SecretReadable bool   `json:"secretReadable"` // false: it cannot be decrypted, and messages wait
}

func gatewayBodyOf(g *notice.Gateway) gatewayBodyJSON {
	return gatewayBodyJSON{g.Method, g.URL, g.Headers, g.Body, g.Success}
}

func (s *Server) smsGateway() map[string]smsGatewayAnswer {
	setup := s.engine.Message.Gateway.Current()
	answer := smsGatewayAnswer{Presets: make(map[string]gatewayBodyJSON)}
	for name, g := range notice.GatewayPresets() {
		answer.Presets[name] = gatewayBodyOf(&g)
	}
	if g := setup.Given; g != nil {
		answer.Given = &givenSMSGatewayJSON{g.Host(), g.From}
	}
	if g := setup.Chosen; g != nil {
		answer.Chosen = &chosenSMSGatewayJSON{gatewayBodyOf(g), g.From, g.User, setup.IsSet, setup.IsReadable}
	}
	return map[string]smsGatewayAnswer{"smsGateway": answer}
}

func (s *Server) getSMSGateway(c *call) error { return c.json(http.StatusOK, s.smsGateway()) }

// errDemoSMS is for the demo. Its patients are invented, but their phone numbers may belong to real people.
var errDemoSMS = errForbidden.with(
	"The demo sends no text messages, because its patients are invented. Start a clinic of your own with holdfast " +
		"serve.",
)

// putSMSGateway stores the owner's choice. Its response is not stored for a repeated request: the request contains a
// secret, and repeating the request changes nothing.
func (s *Server) putSMSGateway(c *call, b *smsGatewayBody) error {
	c.once = nil
	if s.options.Demo {
		return errDemoSMS
	}
	if err := s.engine.Message.Gateway.Put(c.ctx(), c.caller.actor, b.gateway(), b.Secret); err != nil {
		return err
	}
	return c.json(http.StatusOK, s.smsGateway())
}

func (s *Server) deleteSMSGateway(c *call) error {
	if err := s.engine.Message.Gateway.Remove(c.ctx(), c.caller.actor); err != nil {
		return err
	}
	return c.json(http.StatusOK, s.smsGateway())
}

type smsTrialJSON struct {
	Delivery string `json:"delivery"`        // sent or failed
	Error    string `json:"error,omitempty"` // why it failed
	Said     string `json:"said,omitempty"`  // the gateway's reply
}

// trySMSGateway sends one text message with a gateway that is not saved yet.
func (s *Server) trySMSGateway(c *call, b *smsGatewayTrialBody) error {
	c.once = nil
	if s.options.Demo {
		return errDemoSMS
	}
	trial, err := s.engine.Message.Gateway.Try(c.ctx(), b.gateway(), b.Secret, b.To)
	if err != nil {
		return err
	}
	answer := smsTrialJSON{Delivery: "sent", Error: trial.Error, Said: trial.Said}
	if trial.Error != "" {
		answer.Delivery = "failed"
	}
	return c.json(http.StatusOK, answer)
}

type smsPreviewBody struct {
	Notice   string `json:"notice"`
	Language string `json:"language"`
	Text     string `json:"text"`
}

// previewSMS renders one text message and sends nothing.
func (s *Server) previewSMS(c *call, b *smsPreviewBody) error {
	c.once = nil
	p, err := s.engine.Message.PreviewSMS(b.Notice, b.Language, b.Text)
	if err != nil {
		return err
	}
	encoding := "GSM-7"
	if p.Length.IsUCS2 {
		encoding = "UCS-2"
	}
	return c.json(http.StatusOK, struct {
		Text     string `json:"text"`
		Builtin  string `json:"builtin"`
		Encoding string `json:"encoding"`
		Length   int    `json:"length"`
		Segments int    `json:"segments"`
	}{p.Text, p.Builtin, encoding, p.Length.Units, p.Length.Segments})
}

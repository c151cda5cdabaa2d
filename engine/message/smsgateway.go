package message

import (
	"context"
	"strings"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/token"
	"holdfast/store"
)

// SMSGateway is the SMS gateway that an owner chooses in the browser. It is safe for concurrent use. A gateway
// configured at startup takes precedence.
type SMSGateway struct {
	chosen[notice.Gateway]
	messages *Messages
	texter   *notice.Texter // nil means that no text message is sent
}

func newSMSGateway(ms *Messages, texter *notice.Texter, keys *token.Keys) *SMSGateway {
	return &SMSGateway{
		chosen: newChosen(ms.clinic.SMSGateway(keys), ms.outbound, store.SMS), messages: ms, texter: texter,
	}
}

// SMSGatewaySetup describes how the clinic's text messages are sent. It does not contain a secret.
type SMSGatewaySetup struct {
	Given *notice.Gateway // configured at startup, so it takes precedence
	clinic.ChoiceSetup[notice.Gateway]
}

// Current describes how the clinic's text messages are currently sent.
func (x *SMSGateway) Current() SMSGatewaySetup {
	s := SMSGatewaySetup{ChoiceSetup: x.choice.Setup()}
	if x.texter != nil {
		s.Given = x.texter.Given()
	}
	return s
}

// Follow applies the current choice to the texter. The feed calls it, one change at a time.
func (x *SMSGateway) Follow() {
	if x.texter == nil {
		return
	}
	x.follow(func(g *notice.Gateway, secret string, isReadable bool) {
		if !isReadable {
			x.messages.log.Warn("SMS gateway secret unreadable with this secret.key; text messages stay queued",
				"host", g.Host())
		}
		x.texter.Use(g, secret, isReadable)
	})
}

// Put stores another choice. If the secret is empty, the stored one is kept. Errors: *record.ValidationError.
func (x *SMSGateway) Put(ctx context.Context, actor record.Actor, g notice.Gateway, secret string) error {
	return x.choice.Put(ctx, actor, func(before *notice.Gateway) (*notice.Gateway, string, error) {
		return x.complete(g, secret, before)
	})
}

// SMSTrial is the result of sending a message through an SMS gateway on trial.
type SMSTrial struct {
	Error string // why the trial failed; empty means that the gateway accepted the message
	Said  string // the gateway's response, at most 300 characters
}

// Try sends one text message to a number through a gateway that has not been chosen yet. The current choice does not
// change. Errors: *record.ValidationError, store.ErrOverloaded.
func (x *SMSGateway) Try(ctx context.Context, g notice.Gateway, secret, phone string) (SMSTrial, error) {
	settings := x.messages.clinic.Settings()
	to := sms.E164(phone, settings.SMS.CountryCode)
	wish, secret, err := x.complete(g, secret, settings.Gateway)
	switch {
	case err != nil:
		return SMSTrial{}, err
	case to == "":
		return SMSTrial{}, record.Invalid("to",
			"must be a telephone number with a country code, such as +49 170 1234567")
	case x.texter == nil:
		return SMSTrial{Error: "this server sends no text messages"}, nil
	}
	done, err := x.try(ctx)
	if err != nil {
		return SMSTrial{}, err
	}
	defer done()
	about := &x.messages.clinic.Schedule().Clinic
	text := sms.Plain(x.messages.lettersFor(about.Locale).Fill("sms.test", "clinic", about.Name))
	said, err := x.texter.Try(ctx, *wish, secret, to, text)
	if secret != "" { // a gateway can repeat the request in its response
		said = strings.ReplaceAll(said, secret, "…")
	}
	if err != nil {
		return SMSTrial{err.Error(), said}, nil
	}
	return SMSTrial{Said: said}, nil
}

// complete checks a gateway and finds its secret: the one that was entered, or else the stored one for the same
// request. Errors: *record.ValidationError.
func (x *SMSGateway) complete(g notice.Gateway, typed string, before *notice.Gateway) (_ *notice.Gateway,
	secret string, _ error) {
	var m record.Mistakes
	g.Sealed = ""
	g.Method, g.URL = strings.ToUpper(strings.TrimSpace(g.Method)), strings.TrimSpace(g.URL)
	g.Success = strings.TrimSpace(g.Success)
	g.From, g.User = strings.TrimSpace(g.From), strings.TrimSpace(g.User)
	for _, f := range []struct {
		name, value string
		most        int
		lines       bool
	}{
		{"url", g.URL, 1000, false}, {"headers", g.Headers, 2000, true}, {"body", g.Body, 4000, true},
		{"success", g.Success, 200, false}, {"from", g.From, 40, false}, {"user", g.User, 200, false},
		{"secret", typed, 500, false},
	} {
		record.CheckText(&m, f.name, f.value, f.most, f.lines)
	}
	for _, wrong := range g.Mistakes(x.texter != nil && x.texter.AllowsHTTP()) {
		m.Add(wrong.Field, "%s", wrong.Text)
	}
	if g.NeedsSecret() {
		secret = x.choice.SecretFor(&m, &g, before, "secret", typed,
			"is missing: the stored secret belongs to a different gateway")
	}
	return &g, secret, m.Err()
}

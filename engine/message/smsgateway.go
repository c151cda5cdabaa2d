package message

import (
	"context"
	"strings"
	"sync/atomic"

	"holdfast/engine/clinic"
	"holdfast/engine/notice"
	"holdfast/engine/record"
	"holdfast/engine/sms"
	"holdfast/engine/token"
	"holdfast/store"
)

// SMSGateway is the SMS gateway that an owner chooses in the browser. It is safe for concurrent use.
//
// It works as MailServer does: the choice is in the clinic's settings, which every node reads from the store's feed.
// The secret is sealed for this method, address, headers, body and user. If one of them is changed, the secret must
// be entered again, so a caller cannot have it sent to their own server. No response, audit entry or file contains
// the secret.
//
// A gateway that was configured at the start of Holdfast takes precedence.
type SMSGateway struct {
	messages *Messages
	texter   *notice.Texter // nil means no text message is sent
	keys     *token.Keys
	trying   chan struct{} // limits the concurrent trials
	changed  chan struct{} // buffers one signal
	used     atomic.Pointer[notice.Gateway]
}

func newSMSGateway(ms *Messages, texter *notice.Texter, keys *token.Keys) *SMSGateway {
	return &SMSGateway{messages: ms, texter: texter, keys: keys, trying: make(chan struct{}, 2), changed: make(chan struct{}, 1)}
}

// SMSGatewaySetup describes how text messages leave the clinic. It contains no secret.
type SMSGatewaySetup struct {
	Given      *notice.Gateway // configured at the start, so it takes precedence
	Chosen     *notice.Gateway // chosen by an owner; its Sealed is empty
	IsSet      bool            // the chosen one has a secret
	IsReadable bool            // this server has the key to that secret, or no secret is needed
}

// Current returns how text messages leave the clinic now.
func (x *SMSGateway) Current() SMSGatewaySetup {
	var s SMSGatewaySetup
	if x.texter != nil {
		s.Given = x.texter.Given()
	}
	if saved := x.messages.clinic.Settings().Gateway; saved != nil {
		shown := *saved
		shown.Sealed = ""
		s.Chosen, s.IsSet = &shown, saved.Sealed != ""
		_, s.IsReadable = x.secret(saved)
	}
	return s
}

// secret returns the unsealed secret of a stored gateway; empty if it has none.
func (x *SMSGateway) secret(g *notice.Gateway) (secret string, isReadable bool) {
	if g.Sealed == "" {
		return "", true
	}
	return x.keys.Current().Open(g.Sealed, useOfGateway(g))
}

// useOfGateway returns the purpose for which a secret is sealed.
func useOfGateway(g *notice.Gateway) string {
	return "sms gateway " + strings.Join([]string{g.Method, g.URL, g.Headers, g.Body, g.User}, "\x00")
}

// Follow applies the current choice to the texter. The feed calls it, one change at a time.
func (x *SMSGateway) Follow() {
	saved, before := x.messages.clinic.Settings().Gateway, x.used.Load()
	if x.texter == nil || saved == before || saved != nil && before != nil && *saved == *before {
		return
	}
	x.used.Store(saved)
	if saved == nil {
		x.texter.Use(nil, "", true)
		return
	}
	secret, isReadable := x.secret(saved)
	if !isReadable {
		x.messages.log.Warn("SMS gateway secret unreadable with this secret.key; text messages wait", "host", saved.Host())
	}
	x.texter.Use(saved, secret, isReadable)
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// Run retries the waiting text messages immediately whenever the choice changes, until ctx ends.
func (x *SMSGateway) Run(ctx context.Context) {
	for {
		select {
		case <-x.changed:
			x.messages.outbound.WakeFor(store.SMS)
		case <-ctx.Done():
			return
		}
	}
}

// Put stores another choice; an empty secret keeps the stored one. Errors: *record.ValidationError.
func (x *SMSGateway) Put(ctx context.Context, actor record.Actor, g notice.Gateway, secret string) error {
	return x.messages.clinic.ChangeSMSGateway(ctx, actor, clinic.SMSGatewayChanged, func(before *notice.Gateway) (*notice.Gateway, error) {
		after, secret, err := x.complete(g, secret, before)
		if err == nil && secret != "" {
			after.Sealed = x.keys.Current().Seal(secret, useOfGateway(after))
		}
		return after, err
	})
}

// Remove deletes the choice. It is no error if there is none.
func (x *SMSGateway) Remove(ctx context.Context, actor record.Actor) error {
	return x.messages.clinic.ChangeSMSGateway(ctx, actor, clinic.SMSGatewayChanged, func(*notice.Gateway) (*notice.Gateway, error) { return nil, nil })
}

// Seal seals the secret again with the current signing key. Call it before that key is replaced.
func (x *SMSGateway) Seal(ctx context.Context) error {
	if saved := x.messages.clinic.Settings().Gateway; saved == nil || saved.Sealed == "" {
		return nil
	}
	return x.messages.clinic.ChangeSMSGateway(ctx, "system", clinic.SMSGatewaySealed, func(before *notice.Gateway) (*notice.Gateway, error) {
		if before == nil || before.Sealed == "" {
			return before, nil
		}
		secret, isReadable := x.secret(before)
		if !isReadable { // unchanged: it must be typed again
			return before, nil
		}
		after := *before
		after.Sealed = x.keys.Current().Seal(secret, useOfGateway(before))
		return &after, nil
	})
}

// SMSTrial is the result of a trial.
type SMSTrial struct {
	Error string // why it failed; empty means the gateway accepted the message
	Said  string // the gateway's answer, at most 300 characters
}

// Try sends one text message to a number with a gateway that is not chosen yet. The current choice does not change.
// Errors: *record.ValidationError, store.ErrOverloaded.
func (x *SMSGateway) Try(ctx context.Context, g notice.Gateway, secret, phone string) (SMSTrial, error) {
	settings := x.messages.clinic.Settings()
	to := sms.E164(phone, settings.SMS.CountryCode)
	wish, secret, err := x.complete(g, secret, settings.Gateway)
	switch {
	case err != nil:
		return SMSTrial{}, err
	case to == "":
		return SMSTrial{}, record.Invalid("to", "must be a telephone number with a country code, such as +49 170 1234567")
	case x.texter == nil:
		return SMSTrial{Error: "this server sends no text messages"}, nil
	}
	if err := store.Trial(ctx); err != nil {
		return SMSTrial{}, err
	}
	select {
	case x.trying <- struct{}{}:
		defer func() { <-x.trying }()
	case <-ctx.Done():
		return SMSTrial{}, store.ErrOverloaded
	}
	about := &x.messages.clinic.Schedule().Clinic
	text := sms.Plain(x.messages.lettersFor(about.Locale).Fill("sms.test", "clinic", about.Name))
	said, err := x.texter.Try(ctx, *wish, secret, to, text)
	if secret != "" { // a gateway can repeat the request in its answer
		said = strings.ReplaceAll(said, secret, "…")
	}
	if err != nil {
		return SMSTrial{err.Error(), said}, nil
	}
	return SMSTrial{Said: said}, nil
}

// complete checks a gateway and finds its secret: the typed one, or else the stored one for the same request. Errors:
// *record.ValidationError.
func (x *SMSGateway) complete(g notice.Gateway, typed string, before *notice.Gateway) (_ *notice.Gateway, secret string, _ error) {
	var m record.Mistakes
	g.Sealed = ""
	g.Method, g.URL, g.Success = strings.ToUpper(strings.TrimSpace(g.Method)), strings.TrimSpace(g.URL), strings.TrimSpace(g.Success)
	g.From, g.User = strings.TrimSpace(g.From), strings.TrimSpace(g.User)
	for _, f := range []struct {
		name, value string
		most        int
		lines       bool
	}{{"url", g.URL, 1000, false}, {"headers", g.Headers, 2000, true}, {"body", g.Body, 4000, true}, {"success", g.Success, 200, false},
		{"from", g.From, 40, false}, {"user", g.User, 200, false}, {"secret", typed, 500, false}} {
		record.CheckText(&m, f.name, f.value, f.most, f.lines)
	}
	for _, wrong := range g.Mistakes(x.texter != nil && x.texter.AllowsHTTP()) {
		m.Add(wrong.Field, "%s", wrong.Text)
	}
	switch {
	case !g.NeedsSecret():
	case typed != "":
		secret = typed
	case before == nil || before.Sealed == "" || useOfGateway(before) != useOfGateway(&g):
		m.Add("secret", "is missing: the stored secret belongs to another gateway")
	default:
		var isReadable bool
		if secret, isReadable = x.secret(before); !isReadable {
			m.Add("secret", "must be entered again: it was encrypted with another secret.key")
		}
	}
	return &g, secret, m.Err()
}

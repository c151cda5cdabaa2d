package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/openid"
	"holdfast/engine/token"
	"holdfast/store"
)

// The staff can sign in with an identity provider that an owner chooses (OpenID Connect).
//
// The choice is part of the clinic's settings, like the mail server (clinic.Choice). A choice that changes the source
// of sign-ins is checked first, and stored only if the issuer can sign people in.
//
// The data for a sign-in is kept in a sealed cookie in the browser for ten minutes: the state, the nonce, the PKCE
// secret, the issuer and the client. So any node can finish a sign-in that another node began. Only the browser that
// began a sign-in can finish it, and an attacker cannot make it use another person's code. The database marks the state
// as used before the server calls the issuer, so a sign-in can be finished only once in the whole cluster.

// ReturnPath is the path, below the clinic's public address, that the issuer redirects browsers to.
const ReturnPath = "/v1/auth/openid/callback"

const (
	beginLife = 10 * time.Minute // from the start of a sign-in to the return of the browser
	codeLife  = 5 * time.Minute  // for a sign-in that still needs a one-time code
)

var (
	// ErrOff means that no identity provider is set up, or that the clinic's public address or the client's secret is
	// missing.
	ErrOff = errors.New("no identity provider is set up")
	// ErrBegin means that this browser did not begin the sign-in that this response belongs to, or that the sign-in has
	// expired or is already finished.
	ErrBegin = errors.New("this browser did not start this sign-in")
	// ErrDenied means that the provider did not sign the user in. It returned an error, or no code.
	ErrDenied = errors.New("the sign-in with the identity provider failed")
	// ErrUnverified means that the provider has not verified the email address, or that the address is not in one of
	// the clinic's domains.
	ErrUnverified = errors.New("the address is not verified, or its domain is not allowed")
)

// Identities signs the staff in with the identity provider. It is safe for concurrent use.
type Identities struct {
	store   store.Store
	log     *slog.Logger
	clinic  *clinic.Clinic
	account *Account
	client  *openid.Client
	keys    *token.Keys
	choice  *clinic.Choice[openid.Provider]
	calling chan struct{} // limits the concurrent calls to the issuer
}

// SignInWith returns the name of the identity provider that staff can currently sign in with, or an empty string if
// there is none.
func (x *Identities) SignInWith() string {
	if p, _, err := x.login(); err == nil {
		return p.Name
	}
	return ""
}

// login returns the provider and this server's client registration at the provider. Errors: ErrOff.
func (x *Identities) login() (*openid.Provider, openid.Login, error) {
	p := x.choice.Stored()
	base, from := x.clinic.BaseURL()
	if p == nil || from == clinic.URLGuessed {
		return nil, openid.Login{}, ErrOff
	}
	secret, isReadable := x.choice.Secret(p)
	if !isReadable {
		return nil, openid.Login{}, ErrOff
	}
	return p, openid.Login{Issuer: p.Issuer, ClientID: p.ClientID, Secret: secret, Redirect: base + ReturnPath}, nil
}

// begun is the content of the browser's sealed cookie between Begin and Finish.
type begun struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Issuer   string `json:"i"`
	ClientID string `json:"c"`
	Until    int64  `json:"u"` // Unix seconds
}

// Purposes of the sealed cookies. A cookie sealed for one purpose cannot be opened for the other.
const (
	forBegun = "openid sign-in"
	forCode  = "openid one-time code"
)

// Begin starts a sign-in. It returns the address to redirect the browser to, and the cookie that the browser must
// present when it returns. Errors: ErrOff, openid.ErrUnavailable, openid.ErrRefused.
func (x *Identities) Begin(ctx context.Context) (address, cookie string, err error) {
	_, login, err := x.login()
	if err != nil {
		return "", "", err
	}
	b := begun{rand.Text(), rand.Text(), openid.NewVerifier(), login.Issuer, login.ClientID,
		time.Now().Add(beginLife).Unix()}
	address, err = x.client.SignInURL(ctx, login, openid.Secrets{State: b.State, Nonce: b.Nonce, Verifier: b.Verifier})
	if err != nil {
		x.log.Warn("failed to start a sign-in with the identity provider", "issuer", login.Issuer, "error", err)
		return "", "", err
	}
	return address, x.seal(b, forBegun), nil
}

func (x *Identities) seal(v any, about string) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return x.keys.Current().Seal(string(b), about)
}

func (x *Identities) open(cookie, about string, v any) bool {
	text, ok := x.keys.Current().Open(cookie, about)
	return ok && json.Unmarshal([]byte(text), v) == nil
}

// Return holds the query parameters of the issuer's redirect, and the browser that follows it.
type Return struct {
	Cookie             string // the cookie that Begin returned
	State, Code        string
	Issuer             string // the parameter iss; empty if it is missing
	Error              string // the issuer's error code; empty means none
	Address, UserAgent string // the browser's network address and user agent
}

// Finish signs in the user of a browser that returned from the issuer. With ErrCodeNeeded it returns a cookie for
// FinishCode.
//
// Errors: ErrOff, ErrBegin, ErrDenied, ErrUnverified, openid.ErrUnavailable, openid.ErrRefused, ErrStranger,
// ErrOtherIdentity, ErrCodeNeeded, *BackoffError, store.ErrOverloaded.
func (x *Identities) Finish(ctx context.Context, r Return) (secret string, staff Staff, cookie string, err error) {
	var b begun
	if !x.open(r.Cookie, forBegun, &b) || time.Now().Unix() >= b.Until {
		return "", Staff{}, "", ErrBegin
	}
	// A return without a pending sign-in is not counted: it cannot be used for guessing, and any page can link to this
	// address.
	end, err := x.account.BeginReturn(ctx, r.Address)
	if err != nil {
		return "", Staff{}, "", err
	}
	secret, staff, cookie, err = x.finish(ctx, &b, r)
	end(isRefused(err))
	return secret, staff, cookie, err
}

// isRefused reports whether the provider or the clinic refused the sign-in, as opposed to a server failure or a missing
// code.
func isRefused(err error) bool {
	for _, is := range []error{ErrBegin, ErrDenied, ErrUnverified, openid.ErrRefused, ErrStranger, ErrOtherIdentity} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// finish is like Finish, for a browser that has started the sign-in b.
func (x *Identities) finish(ctx context.Context, b *begun,
	r Return) (secret string, staff Staff, cookie string, err error) {
	if r.State == "" || subtle.ConstantTimeCompare([]byte(r.State), []byte(b.State)) != 1 {
		return "", Staff{}, "", ErrBegin
	}
	p, login, err := x.login()
	if err != nil {
		return "", Staff{}, "", err
	}
	if b.Issuer != login.Issuer || b.ClientID != login.ClientID { // the sign-in was started with another provider
		return "", Staff{}, "", ErrBegin
	}
	if err := x.useUp(ctx, b); err != nil {
		return "", Staff{}, "", err
	}
	if r.Error != "" || r.Code == "" {
		err := ErrDenied
		if r.Error == "temporarily_unavailable" || r.Error == "server_error" {
			err = openid.ErrUnavailable
		}
		x.log.Warn("sign-in with the identity provider failed", "issuer", login.Issuer, "error", err,
			"returned", errorCode(r.Error))
		return "", Staff{}, "", err
	}
	select {
	case x.calling <- struct{}{}:
		defer func() { <-x.calling }()
	case <-ctx.Done():
		return "", Staff{}, "", store.ErrOverloaded
	}
	claims, err := x.client.Claims(ctx, login, openid.Return{Code: r.Code, Issuer: r.Issuer},
		openid.Secrets{State: b.State, Nonce: b.Nonce, Verifier: b.Verifier})
	if err != nil {
		x.log.Warn("sign-in with the identity provider failed", "issuer", login.Issuer, "error", err)
		return "", Staff{}, "", err
	}
	id := Identity{
		Issuer: login.Issuer, ClientID: login.ClientID, Subject: claims.Subject, Name: claims.Name,
		NewRole: store.Role(p.NewRole), HasSecondFactor: claims.HasSecondFactor, By: p.Name, Address: r.Address,
		UserAgent: r.UserAgent,
	}
	if isOf(p.Domains, claims.Email) {
		id.Email = claims.Email
	}
	secret, staff, err = x.account.SignInByIdentity(ctx, id)
	switch {
	case errors.Is(err, ErrCodeNeeded):
		cookie = x.seal(waiting{id.Issuer, id.ClientID, id.Subject, id.Email, time.Now().Add(codeLife).Unix()}, forCode)
	case errors.Is(err, ErrStranger) && id.Email == "":
		err = ErrUnverified
	}
	return secret, staff, cookie, err
}

// errorCode returns an issuer's error code for a log. The browser sends the code, so any other text is replaced.
func errorCode(code string) string {
	switch {
	case code == "":
		return "no code"
	case len(code) > 50 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz_") != "":
		return "an unknown error"
	}
	return code
}

// useUp marks the state of a sign-in as used, so that the sign-in can be finished only once. Errors: ErrBegin.
func (x *Identities) useUp(ctx context.Context, b *begun) error {
	err := x.store.Write(ctx, func(tx store.Tx) error {
		return tx.UseNonce(ctx, store.NonceUse{Nonce: "openid:" + b.State, ExpiresAt: time.Unix(b.Until, 0).UTC()})
	})
	if errors.Is(err, store.ErrDuplicate) {
		return ErrBegin
	}
	return err
}

// isOf reports whether an email address belongs to one of these domains.
func isOf(domains []string, email string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.Contains(domains, strings.ToLower(email[at+1:]))
}

// waiting is the content of the cookie in a browser that has returned from the provider and still needs a one-time code
// for this server.
type waiting struct {
	Issuer   string `json:"i"`
	ClientID string `json:"c"`
	Subject  string `json:"s"`
	Email    string `json:"e"`
	Until    int64  `json:"u"`
}

// FinishCode finishes a sign-in after Finish has returned ErrCodeNeeded. Errors: ErrBegin, ErrOff, and those of
// Account.SignInByIdentity.
func (x *Identities) FinishCode(ctx context.Context, cookie, code, address,
	userAgent string) (secret string, staff Staff, err error) {
	var w waiting
	if !x.open(cookie, forCode, &w) || time.Now().Unix() >= w.Until {
		return "", Staff{}, ErrBegin
	}
	p, login, err := x.login()
	if err != nil {
		return "", Staff{}, err
	}
	if w.Issuer != login.Issuer || w.ClientID != login.ClientID {
		return "", Staff{}, ErrBegin
	}
	if code == "" {
		return "", Staff{}, ErrCodeNeeded
	}
	return x.account.SignInByIdentity(ctx, Identity{
		Issuer: w.Issuer, ClientID: w.ClientID, Subject: w.Subject, Email: w.Email, Code: code, By: p.Name,
		Address: address, UserAgent: userAgent,
	})
}

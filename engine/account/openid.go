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
// The choice is in the clinic's settings, as that of the mail server is; the client's secret is sealed for this issuer and this client. A
// choice that changes where sign-ins come from is checked first, and kept only if the issuer would sign somebody in.
//
// What belongs to one sign-in is in a sealed cookie of the browser for ten minutes: the state, the nonce and the secret of PKCE, and for which
// issuer and client. So any node finishes what another began, only the browser that began it can, and an attacker cannot pass it another
// person's code. The state is used up in the database before the issuer is asked, so a sign-in is finished once on all nodes together.

// ReturnPath is where the issuer sends browsers back to, behind the clinic's own address.
const ReturnPath = "/v1/auth/openid/callback"

const (
	beginLife = 10 * time.Minute // of a sign-in that was begun
	codeLife  = 5 * time.Minute  // of one that waits for a one-time code
)

var (
	// ErrOff: the staff have no identity provider to sign in with here, or the clinic's own address or the client's secret is missing.
	ErrOff = errors.New("no identity provider is set up")
	// ErrBegin: this browser has begun no sign-in that this answer belongs to, or it was too long ago, or it is over.
	ErrBegin = errors.New("this browser has not begun this sign-in")
	// ErrDenied: the provider says that nobody signed in there.
	ErrDenied = errors.New("the identity provider signed nobody in")
	// ErrUnverified: nobody vouches for the address, or it is of a domain that the clinic has not named.
	ErrUnverified = errors.New("the address is not vouched for, or its domain is not the clinic's")
)

// Identities signs the staff in with the identity provider. It is safe for concurrent use.
type Identities struct {
	store   store.Store
	log     *slog.Logger
	clinic  *clinic.Clinic
	account *Account
	client  *openid.Client
	keys    *token.Keys
	calling chan struct{} // limits the concurrent calls of the issuer
}

// SignInWith is the name of the identity provider that the staff can sign in with now; empty: none.
func (x *Identities) SignInWith() string {
	if p, _, err := x.login(); err == nil {
		return p.Name
	}
	return ""
}

// login is the provider and what we are to it. ErrOff.
func (x *Identities) login() (*openid.Provider, openid.Login, error) {
	p := x.clinic.Settings().OpenID
	base, from := x.clinic.BaseURL()
	if p == nil || from == clinic.URLGuessed {
		return nil, openid.Login{}, ErrOff
	}
	secret, isReadable := x.secret(p)
	if !isReadable {
		return nil, openid.Login{}, ErrOff
	}
	return p, openid.Login{Issuer: p.Issuer, ClientID: p.ClientID, Secret: secret, Redirect: base + ReturnPath}, nil
}

// begun is what a browser keeps of a sign-in until it comes back.
type begun struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Issuer   string `json:"i"`
	ClientID string `json:"c"`
	Until    int64  `json:"u"` // Unix seconds
}

// What a cookie is sealed for, so that none of a kind passes for one of the other.
const (
	forBegun = "openid sign-in"
	forCode  = "openid one-time code"
)

// Begin begins a sign-in: where to send the browser, and the cookie that it has to come back with. ErrOff, openid.ErrUnavailable,
// openid.ErrRefused.
func (x *Identities) Begin(ctx context.Context) (address, cookie string, err error) {
	_, login, err := x.login()
	if err != nil {
		return "", "", err
	}
	b := begun{rand.Text(), rand.Text(), openid.NewVerifier(), login.Issuer, login.ClientID, time.Now().Add(beginLife).Unix()}
	address, err = x.client.SignInURL(ctx, login, openid.Secrets{State: b.State, Nonce: b.Nonce, Verifier: b.Verifier})
	if err != nil {
		x.log.Warn("sign-in with the identity provider not started", "issuer", login.Issuer, "error", err)
		return "", "", err
	}
	return address, x.seal(b, forBegun), nil
}

func (x *Identities) seal(v any, about string) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers can be JSON
	}
	return x.keys.Current().Seal(string(b), about)
}

func (x *Identities) open(cookie, about string, v any) bool {
	text, ok := x.keys.Current().Open(cookie, about)
	return ok && json.Unmarshal([]byte(text), v) == nil
}

// Return is a browser that comes back from the issuer.
type Return struct {
	Cookie             string // of BeginOpenID
	State, Code        string
	Issuer             string // the parameter iss, if there is one
	Error              string // the issuer's word for what went wrong
	Address, UserAgent string // of the browser
}

// Finish signs in who came back. With ErrCodeNeeded comes a cookie with which FinishCode goes on.
//
// Errors: ErrOff, ErrBegin, ErrDenied, ErrUnverified, openid.ErrUnavailable, openid.ErrRefused, ErrStranger, ErrOtherIdentity,
// ErrCodeNeeded, *BackoffError, store.ErrOverloaded.
func (x *Identities) Finish(ctx context.Context, r Return) (secret string, staff Staff, cookie string, err error) {
	var b begun
	if !x.open(r.Cookie, forBegun, &b) || time.Now().Unix() >= b.Until {
		return "", Staff{}, "", ErrBegin
	}
	// Only a browser that has begun a sign-in can try anything here, so other returns are not counted: any page can link to this address.
	end, err := x.account.BeginReturn(ctx, r.Address)
	if err != nil {
		return "", Staff{}, "", err
	}
	secret, staff, cookie, err = x.finish(ctx, &b, r)
	end(isRefused(err))
	return secret, staff, cookie, err
}

// isRefused reports whether a browser returned with an answer that signs nobody in, and not because a server failed or a code is missing.
func isRefused(err error) bool {
	for _, is := range []error{ErrBegin, ErrDenied, ErrUnverified, openid.ErrRefused, ErrStranger, ErrOtherIdentity} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// finish is Finish for a browser that has begun the sign-in b.
func (x *Identities) finish(ctx context.Context, b *begun, r Return) (secret string, staff Staff, cookie string, err error) {
	if r.State == "" || subtle.ConstantTimeCompare([]byte(r.State), []byte(b.State)) != 1 {
		return "", Staff{}, "", ErrBegin
	}
	p, login, err := x.login()
	if err != nil {
		return "", Staff{}, "", err
	}
	if b.Issuer != login.Issuer || b.ClientID != login.ClientID { // it was begun with another one
		return "", Staff{}, "", ErrBegin
	}
	if err := x.useUp(ctx, b); err != nil {
		return "", Staff{}, "", err
	}
	switch {
	case r.Error == "temporarily_unavailable" || r.Error == "server_error":
		return "", Staff{}, "", openid.ErrUnavailable
	case r.Error != "" || r.Code == "":
		return "", Staff{}, "", ErrDenied
	}
	select {
	case x.calling <- struct{}{}:
		defer func() { <-x.calling }()
	case <-ctx.Done():
		return "", Staff{}, "", store.ErrOverloaded
	}
	claims, err := x.client.Claims(ctx, login, openid.Return{Code: r.Code, Issuer: r.Issuer}, openid.Secrets{State: b.State, Nonce: b.Nonce, Verifier: b.Verifier})
	if err != nil {
		x.log.Warn("sign-in with the identity provider failed", "issuer", login.Issuer, "error", err)
		return "", Staff{}, "", err
	}
	id := Identity{
		Issuer: login.Issuer, ClientID: login.ClientID, Subject: claims.Subject, Name: claims.Name, NewRole: store.Role(p.NewRole), HasSecondFactor: claims.HasSecondFactor, By: p.Name,
		Address: r.Address, UserAgent: r.UserAgent,
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

// useUp makes sure that what a browser began is finished once. ErrBegin.
func (x *Identities) useUp(ctx context.Context, b *begun) error {
	err := x.store.Write(ctx, func(tx store.Tx) error {
		return tx.UseNonce(ctx, store.NonceUse{Nonce: "openid:" + b.State, ExpiresAt: time.Unix(b.Until, 0).UTC()})
	})
	if errors.Is(err, store.ErrDuplicate) {
		return ErrBegin
	}
	return err
}

// isOf reports whether an address is of one of these domains.
func isOf(domains []string, email string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.Contains(domains, strings.ToLower(email[at+1:]))
}

// waiting is what a browser keeps of somebody whom the provider has vouched for, and whom we ask for a one-time code.
type waiting struct {
	Issuer   string `json:"i"`
	ClientID string `json:"c"`
	Subject  string `json:"s"`
	Email    string `json:"e"`
	Until    int64  `json:"u"`
}

// FinishCode signs in who came back and has a one-time code of ours as well. ErrBegin, ErrOff, and those of account.SignInByIdentity.
func (x *Identities) FinishCode(ctx context.Context, cookie, code, address, userAgent string) (secret string, staff Staff, err error) {
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
		Issuer: w.Issuer, ClientID: w.ClientID, Subject: w.Subject, Email: w.Email, Code: code, By: p.Name, Address: address, UserAgent: userAgent,
	})
}

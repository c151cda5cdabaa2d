// Package openid speaks OpenID Connect with the identity provider of a clinic: it finds out where the provider is and what it can,
// sends a browser there, and reads who came back.
//
// # What is believed
//
// The code flow with PKCE, and nothing else: a token never passes through a browser. An ID token counts when it is signed with a key that
// the issuer has now, by an algorithm of public keys, for this client and nobody else, for this very sign-in (its nonce), and is not over.
// Clocks may differ by two minutes. What an issuer says of its addresses is asked anew each hour, and its keys besides whenever a token
// is signed with one that is not known, so a key that it has changed is followed and one that it has taken back dies within the hour, or, while its
// description cannot be had, within a day.
//
// Every address is https. Answers are bounded, and redirects are not followed.
package openid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Provider is an identity provider as a clinic has chosen it.
type Provider struct {
	Name       string   `json:"name"`                 // as the sign-in page calls it
	Issuer     string   `json:"issuer"`               // such as https://accounts.google.com
	ClientID   string   `json:"clientId"`             //
	Sealed     string   `json:"sealed,omitempty"`     // the client's secret; empty: it has none
	Domains    []string `json:"domains"`              // of the e-mail addresses by which somebody is known at the first sign-in
	NewRole    string   `json:"newRole,omitempty"`    // what somebody becomes whom nobody here knows; empty: they are refused
	OwnersOnly bool     `json:"ownersOnly,omitempty"` // only owners come in by password
}

// Login is what this server is to an issuer.
type Login struct {
	Issuer, ClientID, Secret string
	Redirect                 string // where the issuer sends browsers back to, exactly
}

// Secrets belong to one sign-in. State goes through the addresses of the browser, the others do not.
type Secrets struct{ State, Nonce, Verifier string }

// NewVerifier makes a secret for PKCE (RFC 7636).
func NewVerifier() string { return oauth2.GenerateVerifier() }

// Claims are what the issuer says of who came.
type Claims struct {
	Subject         string
	Email           string // empty: the issuer gives none, or does not vouch for it
	Name            string
	HasSecondFactor bool // the issuer says that it has asked for more than one (amr mfa, RFC 8176)
}

var (
	// ErrUnavailable: the issuer cannot be reached now.
	ErrUnavailable = errors.New("the identity provider does not answer")
	// ErrRefused: what the issuer answered does not sign anybody in.
	ErrRefused = errors.New("the identity provider's answer cannot be trusted")
)

const (
	callTime  = 6 * time.Second // of one call
	keptFor   = time.Hour
	stillGood = 24 * time.Hour // what was found out, while the issuer cannot be asked again
	skew      = 2 * time.Minute
	maxAnswer = 1 << 20
)

// Client asks issuers. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	mu     sync.Mutex
	last   *found
	asking *asking // nil: nobody asks now
}

// asking is one question to an issuer, for all who want to know meanwhile.
type asking struct {
	issuer string
	done   chan struct{} // closed when the answer is there
	found  *found
	err    error
}

// found is what an issuer says about itself.
type found struct {
	*oidc.Provider
	metadata
	issuer string
	at     time.Time
}

type metadata struct {
	Authorize  string   `json:"authorization_endpoint"`
	Token      string   `json:"token_endpoint"`
	Keys       string   `json:"jwks_uri"`
	Responses  []string `json:"response_types_supported"`
	Algorithms []string `json:"id_token_signing_alg_values_supported"`
	Methods    []string `json:"token_endpoint_auth_methods_supported"`
	Prompts    []string `json:"prompt_values_supported"`                        // few say so
	SaysIssuer bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

// NewClient returns a Client that trusts these authorities; nil: those of the machine.
func NewClient(roots *x509.CertPool) *Client {
	calls := http.DefaultTransport.(*http.Transport).Clone()
	calls.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	calls.MaxResponseHeaderBytes = 64 << 10
	return &Client{http: &http.Client{
		Transport: careful{calls}, Timeout: callTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

var errNotHTTPS = errors.New("the address is not https")

// careful calls https alone, and reads no answer without end.
type careful struct{ calls http.RoundTripper }

func (c careful) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		return nil, errNotHTTPS
	}
	answer, err := c.calls.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	}
	return answer, err
}

// ask is what an issuer says about itself, as it was said in the last hour. Of those who want to know at once one asks, for all of them:
// that one's browser may go, and the answer still comes to the others.
func (c *Client) ask(ctx context.Context, issuer string) (*found, error) {
	c.mu.Lock()
	last, now := c.last, c.asking
	if last != nil && last.issuer != issuer {
		last = nil
	}
	if last != nil && time.Since(last.at) < keptFor {
		c.mu.Unlock()
		return last, nil
	}
	if now != nil && now.issuer == issuer {
		c.mu.Unlock()
		select {
		case <-now.done:
			return now.found, now.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	now = &asking{issuer: issuer, done: make(chan struct{})}
	c.asking = now
	c.mu.Unlock()

	f, err := c.discover(context.WithoutCancel(ctx), issuer)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.last = f
	case last != nil && time.Since(last.at) < stillGood:
		f, err = last, nil
	}
	if c.asking == now {
		c.asking = nil
	}
	now.found, now.err = f, err
	close(now.done)
	return f, err
}

func (c *Client) discover(ctx context.Context, issuer string) (*found, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, c.http), issuer)
	if err != nil {
		return nil, err
	}
	f := &found{Provider: p, issuer: issuer, at: time.Now()}
	return f, p.Claims(&f.metadata)
}

// config is how this server introduces itself to the issuer.
func (f *found) config(l Login) *oauth2.Config {
	end := f.Endpoint()
	end.AuthStyle = oauth2.AuthStyleInHeader // what it says of itself decides, since a second try would find the code used
	if l.Secret == "" || len(f.Methods) > 0 && !has(f.Methods, "client_secret_basic") {
		end.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.Secret, Endpoint: end, RedirectURL: l.Redirect, Scopes: []string{oidc.ScopeOpenID, "email", "profile"}}
}

// SignInURL is where a browser is sent to. ErrUnavailable, ErrRefused.
func (c *Client) SignInURL(ctx context.Context, l Login, s Secrets) (string, error) {
	f, err := c.ask(ctx, l.Issuer)
	if err != nil {
		return "", fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	if u, err := url.Parse(f.Authorize); err != nil || u.Scheme != "https" {
		return "", ErrRefused
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(s.Nonce), oauth2.S256ChallengeOption(s.Verifier)}
	if prompt := f.prompt(); prompt != "" {
		options = append(options, oauth2.SetAuthURLParam("prompt", prompt))
	}
	return f.config(l).AuthCodeURL(s.State, options...), nil
}

// google refuses a prompt that it does not know, and does not say which it knows: none, consent and select_account.
const google = "https://accounts.google.com"

// prompt is how the issuer is asked to ask who is there (OpenID Connect Core 3.1.2.1), although it may know the browser: at a desk that several
// share, whoever signs out here would otherwise be signed in again by the next one's press of a button. An issuer that does not
// ask for the password is to ask for the account at least. Empty: it says that it knows neither.
func (f *found) prompt() string {
	switch {
	case f.issuer == google:
		return "select_account"
	case len(f.Prompts) == 0 || has(f.Prompts, "login"):
		return "login"
	case has(f.Prompts, "select_account"):
		return "select_account"
	}
	return ""
}

// Return is what the issuer sent a browser back with.
type Return struct {
	Code   string
	Issuer string // the parameter iss; empty: it was not there
}

// Claims exchanges a code for what the issuer says of who came. ErrUnavailable, ErrRefused, each with the reason for a log; where the keys
// cannot be had, nothing that is signed can be trusted either.
func (c *Client) Claims(ctx context.Context, l Login, r Return, s Secrets) (Claims, error) {
	f, err := c.ask(ctx, l.Issuer)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	if r.Issuer != "" && r.Issuer != l.Issuer || r.Issuer == "" && f.SaysIssuer {
		return Claims{}, ErrRefused // another issuer's answer (RFC 9207)
	}
	calling := oidc.ClientContext(ctx, c.http)
	given, err := f.config(l).Exchange(calling, r.Code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		var said *oauth2.RetrieveError
		if errors.As(err, &said) && said.Response.StatusCode < http.StatusInternalServerError {
			return Claims{}, fmt.Errorf("%w: the code was answered %d %q", ErrRefused, said.Response.StatusCode, said.ErrorCode) // the rest may repeat it
		}
		return Claims{}, fmt.Errorf("%w: it gave no token for the code", ErrUnavailable)
	}
	raw, _ := given.Extra("id_token").(string)
	verifier := f.Verifier(&oidc.Config{ClientID: l.ClientID, Now: func() time.Time { return time.Now().Add(-skew) }})
	token, err := verifier.Verify(calling, raw)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %v", ErrRefused, err)
	}
	return read(token, l, s)
}

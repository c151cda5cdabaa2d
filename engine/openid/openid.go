// Package openid signs users in through a clinic's identity provider, using OpenID Connect. It reads the provider's
// metadata, builds the address to which it sends the browser, and reads the identity of the returning user.
//
// # Trust
//
// Only the code flow with PKCE is supported: a token never passes through a browser. An ID token is accepted if it is
// signed with a current key of the issuer, by a public-key algorithm, for this client alone and for this sign-in (its
// nonce), and has not expired. Clocks may differ by two minutes.
//
// The issuer's metadata is refetched after an hour. Its keys are also fetched when a token is signed with an unknown
// key. So a new key works immediately, and a withdrawn key stops working within an hour, or within a day if the
// metadata cannot be fetched.
//
// Every address uses https. Responses are limited in size, and redirects are not followed.
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

// Provider is the configuration of a clinic's identity provider.
type Provider struct {
	Name     string `json:"name"`             // its name on the sign-in page
	Issuer   string `json:"issuer"`           // such as https://accounts.google.com
	ClientID string `json:"clientId"`         //
	Sealed   string `json:"sealed,omitempty"` // the client's secret, sealed; empty means none
	// the domains of the email addresses that identify a user at the first sign-in
	Domains    []string `json:"domains"`
	NewRole    string   `json:"newRole,omitempty"`    // the role of unknown users; if empty, they are refused
	OwnersOnly bool     `json:"ownersOnly,omitempty"` // only owners can sign in with a password
}

// Login is this server's registration at an issuer.
type Login struct {
	Issuer, ClientID, Secret string
	Redirect                 string // the exact address to which the issuer redirects browsers
}

// Secrets belong to one sign-in. State appears in addresses in the browser; the others do not.
type Secrets struct{ State, Nonce, Verifier string }

// NewVerifier creates a secret for PKCE (RFC 7636).
func NewVerifier() string { return oauth2.GenerateVerifier() }

// Claims are the issuer's statements about the user who signed in.
type Claims struct {
	Subject         string
	Email           string // empty if the issuer returns no address, or does not confirm it
	Name            string
	HasSecondFactor bool // the issuer has checked more than one factor (amr mfa, RFC 8176)
}

var (
	// ErrUnavailable means that the issuer does not respond.
	ErrUnavailable = errors.New("the identity provider is not responding")
	// ErrRefused means that the issuer's response cannot be used to sign a user in.
	ErrRefused = errors.New("the identity provider's response cannot be trusted")
)

const (
	callTime  = 6 * time.Second // the time limit of one call
	keptFor   = time.Hour
	stillGood = 24 * time.Hour // how long the last metadata is used while it cannot be refetched
	skew      = 2 * time.Minute
	maxAnswer = 1 << 20
)

// Client calls issuers. It is safe for concurrent use.
type Client struct {
	http   *http.Client
	mu     sync.Mutex
	last   *found
	asking *asking // nil if no fetch is running
}

// asking is a fetch of an issuer's metadata that is in progress and that all concurrent callers share.
type asking struct {
	issuer string
	done   chan struct{} // closed when the result is available
	found  *found
	err    error
}

// found is the metadata of an issuer.
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
	Prompts    []string `json:"prompt_values_supported"`                        // few issuers include it
	SaysIssuer bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207
}

// NewClient returns a Client that trusts these certificate authorities. Nil means the machine's own.
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

// careful makes only https calls and limits the size of their responses.
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

// ask returns an issuer's metadata, which is at most an hour old if the issuer responds. Concurrent callers share one
// fetch. If the browser whose request started the fetch disconnects, the fetch continues for the other callers.
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

// config returns this server's configuration as a client of the issuer.
func (f *found) config(l Login) *oauth2.Config {
	end := f.Endpoint()
	// The metadata determines the style: if the library guessed, its second attempt would find the code used.
	end.AuthStyle = oauth2.AuthStyleInHeader
	if l.Secret == "" || len(f.Methods) > 0 && !has(f.Methods, "client_secret_basic") {
		end.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: l.ClientID, ClientSecret: l.Secret, Endpoint: end, RedirectURL: l.Redirect,
		Scopes: []string{oidc.ScopeOpenID, "email", "profile"}}
}

// SignInURL returns the address to which the browser is sent. Errors: ErrUnavailable, ErrRefused.
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

// google refuses unknown prompts, and its metadata does not list the prompts that it supports: none, consent and
// select_account.
const google = "https://accounts.google.com"

// prompt returns the parameter that makes the issuer ask who the user is (OpenID Connect Core 3.1.2.1), even if the
// browser already has a session with it. At a shared desk, the next click on the button would otherwise sign in the
// user who has just signed out. If the issuer does not support asking for the password, it must at least ask for the
// account. The result is empty if the issuer's metadata lists neither prompt.
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

// Return holds the query parameters of the issuer's redirect.
type Return struct {
	Code   string
	Issuer string // the parameter iss; empty if it is missing
}

// Claims exchanges a code for the issuer's claims about the user. Errors: ErrUnavailable, ErrRefused, each with the
// reason for a log. If the keys cannot be fetched, no signature can be trusted, and the error is ErrRefused.
func (c *Client) Claims(ctx context.Context, l Login, r Return, s Secrets) (Claims, error) {
	f, err := c.ask(ctx, l.Issuer)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %v", ErrUnavailable, err)
	}
	if r.Issuer != "" && r.Issuer != l.Issuer || r.Issuer == "" && f.SaysIssuer {
		// RFC 9207
		return Claims{}, fmt.Errorf("%w: the redirect came from another issuer, or its parameter iss is missing", ErrRefused)
	}
	calling := oidc.ClientContext(ctx, c.http)
	given, err := f.config(l).Exchange(calling, r.Code, oauth2.VerifierOption(s.Verifier))
	if err != nil {
		var said *oauth2.RetrieveError
		if errors.As(err, &said) && said.Response.StatusCode < http.StatusInternalServerError {
			return Claims{}, fmt.Errorf("%w: the response to the code was %d %q", ErrRefused, said.Response.StatusCode,
				said.ErrorCode) // the rest of the response may repeat the code
		}
		return Claims{}, fmt.Errorf("%w: it returned no token for the code", ErrUnavailable)
	}
	raw, _ := given.Extra("id_token").(string)
	verifier := f.Verifier(&oidc.Config{ClientID: l.ClientID, Now: func() time.Time { return time.Now().Add(-skew) }})
	token, err := verifier.Verify(calling, raw)
	if err != nil {
		return Claims{}, fmt.Errorf("%w: %v", ErrRefused, err)
	}
	return read(token, l, s)
}

package openid

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Finding is the problem found when checking an issuer.
type Finding string

// The possible findings.
const (
	FoundNothing     Finding = ""
	FoundNoHost      Finding = "unknown_host" // no host has this name
	FoundUnreachable Finding = "unreachable"  // there was no response, or it came too late
	FoundCertificate Finding = "certificate"  // it is invalid, or not from an authority that this machine trusts
	FoundNoProvider  Finding = "no_provider"  // the server is not an identity provider
	FoundOtherIssuer Finding = "other_issuer" // its metadata names another issuer
	FoundNotHTTPS    Finding = "not_https"    // one of its addresses is not encrypted
	// it does not support the code flow or a signature algorithm that this server accepts
	FoundNoCode   Finding = "no_code"
	FoundNoKeys   Finding = "no_keys"  // its keys cannot be read
	FoundClient   Finding = "client"   // the client is unknown to it, or the secret is wrong
	FoundRedirect Finding = "redirect" // the redirect address of this server is not registered
)

// Look checks whether an issuer can sign users in for this client: it must respond, have keys, and accept the client.
// For the last check, Look sends a code that the issuer has never issued. The error in the response distinguishes a
// wrong client from an accepted one.
func (c *Client) Look(ctx context.Context, l Login) Finding {
	f, err := c.discover(ctx, l.Issuer)
	if err != nil {
		return met(err)
	}
	for _, address := range []string{f.Authorize, f.Token, f.Keys} {
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" || u.Host == "" {
			return FoundNotHTTPS
		}
	}
	if len(f.Responses) > 0 && !has(f.Responses, "code") || len(f.Algorithms) > 0 && !signsAsWeKnow(f.Algorithms) {
		return FoundNoCode
	}
	if !c.hasKeys(ctx, f.Keys) {
		return FoundNoKeys
	}
	_, err = f.config(l).Exchange(oidc.ClientContext(ctx, c.http), "holdfast-looks",
		oauth2.VerifierOption(NewVerifier()))
	var said *oauth2.RetrieveError
	switch {
	case !errors.As(err, &said):
		return met(err)
	case said.ErrorCode == "invalid_client", said.ErrorCode == "unauthorized_client", said.ErrorCode == "" &&
		said.Response.StatusCode == http.StatusUnauthorized:
		return FoundClient
	case said.ErrorCode == "redirect_uri_mismatch":
		return FoundRedirect
	}
	return FoundNothing // most issuers return invalid_grant
}

// signsAsWeKnow reports whether one of the algorithms uses public keys. Other algorithms sign with a secret that the
// client also has, or do not sign at all.
func signsAsWeKnow(algorithms []string) bool {
	for _, a := range algorithms {
		if a == oidc.EdDSA || len(a) == 5 && (strings.HasPrefix(a, "RS") ||
			strings.HasPrefix(a, "PS") || strings.HasPrefix(a, "ES")) {
			return true
		}
	}
	return false
}

func (c *Client) hasKeys(ctx context.Context, address string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	return answer.StatusCode == http.StatusOK && json.NewDecoder(answer.Body).Decode(&set) == nil && len(set.Keys) > 0
}

// met converts an error from a call to a finding.
func met(err error) Finding {
	var (
		calls       *url.Error
		name        *net.DNSError
		certificate *tls.CertificateVerificationError
		other       *oidc.IssuerMismatchError
	)
	switch {
	case errors.As(err, &other):
		return FoundOtherIssuer
	case errors.Is(err, errNotHTTPS):
		return FoundNotHTTPS
	case errors.As(err, &name) && name.IsNotFound:
		return FoundNoHost
	case errors.As(err, &certificate):
		return FoundCertificate
	case errors.As(err, &calls), errors.Is(err, context.DeadlineExceeded):
		return FoundUnreachable
	}
	return FoundNoProvider
}

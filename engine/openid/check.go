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

// Finding is what stood in the way when an issuer was looked at.
type Finding string

// What a look can find.
const (
	FoundNothing     Finding = ""
	FoundNoHost      Finding = "unknown_host" // nobody has this name
	FoundUnreachable Finding = "unreachable"  // nobody answers, or not in time
	FoundCertificate Finding = "certificate"  // it is not valid, or nobody this machine trusts vouches for it
	FoundNoProvider  Finding = "no_provider"  // something else than an identity provider answers
	FoundOtherIssuer Finding = "other_issuer" // it calls itself by another name
	FoundNotHTTPS    Finding = "not_https"    // one of its addresses is not encrypted
	FoundNoCode      Finding = "no_code"      // it cannot do the code flow, or signs in no way that we know
	FoundNoKeys      Finding = "no_keys"      // its keys cannot be read
	FoundClient      Finding = "client"       // it does not know this client, or the secret is wrong
	FoundRedirect    Finding = "redirect"     // it does not send browsers back to this server
)

// Look finds out whether an issuer can sign people in for this client: whether it answers, has keys, and knows the client. For the last
// it is given a code that it has never made; what it says of that tells a wrong client from a right one.
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
	_, err = f.config(l).Exchange(oidc.ClientContext(ctx, c.http), "holdfast-looks", oauth2.VerifierOption(NewVerifier()))
	var said *oauth2.RetrieveError
	switch {
	case !errors.As(err, &said):
		return met(err)
	case said.ErrorCode == "invalid_client", said.ErrorCode == "unauthorized_client", said.ErrorCode == "" && said.Response.StatusCode == http.StatusUnauthorized:
		return FoundClient
	case said.ErrorCode == "redirect_uri_mismatch":
		return FoundRedirect
	}
	return FoundNothing // most say invalid_grant
}

// signsAsWeKnow reports whether one of the algorithms is of public keys. Others would sign with what the client knows as well, or not
// at all.
func signsAsWeKnow(algorithms []string) bool {
	for _, a := range algorithms {
		if a == oidc.EdDSA || len(a) == 5 && (strings.HasPrefix(a, "RS") || strings.HasPrefix(a, "PS") || strings.HasPrefix(a, "ES")) {
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

// met says what an error of a call tells.
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

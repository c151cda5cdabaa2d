package openid

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
)

func has(list []string, s string) bool { return slices.Contains(list, s) }

// truth is a boolean claim. It is true for true, "true", 1 and "1".
type truth bool

func (t *truth) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	*t = s == "true" || s == "1"
	return nil
}

// words is a list of strings. A claim in any other form is read as an empty list.
type words []string

func (w *words) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*[]string)(w)) != nil {
		*w = nil
	}
	return nil
}

// said contains the claims that read uses in addition to those in every ID token.
type said struct {
	Party    string `json:"azp"`
	Email    string `json:"email"`
	Verified truth  `json:"email_verified"`
	Owned    truth  `json:"xms_edov"` // Microsoft's claim that the owner of the domain confirms the address
	Name     string `json:"name"`
	Methods  words  `json:"amr"`
}

// read returns the claims of a token whose signature, issuer, audience and time are valid. It checks the nonce, the
// authorized party and the subject.
func read(token *oidc.IDToken, l Login, s Secrets) (Claims, error) {
	var x said
	if err := token.Claims(&x); err != nil {
		return Claims{}, fmt.Errorf("%w: a claim has an unexpected form", ErrRefused)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(s.Nonce)) != 1:
		return Claims{}, fmt.Errorf("%w: the nonce of the token belongs to another sign-in, or is missing", ErrRefused)
	case x.Party != "" && x.Party != l.ClientID, x.Party == "" && len(token.Audience) > 1:
		// OpenID Connect Core 3.1.3.7
		return Claims{}, fmt.Errorf("%w: the token was issued for another client (azp)", ErrRefused)
	case token.Subject == "" || len(token.Subject) > 255 || strings.ContainsFunc(token.Subject, unicode.IsControl):
		return Claims{}, fmt.Errorf("%w: the subject of the token is empty, too long or not a text", ErrRefused)
	}
	claims := Claims{Subject: token.Subject, Name: x.Name, HasSecondFactor: has(x.Methods, "mfa")}
	if x.Verified || x.Owned {
		claims.Email = x.Email
	}
	return claims, nil
}

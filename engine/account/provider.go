package account

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"holdfast/engine/clinic"
	"holdfast/engine/openid"
	"holdfast/engine/record"
	"holdfast/store"
)

// ProviderWish is an identity provider as entered by an owner.
type ProviderWish struct {
	Name       string
	Issuer     string
	ClientID   string
	Secret     string // empty means the stored secret of this issuer and client
	IsPublic   bool   // the client has no secret
	Domains    []string
	NewRole    string
	OwnersOnly bool
}

// ProviderSetup describes the chosen identity provider. It contains no secret.
type ProviderSetup struct {
	clinic.ChoiceSetup[openid.Provider]
	Redirect string // the address to register with the provider; empty if no public address is set
}

// FoundError reports why Put refused a provider: the result of checking its issuer.
type FoundError struct{ Finding openid.Finding }

func (e *FoundError) Error() string {
	return "sign-in with the identity provider is not possible: " + string(e.Finding)
}

// Setup describes the identity provider that is currently chosen.
func (x *Identities) Setup() ProviderSetup {
	s := ProviderSetup{ChoiceSetup: x.choice.Setup()}
	if base, from := x.clinic.BaseURL(); from != clinic.URLGuessed {
		s.Redirect = base + ReturnPath
	}
	return s
}

// Put sets the identity provider. It first checks that the issuer can sign people in, unless the issuer, the client
// and the secret are unchanged. So the other fields can be changed while the issuer is unreachable. Errors:
// *record.ValidationError, *FoundError.
func (x *Identities) Put(ctx context.Context, actor record.Actor, w ProviderWish) error {
	before := x.choice.Stored()
	p, secret, err := x.complete(w, before)
	if err != nil {
		return err
	}
	if err := store.Trial(ctx); err != nil {
		return err
	}
	if !x.choice.HasUse(before, p) || w.Secret != "" || secret == "" && before.Sealed != "" {
		base, _ := x.clinic.BaseURL()
		login := openid.Login{Issuer: p.Issuer, ClientID: p.ClientID, Secret: secret, Redirect: base + ReturnPath}
		if finding := x.client.Look(ctx, login); finding != openid.FoundNothing {
			return &FoundError{finding}
		}
	}
	return x.choice.Put(ctx, actor, func(*openid.Provider) (*openid.Provider, string, error) { return p, secret, nil })
}

// Remove deletes the choice, so that all users sign in by password again. It is not an error if no provider is
// chosen.
func (x *Identities) Remove(ctx context.Context, actor record.Actor) error {
	return x.choice.Remove(ctx, actor)
}

// Seal re-encrypts the secret with the current signing key. A key rotation calls it before replacing that key.
func (x *Identities) Seal(ctx context.Context) error { return x.choice.Seal(ctx) }

const maxDomains = 20

// complete checks a ProviderWish and finds the secret for it. Errors: *record.ValidationError.
func (x *Identities) complete(w ProviderWish, before *openid.Provider) (_ *openid.Provider, secret string, _ error) {
	var m record.Mistakes
	p := &openid.Provider{
		Name: strings.TrimSpace(w.Name), Issuer: strings.TrimSpace(w.Issuer), ClientID: strings.TrimSpace(w.ClientID),
		NewRole: w.NewRole, OwnersOnly: w.OwnersOnly,
	}
	if p.Name == "" {
		m.Add("name", "enter a name for the staff, such as Google or Clinic account")
	}
	record.CheckText(&m, "name", p.Name, 40, false)
	if u, err := url.Parse(p.Issuer); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || len(p.Issuer) > 300 {
		m.Add("issuer", "must be the issuer address of the provider, such as https://accounts.google.com")
	}
	record.CheckText(&m, "issuer", p.Issuer, 300, false)
	if p.ClientID == "" {
		m.Add("clientId", "is required: create a client (application) at the provider and enter its id")
	}
	record.CheckText(&m, "clientId", p.ClientID, 300, false)
	record.CheckText(&m, "secret", w.Secret, 500, false)
	p.Domains = domains(&m, w.Domains)
	if p.NewRole != "" && p.NewRole != string(store.RoleReception) {
		m.Add("newRole", "must be reception, or empty to refuse unknown users")
	}
	if _, from := x.clinic.BaseURL(); from == clinic.URLGuessed {
		m.Add("issuer", "set the public address first: the provider redirects browsers to it")
	}
	switch {
	case w.IsPublic && w.Secret != "":
		m.Add("secret", "must be empty for a client without a secret")
	case !w.IsPublic:
		secret = x.choice.SecretFor(&m, p, before, "secret", w.Secret,
			"is missing: the stored secret belongs to a different issuer or client")
	}
	return p, secret, m.Err()
}

// domains checks the email domains whose users may sign in. At least one is required: without one, every user of the
// provider could sign in.
func domains(m *record.Mistakes, typed []string) []string {
	var list []string
	for _, d := range typed {
		d = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(d), "@"))
		if d == "" {
			continue
		}
		if len(d) > 253 || !strings.Contains(d, ".") || strings.Trim(d,
			"abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Trim(d, ".-") != d {
			m.Add("domains", "must be domains of email addresses, such as clinic.example.org")
			return nil
		}
		list = append(list, d)
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) == 0 || len(list) > maxDomains {
		m.Add("domains", "enter 1 to %d domains of email addresses, such as clinic.example.org", maxDomains)
	}
	return list
}

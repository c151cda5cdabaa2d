package clinic

import (
	"context"

	"holdfast/engine/openid"
	"holdfast/engine/record"
)

// Audit actions for changes of the identity provider.
const (
	OpenIDChanged = record.ActionSettingsOpenIDChanged
	OpenIDSealed  = record.ActionSettingsOpenIDSealed // the same secret, sealed with a newer key
)

// openIDAudit is an identity provider in the audit log. It shows whether there is a secret, but never the secret.
type openIDAudit struct {
	openid.Provider
	Sealed    string `json:"-"`
	SecretSet bool   `json:"secretSet"`
}

func openIDAudited(p *openid.Provider) any {
	if p == nil {
		return nil
	}
	a := openIDAudit{Provider: *p, SecretSet: p.Sealed != ""}
	a.Provider.Sealed = ""
	return a
}

// ChangeOpenID calls edit with the chosen identity provider and stores the result; nil means none. Errors: those of
// edit.
func (cl *Clinic) ChangeOpenID(ctx context.Context, actor record.Actor, action record.Action,
	edit func(before *openid.Provider) (*openid.Provider, error)) error {
	return cl.changeChoice(ctx, actor, action, func(s *Settings) (before, after any, err error) {
		before = openIDAudited(s.OpenID)
		s.OpenID, err = edit(s.OpenID)
		return before, openIDAudited(s.OpenID), err
	})
}

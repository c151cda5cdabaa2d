package clinic

import (
	"context"

	"holdfast/engine/openid"
	"holdfast/engine/record"
)

// What can be done to the choice of an identity provider, as the audit log names it.
const (
	OpenIDChanged = record.ActionSettingsOpenIDChanged
	OpenIDSealed  = record.ActionSettingsOpenIDSealed // the same secret under a newer key
)

// openIDAudit is what the audit log keeps of an identity provider: whether there is a secret, and never which.
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

// ChangeOpenID lets edit make another choice of the identity provider before; nil is none. Errors: those of edit.
func (cl *Clinic) ChangeOpenID(ctx context.Context, actor record.Actor, action record.Action, edit func(before *openid.Provider) (*openid.Provider, error)) error {
	return cl.changeChoice(ctx, actor, action, func(s *Settings) (before, after any, err error) {
		before = openIDAudited(s.OpenID)
		s.OpenID, err = edit(s.OpenID)
		return before, openIDAudited(s.OpenID), err
	})
}

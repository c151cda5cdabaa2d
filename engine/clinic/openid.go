package clinic

import (
	"fmt"

	"holdfast/engine/openid"
	"holdfast/engine/record"
	"holdfast/engine/token"
)

// OpenID returns the identity provider choice. Its secret is sealed for this issuer and this client.
func (cl *Clinic) OpenID(keys *token.Keys) *Choice[openid.Provider] {
	return &Choice[openid.Provider]{
		clinic: cl, keys: keys,
		changed: record.ActionSettingsOpenIDChanged, resealed: record.ActionSettingsOpenIDSealed,
		field:  func(s *Settings) **openid.Provider { return &s.OpenID },
		sealed: func(p *openid.Provider) *string { return &p.Sealed },
		use:    func(p *openid.Provider) string { return fmt.Sprintf("openid client %s %s", p.Issuer, p.ClientID) },
		audited: func(p *openid.Provider) any {
			a := openIDAudit{Provider: *p, SecretSet: p.Sealed != ""}
			a.Provider.Sealed = ""
			return a
		},
	}
}

// openIDAudit describes an identity provider in the audit log. It shows whether there is a secret, but never the secret
// itself.
type openIDAudit struct {
	openid.Provider
	Sealed    string `json:"-"`
	SecretSet bool   `json:"secretSet"`
}

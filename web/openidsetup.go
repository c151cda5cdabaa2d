package web

import (
	"errors"
	"net/http"

	"holdfast/engine/account"
)

// openIDBody is an identity provider as an owner enters it.
type openIDBody struct {
	Name       string   `json:"name"`
	Issuer     string   `json:"issuer"`
	ClientID   string   `json:"clientId"`
	Secret     string   `json:"secret"` // if empty, the secret stored for this issuer and client
	Public     bool     `json:"public"` // the client has no secret
	Domains    []string `json:"domains"`
	NewRole    string   `json:"newRole"`
	OwnersOnly bool     `json:"ownersOnly"`
}

// openIDAnswer is the configured identity provider. It never contains the secret.
type openIDAnswer struct {
	Chosen *chosenOpenIDJSON `json:"chosen,omitempty"`
	// the address to register with the provider; empty while the clinic's own address is unknown
	Redirect string `json:"redirect"`
}

type chosenOpenIDJSON struct {
	Name      string `json:"name"`
	Issuer    string `json:"issuer"`
	ClientID  string `json:"clientId"`
	SecretSet bool   `json:"secretSet"`
	// false if this server cannot decrypt the secret; this sign-in then does not work
	SecretReadable bool     `json:"secretReadable"`
	Domains        []string `json:"domains"`
	NewRole        string   `json:"newRole"`
	OwnersOnly     bool     `json:"ownersOnly"`
}

func (s *Server) openID() map[string]openIDAnswer {
	setup := s.engine.Account.Identity.Setup()
	answer := openIDAnswer{Redirect: setup.Redirect}
	if p := setup.Chosen; p != nil {
		answer.Chosen = &chosenOpenIDJSON{p.Name, p.Issuer, p.ClientID, setup.IsSet, setup.IsReadable, p.Domains,
			p.NewRole, p.OwnersOnly}
	}
	return map[string]openIDAnswer{"openId": answer}
}

func (s *Server) getOpenID(c *call) error { return c.json(http.StatusOK, s.openID()) }

// putOpenID saves an identity provider. A new issuer, client or secret must first pass a test sign-in. The response is
// not stored for a repeated request, because the request contains a secret.
func (s *Server) putOpenID(c *call, b *openIDBody) error {
	c.once = nil
	err := s.engine.Account.Identity.Put(c.ctx(), c.caller.actor, account.ProviderWish{
		Name: b.Name, Issuer: b.Issuer, ClientID: b.ClientID, Secret: b.Secret, IsPublic: b.Public, Domains: b.Domains,
		NewRole: b.NewRole, OwnersOnly: b.OwnersOnly,
	})
	var found *account.FoundError
	if errors.As(err, &found) {
		return errValidationFailed.because(string(found.Finding),
			"Nothing was saved: a test sign-in with the identity provider failed. See reason.")
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, s.openID())
}

func (s *Server) deleteOpenID(c *call) error {
	if err := s.engine.Account.Identity.Remove(c.ctx(), c.caller.actor); err != nil {
		return err
	}
	return c.json(http.StatusOK, s.openID())
}

package web

import (
	"net/http"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/record"
	"holdfast/store"
)

func (s *Server) listUsers(c *call) error {
	users, err := s.engine.Account.Users(c.ctx())
	return answerList(c, "users", users, err, userOf)
}

type newUserBody struct {
	Email        string `json:"email"`
	Name         string `json:"name"`
	Role         string `json:"role"`
	SpecialistID string `json:"specialistId"`
	Password     string `json:"password"`
}

func (s *Server) createUser(c *call, b *newUserBody) error {
	answer := func(u *store.User) any { return map[string]userJSON{"user": userOf(u)} }
	u, err := s.engine.Account.CreateUser(committing(c, http.StatusCreated, answer), c.caller.actor, account.NewUser{
		Email: b.Email, Name: b.Name, Role: store.Role(b.Role), SpecialistID: b.SpecialistID, Password: b.Password,
	})
	if err != nil {
		return err
	}
	return c.json(http.StatusCreated, answer(&u))
}

// userBody changes a user. A missing field keeps its value.
type userBody struct {
	Email        *string `json:"email"`
	Name         *string `json:"name"`
	Role         *string `json:"role"`
	SpecialistID *string `json:"specialistId"`
	Active       *bool   `json:"active"`
	Password     *string `json:"password"`
	Linked       *bool   `json:"linked"` // false: remove the user's link to the identity provider
}

func (s *Server) updateUser(c *call, b *userBody) error {
	if b.Linked != nil && *b.Linked {
		c.wrong.add("linked", "can only be set to false: a user is linked at the first sign-in with the identity "+
			"provider")
	}
	u, err := s.engine.Account.UpdateUser(c.ctx(), c.caller.actor, c.param("id"), func(to *store.User) {
		set(&to.Email, b.Email)
		set(&to.Name, b.Name)
		set((*string)(&to.Role), b.Role)
		set(&to.SpecialistID, b.SpecialistID)
		set(&to.Active, b.Active)
		if b.Linked != nil {
			to.Identity = ""
		}
	}, b.Password)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]userJSON{"user": userOf(&u)})
}

type apiKeyJSON struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Scope        string `json:"scope"`
	Prefix       string `json:"prefix"`
	CreatedAt    string `json:"createdAt"`
	LastUsedAt   string `json:"lastUsedAt,omitempty"`
	RevokedAt    string `json:"revokedAt,omitempty"`
	SpecialistID string `json:"specialistId,omitempty"` // the specialist that a presence key is bound to
}

func apiKeyOf(k *store.APIKey) apiKeyJSON {
	return apiKeyJSON{k.ID, k.Name, string(k.Scope), k.Prefix, httpTime(k.CreatedAt), optionalTime(k.LastUsedAt),
		optionalTime(k.RevokedAt), k.SpecialistID}
}

func (s *Server) listAPIKeys(c *call) error {
	keys, err := s.engine.Account.APIKeys(c.ctx())
	return answerList(c, "apiKeys", keys, err, apiKeyOf)
}

type apiKeyBody struct {
	Name  string `json:"name"`
	Scope string `json:"scope"`
	// SpecialistID binds a presence key to one specialist.
	SpecialistID string `json:"specialistId"`
}

// createAPIKey creates an API key and responds with its secret. A repeat under the same idempotency key creates no
// second API key. The response to a repeat contains the secret until this process ends, and no secret afterwards,
// because the database does not store it.
func (s *Server) createAPIKey(c *call, b *apiKeyBody) error {
	once := c.answering(func(result any) (int, []byte) {
		k := result.(store.APIKey)
		return rendered(http.StatusCreated, map[string]any{"apiKey": apiKeyOf(&k)})
	})
	k, secret, err := s.engine.Account.CreateAPIKey(record.WithOnce(c.ctx(), once), c.caller.actor,
		account.NewAPIKey{Name: b.Name, Scope: store.Scope(b.Scope), SpecialistID: b.SpecialistID})
	if err != nil {
		return err
	}
	c.status, c.out = rendered(http.StatusCreated, map[string]any{"apiKey": apiKeyOf(&k), "key": secret})
	if once != nil {
		whole := *once
		whole.Answer = func(any) (int, []byte) { return c.status, c.out }
		s.engine.Record.Remember(&whole, nil, time.Now())
	}
	return nil
}

func (s *Server) revokeAPIKey(c *call) error {
	return c.done(s.engine.Account.RevokeAPIKey(c.ctx(), c.caller.actor, c.param("id")))
}

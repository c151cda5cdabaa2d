package web

import (
	"errors"
	"net/http"

	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// The first run. If a server starts without an owner, it prints a one-time link to the setup page.

var errSetupDone = problem{
	Status: 410, Code: "setup_done", Title: "Setup is done",
	Detail: "This clinic is already set up. Sign in at /staff. For a lost password: holdfast admin reset-password.",
}

func setupProblem(err error) error {
	switch {
	case errors.Is(err, account.ErrSetupDone):
		return errSetupDone
	case errors.Is(err, account.ErrSetupLink):
		return errUnauthorized.because("setup_link",
			"This setup link is invalid or has expired. Create a new one on the server with: holdfast setup-url.")
	}
	return err
}

type setupCheckBody struct {
	Token string `json:"token"`
}

func (s *Server) checkSetup(c *call, b *setupCheckBody) error {
	c.once = nil
	if err := s.engine.Account.CheckSetup(c.ctx(), b.Token); err != nil {
		return setupProblem(err)
	}
	return c.done(nil)
}

type setupBody struct {
	Token   string     `json:"token"`
	BaseURL string     `json:"baseUrl"` // the address of the pages; if empty, it can be set later
	Clinic  clinicBody `json:"clinic"`
	Owner   struct {
		Name     string `json:"name"`
		Email    string `json:"email"`
		Password string `json:"password"`
	} `json:"owner"`
}

// setup creates the first owner, saves the clinic's data, and signs the owner in.
func (s *Server) setup(c *call, b *setupBody) error {
	c.once = nil
	owner := account.NewUser{Email: b.Owner.Email, Name: b.Owner.Name, Password: b.Owner.Password}
	if err := c.mistake(clinic.ChooseBaseURL(new(store.Clinic), b.BaseURL)); err != nil {
		return err
	}
	u, err := s.engine.Account.Setup(c.ctx(), b.Token, owner, func(to *store.Clinic) {
		b.Clinic.apply(to)
		_ = clinic.ChooseBaseURL(to, b.BaseURL) // the URL was checked above, and stored settings are readable
	})
	if err != nil {
		for _, field := range []string{"name", "email", "password"} {
			err = renamed(err, field, "owner."+field)
		}
		return setupProblem(err)
	}
	secret, staff, err := s.engine.Account.SignIn(c.ctx(), account.Credentials{
		Email: u.Email, Password: b.Owner.Password, Address: s.address(c.r).String(), UserAgent: c.r.UserAgent(),
	})
	if err != nil {
		return err
	}
	s.welcome(c, secret, &staff)
	return c.json(http.StatusCreated, meOf(&staff))
}

package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/openid"
)

// openIDCookie is the name of the cookie that stores the state of a sign-in that has been started with the identity
// provider. Its value is encrypted, and it gives no access by itself.
const (
	openIDCookie = "holdfast_openid"
	openIDLife   = 10 * time.Minute
)

var (
	errOpenIDOff = errNotFound.because("openid_off",
		"No identity provider is set up here. Sign in with your password.")
	errOpenIDAway = errStorageUnavailable.titled("The identity provider is not responding").because("openid_away",
		"The identity provider cannot be reached right now. Try again in a minute, or sign in with your password.")
	errOpenIDElsewhere = errForbidden.because("openid_elsewhere",
		"You can sign in with the identity provider only at the clinic's own address. Open the page there.")
)

// beginOpenID starts a sign-in with the identity provider and returns the address to which the page redirects the
// browser. It is a POST that only the server's own pages can send, so no other site can start a sign-in for a user.
func (s *Server) beginOpenID(c *call) error {
	c.once = nil // the cookie is a secret
	// The browser returns to the clinic's own address, with its cookie only if the cookie was set there.
	if origin := c.r.Header.Get("Origin"); origin != "" && origin != c.base() {
		return errOpenIDElsewhere
	}
	address, cookie, err := s.engine.Account.Identity.Begin(c.ctx())
	if err != nil {
		return openIDProblem(err)
	}
	c.setCookie(openIDCookie, cookie, openIDLife)
	return c.json(http.StatusOK, map[string]string{"url": address})
}

func openIDProblem(err error) error {
	switch {
	case errors.Is(err, account.ErrOff):
		return errOpenIDOff
	case errors.Is(err, openid.ErrUnavailable), errors.Is(err, openid.ErrRefused):
		return errOpenIDAway
	case errors.Is(err, account.ErrBegin):
		return errForbidden.because("openid_begin",
			"This sign-in was not started in this browser, or it took too long. Start again.")
	case errors.Is(err, account.ErrStranger), errors.Is(err, account.ErrOtherIdentity):
		return errUnauthorized.because("openid_stranger", "No user has this identity. Ask an owner to add you.")
	}
	return err
}

// finishOpenID is the redirect address of the identity provider. It redirects the browser to the sign-in page and to no
// other address. After a failure, the query contains one word that names the cause. After an internal error, the
// response is a problem.
func (s *Server) finishOpenID(c *call) error {
	if c.r.Method != http.MethodGet { // HEAD must not use up a sign-in
		return errMethodNotAllowed.with("This path supports only GET.")
	}
	q := c.query()
	back := account.Return{
		Cookie: c.newCookie(openIDCookie), State: q.text("state"), Code: q.text("code"), Issuer: q.text("iss"),
		Error: q.text("error"), Address: s.address(c.r).String(), UserAgent: c.r.UserAgent(),
	}
	if q.err() != nil {
		return c.toStaff("begin")
	}
	secret, staff, cookie, err := s.engine.Account.Identity.Finish(c.ctx(), back)
	// a callback for another browser's sign-in must not replace this browser's cookie
	if !errors.Is(err, account.ErrBegin) || back.Cookie == "" {
		c.setCookie(openIDCookie, cookie, openIDLife)
	}
	if err != nil {
		word := openIDWord(err)
		if word == "" {
			return err
		}
		return c.toStaff(word)
	}
	s.welcome(c, secret, &staff)
	return c.toStaff("")
}

// openIDWord returns the word that names the cause of an error for the sign-in page, or "" for an internal error.
func openIDWord(err error) string {
	if _, ok := errors.AsType[*account.BackoffError](err); ok {
		return "wait"
	}
	for word, is := range map[string]error{
		"begin": account.ErrBegin, "off": account.ErrOff, "denied": account.ErrDenied,
		"unverified": account.ErrUnverified, "away": openid.ErrUnavailable, "refused": openid.ErrRefused,
		"stranger": account.ErrStranger, "other": account.ErrOtherIdentity, "code": account.ErrCodeNeeded,
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	return ""
}

// toStaff redirects the browser to the sign-in page. The path is a constant, so a request cannot choose another target.
func (c *call) toStaff(word string) error {
	to := "/staff"
	if word != "" {
		to += "?openid=" + word
	}
	c.rw.Header()["Location"] = []string{to}
	return c.empty(http.StatusSeeOther)
}

type openIDCodeBody struct {
	Code string `json:"code"`
}

// codeOpenID is the second step of a sign-in: the provider has authenticated the user, who must also enter a one-time
// code for this server.
func (s *Server) codeOpenID(c *call, b *openIDCodeBody) error {
	c.once = nil
	secret, staff, err := s.engine.Account.Identity.FinishCode(c.ctx(), c.newCookie(openIDCookie),
		strings.ReplaceAll(b.Code, " ", ""), s.address(c.r).String(), c.r.UserAgent())
	if err != nil {
		return signInProblem(openIDProblem(err))
	}
	c.setCookie(openIDCookie, "", 0)
	s.welcome(c, secret, &staff)
	return c.json(http.StatusOK, meOf(&staff))
}

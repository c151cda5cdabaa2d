package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/openid"
)

// openIDCookie is what a browser keeps of a sign-in with the identity provider, until it is over. It is sealed, and opens nothing by itself.
const (
	openIDCookie = "holdfast_openid"
	openIDLife   = 10 * time.Minute
)

var (
	errOpenIDOff  = errNotFound.because("openid_off", "No identity provider is set up here. Sign in with your password.")
	errOpenIDAway = errStorageUnavailable.titled("The identity provider does not answer").because("openid_away",
		"The identity provider cannot be reached right now. Try again in a minute, or sign in with your password.")
	errOpenIDElsewhere = errForbidden.because("openid_elsewhere", "Signing in with the identity provider works at the clinic's own address only. Open the page there.")
)

// beginOpenID begins a sign-in with the identity provider: the page sends the browser to the address that is answered. It is a POST of our own
// pages, so no other site can begin one for somebody.
func (s *Server) beginOpenID(c *call) error {
	c.once = nil // the cookie is a secret
	// The browser comes back to the clinic's own address, and its cookie with it only if it was set there.
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
		return errForbidden.because("openid_begin", "This sign-in has not begun in this browser, or it took too long. Begin again.")
	case errors.Is(err, account.ErrStranger), errors.Is(err, account.ErrOtherIdentity):
		return errUnauthorized.because("openid_stranger", "Nobody of the staff has this identity. Ask an owner.")
	}
	return err
}

// finishOpenID is where the identity provider sends browsers back to. Whatever came of it, they go on to the sign-in page, and to nowhere else; what
// went wrong is one word behind it.
func (s *Server) finishOpenID(c *call) error {
	if c.r.Method != http.MethodGet { // HEAD must not use a sign-in up
		return errMethodNotAllowed.with("This path answers GET.")
	}
	q := c.query()
	back := account.Return{
		Cookie: c.newCookie(openIDCookie), State: q.text("state"), Code: q.text("code"), Issuer: q.text("iss"), Error: q.text("error"),
		Address: s.address(c.r).String(), UserAgent: c.r.UserAgent(),
	}
	if q.err() != nil {
		return c.toStaff("begin")
	}
	secret, staff, cookie, err := s.engine.Account.Identity.Finish(c.ctx(), back)
	if !errors.Is(err, account.ErrBegin) || back.Cookie == "" { // an answer that is not this browser's leaves the sign-in it has begun
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

// openIDWord is what the sign-in page is told of an error; empty where it is one of ours.
func openIDWord(err error) string {
	if _, ok := errors.AsType[*account.BackoffError](err); ok {
		return "wait"
	}
	for word, is := range map[string]error{
		"begin": account.ErrBegin, "off": account.ErrOff, "denied": account.ErrDenied, "unverified": account.ErrUnverified,
		"away": openid.ErrUnavailable, "refused": openid.ErrRefused, "stranger": account.ErrStranger, "other": account.ErrOtherIdentity,
		"code": account.ErrCodeNeeded,
	} {
		if errors.Is(err, is) {
			return word
		}
	}
	return ""
}

// toStaff sends a browser on to the sign-in page. It is the only redirect there is, and to a path that is written here.
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

// codeOpenID is the second step of somebody whom the provider has vouched for and who has one-time codes here.
func (s *Server) codeOpenID(c *call, b *openIDCodeBody) error {
	c.once = nil
	secret, staff, err := s.engine.Account.Identity.FinishCode(c.ctx(), c.newCookie(openIDCookie), strings.ReplaceAll(b.Code, " ", ""), s.address(c.r).String(), c.r.UserAgent())
	if err != nil {
		return signInProblem(openIDProblem(err))
	}
	c.setCookie(openIDCookie, "", 0)
	s.welcome(c, secret, &staff)
	return c.json(http.StatusOK, meOf(&staff))
}

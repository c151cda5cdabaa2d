package web

import (
	"encoding/base32"
	"errors"
	"net/http"
	"strings"
	"time"

	"holdfast/engine/account"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// signInCookie is the name of the cookie of a signed-in staff browser. Its value is a secret, and the server stores
// only its hash. deviceCookie marks a browser where a user has signed in before. If the server's own address is https,
// both names begin with hostPrefix, which browsers allow only this host to set.
const (
	signInCookie = "holdfast_sign_in"
	deviceCookie = "holdfast_device"
	hostPrefix   = "__Host-"

	deviceLife = 400 * 24 * time.Hour // the maximum age of a cookie in browsers
)

// secure reports whether the browser reaches this server by https. If the start options contain an address, its scheme
// decides. Otherwise, requests to the https address in the settings are secure. For any other address, such as an http
// address on the clinic's local network, the scheme of the request decides.
func (c *call) secure() bool {
	said, source := c.engine.Clinic.BaseURL()
	switch {
	case source == clinic.URLFromStart:
		return strings.HasPrefix(said, "https://")
	case source == clinic.URLFromSettings && said == "https://"+strings.ToLower(c.r.Host):
		return true
	}
	return c.scheme() == "https"
}

// cookieName returns the name that a cookie has in the response to this request.
func (c *call) cookieName(name string) string {
	if c.secure() {
		return hostPrefix + name
	}
	return name
}

// newCookie returns the value of a cookie under its current name, or an empty string.
func (c *call) newCookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// cookie is like newCookie, but also accepts a cookie that the browser received before the address was configured.
func (c *call) cookie(name string) string {
	cookie, err := c.r.Cookie(c.cookieName(name))
	if _, source := c.engine.Clinic.BaseURL(); err != nil && source != clinic.URLFromStart {
		cookie, err = c.r.Cookie(name) // a user who signed in before the address was configured stays signed in
	}
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie in the browser, or deletes it if value is empty. Without TLS the cookie is not Secure:
// otherwise the users of a clinic without TLS on its local network could never sign in.
func (c *call) setCookie(name, value string, life time.Duration) {
	cookie := &http.Cookie{
		Name: c.cookieName(name), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.secure(), MaxAge: int(life.Seconds()),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(&c.rw, cookie)
}

var errSignedOut = errUnauthorized.because("signed_out", "You are signed out. Sign in again; your input is preserved.")

// staffCookie is the credential of the staff pages. On public routes, an expired cookie is ignored.
func (s *Server) staffCookie(c *call) (bool, error) {
	secret := c.cookie(signInCookie)
	if secret == "" || c.route.access.public() && !c.route.asksWho() {
		return false, nil
	}
	staff, err := s.engine.Account.SignedIn(c.ctx(), secret)
	switch {
	case errors.Is(err, record.ErrUnauthorized) && c.route.access.public():
		return false, nil
	case errors.Is(err, record.ErrUnauthorized):
		return true, errSignedOut
	case err != nil:
		return true, err
	}
	c.caller = caller{actor: staff.Actor(), role: staff.Role, secret: "user:" + staff.User.ID, staff: &staff}
	if staff.Role == store.RoleSpecialist {
		c.caller.specialistID = staff.SpecialistID
	}
	return true, nil
}

// asksWho reports whether a public route responds to members of staff differently and therefore reads their cookie. The
// routes that patients' pages call most often are not among them.
func (rt *route) asksWho() bool {
	return !safe(rt.method) || strings.HasPrefix(rt.pattern, "/v1/auth/") || rt.pattern == "/v1/specialists" ||
		rt.pattern == "/v1/appointment-types" || rt.pattern == "/v1/holds" || rt.pattern == "/v1/sessions/{id}"
}

type userJSON struct {
	ID           string `json:"id"`
	Email        string `json:"email"`
	Name         string `json:"name"`
	Role         string `json:"role"`
	SpecialistID string `json:"specialistId,omitempty"`
	Active       bool   `json:"active"`
	TOTP         bool   `json:"totp"`
	Linked       bool   `json:"linked"` // linked to a user of the identity provider
	CreatedAt    string `json:"createdAt"`
	LastSignInAt string `json:"lastSignInAt,omitempty"`
}

func userOf(u *store.User) userJSON {
	return userJSON{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: string(u.Role), SpecialistID: u.SpecialistID, Active: u.Active,
		TOTP: u.TOTPSecret != nil, Linked: u.Identity != "", CreatedAt: httpTime(u.CreatedAt),
		LastSignInAt: optionalTime(u.LastSignInAt),
	}
}

// meJSON is the signed-in user, and the instant at which the session expires if there is no further request.
type meJSON struct {
	User        userJSON `json:"user"`
	ExpiresAt   string   `json:"expiresAt"`
	IdleSeconds int      `json:"idleSeconds"`
}

func meOf(s *account.Staff) meJSON {
	return meJSON{userOf(&s.User), httpTime(s.SignIn.ExpiresAt), int(account.SignInIdle.Seconds())}
}

type signInBody struct {
	Email    string `json:"email"`
	Password string `json:"password"`
	Code     string `json:"code"`
}

func (s *Server) signIn(c *call, b *signInBody) error {
	c.once = nil // a response with a secret is not stored
	secret, staff, err := s.engine.Account.SignIn(c.ctx(), account.Credentials{
		Email: b.Email, Password: b.Password, Code: strings.ReplaceAll(b.Code, " ", ""),
		Address: s.address(c.r).String(), UserAgent: c.r.UserAgent(), Device: c.cookie(deviceCookie),
	})
	if err != nil {
		return signInProblem(err)
	}
	s.welcome(c, secret, &staff)
	return c.json(http.StatusOK, meOf(&staff))
}

// signInProblem converts the error from a failed sign-in to a problem.
func signInProblem(err error) error {
	var backoff *account.BackoffError
	switch {
	case errors.As(err, &backoff):
		return errRateLimited.again(time.Until(backoff.Until)).because("sign_in_backoff",
			"Too many failed sign-ins. Wait for the time in Retry-After, then try again.")
	case errors.Is(err, account.ErrWrongPassword):
		return errUnauthorized.because("wrong_password", "The email address or password is wrong.")
	case errors.Is(err, account.ErrPasswordOff):
		return errUnauthorized.because("password_off",
			"Only owners can sign in with a password. Sign in with the identity provider.")
	case errors.Is(err, account.ErrCodeNeeded):
		return errUnauthorized.because("code_needed", "Enter the six digits that your authenticator app shows.")
	case errors.Is(err, account.ErrWrongCode):
		return errUnauthorized.because("wrong_code",
			"The code is wrong or has already been used. Enter the current code from your app.")
	}
	return err
}

// welcome sends the browser the session's secret, and a token that marks the browser as known to this account.
func (s *Server) welcome(c *call, secret string, staff *account.Staff) {
	c.setCookie(signInCookie, secret, account.SignInLife)
	c.setCookie(deviceCookie, s.engine.Account.DeviceToken(staff.User.Email), deviceLife)
}

func (s *Server) signOut(c *call) error {
	c.once = nil // every repeat deletes the cookie again
	if staff := c.caller.staff; staff != nil {
		if err := s.engine.Account.SignOut(c.ctx(), staff.SignIn.ID); err != nil {
			return err
		}
	}
	c.setCookie(signInCookie, "", 0)
	return c.done(nil)
}

func (s *Server) getMe(c *call) error {
	if c.caller.staff == nil {
		return errUnauthorized.because("signed_out", "You are not signed in. Sign in first.")
	}
	return c.json(http.StatusOK, meOf(c.caller.staff))
}

// mine returns the signed-in member of staff, for routes that a program cannot use.
func (c *call) mine() (*account.Staff, error) {
	if c.caller.staff == nil {
		return nil, errForbidden.with(
			"Only a signed-in member of staff can do this; an API key has no password and no sign-ins.",
		)
	}
	return c.caller.staff, nil
}

type passwordBody struct {
	Current string `json:"current"`
	New     string `json:"new"`
}

func (s *Server) changePassword(c *call, b *passwordBody) error {
	c.once = nil
	staff, err := c.mine()
	if err != nil {
		return err
	}
	err = s.engine.Account.ChangePassword(c.ctx(), staff, b.Current, b.New)
	var backoff *account.BackoffError
	switch {
	case errors.As(err, &backoff):
		return errRateLimited.again(time.Until(backoff.Until))
	case errors.Is(err, account.ErrWrongPassword):
		return fieldError("current", "is not your current password")
	case errors.Is(err, record.ErrUnauthorized):
		return errSignedOut
	case err != nil:
		return renamed(err, "password", "new")
	}
	return c.done(nil)
}

// renamed changes the name of a field in a *record.ValidationError from the engine's name to the name in the body.
func renamed(err error, from, to string) error {
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		for i := range invalid.Fields {
			if invalid.Fields[i].Field == from {
				invalid.Fields[i].Field = to
			}
		}
	}
	return err
}

var totpAlphabet = base32.StdEncoding.WithPadding(base32.NoPadding)

func (s *Server) beginTOTP(c *call) error {
	c.once = nil // a response with a secret is not stored; the request changes nothing
	staff, err := c.mine()
	if err != nil {
		return err
	}
	secret, uri := s.engine.Account.BeginTOTP(&staff.User)
	return c.json(http.StatusOK, map[string]string{"secret": totpAlphabet.EncodeToString(secret), "uri": uri})
}

type totpBody struct {
	Secret      string `json:"secret"`
	Code        string `json:"code"` // from the new app
	Password    string `json:"password"`
	CurrentCode string `json:"currentCode"` // from the current app, if one-time codes are on
}

func (s *Server) enableTOTP(c *call, b *totpBody) error {
	staff, err := c.mine()
	if err != nil {
		return err
	}
	secret, err := totpAlphabet.DecodeString(strings.ToUpper(strings.ReplaceAll(b.Secret, " ", "")))
	if err != nil {
		c.wrong.add("secret", "must be the secret that POST /v1/auth/totp returned")
	}
	if err := s.engine.Account.EnableTOTP(c.ctx(), staff, proof(b.Password, b.CurrentCode), secret,
		strings.ReplaceAll(b.Code, " ", "")); err != nil {
		return proofProblem(err, "currentCode")
	}
	return c.done(nil)
}

func proof(password, code string) account.Proof {
	return account.Proof{Password: password, Code: strings.ReplaceAll(code, " ", "")}
}

// proofProblem converts the error of a proof (password and code) to a problem; codeField is the field of the code.
func proofProblem(err error, codeField string) error {
	var backoff *account.BackoffError
	switch {
	case errors.As(err, &backoff):
		return errRateLimited.again(time.Until(backoff.Until))
	case errors.Is(err, account.ErrWrongPassword):
		return fieldError("password", "is not your current password")
	case errors.Is(err, account.ErrCodeNeeded):
		return fieldError(codeField, "enter the six digits that your current app shows")
	case errors.Is(err, account.ErrWrongCode):
		return fieldError(codeField, "is wrong or has already been used; enter the current code from your app")
	case errors.Is(err, record.ErrUnauthorized):
		return errSignedOut
	}
	return err
}

type endTOTPBody struct {
	Password string `json:"password"`
	Code     string `json:"code"`
}

func (s *Server) disableTOTP(c *call, b *endTOTPBody) error {
	staff, err := c.mine()
	if err != nil {
		return err
	}
	if err := s.engine.Account.DisableTOTP(c.ctx(), staff, proof(b.Password, b.Code)); err != nil {
		return proofProblem(err, "code")
	}
	return c.done(nil)
}

type signInJSON struct {
	ID         string `json:"id"`
	CreatedAt  string `json:"createdAt"`
	LastSeenAt string `json:"lastSeenAt"`
	ExpiresAt  string `json:"expiresAt"`
	UserAgent  string `json:"userAgent"`
	Current    bool   `json:"current"`
}

func (s *Server) listSignIns(c *call) error {
	staff, err := c.mine()
	if err != nil {
		return err
	}
	list, err := s.engine.Account.SignIns(c.ctx(), staff.User.ID)
	return answerList(c, "signIns", list, err, func(x *store.SignIn) signInJSON {
		isCurrent := x.ID == staff.SignIn.ID
		return signInJSON{
			x.ID, httpTime(x.CreatedAt), httpTime(x.LastSeenAt), httpTime(x.ExpiresAt), x.UserAgent, isCurrent,
		}
	})
}

func (s *Server) deleteSignIn(c *call) error {
	staff, err := c.mine()
	if err != nil {
		return err
	}
	list, err := s.engine.Account.SignIns(c.ctx(), staff.User.ID)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.ID == c.param("id") {
			return c.done(s.engine.Account.SignOut(c.ctx(), x.ID))
		}
	}
	return store.ErrNotFound
}

func (s *Server) deleteSignIns(c *call) error {
	staff, err := c.mine()
	if err != nil {
		return err
	}
	n, err := s.engine.Account.SignOutOthers(c.ctx(), staff)
	if errors.Is(err, record.ErrUnauthorized) {
		return errSignedOut
	}
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, map[string]int{"ended": n})
}

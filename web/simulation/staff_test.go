package simulation

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
)

// colleague is a member of staff who signs in with a one-time code.
type colleague struct {
	id     string
	secret []byte            // of the authenticator app
	used   map[int64]bool    // time steps whose codes have been used to sign in
	open   map[string]signIn // by cookie
}

// signIn is a signed-in browser.
type signIn struct{ begun, seen time.Time }

const (
	staffEmail    = "mia@clinic.example"
	staffPassword = "thirty-seven ferries at dawn"
	staffCookie   = "__Host-holdfast_sign_in"
)

// oneTimeCode implements RFC 6238 independently: SHA-1, 30 seconds, six digits.
func oneTimeCode(secret []byte, step int64) string {
	mac := hmac.New(sha1.New, secret)
	_ = binary.Write(mac, binary.BigEndian, step)
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

// staff checks whether a sign-in is still open. Then it uses one code several times, guesses passwords, or deactivates
// the account during a sign-in.
func (l *life) staff(r *rand.Rand) error {
	if l.faults.isArmed() {
		return nil // the outcome of a sign-in with a lost response is unknown
	}
	if l.mia == nil {
		return l.hire()
	}
	if err := l.stillOpen(r); err != nil {
		return err
	}
	time.Sleep(16 * time.Minute) // the failures have expired, and the code has changed
	if l.faults.isOff() || l.wire.loses() {
		return nil
	}
	switch r.IntN(4) {
	case 0:
		return l.guess()
	case 1:
		return l.switchedOff(r)
	default:
		return l.sameCode(r)
	}
}

// hire creates the account and turns on one-time codes for it.
func (l *life) hire() error {
	var user struct{ User struct{ ID string } }
	a, err := l.do(&request{method: "POST", path: "/v1/users", admin: true,
		body: map[string]any{"email": staffEmail, "name": "Mia", "role": "reception", "password": staffPassword}})
	if err != nil {
		return err
	}
	if err := a.into(&user); err != nil || a.status != 201 {
		return fmt.Errorf("creating a member of staff got %d %s", a.status, a.raw)
	}
	l.mia = &colleague{id: user.User.ID, used: map[int64]bool{}, open: map[string]signIn{}}
	answer, err := l.signsIn(staffPassword, "")
	if err != nil || answer.status != 200 {
		l.mia.secret = nil
		return nil // the response was lost; the account has no codes
	}
	cookie := answer.cookie
	begun, err := l.asks(&request{method: "POST", path: "/v1/auth/totp", cookie: cookie})
	if err != nil || begun.status != 200 {
		return nil
	}
	var said struct{ Secret string }
	if err := begun.into(&said); err != nil {
		return err
	}
	secret, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(said.Secret)
	if err != nil {
		return err
	}
	step := time.Now().Unix() / 30
	done, err := l.asks(&request{method: "PUT", path: "/v1/auth/totp", cookie: cookie,
		body: map[string]any{"secret": said.Secret, "code": oneTimeCode(secret, step), "password": staffPassword}})
	if err != nil || done.status >= 300 {
		return nil
	}
	l.mia.secret, l.mia.used[step] = secret, true
	return nil
}

func (l *life) signsIn(password, code string) (*reply, error) {
	body := map[string]any{"email": staffEmail, "password": password}
	if code != "" {
		body["code"] = code
	}
	a, err := l.asks(&request{method: "POST", path: "/v1/auth/sign-in", body: body})
	if err == nil && a.status == 200 {
		l.mu.Lock()
		l.mia.open[a.cookie] = signIn{time.Now(), time.Now()}
		l.mu.Unlock()
	}
	return a, err
}

// atOnce makes n calls concurrently, and reports whether all of them received a response.
func atOnce(n int, ask func(n int) (*reply, error)) (answers []*reply, whole bool) {
	answers = make([]*reply, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { answers[i], _ = ask(i) })
	}
	all.Wait()
	whole = true
	for _, a := range answers {
		whole = whole && a != nil && a.status < 500
	}
	return answers, whole
}

func count(answers []*reply, status int, reason string) (n int) {
	for _, a := range answers {
		if a != nil && a.status == status && (reason == "" || a.reason == reason) {
			n++
		}
	}
	return n
}

// sameCode signs in three times concurrently with one code, and once again after that. Only one sign-in may succeed.
func (l *life) sameCode(*rand.Rand) error {
	if l.mia.secret == nil {
		return nil
	}
	step := time.Now().Unix() / 30
	code := oneTimeCode(l.mia.secret, step)
	answers, whole := atOnce(3, func(int) (*reply, error) { return l.signsIn(staffPassword, code) })
	if again, err := l.signsIn(staffPassword, code); err == nil {
		answers = append(answers, again)
	}
	switch in := count(answers, 200, ""); {
	case in > 1:
		return fmt.Errorf("one code signed in %d times", in)
	case in == 0 && whole:
		return fmt.Errorf("a correct password and code were refused: %s", answers[0].raw)
	}
	return nil
}

// switchedOff deactivates an account while its password is being checked. Whichever comes first, no sign-in is open
// afterwards.
func (l *life) switchedOff(r *rand.Rand) error {
	code := ""
	if l.mia.secret != nil {
		code = oneTimeCode(l.mia.secret, time.Now().Unix()/30)
	}
	var all sync.WaitGroup
	all.Go(func() { _, _ = l.signsIn(staffPassword, code) })
	patch := &request{method: "PATCH", path: "/v1/users/" + l.mia.id, admin: true,
		body: map[string]any{"active": false}}
	first, err := l.asks(patch)
	all.Wait()
	if err != nil || first.status != 200 {
		if _, err := l.do(patch); err != nil {
			return err
		}
	}
	a, err := l.do(&request{method: "GET", path: "/v1/users", admin: true})
	if err != nil {
		return err
	}
	var said struct {
		Users []struct {
			ID     string
			Active bool
		}
	}
	if err := a.into(&said); err != nil {
		return err
	}
	for _, u := range said.Users {
		if u.ID == l.mia.id && u.Active {
			return fmt.Errorf("a deactivated account is active again: %s", a.raw)
		}
	}
	for _, cookie := range sorted(l.mia.open) {
		me, err := l.asks(&request{method: "GET", path: "/v1/auth/me", cookie: cookie})
		if err == nil && me.status == 200 {
			return fmt.Errorf("an account is deactivated, but its session works: %s", me.raw)
		}
	}
	clear(l.mia.open)
	_, err = l.do(&request{method: "PATCH", path: "/v1/users/" + l.mia.id, admin: true,
		body: map[string]any{"active": true}})
	return err
}

// guess tries nine passwords concurrently, and then five more. The server may check only five of them. The server also
// limits how many it checks at a time, so the concurrent guesses alone do not prove the limit.
func (l *life) guess() error {
	guesses := 0
	guess := func(int) (*reply, error) {
		l.mu.Lock()
		guesses++
		password := fmt.Sprintf("wrong password %d", guesses)
		l.mu.Unlock()
		return l.signsIn(password, "")
	}
	answers, _ := atOnce(9, guess)
	for range 5 {
		if a, err := guess(0); err == nil {
			answers = append(answers, a)
		}
	}
	if looked := count(answers, 401, "wrong_password"); looked > 5 {
		return fmt.Errorf("of %d concurrent guesses, %d were checked", guesses, looked)
	}
	return nil
}

// stillOpen checks one sign-in. The sign-in may have ended only after eight hours without a request, or seven days
// after it began. If a write failed during the request, its activity may not be stored, and the end of the sign-in is
// unknown.
func (l *life) stillOpen(r *rand.Rand) error {
	cookie := oneOf(r, sorted(l.mia.open))
	if cookie == "" {
		return nil
	}
	s := l.mia.open[cookie]
	idle, failed := time.Since(s.seen), l.faults.failedWrites()
	a, err := l.asks(&request{method: "GET", path: "/v1/auth/me", cookie: cookie})
	if err != nil || a.status >= 500 {
		delete(l.mia.open, cookie) // the server may have recorded the request
		return nil
	}
	switch {
	case a.status == 200 && (idle > 8*time.Hour+2*time.Minute || time.Since(s.begun) > 7*24*time.Hour+time.Minute):
		return fmt.Errorf("a session that was idle for %s is still valid", idle)
	case a.status != 200 && idle < 8*time.Hour-2*time.Minute && time.Since(s.begun) < 7*24*time.Hour-time.Minute:
		return fmt.Errorf("a session that was used %s ago is not valid: %s", idle, a.raw)
	case a.status == 200 && l.faults.failedWrites() == failed:
		l.mia.open[cookie] = signIn{s.begun, time.Now()}
	default:
		delete(l.mia.open, cookie)
	}
	return nil
}

// cookieOf returns the sign-in cookie in a response.
func cookieOf(set []string) string {
	for _, c := range set {
		if value, ok := strings.CutPrefix(c, staffCookie+"="); ok {
			value, _, _ = strings.Cut(value, ";")
			return value
		}
	}
	return ""
}

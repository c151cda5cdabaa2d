package simulation

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"time"

	"holdfast/web/simulation/referee"
)

// sessionJSON is a session in the form that specialists receive.
type sessionJSON struct {
	ID, Status, SpecialistID string
	ExpiresAt                time.Time
}

func (s *sessionJSON) of(client string) referee.Session {
	return referee.Session{ID: s.ID, Client: client, Status: s.Status, Specialist: s.SpecialistID, Expires: s.ExpiresAt}
}

// session simulates on-demand sessions. Callers request them, and several specialists try to accept each one
// concurrently. Only one of them may get it. A session is ended, transferred, paid for, cancelled by its caller, or
// never accepted. Then all open sessions are checked.
func (l *life) session(r *rand.Rand) (err error) {
	if l.faults.isArmed() || l.wire.loses() {
		return nil // the outcome of each concurrent request must be certain
	}
	switch r.IntN(9) {
	case 0, 1, 2, 3:
		err = l.scramble(r)
	case 4:
		err = l.unanswered(r)
	case 5:
		err = l.handOn(r)
	default:
		err = l.changeSession(r, oneOf(r, []string{"end", "cancel", "payment"}))
	}
	if err == nil {
		err = l.judgeSessions()
	}
	if err != nil || l.faults.isOff() {
		return err
	}
	return l.judgeAvailable()
}

// asksForOne requests a session as a client.
func (l *life) asksForOne(client string) (s referee.Session, err error) {
	a, err := l.do(&request{method: "POST", path: "/v1/sessions", body: map[string]any{"clientId": client}})
	if err != nil {
		return s, err
	}
	var said struct{ Session sessionJSON }
	if err := a.into(&said); err != nil || a.status != 201 {
		return s, fmt.Errorf("the session request of %s got %d %s", client, a.status, a.raw)
	}
	s = said.Session.of(client)
	return s, l.Requested(s, time.Now())
}

// comes sets a specialist online or offline.
func (l *life) comes(specialist, what string) error {
	a, err := l.do(&request{method: "POST", path: "/v1/specialists/" + specialist + "/" + what, admin: true})
	if err == nil && a.status != 200 {
		err = fmt.Errorf("%s of %s got %d %s", what, specialist, a.status, a.raw)
	}
	if what == "online" {
		l.online[specialist] = time.Now()
	} else {
		delete(l.online, specialist)
	}
	return err
}

// scramble makes a few callers request sessions, and a few specialists accept all of them concurrently. Each session
// must go to one specialist. No specialist may get more sessions than their limit, and a specialist who has gone
// offline must get none.
func (l *life) scramble(r *rand.Rand) error {
	everybody := sorted(l.Specialists)
	r.Shuffle(len(everybody), func(i, j int) { everybody[i], everybody[j] = everybody[j], everybody[i] })
	here, gone := everybody[:1+r.IntN(3)], everybody[3]
	var waiting []referee.Session
	for range 1 + r.IntN(3) {
		s, err := l.asksForOne(fmt.Sprintf("caller-of-the-simulation-%d", r.IntN(6)))
		if err != nil {
			return err
		}
		waiting = append(waiting, s)
	}
	for _, who := range here {
		if err := l.comes(who, "online"); err != nil {
			return err
		}
	}
	if err := l.comes(gone, "offline"); err != nil {
		return err
	}
	asked, house := time.Now(), l.house
	if l.faults.isOff() {
		return nil
	}
	takes := func(s *referee.Session, who string) (*reply, error) {
		return l.asks(&request{method: "POST", path: "/v1/sessions/" + s.ID + "/accept", admin: true,
			body: map[string]any{"specialistId": who}})
	}
	answers, whole := atOnce(len(waiting)*len(here), func(n int) (*reply, error) {
		return takes(&waiting[n/len(here)], here[n%len(here)])
	})
	if a, err := takes(&waiting[0], gone); err == nil && a.status == 200 {
		return fmt.Errorf("%s is offline, but got session %s", gone, waiting[0].ID)
	}
	for n, a := range answers {
		if a == nil || a.status != 200 {
			continue
		}
		s, who := l.Sessions[waiting[n/len(here)].ID], here[n%len(here)]
		if s.Specialist == who {
			continue // a caller who requested twice has one session
		}
		if err := l.Taken(s.ID, who, false, time.Now()); err != nil {
			return err
		}
	}
	if !whole || l.house != house || l.faults.isOff() {
		return l.adoptSessions()
	}
	for _, s := range waiting {
		if l.Sessions[s.ID].Specialist != "" || !asked.Before(s.Expires.Add(-10*time.Second)) ||
			time.Since(asked) > time.Second {
			continue
		}
		for _, who := range here {
			if room, certain := l.HasRoom(who, time.Now()); room && certain {
				return fmt.Errorf("session %s waits, but %s, who has capacity, was refused it", s.ID, who)
			}
		}
	}
	return nil
}

// unanswered makes a caller request a session that no specialist accepts. The request must expire after a minute, and
// no specialist may accept it then.
func (l *life) unanswered(r *rand.Rand) error {
	s, err := l.asksForOne("caller-whom-nobody-answers")
	if err != nil {
		return err
	}
	time.Sleep(time.Until(s.Expires) + 21*time.Second)
	if l.faults.isOff() {
		return nil
	}
	a, err := l.do(&request{method: "GET", path: "/v1/sessions/" + s.ID, client: s.Client})
	if err != nil {
		return err
	}
	var said struct{ Session sessionJSON }
	if err := a.into(&said); err != nil || a.status != 200 || said.Session.Status != "expired" {
		return fmt.Errorf("session %s expired at %s, but its caller got %d %s", s.ID, stamp(s.Expires), a.status, a.raw)
	}
	l.Sessions[s.ID].Status = "expired"
	who := oneOf(r, sorted(l.Specialists))
	if err := l.comes(who, "online"); err != nil {
		return err
	}
	if a, err = l.do(&request{method: "POST", path: "/v1/sessions/" + s.ID + "/accept", admin: true,
		body: map[string]any{"specialistId": who}}); err == nil && a.status != 409 {
		err = fmt.Errorf("session %s expired, but %s, who accepts it, got %d %s", s.ID, who, a.status, a.raw)
	}
	return err
}

// openSession draws a session that is certainly in progress. If orWaits is set, it can also be a waiting one.
func (l *life) openSession(r *rand.Rand, orWaits bool) *referee.Session {
	var list []*referee.Session
	for _, s := range l.Sessions {
		isWaiting := s.Status == "requested" && time.Until(s.Expires) > 10*time.Second
		inProgress := (s.Status == "active" || s.Status == "pending_payment") && time.Since(s.Life) < 3*time.Hour
		if inProgress || orWaits && isWaiting {
			list = append(list, s)
		}
	}
	sortBy(list, func(s *referee.Session) string { return s.Client + s.Expires.String() + s.Specialist })
	return oneOf(r, list)
}

// changeSession ends a session, sets it to pending payment or paid, or cancels it as its caller. Another client must
// not be able to cancel it.
func (l *life) changeSession(r *rand.Rand, what string) error {
	s := l.openSession(r, what == "cancel")
	if s == nil {
		return l.scramble(r)
	}
	q := &request{method: "POST", path: "/v1/sessions/" + s.ID + "/" + what, admin: true}
	becomes := ""
	switch what {
	case "end":
		q.body, becomes = map[string]any{"outcome": "helped"}, "ended"
	case "payment":
		pending := s.Status == "active"
		q.body, becomes = map[string]any{"pending": pending}, "active"
		if pending {
			becomes = "pending_payment"
		}
	case "cancel":
		stranger := &request{method: "POST", path: q.path,
			body: map[string]any{"clientId": "stranger-of-the-simulation"}}
		if a, err := l.do(stranger); err != nil || a.status != 403 {
			return fmt.Errorf("another client cancelled session %s: %v %+v", s.ID, err, a)
		}
		q.admin, q.body, becomes = false, map[string]any{"clientId": s.Client}, "cancelled"
	}
	a, err := l.do(q)
	if err != nil {
		return err
	}
	var said struct{ Session sessionJSON }
	if err := a.into(&said); err != nil || a.status != 200 {
		if s.Status == "requested" && time.Now().After(s.Expires) {
			return nil // the session expired during the retries
		}
		return fmt.Errorf("%s of session %s, which is %s, got %d %s", what, s.ID, s.Status, a.status, a.raw)
	}
	if said.Session.Status != becomes && s.Status != "requested" {
		return fmt.Errorf("%s of session %s, which was %s, changed it to %s", what, s.ID, s.Status, said.Session.Status)
	}
	s.Status, s.Life = said.Session.Status, time.Now()
	return nil
}

// handOn transfers a session to another online specialist, if that specialist's limit allows it.
func (l *life) handOn(r *rand.Rand) error {
	s := l.openSession(r, false)
	if s == nil {
		return l.scramble(r)
	}
	who := oneOf(r, sorted(l.Specialists))
	if err := l.comes(who, "online"); err != nil {
		return err
	}
	room, certain := l.HasRoom(who, time.Now())
	a, err := l.do(&request{method: "POST", path: "/v1/sessions/" + s.ID + "/reroute", admin: true,
		body: map[string]any{"specialistId": who}})
	switch {
	case err != nil:
		return err
	case a.status == 200:
		return l.Taken(s.ID, who, true, time.Now())
	case a.status != 409 || room && certain:
		return fmt.Errorf("rerouting session %s to %s, who has capacity (%t), got %d %s", s.ID,
			who, room, a.status, a.raw)
	}
	return nil
}

// listSessions lists all open sessions.
func (l *life) listSessions() (list []referee.Session, err error) {
	q := url.Values{"status": {"requested", "active", "pending_payment"}, "limit": {"500"}}
	a, err := l.do(&request{method: "GET", path: "/v1/sessions?" + q.Encode(), admin: true})
	if err != nil {
		return nil, err
	}
	var said struct{ Sessions []sessionJSON }
	if err := a.into(&said); err != nil || a.status != 200 {
		return nil, fmt.Errorf("the list of open sessions got %d %s", a.status, a.raw)
	}
	for i := range said.Sessions {
		list = append(list, said.Sessions[i].of(""))
	}
	return list, nil
}

// adoptSessions copies from the server the states of sessions whose responses were lost.
func (l *life) adoptSessions() error {
	list, err := l.listSessions()
	for _, s := range list {
		if known := l.Sessions[s.ID]; known != nil && known.Status == "requested" && s.Specialist != "" {
			known.Status, known.Specialist, known.Life = s.Status, s.Specialist, time.Now()
		}
	}
	return err
}

// judgeSessions passes all open sessions to the referee.
func (l *life) judgeSessions() error {
	list, err := l.listSessions()
	if err != nil {
		return err
	}
	if time.Since(l.opened) < 2*time.Minute {
		return nil // after a power cut, the server needs up to a minute to end the sessions that have expired
	}
	return l.OpenSessions(list, time.Now())
}

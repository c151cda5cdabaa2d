package notice

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wneessen/go-mail/smtp"
)

const (
	// maxSessions is the maximum number of open connections to the mail server. Providers limit them, some to only
	// three.
	maxSessions = 2
	// sessionIdle is how long a connection stays open after an email, in case another follows.
	sessionIdle = 5 * time.Second
)

// sessions contains the connections to the mail server that later emails can reuse: a connection costs more than an
// email. The zero value is empty.
type sessions struct {
	mu   sync.Mutex
	idle []*session // the most recently used session is last
}

// session is an SMTP session and the server to which it is connected.
type session struct {
	*smtp.Client
	route   *route
	expires *time.Timer
}

// take returns an idle session with a route's server, or nil. It ends sessions with other servers.
func (s *sessions) take(r *route) *session {
	for {
		s.mu.Lock()
		n := len(s.idle)
		if n == 0 {
			s.mu.Unlock()
			return nil
		}
		found := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		found.expires.Stop()
		if found.route == r {
			return found
		}
		hangUp(found.Client)
	}
}

// put makes a session idle. The session ends if no email needs it within sessionIdle.
func (s *sessions) put(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, x)
	x.expires = time.AfterFunc(sessionIdle, func() { s.expire(x) })
}

// expire ends a session that is still idle.
func (s *sessions) expire(x *session) {
	s.mu.Lock()
	i := slices.Index(s.idle, x)
	if i >= 0 {
		s.idle = slices.Delete(s.idle, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		hangUp(x.Client)
	}
}

// session returns an idle session with a route's server, or opens one. fresh is true if no email has been sent over it
// yet.
func (m *Mailer) session(ctx context.Context, r *route) (x *session, fresh bool, err error) {
	if x := m.sessions.take(r); x != nil && x.UpdateDeadline(m.options.Timeout) == nil {
		return x, false, nil
	} else if x != nil {
		hangUp(x.Client)
	}
	c, err := m.dial(ctx, r)
	if err != nil {
		return nil, true, err
	}
	return &session{Client: c, route: r}, true, nil
}

package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

var errLost = errors.New("the connection broke")

// careless is a network that loses the next request, or the reply to it, on demand.
type careless struct {
	to                   http.RoundTripper
	loseAsked, loseReply atomic.Int32
}

func (c *careless) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.loseAsked.Add(-1) >= 0 {
		return nil, errLost
	}
	c.loseAsked.Store(0)
	reply, err := c.to.RoundTrip(r)
	if err == nil && c.loseReply.Add(-1) >= 0 {
		_, _ = io.Copy(io.Discard, reply.Body)
		reply.Body.Close()
		return nil, errLost
	}
	c.loseReply.Store(0)
	return reply, err
}

// loses reports whether the next request or reply will be lost.
func (c *careless) loses() bool { return c.loseAsked.Load() > 0 || c.loseReply.Load() > 0 }

// request is a client's request.
type request struct {
	method, path string
	body         any
	key          string // idempotency key
	client       string
	manage       string // token of a manage link
	admin        bool
	match        string // If-Match
	cookie       string // of a sign-in
	check        bool   // sent by the referee for a check: the network loses neither the request nor its reply
}

// reply is a response with its whole body.
type reply struct {
	status   int
	raw      string
	replayed bool
	code     string // of a refusal
	reason   string // of the refusal, if the code has several
	cookie   string // of a sign-in
}

func (a *reply) into(v any) error { return json.Unmarshal([]byte(a.raw), v) }

// asks sends a request once.
func (h *house) asks(r *request) (*reply, error) {
	var content io.Reader
	if r.body != nil {
		b, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, r.method, "http://clinic.test"+r.path, content)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Idempotency-Key": r.key, "Holdfast-Client": r.client,
		"Holdfast-Manage": r.manage, "If-Match": r.match} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	if r.admin {
		q.Header.Set("Authorization", "Bearer "+adminKey)
	}
	if r.cookie != "" {
		q.Header.Set("Cookie", staffCookie+"="+r.cookie)
	}
	if r.body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	client := h.http
	if r.check {
		client = &http.Client{Transport: h.wire.to}
	}
	answer, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	said := &reply{status: answer.StatusCode, raw: string(b),
		replayed: answer.Header.Get("Idempotency-Replayed") == "true", cookie: cookieOf(answer.Header["Set-Cookie"])}
	if answer.StatusCode >= 400 {
		var problem struct{ Code, Reason string }
		_ = said.into(&problem)
		said.code, said.reason = problem.Code, problem.Reason
	}
	return said, nil
}

package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"sync"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// inFlight is the set of idempotency keys whose first request is still running in this process. If two nodes run
// requests with the same key, the database refuses the second commit as a duplicate.
type inFlight struct {
	mu   sync.Mutex
	keys map[string]struct{}
}

func (f *inFlight) enter(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, running := f.keys[key]; running {
		return false
	}
	if f.keys == nil {
		f.keys = make(map[string]struct{})
	}
	f.keys[key] = struct{}{}
	return true
}

func (f *inFlight) leave(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
}

// atMostOnce runs do, unless the request's Idempotency-Key already has a response: then it returns that response. It
// stores only successful responses, so a failed request can be repeated under its key.
//
// A use case that writes durably receives the record.Once and commits the response together with its write. If the
// request makes no durable write (a hold, for example), atMostOnce stores the response only in memory: after a restart
// of the server, a repeat runs again.
//
// If allOrNothing is set, atMostOnce first searches only its memory for an earlier response and runs do. It searches
// the database only if do fails, and returns the failure only if the database has no earlier response either.
func (c *call) atMostOnce(raw []byte, allOrNothing bool, do func() error) error {
	key := c.r.Header.Get("Idempotency-Key")
	if key == "" || c.r.Method != "POST" {
		return do()
	}
	if len(key) > 255 {
		return fieldError("Idempotency-Key", "must be 1 to 255 printable characters")
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return fieldError("Idempotency-Key", "must be 1 to 255 printable characters")
		}
	}
	once := &record.Once{Scope: c.scope(), Key: key, Fingerprint: c.fingerprint(raw)}
	running := once.Scope + key
	if !c.running.enter(running) {
		return errIdempotencyInFlight.again(time.Second)
	}
	defer c.running.leave(running)
	recall := c.engine.Record.Recall
	if allOrNothing && c.denied == nil {
		recall = c.engine.Record.RecallFromMemory
	}
	if replayed, err := c.replay(once, recall); replayed || err != nil {
		return err
	}
	if c.denied != nil {
		return c.denied
	}
	c.once = once
	err := do()
	switch {
	case errors.Is(err, store.ErrDuplicate), errors.Is(err, store.ErrSlotTaken), err != nil && allOrNothing:
		if replayed, again := c.replay(once, c.engine.Record.Recall); replayed || again != nil {
			return again
		}
	case err == nil && c.once != nil && c.status >= 200 && c.status < 300:
		once.Answer = func(any) (int, []byte) { return c.status, c.out }
		c.engine.Record.Remember(once, nil, time.Now())
	}
	return err
}

// scope returns a hash of the caller and the route. The same idempotency key in two scopes belongs to two requests.
func (c *call) scope() string {
	who := c.caller.secret
	if who == "" {
		who = "client:" + string(c.client)
	}
	sum := sha256.Sum256([]byte(who + "\x00" + c.route.method + " " + c.route.pattern))
	return hex.EncodeToString(sum[:])
}

// fingerprint returns a hash of the path and the body, which distinguishes two requests to the same route. For a
// specialist, it includes the calendar that they may see: a stored response about another calendar, from before their
// role was reduced, is not returned, and the request does not run a second time either.
func (c *call) fingerprint(raw []byte) [32]byte {
	h := sha256.New()
	if c.caller.role != "" && c.caller.specialistID != "" {
		h.Write([]byte("calendar " + c.caller.specialistID + "\x00"))
	}
	h.Write([]byte(c.r.URL.Path))
	h.Write([]byte{0})
	h.Write(raw)
	return [32]byte(h.Sum(nil))
}

// replay sets the stored response, if there is one, as the response to this request. It reports whether there was one.
func (c *call) replay(once *record.Once, recall func(context.Context,
	*record.Once) (*store.IdempotencyRecord, error)) (bool, error) {
	record, err := recall(c.ctx(), once)
	if record == nil || err != nil {
		return false, err
	}
	c.rw.Header().Set("Idempotency-Replayed", "true")
	c.status, c.out = record.Status, record.Body
	return true, nil
}

// answering returns this request's record.Once. The use case passes its result to the record.Once, so that the response
// is committed together with the write. answering returns nil if the request has no idempotency key. render must be
// pure.
func (c *call) answering(render func(result any) (int, []byte)) *record.Once {
	once := c.once
	if once != nil {
		once.Answer = func(result any) (int, []byte) {
			c.committed.status, c.committed.body = render(result)
			return c.committed.status, c.committed.body
		}
		c.once = nil
	}
	return once
}

// leave sets the response to the one that was committed with the write. Without an idempotency key, it renders the
// result of the write.
func (c *call) leave(render func(result any) (int, []byte), result any) {
	if c.committed.body == nil {
		c.status, c.out = render(result)
		return
	}
	c.status, c.out = c.committed.status, c.committed.body
}

// answerChange calls do and responds with its result. do passes the record.Once to a use case, so that the response is
// committed together with the write. say must be pure.
func answerChange[T any](c *call, status int, say func(*T) any, do func(*record.Once) (T, error)) error {
	render := func(result any) (int, []byte) {
		r := result.(T)
		return rendered(status, say(&r))
	}
	result, err := do(c.answering(render))
	if err != nil {
		return err
	}
	c.status, c.out = render(result)
	return nil
}

// committing returns a context with the record.Once of this request, for a use case that reads it from the context.
// Together with its write, the use case commits the response that render returns.
func committing[T any](c *call, status int, render func(*T) any) context.Context {
	return record.WithOnce(c.ctx(), c.answering(func(result any) (int, []byte) {
		r := result.(T)
		return rendered(status, render(&r))
	}))
}

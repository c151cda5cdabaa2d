package outbound

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// # Outcomes that the queue has not stored
//
// After an attempt, the queue might refuse to store the outcome, for example because the disk is full or PostgreSQL is
// restarting. The operation is then `processing` in the queue although no attempt is in progress. The outcome stays
// here, and the write is retried until the queue has stored it. If the process ends first, or another node takes over
// the operation, the outcome is unknown, as after a crash.

// unsaved is the outcome of one operation that the queue has not stored.
type unsaved struct {
	op            store.Operation
	event, detail string
	wait          wait // until the next attempt, if it is due after a length of time

	mu   sync.Mutex // held during the write
	done bool       // stored, or replaced by a later outcome
}

// wait is a length of time that began at an instant with a monotonic reading. The zero value means no wait.
type wait struct {
	length time.Duration
	began  time.Time
}

// left returns what is left of the wait. It does not depend on the wall clock.
func (w *wait) left() time.Duration { return w.length - time.Since(w.began) }

// unsavedSet contains the outcomes that the queue has not stored, by operation id. The zero value is empty. It is safe
// for concurrent use.
type unsavedSet struct {
	mu      sync.Mutex
	of      map[string]*unsaved
	wakeUps wakeUps // signals a write that failed
}

// add adds an operation's outcome and returns it. The payload of a delivered email or text message is dropped.
func (s *unsavedSet) add(op store.Operation, event, detail string, w wait) *unsaved {
	if op.Status == store.OperationCompleted && op.Kind.IsMessage() {
		op.Payload = nil
	}
	u := &unsaved{op: op, event: event, detail: detail, wait: w}
	s.put(u)
	return u
}

// put adds u. It replaces any earlier outcome of the same operation. If that outcome is being written, put waits for
// the write.
func (s *unsavedSet) put(u *unsaved) {
	s.mu.Lock()
	before := s.of[u.op.ID]
	if s.of == nil {
		s.of = make(map[string]*unsaved)
	}
	s.of[u.op.ID] = u
	s.mu.Unlock()
	if before != nil {
		before.mu.Lock()
		before.done = true
		before.mu.Unlock()
	}
}

// get returns the outcome of one operation, or nil.
func (s *unsavedSet) get(id string) *unsaved {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}

// all returns the outcomes, ordered by operation id.
func (s *unsavedSet) all() []*unsaved {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*unsaved, 0, len(s.of))
	for _, id := range slices.Sorted(maps.Keys(s.of)) {
		list = append(list, s.of[id])
	}
	return list
}

func (s *unsavedSet) remove(u *unsaved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of[u.op.ID] == u {
		delete(s.of, u.op.ID)
	}
}

// saveOutcome writes an outcome to the queue, unless that has already been done.
func (out *Outbound) saveOutcome(ctx context.Context, u *unsaved) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.done {
		return nil
	}
	op := u.op
	if u.wait.length > 0 && out.Options.Shared { // a queue of one node reschedules itself if the clock is set
		if due := out.Now().Add(u.wait.left()); due.Sub(op.NextAttemptAt).Abs() > time.Second {
			op.NextAttemptAt = due // this node's clock has been set since
		}
	}
	err := out.Queue.Change(ctx, op, u.event, u.detail)
	switch {
	case errors.Is(err, store.ErrVersion):
		out.log.Warn("operation taken over by another node", "operation", u.op.ID, "kind", u.op.Kind)
		err = nil
	case errors.Is(err, store.ErrNotFound) && u.op.Status == store.OperationCompleted:
		// the operation ended without ever being in the queue
		err = nil
	case errors.Is(err, store.ErrNotFound):
		err = out.Queue.Add(ctx, op)
	}
	if err != nil {
		return err
	}
	u.done = true
	out.unsaved.remove(u)
	return nil
}

// saveOutcomes retries failed writes until ctx is done.
func (out *Outbound) saveOutcomes(ctx context.Context) {
	for ctx.Err() == nil {
		failed := out.unsaved.wakeUps.listen()
		list := out.unsaved.all()
		if len(list) == 0 {
			timed.Sleep(ctx, -1, failed)
			continue
		}
		timed.Sleep(ctx, relayRetry, nil)
		saved := 0
		for _, u := range list {
			if ctx.Err() == nil && out.saveOutcome(ctx, u) == nil {
				saved++
			}
		}
		if saved > 0 {
			out.log.Info("operation outcomes stored after an earlier write failure", "operations", saved, "left",
				len(out.unsaved.all()))
			out.ringLanes()
		}
	}
}

// resumed reports whether a worker that has taken op must leave it alone, because the queue has not stored the outcome
// of this node's earlier attempt or has only just stored it.
func (out *Outbound) resumed(ctx context.Context, op *store.Operation) bool {
	u := out.unsaved.get(op.ID)
	if u == nil {
		return false
	}
	if out.saveOutcome(ctx, u) != nil {
		return true
	}
	out.ringLanes()
	known, err := out.Queue.Operation(ctx, op.ID)
	return err != nil || known.Status != store.OperationProcessing || known.Attempts != op.Attempts
}

// Unsaved returns the number of outcomes that the queue has not stored yet for this node.
func (out *Outbound) Unsaved() int { return len(out.unsaved.all()) }

package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync/atomic"
)

// WriteCall is one call of Store.Write in the queue of a backend's writer. The caller calls Wait. The writer calls
// Start, Run and Answer.
type WriteCall struct {
	fn       func(Tx) error
	state    atomic.Int32
	answered chan struct{}

	// Err is the outcome. The writer sets it before Answer.
	Err      error
	panicked any
	exited   bool
}

const (
	callWaiting int32 = iota
	callStarted
	callAbandoned
)

// ErrWriteEnded means that a function given to Write ended its goroutine, as t.FailNow does.
var ErrWriteEnded = fmt.Errorf("%w: a function given to Write ended its goroutine", ErrUnavailable)

var errPanicked = errors.New("the function panicked")

// NewWriteCall returns a call that waits for its turn.
func NewWriteCall(fn func(Tx) error) *WriteCall {
	return &WriteCall{fn: fn, answered: make(chan struct{})}
}

// Wait returns the outcome. ctx limits only the wait for a turn. If the function panicked, Wait panics with the same
// value. If the function ended its goroutine, Wait ends the caller's goroutine.
func (c *WriteCall) Wait(ctx context.Context) error {
	select {
	case <-c.answered:
	case <-ctx.Done():
		if c.state.CompareAndSwap(callWaiting, callAbandoned) {
			return fmt.Errorf("waiting for a turn to write: %w", ctx.Err())
		}
		<-c.answered
	}
	switch {
	case c.panicked != nil:
		panic(c.panicked)
	case c.exited:
		runtime.Goexit()
	}
	return c.Err
}

// Start reports whether the caller is still waiting. If so, the caller then waits for the outcome, even if its context
// ends.
func (c *WriteCall) Start() bool { return c.state.CompareAndSwap(callWaiting, callStarted) }

// Run calls the function and returns an error if it panics. Wait raises the panic again, unless a later Run replaces
// the outcome.
func (c *WriteCall) Run(tx Tx, log *slog.Logger) (err error) {
	c.panicked = nil
	defer func() {
		if p := recover(); p != nil {
			// The value may contain personal data; the stack does not.
			log.Error("write function panicked", "stack", string(debug.Stack()))
			c.panicked, err = p, errPanicked
		}
	}()
	return c.fn(tx)
}

// Exited records that the function ended its goroutine.
func (c *WriteCall) Exited() { c.exited = true }

// Answer ends the wait of the caller. Wait then returns Err.
func (c *WriteCall) Answer() { close(c.answered) }

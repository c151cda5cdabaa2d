package node

import (
	"context"
	"errors"
	"sync"

	"holdfast/holds"
)

// Ear tracks whether this node is receiving the events of all nodes. Set and Wait are safe for concurrent use.
type Ear struct {
	of   string
	mu   sync.Mutex
	live chan struct{} // closed while events are received
	on   bool
}

// NewEar returns an Ear that is off. of names the server that sends the events.
func NewEar(of string) *Ear { return &Ear{of: of, live: make(chan struct{})} }

// Set records whether events are being received from now on.
func (e *Ear) Set(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case on && !e.on:
		close(e.live)
	case !on && e.on:
		e.live = make(chan struct{})
	}
	e.on = on
}

// Wait waits until events are being received. It returns holds.ErrUnavailable when ctx is done and holds.ErrClosed when
// closed is done.
func (e *Ear) Wait(ctx, closed context.Context) error {
	e.mu.Lock()
	live := e.live
	e.mu.Unlock()
	select {
	case <-live:
		return nil
	case <-closed.Done():
		return holds.ErrClosed
	case <-ctx.Done():
		return errors.Join(holds.ErrUnavailable, errors.New("no events received from "+e.of))
	}
}

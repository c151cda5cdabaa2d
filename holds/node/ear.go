package node

import (
	"context"
	"errors"
	"sync"

	"holdfast/holds"
)

// Ear says whether the events of all nodes are heard. Set and Wait may be used from several goroutines.
type Ear struct {
	of   string
	mu   sync.Mutex
	live chan struct{} // closed while they are
	on   bool
}

// NewEar returns one that hears nothing yet. of names the server whose events they are.
func NewEar(of string) *Ear { return &Ear{of: of, live: make(chan struct{})} }

// Set says that events are heard from now on, or are not.
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

// Wait waits until events are heard. holds.ErrUnavailable when ctx ends, holds.ErrClosed when closed does.
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
		return errors.Join(holds.ErrUnavailable, errors.New("no events are heard from "+e.of))
	}
}

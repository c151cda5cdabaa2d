package enginetest

import (
	"context"
	"sync"

	"holdfast/store"
)

// Gate is a store that lets a test decide the order of concurrent callers: a call waits while its gate is shut. The
// channels belong to the synctest bubble in which the test shuts a gate, so that virtual time passes for the waiting
// callers.
type Gate struct {
	store.Store
	mu   sync.Mutex
	shut map[gate]chan struct{}
}

// gate identifies one method as called by one caller.
type gate struct{ caller, method string }

type callerKey struct{}

// CallBy returns a context whose calls are subject to the given caller's gates. Calls with any other context belong to
// the caller "".
func CallBy(ctx context.Context, caller string) context.Context {
	return context.WithValue(ctx, callerKey{}, caller)
}

// Shut makes a caller's calls to a method ("Write" or "Appointment") wait until the test calls open.
func (g *Gate) Shut(caller, method string) (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut == nil {
		g.shut = make(map[gate]chan struct{})
	}
	at, ch := gate{caller, method}, make(chan struct{})
	g.shut[at] = ch
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.shut, at)
		close(ch)
	}
}

func (g *Gate) pass(ctx context.Context, method string) {
	caller, _ := ctx.Value(callerKey{}).(string)
	g.mu.Lock()
	ch := g.shut[gate{caller, method}]
	g.mu.Unlock()
	if ch != nil {
		<-ch
	}
}

// Write implements store.Store.
func (g *Gate) Write(ctx context.Context, fn func(store.Tx) error) error {
	g.pass(ctx, "Write")
	return g.Store.Write(ctx, fn)
}

// Appointment implements store.Store.
func (g *Gate) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	g.pass(ctx, "Appointment")
	return g.Store.Appointment(ctx, id)
}

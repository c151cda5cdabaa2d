package message

import (
	"context"
	"sync/atomic"

	"holdfast/engine/clinic"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/store"
)

// chosen contains the parts that MailServer and SMSGateway have in common. It follows a choice that determines how this
// node sends one kind of message.
type chosen[T comparable] struct {
	choice   *clinic.Choice[T]
	outbound *outbound.Outbound
	kind     store.OperationKind
	trying   chan struct{} // limits the concurrent trials
	changed  chan struct{} // buffers one signal
	used     *atomic.Pointer[T]
}

func newChosen[T comparable](c *clinic.Choice[T], out *outbound.Outbound, kind store.OperationKind) chosen[T] {
	return chosen[T]{choice: c, outbound: out, kind: kind, trying: make(chan struct{}, 2),
		changed: make(chan struct{}, 1), used: new(atomic.Pointer[T])}
}

// follow calls use with the current choice and its secret if the choice has changed. Nil means no choice.
func (x *chosen[T]) follow(use func(choice *T, secret string, isReadable bool)) {
	stored, before := x.choice.Stored(), x.used.Load()
	if stored == before || stored != nil && before != nil && *stored == *before {
		return
	}
	x.used.Store(stored)
	if stored == nil {
		use(nil, "", true)
		return
	}
	secret, isReadable := x.choice.Secret(stored)
	use(stored, secret, isReadable)
	select {
	case x.changed <- struct{}{}:
	default:
	}
}

// Run retries the waiting messages immediately whenever the choice changes, until ctx is done.
func (x *chosen[T]) Run(ctx context.Context) {
	for {
		select {
		case <-x.changed:
			x.outbound.WakeFor(x.kind)
		case <-ctx.Done():
			return
		}
	}
}

// Remove deletes the choice. It is not an error if there is none.
func (x *chosen[T]) Remove(ctx context.Context, actor record.Actor) error {
	return x.choice.Remove(ctx, actor)
}

// Seal reseals the secret with the current signing key. Call it before that key is replaced.
func (x *chosen[T]) Seal(ctx context.Context) error { return x.choice.Seal(ctx) }

// try starts a trial; done ends it. At most two trials run at a time. Errors: store.ErrOverloaded.
func (x *chosen[T]) try(ctx context.Context) (done func(), _ error) {
	if err := store.Trial(ctx); err != nil {
		return nil, err
	}
	select {
	case x.trying <- struct{}{}:
		return func() { <-x.trying }, nil
	case <-ctx.Done():
		return nil, store.ErrOverloaded
	}
}

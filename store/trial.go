package store

import (
	"context"
	"errors"
)

// ErrTrial means that the context is a trial context, so nothing was changed.
var ErrTrial = errors.New("trial: nothing was changed")

type trialKey struct{}

// WithTrial returns a trial context. In a trial context, nothing may change. A caller that already refuses a request
// uses it to collect the other mistakes of the request: Write runs its function, undoes it and returns ErrTrial. Code
// that changes anything else (the live state, the state of another server, the count of guesses) must call Trial first.
func WithTrial(ctx context.Context) context.Context { return context.WithValue(ctx, trialKey{}, true) }

// Trial returns ErrTrial if ctx is a trial context, and nil otherwise.
func Trial(ctx context.Context) error {
	if ctx.Value(trialKey{}) != nil {
		return ErrTrial
	}
	return nil
}

// UndoneOnTrial returns the function that a backend's Write runs for fn. Usually that is fn. In a trial context, it is
// a function that returns ErrTrial after fn has succeeded.
func UndoneOnTrial(ctx context.Context, fn func(Tx) error) func(Tx) error {
	if Trial(ctx) == nil {
		return fn
	}
	return func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return ErrTrial
	}
}

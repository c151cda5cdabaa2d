package store

import (
	"context"
	"sync/atomic"
	"time"
)

// Spent measures how long one request has waited for the store, for the log of slow requests. It is safe for concurrent
// use.
type Spent struct{ writing, reading atomic.Int64 }

// Writing returns the time in Write: the wait for a turn, the transaction and its commit.
func (s *Spent) Writing() time.Duration { return time.Duration(s.writing.Load()) }

// Reading returns the time of reads outside a transaction, including the wait for a connection.
func (s *Spent) Reading() time.Duration { return time.Duration(s.reading.Load()) }

type spentKey struct{}

// WithSpent returns a context whose store calls add their time to s.
func WithSpent(ctx context.Context, s *Spent) context.Context {
	return context.WithValue(ctx, spentKey{}, s)
}

// SpentWriting adds the time since an instant to the Spent of the context, if there is one. Backends call it.
func SpentWriting(ctx context.Context, since time.Time) {
	if s, ok := ctx.Value(spentKey{}).(*Spent); ok {
		s.writing.Add(int64(time.Since(since)))
	}
}

// SpentReading works like SpentWriting, for reads.
func SpentReading(ctx context.Context, since time.Time) {
	if s, ok := ctx.Value(spentKey{}).(*Spent); ok {
		s.reading.Add(int64(time.Since(since)))
	}
}

package failover

import (
	"context"
	"fmt"
	"sync"
	"time"

	"holdfast/holds"
	"holdfast/holds/memory"
)

// flaky is the in-process backend behind a connection that can be cut. While it is cut, every call returns
// holds.ErrUnavailable and every watch ends, while the holds remain and expire.
type flaky struct {
	*memory.Backend

	mu   sync.Mutex
	down chan struct{} // closed while the connection is cut
	cut  bool

	before func() // runs before each call except Ping; nil: nothing
}

// meet sets the function that runs before each call except Ping.
func (f *flaky) meet(before func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before = before
}

// call passes a call on, or returns the error of a cut connection.
func (f *flaky) call() (down <-chan struct{}, err error) {
	down, err = f.line()
	f.mu.Lock()
	before := f.before
	f.mu.Unlock()
	if err == nil && before != nil {
		before()
	}
	return down, err
}

func newFlaky(booked func(holds.Hold) bool) *flaky {
	return &flaky{Backend: memory.New(memory.Options{Booked: booked, WatchQueue: 4096}), down: make(chan struct{})}
}

// strike cuts the connection or restores it.
func (f *flaky) strike(cut bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case cut && !f.cut:
		close(f.down)
	case !cut && f.cut:
		f.down = make(chan struct{})
	}
	f.cut = cut
}

func (f *flaky) line() (down <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.cut {
		err = fmt.Errorf("%w: the connection is cut", holds.ErrUnavailable)
	}
	return f.down, err
}

func through[T any](f *flaky, call func() (T, error)) (x T, err error) {
	if _, err := f.call(); err != nil {
		return x, err
	}
	return call()
}

func (f *flaky) Ping(ctx context.Context) error {
	if _, err := f.line(); err != nil {
		return err
	}
	return f.Backend.Ping(ctx)
}

func (f *flaky) Stats(ctx context.Context) (holds.Stats, error) {
	return through(f, func() (holds.Stats, error) { return f.Backend.Stats(ctx) })
}

func (f *flaky) Claim(ctx context.Context, c holds.Claim) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Claim(ctx, c) })
}

func (f *flaky) Extend(ctx context.Context, id string, o holds.Owner, d time.Duration, r bool) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Extend(ctx, id, o, d, r) })
}

func (f *flaky) Pin(ctx context.Context, id string, o holds.Owner, d time.Duration) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Pin(ctx, id, o, d) })
}

func (f *flaky) Unpin(ctx context.Context, id string, o holds.Owner, d time.Duration) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Unpin(ctx, id, o, d) })
}

func (f *flaky) Transfer(ctx context.Context, id string, o, to holds.Owner, d, life time.Duration) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Transfer(ctx, id, o, to, d, life) })
}

func (f *flaky) Restore(ctx context.Context, r holds.Remains) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Restore(ctx, r) })
}

func (f *flaky) Confirm(ctx context.Context, id string, o holds.Owner) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Confirm(ctx, id, o) })
}

func (f *flaky) Release(ctx context.Context, id string, o holds.Owner, r holds.Reason) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Release(ctx, id, o, r) })
}

func (f *flaky) Hold(ctx context.Context, id string) (holds.Hold, error) {
	return through(f, func() (holds.Hold, error) { return f.Backend.Hold(ctx, id) })
}

func (f *flaky) List(ctx context.Context, ids ...string) ([]holds.Hold, error) {
	return through(f, func() ([]holds.Hold, error) { return f.Backend.List(ctx, ids...) })
}

func (f *flaky) Publish(ctx context.Context, e holds.Event) error {
	_, err := through(f, func() (int, error) { return 0, f.Backend.Publish(ctx, e) })
	return err
}

func (f *flaky) Select(ctx context.Context, o holds.Owner, s holds.Span) (holds.Selection, error) {
	return through(f, func() (holds.Selection, error) { return f.Backend.Select(ctx, o, s) })
}

func (f *flaky) Deselect(ctx context.Context, o holds.Owner) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Deselect(ctx, o) })
}

func (f *flaky) Renew(ctx context.Context, o holds.Owner) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Renew(ctx, o) })
}

func (f *flaky) Selected(ctx context.Context, from, to time.Time, ids ...string) ([]holds.Selection, error) {
	return through(f, func() ([]holds.Selection, error) { return f.Backend.Selected(ctx, from, to, ids...) })
}

func (f *flaky) Online(ctx context.Context, id string, max int) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Online(ctx, id, max) })
}

func (f *flaky) Offline(ctx context.Context, id string) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Offline(ctx, id) })
}

func (f *flaky) Deactivate(ctx context.Context, id string) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Deactivate(ctx, id) })
}

func (f *flaky) Activate(ctx context.Context, id string) (bool, error) {
	return through(f, func() (bool, error) { return f.Backend.Activate(ctx, id) })
}

func (f *flaky) Beat(ctx context.Context, id string) error {
	_, err := through(f, func() (int, error) { return 0, f.Backend.Beat(ctx, id) })
	return err
}

func (f *flaky) SetMax(ctx context.Context, id string, max int) error {
	_, err := through(f, func() (int, error) { return 0, f.Backend.SetMax(ctx, id, max) })
	return err
}

func (f *flaky) Load(ctx context.Context, id string, delta int) (int, error) {
	return through(f, func() (int, error) { return f.Backend.Load(ctx, id, delta) })
}

func (f *flaky) SetLoads(ctx context.Context, loads map[string]int) error {
	_, err := through(f, func() (int, error) { return 0, f.Backend.SetLoads(ctx, loads) })
	return err
}

func (f *flaky) Present(ctx context.Context, id string) (holds.Present, error) {
	return through(f, func() (holds.Present, error) { return f.Backend.Present(ctx, id) })
}

func (f *flaky) Available(ctx context.Context, stale time.Duration, limit int) ([]holds.Present, error) {
	return through(f, func() ([]holds.Present, error) { return f.Backend.Available(ctx, stale, limit) })
}

func (f *flaky) Everyone(ctx context.Context) ([]holds.Present, error) {
	return through(f, func() ([]holds.Present, error) { return f.Backend.Everyone(ctx) })
}

func (f *flaky) Count(ctx context.Context, stale time.Duration) (int, error) {
	return through(f, func() (int, error) { return f.Backend.Count(ctx, stale) })
}

func (f *flaky) Seed(ctx context.Context, all []holds.Present) error {
	_, err := through(f, func() (int, error) { return 0, f.Backend.Seed(ctx, all) })
	return err
}

func (f *flaky) Watch(ctx context.Context, ids ...string) (holds.Watch, error) {
	down, err := f.call()
	if err != nil {
		return nil, err
	}
	w, err := f.Backend.Watch(ctx, ids...)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	gone := make(chan struct{})
	go func() {
		select {
		case <-down:
			stop(holds.ErrSlow)
		case <-gone:
			stop(nil)
		}
	}()
	return &line{Watch: w, down: ctx, gone: sync.OnceFunc(func() { close(gone) })}, nil
}

// line is a watch that goes through the connection.
type line struct {
	holds.Watch
	down context.Context
	gone func()
}

func (l *line) Next(ctx context.Context, buf []holds.Event) ([]holds.Event, error) {
	ctx, stop := context.WithCancel(ctx)
	defer context.AfterFunc(l.down, stop)()
	defer stop()
	events, err := l.Watch.Next(ctx, buf)
	if l.down.Err() != nil {
		return events[:0], holds.ErrSlow // everything in transit is lost
	}
	return events, err
}

func (l *line) Close() {
	l.gone()
	l.Watch.Close()
}

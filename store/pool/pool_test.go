package pool

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a connection in memory, with the parts that the pool uses.
type wire struct {
	number int
	closed atomic.Bool
	busy   bool
	status byte          // zero means 'I', outside a transaction
	dead   error         // the response to a ping
	silent time.Duration // time before it responds
	pings  atomic.Int32
	gone   chan struct{}
}

func (w *wire) Ping(ctx context.Context) error {
	w.pings.Add(1)
	select {
	case <-time.After(w.silent):
		return w.dead
	case <-ctx.Done():
		w.closed.Store(true) // as pgconn does
		return ctx.Err()
	}
}

func (w *wire) Close(context.Context) error {
	if w.closed.CompareAndSwap(false, true) {
		close(w.gone)
	}
	return nil
}

func (w *wire) CleanupDone() chan struct{} { return w.gone }
func (w *wire) IsClosed() bool             { return w.closed.Load() }
func (w *wire) IsBusy() bool               { return w.busy }

func (w *wire) TxStatus() byte {
	if w.status == 0 {
		return 'I'
	}
	return w.status
}

// server makes wires.
type server struct {
	made    int
	refuses error
}

func (s *server) connect(context.Context) (*wire, error) {
	if s.refuses != nil {
		return nil, s.refuses
	}
	s.made++
	return &wire{number: s.made, gone: make(chan struct{})}, nil
}

func open(t *testing.T, size int) (*server, *Pool[*wire]) {
	t.Helper()
	s := &server{}
	p, err := New(size, s.connect)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return s, p
}

func acquire(t *testing.T, p *Pool[*wire]) Lent[*wire] {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	l, err := p.Acquire(ctx)
	if err != nil {
		t.Fatalf("Acquire: %v", err)
	}
	return l
}

// TestPoolReusesConnection checks that the pool lends a returned connection again, or replaces it if the next caller
// could not use it.
func TestPoolReusesConnection(t *testing.T) {
	for _, c := range []struct {
		name  string
		while func(*wire) // runs while the connection is lent
		idle  time.Duration
		again bool
		pings int32
	}{
		{name: "at once", again: true},
		{name: "after two seconds, which is not asked", idle: pingAfter, again: true},
		{name: "after a while, when it answers", idle: 2 * pingAfter, again: true, pings: 1},
		{name: "not after a while, when it is dead", idle: 2 * pingAfter, while: func(w *wire) {
			w.dead = errors.New("reset")
		}, pings: 1},
		{name: "not when it broke", while: func(w *wire) { w.Close(context.Background()) }},
		{name: "not in the middle of an answer", while: func(w *wire) { w.busy = true }},
		{name: "not inside a transaction", while: func(w *wire) { w.status = 'T' }},
		{name: "not inside a transaction that failed", while: func(w *wire) { w.status = 'E' }},
		{name: "not when it was lent for more than an hour", while: func(*wire) { time.Sleep(lifetime + time.Second) }},
		{name: "after less than half an hour", idle: idleTime - time.Second, again: true, pings: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p := open(t, 1)
				first := acquire(t, p)
				w := first.Conn()
				if c.while != nil {
					c.while(w)
				}
				first.Release()
				time.Sleep(c.idle)
				second := acquire(t, p)
				defer second.Release()
				if got := second.Conn() == w; got != c.again {
					t.Errorf("the same connection again: %t, want %t", got, c.again)
				}
				if got := w.pings.Load(); got != c.pings {
					t.Errorf("got %d pings, want %d", got, c.pings)
				}
				if !c.again && !w.IsClosed() {
					t.Error("the first connection is still open")
				}
			})
		})
	}
}

// TestIdleConnectionsAreClosed checks that the pool closes connections that have been idle for 30 minutes, and
// connections that are one hour old, even if they are used regularly.
func TestIdleConnectionsAreClosed(t *testing.T) {
	for _, c := range []struct {
		name  string
		every time.Duration // time between two uses; 0 means none
		after time.Duration
		open  bool
	}{
		{"unused, before", 0, idleTime - time.Minute, true},
		{"unused, after", 0, idleTime + 2*time.Minute, false},
		{"used, before", 10 * time.Minute, lifetime - 2*time.Minute, true},
		{"used, after", 10 * time.Minute, lifetime + 2*time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p := open(t, 2)
				l := acquire(t, p)
				w := l.Conn()
				l.Release()
				began := time.Now()
				for c.every > 0 && time.Since(began)+c.every < min(c.after, lifetime) {
					time.Sleep(c.every)
					l := acquire(t, p)
					l.Release()
				}
				time.Sleep(c.after - time.Since(began))
				if got := !w.IsClosed(); got != c.open {
					t.Errorf("open: %t, want %t", got, c.open)
				}
			})
		})
	}
}

// TestDroppedConnectionFreesItsSlotInPool checks that Drop frees the slot immediately, even if the server does not
// notice that the connection is closed.
func TestDroppedConnectionFreesItsSlotInPool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := open(t, 1)
		l := acquire(t, p)
		l.Conn().closed.Store(true) // the channel gone stays open: the server does not respond
		l.Drop()
		began := time.Now()
		acquire(t, p).Release()
		if s.made != 2 || time.Since(began) > 0 {
			t.Errorf("%d connections after %v, want 2 immediately", s.made, time.Since(began))
		}
	})
}

// TestResetReplacesAll checks that Reset closes idle connections immediately, and lent ones when they are returned.
func TestResetReplacesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p := open(t, 2)
		lent, idle := acquire(t, p), acquire(t, p)
		there, out := idle.Conn(), lent.Conn()
		idle.Release()
		p.Reset()
		synctest.Wait()
		if !there.IsClosed() || out.IsClosed() {
			t.Errorf("closed: the idle connection %t, the one in use %t; want true, false", there.IsClosed(), out.IsClosed())
		}
		lent.Release()
		synctest.Wait()
		if !out.IsClosed() {
			t.Error("a connection that was released after Close is still open")
		}
	})
}

// TestWaitEndsWithContext checks that the end of the context ends the wait for a connection, for a ping, and for an
// unreachable server.
func TestWaitEndsWithContext(t *testing.T) {
	t.Run("for a place", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			_, p := open(t, 1)
			defer acquire(t, p).Release()
			expectTimeout(t, p)
		})
	})
	t.Run("during a ping that succeeds later", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := open(t, 1)
			l := acquire(t, p)
			l.Conn().silent = 3 * time.Second
			l.Release()
			time.Sleep(2 * pingAfter)
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := p.Acquire(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("Acquire: %v, want context.Canceled", err)
			}
			acquire(t, p).Release()
			if s.made != 1 {
				t.Errorf("%d connections were opened, want 1: a cancelled caller discarded a good one", s.made)
			}
		})
	})
	t.Run("while the server refuses connections", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, p := open(t, 1)
			s.refuses = errors.New("refused")
			for range 3 { // each releases its slot
				if _, err := p.Acquire(t.Context()); !errors.Is(err, s.refuses) {
					t.Errorf("Acquire: %v, want %v", err, s.refuses)
				}
			}
		})
	})
}

func expectTimeout(t *testing.T, p *Pool[*wire]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	began := time.Now()
	if _, err := p.Acquire(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
		t.Errorf("Acquire: %v after %v, want its deadline after 1s", err, time.Since(began))
	}
}

// TestCloseWaits checks that Close waits until the lent connections are returned, and that the pool lends no more.
func TestCloseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		p, err := New(2, s.connect)
		if err != nil {
			t.Fatal(err)
		}
		l := acquire(t, p)
		w := l.Conn()
		time.AfterFunc(time.Minute, l.Release)
		began := time.Now()
		p.Close()
		if time.Since(began) != time.Minute || !w.IsClosed() {
			t.Errorf("Close took %v and the connection is closed: %t; want 1m0s, true", time.Since(began), w.IsClosed())
		}
		if _, err := p.Acquire(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Acquire: %v, want %v", err, ErrClosed)
		}
	})
}

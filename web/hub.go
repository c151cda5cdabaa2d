package web

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/holds"
)

// hub is the live stream's fan-out. One goroutine follows the events of the live state, encodes each once, appends it to
// the ring of every appointment type it concerns, and then sweeps: each subscriber of a ring that grew is written
// everything it is behind in one non-blocking write. A subscriber costs no goroutine and no timer; while the sweep is
// under way events gather, so the busier it gets the more goes into one write.
//
// A write that would block is finished by a goroutine of its own under a deadline, and that subscriber is passed over
// meanwhile: nobody waits for a slow reader.
type hub struct {
	engine  *engine.Engine
	log     *slog.Logger
	options hubOptions

	mu        sync.Mutex
	topics    map[string]*topic // by appointment type
	byClient  map[holds.ClientID]*stream
	all       map[*stream]struct{}
	admitted  int // open or about to be
	byAddress map[netip.Addr]int
	closing   bool

	ready   chan struct{}  // closed once events are followed
	writers sync.WaitGroup // goroutines that finish a blocked write
}

// hubOptions are the times of the stream; the zero value of each is its default.
type hubOptions struct {
	Ping         time.Duration // default 15 s
	WriteTimeout time.Duration // for one frame to a reader that does not read; default 5 s
	Drain        time.Duration // for all readers together at a shutdown; default 2 s
	Sweep        time.Duration // how often pings and leases are looked at; default 250 ms
	Limits                     // those of streams are the hub's business
}

func (o hubOptions) withDefaults() hubOptions {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.Ping, 15 * time.Second}, {&o.WriteTimeout, 5 * time.Second}, {&o.Drain, 2 * time.Second}, {&o.Sweep, 250 * time.Millisecond}} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

// topic is what a stream listens to, and who does. The list is copied on every change, so that a sweep needs no lock.
type topic struct {
	ring    ring
	streams atomic.Pointer[[]*stream]
}

func (t *topic) list() []*stream {
	if p := t.streams.Load(); p != nil {
		return *p
	}
	return nil
}

func newHub(e *engine.Engine, log *slog.Logger, o hubOptions) *hub {
	return &hub{
		engine: e, log: log, options: o.withDefaults(),
		topics: make(map[string]*topic), ready: make(chan struct{}),
		byClient: make(map[holds.ClientID]*stream), all: make(map[*stream]struct{}), byAddress: make(map[netip.Addr]int),
	}
}

// run follows events until ctx ends, then ends every stream and waits for them, at most options.Drain.
func (h *hub) run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { h.follow(ctx) })
	work.Go(func() { h.keep(ctx) })
	work.Wait()
	h.shutdown()
}

// goneCheck is how often a silent connection is asked whether the other side has closed it.
const goneCheck = 2 * time.Second

// keep sends pings, ends leases and lets go of those who left.
func (h *hub) keep(ctx context.Context) {
	tick := time.NewTicker(h.options.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, s := range h.everyone() {
				switch {
				case !now.Before(s.leaseEnds):
					h.finish(s, endLeaseExpired)
				case now.Sub(s.pinged) >= h.options.Ping:
					s.pinged = now
					s.add([]byte(pingFrame))
					h.flush(s)
				case now.Sub(s.checked) >= goneCheck:
					s.checked = now
					if s.conn.gone() {
						h.drop(s, endClientAbort)
					}
				}
			}
		}
	}
}

// count says how many streams are open.
func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

func (h *hub) everyone() []*stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*stream, 0, len(h.all))
	for s := range h.all {
		list = append(list, s)
	}
	return list
}

var errHubClosing = errors.New("shutting down")

// join registers a stream with a topic before its snapshot is taken, so that nothing falls between. The stream is held back (its
// busy mark is set) until start. The stream that the same client had is ended.
func (h *hub) join(s *stream, id string) error {
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return errHubClosing
	}
	t := h.topics[id]
	if t == nil {
		t = new(topic)
		h.topics[id] = t
	}
	s.topic = t
	s.at = t.ring.tail()
	s.busy.Store(true)
	// Leases are shortened by up to a tenth, so that streams opened together do not all come back together.
	s.leaseEnds = s.pinged.Add(s.lease - time.Duration(rand.Int64N(int64(s.lease)/10+1)))
	list := append(slices.Clone(t.list()), s)
	t.streams.Store(&list)
	h.all[s] = struct{}{}
	h.writers.Add(1) // until it has been told what is so now: a shutdown waits for that, and for the end after it
	var before *stream
	if s.client != "" {
		before = h.byClient[s.client]
		h.byClient[s.client] = s
	}
	h.mu.Unlock()
	if before != nil {
		h.finish(before, endReplaced)
	}
	return nil
}

// start lets a joined stream take part.
func (h *hub) start(s *stream) {
	s.busy.Store(false)
	h.flush(s)
}

// leave takes a stream out of every list. It reports whether this call did it.
func (h *hub) leave(s *stream) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.all[s]; !ok {
		return false
	}
	delete(h.all, s)
	if h.byClient[s.client] == s {
		delete(h.byClient, s.client)
	}
	if i := slices.Index(s.topic.list(), s); i >= 0 {
		list := slices.Delete(slices.Clone(s.topic.list()), i, i+1)
		s.topic.streams.Store(&list)
	}
	return true
}

// finish ends a stream politely: what it is behind, then the end frame, then the connection.
func (h *hub) finish(s *stream, reason endReason) {
	if s.setEnd(reason) {
		h.flush(s)
	}
}

// drop ends a stream whose connection is no use any more.
func (h *hub) drop(s *stream, reason endReason) {
	if h.leave(s) {
		s.conn.close()
		h.log.Debug("stream ended", "connection", s.id, "reason", string(reason))
	}
}

// shutdown ends every stream and waits for their last frames.
func (h *hub) shutdown() {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	for _, s := range h.everyone() {
		h.finish(s, endShutdown)
	}
	done := make(chan struct{})
	go func() {
		h.writers.Wait()
		close(done)
	}()
	timeout := time.NewTimer(h.options.Drain)
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
	}
	for _, s := range h.everyone() {
		h.drop(s, endShutdown)
	}
	<-done // closed connections end their writes
}

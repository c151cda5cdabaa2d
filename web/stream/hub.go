package stream

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/timed"
	"holdfast/holds"
)

// Hub sends events to the subscribers. It is safe for concurrent use.
type Hub struct {
	source  Source
	log     *slog.Logger
	options Options

	mu        sync.Mutex
	topics    map[string]*topic // those with subscribers, by name
	byOwner   map[holds.Owner]*subscriber
	guarded   map[*subscriber]struct{} // those with a guard
	all       map[*subscriber]struct{}
	admitted  int // streams that are open or about to be
	byAddress map[netip.Addr]int
	stopping  bool
	ended     map[endReason]uint64 // ended streams, by reason

	interrupted atomic.Bool // no events are received

	recheck chan struct{}  // requests a check of all guards
	ready   chan struct{}  // closed once events are followed
	writers sync.WaitGroup // goroutines that finish a blocked write, and streams about to begin
}

// Options are the durations and limits of a hub. The zero value of each means its default.
type Options struct {
	Ping         time.Duration // between pings; default 15 s
	WriteTimeout time.Duration // for one write to a reader that does not read; default 5 s
	Drain        time.Duration // for all readers together at a shutdown; default 2 s
	Sweep        time.Duration // between checks of pings, leases and lost connections; default 250 ms
	Streams      int           // open at a time; default 20,000
	PerAddress   int           // open at a time per address; default: as many as Streams
}

func (o Options) withDefaults() Options {
	for _, d := range []struct {
		to    *time.Duration
		value time.Duration
	}{{&o.Ping, 15 * time.Second}, {&o.WriteTimeout, 5 * time.Second}, {&o.Drain, 2 * time.Second},
		{&o.Sweep, 250 * time.Millisecond}} {
		if *d.to == 0 {
			*d.to = d.value
		}
	}
	if o.Streams == 0 {
		o.Streams = 20_000
	}
	if o.PerAddress == 0 {
		o.PerAddress = o.Streams
	}
	return o
}

// topic holds a ring and its subscribers. Every change copies the list of subscribers, so that a sweep needs no lock.
type topic struct {
	name        string
	ring        ring
	subscribers atomic.Pointer[[]*subscriber]
}

func (t *topic) list() []*subscriber {
	if p := t.subscribers.Load(); p != nil {
		return *p
	}
	return nil
}

// New returns a hub. Streams wait in Open until Run follows the events.
func New(source Source, log *slog.Logger, o Options) *Hub {
	return &Hub{
		source: source, log: log, options: o.withDefaults(),
		topics: make(map[string]*topic), ready: make(chan struct{}), recheck: make(chan struct{}, 1),
		guarded: make(map[*subscriber]struct{}),
		byOwner: make(map[holds.Owner]*subscriber), all: make(map[*subscriber]struct{}),
		byAddress: make(map[netip.Addr]int), ended: make(map[endReason]uint64),
	}
}

// Run follows events until ctx ends. It then ends every stream and waits up to Options.Drain for their last frames.
func (h *Hub) Run(ctx context.Context) {
	var work sync.WaitGroup
	work.Go(func() { h.follow(ctx) })
	work.Go(func() { h.maintain(ctx) })
	work.Go(func() { h.watchGuards(ctx) })
	work.Wait()
	h.shutdown()
}

// goneCheck is the interval at which the hub checks whether the peer of a silent connection has closed it.
const goneCheck = 2 * time.Second

// maintain sends pings, ends streams whose lease has expired, and drops streams whose reader has disconnected.
func (h *Hub) maintain(ctx context.Context) {
	timed.Every(ctx, h.options.Sweep, func(now time.Time) {
		for _, s := range h.subscribers() {
			switch {
			case !now.Before(s.leaseEnds):
				h.end(s, endLeaseExpired)
			case now.Sub(s.pinged) >= h.options.Ping:
				s.pinged = now
				s.add([]byte(pingFrame))
				h.flush(s)
			case now.Sub(s.checked) >= goneCheck:
				s.checked = now
				if s.conn.isGone() {
					h.drop(s, endClientAbort)
				}
			}
		}
	})
}

// Count returns the number of open streams.
func (h *Hub) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.all)
}

// Topics returns the number of open streams for each topic that has any.
func (h *Hub) Topics() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	open := make(map[string]int, len(h.topics))
	for name, t := range h.topics {
		open[name] = len(t.list())
	}
	return open
}

// Ended returns the number of streams that have ended, by reason. It lists every reason.
func (h *Hub) Ended() map[string]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make(map[string]uint64, len(endReasons))
	for _, reason := range endReasons {
		all[string(reason)] = h.ended[reason]
	}
	return all
}

// subscribers lists all subscribers that have joined and whose stream has not ended.
func (h *Hub) subscribers() []*subscriber {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*subscriber, 0, len(h.all))
	for s := range h.all {
		list = append(list, s)
	}
	return list
}

// join adds a subscriber to a topic before its snapshot is taken, so that no event is lost in between. The
// subscriber's writing mark is set, so no goroutine writes to it before start. join ends the previous stream of the
// same client. Errors: ErrStopping.
func (h *Hub) join(s *subscriber, topicName string) error {
	h.mu.Lock()
	if h.stopping {
		h.mu.Unlock()
		return ErrStopping
	}
	t := h.topics[topicName]
	if t == nil {
		t = &topic{name: topicName}
		h.topics[topicName] = t
	}
	s.topic = t
	s.at = t.ring.tail()
	s.writing.Store(true)
	// Each lease is shortened by a random amount of up to a tenth, so that streams that were opened at the same time do
	// not all reconnect at the same time.
	s.leaseEnds = s.pinged.Add(s.lease - time.Duration(rand.Int64N(int64(s.lease)/10+1)))
	list := append(slices.Clone(t.list()), s)
	t.subscribers.Store(&list)
	h.all[s] = struct{}{}
	if s.guard != nil {
		h.guarded[s] = struct{}{}
	}
	h.writers.Add(1) // until its snapshot is written: a shutdown waits for that, and for the end frame after it
	var before *subscriber
	if !s.owner.IsZero() {
		before = h.byOwner[s.owner]
		h.byOwner[s.owner] = s
	}
	h.mu.Unlock()
	if before != nil {
		h.end(before, endReplaced)
	}
	return nil
}

// start allows writes of live events to a subscriber that has received its snapshot.
func (h *Hub) start(s *subscriber) {
	s.writing.Store(false)
	h.flush(s)
}

// remove removes a subscriber from every list. If it was the topic's last subscriber, remove also removes the topic
// with its ring. It reports whether this call removed the subscriber.
func (h *Hub) remove(s *subscriber, reason endReason) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.all[s]; !ok {
		return false
	}
	delete(h.all, s)
	delete(h.guarded, s)
	h.ended[reason]++
	if h.byOwner[s.owner] == s {
		delete(h.byOwner, s.owner)
	}
	list := slices.DeleteFunc(slices.Clone(s.topic.list()), func(other *subscriber) bool { return other == s })
	s.topic.subscribers.Store(&list)
	if len(list) == 0 {
		delete(h.topics, s.topic.name)
	}
	return true
}

// end ends a stream in order: first the hub writes the frames that its reader has not received, then the end frame, and
// then it closes the connection.
func (h *Hub) end(s *subscriber, reason endReason) {
	if s.setEnd(reason) {
		h.flush(s)
	}
}

// endAll ends every stream that is open now.
func (h *Hub) endAll(reason endReason) {
	for _, s := range h.subscribers() {
		h.end(s, reason)
	}
}

// drop ends a stream whose connection is no longer usable.
func (h *Hub) drop(s *subscriber, reason endReason) {
	if h.remove(s, reason) {
		s.conn.close()
		h.log.Debug("stream ended", "connection", s.id, "reason", string(reason))
	}
}

// stop refuses new streams from now on and ends those that are open.
func (h *Hub) stop(reason endReason) {
	h.mu.Lock()
	h.stopping = true
	h.mu.Unlock()
	h.endAll(reason)
}

// shutdown ends every stream and waits for their last frames.
func (h *Hub) shutdown() {
	h.stop(endShutdown)
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
	for _, s := range h.subscribers() {
		h.drop(s, endShutdown)
	}
	<-done // writes to closed connections return immediately
}

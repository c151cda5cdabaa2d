package web

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"holdfast/holds"
)

// follow appends events to the rings and sweeps the streams behind them. If it falls behind the events itself, it
// watches anew first and then ends every stream that may have missed one.
func (h *hub) follow(ctx context.Context) {
	for first := true; ctx.Err() == nil; first = false {
		watch, err := h.engine.Watch(ctx)
		if err != nil {
			return
		}
		if first {
			close(h.ready)
		} else {
			for _, s := range h.everyone() {
				h.finish(s, endSendFailed)
			}
		}
		err = h.relay(ctx, watch)
		watch.Close()
		if errors.Is(err, holds.ErrClosed) {
			return
		}
		if errors.Is(err, holds.ErrSlow) {
			h.log.Error("the hub fell behind the events; every stream is ended and starts afresh")
		}
	}
}

// relay hands on what a watch reports until it ends.
func (h *hub) relay(ctx context.Context, watch holds.Watch) error {
	epoch := h.engine.Epoch()
	var grown []*topic
	var frame []byte
	for events := make([]holds.Event, 0, 256); ; {
		var err error
		if events, err = watch.Next(ctx, events); err != nil {
			return err
		}
		grown = grown[:0]
		for i := range events {
			frame, grown = h.append(&events[i], epoch, frame, grown)
		}
		for _, t := range grown {
			h.sweep(t.list())
		}
	}
}

// append encodes one event and adds it to the rings of those it concerns.
func (h *hub) append(ev *holds.Event, epoch string, frame []byte, grown []*topic) ([]byte, []*topic) {
	if ev.Kind == holds.EventHeartbeat {
		if s := h.owner(ev); s != nil {
			s.add(appendEvent(nil, epoch, ev, s.client))
			h.flush(s)
		}
		return frame, grown
	}
	owner := h.owner(ev)
	frame = frame[:0]
	add := func(id string) {
		t := h.topicWithReaders(id)
		if t == nil {
			return
		}
		if len(frame) == 0 {
			frame = appendEvent(frame, epoch, ev, "")
		}
		if owner != nil && owner.topic == t { // before the frame can be read
			owner.patch(t.ring.tail(), ownForm(nil, frame, owner.client))
		}
		t.ring.append(frame, ev)
		if !slices.Contains(grown, t) {
			grown = append(grown, t)
		}
	}
	switch ev.Kind {
	case holds.EventPresence, holds.EventSession:
		add(presenceTopic)
	case holds.EventAppointment:
		add(staffTopic)
	default:
		add(staffTopic)
		for _, id := range h.engine.Concerns(ev) {
			add(id)
		}
	}
	return frame, grown
}

// owner is the stream of the client whose event it is.
func (h *hub) owner(ev *holds.Event) *stream {
	if ev.Client == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byClient[ev.Client]
}

// topicWithReaders is a topic if anybody listens to it. A ring without readers is not written.
func (h *hub) topicWithReaders(id string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[id]; t != nil && len(t.list()) > 0 {
		return t
	}
	return nil
}

// sweep writes to every stream what it is behind. Large sweeps are shared among the processors.
func (h *hub) sweep(list []*stream) {
	const enough = 128
	parts := min(runtime.GOMAXPROCS(0), 1+len(list)/enough)
	if parts == 1 {
		for _, s := range list {
			h.flush(s)
		}
		return
	}
	var work sync.WaitGroup
	size := (len(list) + parts - 1) / parts
	for part := range slices.Chunk(list, size) {
		work.Go(func() {
			for _, s := range part {
				h.flush(s)
			}
		})
	}
	work.Wait()
}

// flush writes what a stream is behind without waiting. Whoever sets busy owns the stream's position; others leave a
// note by again, and the owner looks once more.
func (h *hub) flush(s *stream) {
	for {
		s.again.Store(true)
		if !s.busy.CompareAndSwap(false, true) {
			return
		}
		s.again.Store(false)
		if blocked := h.flushOnce(s); blocked {
			return // the goroutine that finishes the write owns the stream now
		}
		s.busy.Store(false)
		if !s.again.Load() {
			return
		}
	}
}

// flushOnce writes until nothing is left, and reports whether a goroutine took over.
func (h *hub) flushOnce(s *stream) (blocked bool) {
	for {
		b := s.next()
		if len(b) == 0 {
			h.settle(s)
			return false
		}
		n, err := s.conn.tryWrite(b)
		if err != nil {
			h.drop(s, endClientAbort)
			return false
		}
		if n < len(b) {
			rest := append([]byte(nil), b[n:]...)
			h.writers.Go(func() { h.finishWrite(s, rest) })
			return true
		}
	}
}

// settle is reached when a stream has been written everything. One that was told its end is closed.
func (h *hub) settle(s *stream) {
	if reason, told := s.ending(); told {
		h.drop(s, reason)
	}
}

// finishWrite writes what a reader did not take at once, and all that came meanwhile, under a deadline.
func (h *hub) finishWrite(s *stream, rest []byte) {
	for {
		if err := s.conn.write(rest, h.options.WriteTimeout); err != nil {
			h.drop(s, endSendFailed)
			return
		}
		if b := s.next(); len(b) > 0 {
			rest = append(rest[:0], b...)
			continue
		}
		h.settle(s)
		s.busy.Store(false)
		if !s.again.Load() || !s.busy.CompareAndSwap(false, true) {
			return
		}
		s.again.Store(false)
		rest = rest[:0]
	}
}

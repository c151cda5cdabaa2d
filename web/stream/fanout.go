package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"holdfast/holds"
)

// follow appends events to the rings and sweeps their subscribers, until ctx ends. After an interruption, it first
// watches the events again and then ends every stream that may have missed an event. If it cannot watch the events, it
// ends all streams, so that pages poll, and retries until ctx ends.
func (h *Hub) follow(ctx context.Context) {
	reason, pause := endUnknown, retryLeast
	for first := true; ctx.Err() == nil; {
		watch, err := h.source.Watch(ctx)
		switch {
		case errors.Is(err, holds.ErrClosed):
			h.stopWithoutEvents(ctx, err)
			return
		case err != nil:
			h.interrupt(ctx, err)
			pause = h.wait(ctx, pause)
			continue
		case first:
			first = false
			close(h.ready)
		default:
			h.endAll(reason)
		}
		if h.interrupted.Swap(false) {
			h.log.Info("event subscription restored; accepting live streams again")
		}
		began := time.Now()
		err = h.relay(ctx, watch)
		watch.Close()
		if time.Since(began) > retryMost {
			pause = retryLeast
		}
		switch {
		case errors.Is(err, holds.ErrClosed):
			h.stopWithoutEvents(ctx, err)
			return
		case errors.Is(err, holds.ErrSlow):
			reason = endSendFailed
			h.log.Error("events may have been lost; restarting live streams")
		case ctx.Err() == nil:
			reason = endUnknown
			h.log.Error("event subscription interrupted; restarting live streams", "error", err)
		}
	}
}

const (
	retryLeast = 100 * time.Millisecond // the first pause before a retry
	retryMost  = 2 * time.Second
)

// interrupt ends every stream and refuses new ones, until events are received again.
func (h *Hub) interrupt(ctx context.Context, err error) {
	if ctx.Err() != nil || h.interrupted.Swap(true) {
		return
	}
	h.log.Error("event subscription lost; live streams refused until it is restored", "error", err)
	h.endAll(endUnknown)
}

// wait sleeps for a random time between half the pause and the whole pause, and returns the next pause.
func (h *Hub) wait(ctx context.Context, pause time.Duration) time.Duration {
	timer := time.NewTimer(pause/2 + rand.N(pause/2))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return min(2*pause, retryMost)
}

// IsInterrupted reports whether streams are refused because the hub receives no events.
func (h *Hub) IsInterrupted() bool { return h.interrupted.Load() }

// stopWithoutEvents ends every stream and refuses new ones permanently. If ctx has ended, it does nothing, because
// shutdown ends the streams with a different reason.
func (h *Hub) stopWithoutEvents(ctx context.Context, err error) {
	if ctx.Err() == nil {
		h.log.Error("event subscription ended; live streams closed", "error", err)
		h.stop(endUnknown)
	}
}

// relay appends the events of a watch to the rings and sweeps the subscribers, until the watch ends with an error.
func (h *Hub) relay(ctx context.Context, watch holds.Watch) error {
	epoch := h.source.Epoch()
	var grown []*topic
	var frame []byte
	for events := make([]holds.Event, 0, 256); ; {
		var err error
		if events, err = watch.Next(ctx, events); err != nil {
			return err
		}
		clear(grown) // so that rings without subscribers can be freed
		grown = grown[:0]
		for i := range events {
			frame, grown = h.append(&events[i], epoch, frame, grown)
		}
		for _, t := range grown {
			h.sweep(t.list())
		}
	}
}

// append encodes one event and adds it to the rings of the topics that it concerns.
func (h *Hub) append(ev *holds.Event, epoch string, frame []byte, grown []*topic) ([]byte, []*topic) {
	if ev.Kind == holds.EventStream {
		h.heard(ev)
		return frame, grown
	}
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
		t := h.topicOf(id)
		if t == nil {
			return
		}
		if len(frame) == 0 {
			frame = appendEvent(frame, epoch, ev, "")
		}
		if owner != nil && owner.topic == t { // before another goroutine can read the frame
			owner.patch(t.ring.tail(), ownForm(nil, frame, owner.client))
		}
		t.ring.append(frame, ev)
		if !slices.Contains(grown, t) {
			grown = append(grown, t)
		}
	}
	switch ev.Kind {
	case holds.EventPresence, holds.EventSession:
		add(Presence)
	case holds.EventAppointment:
		add(AllTypes)
	default:
		add(AllTypes)
		for _, id := range h.source.Concerns(ev) {
			add(id)
		}
		grown = h.affect(ev, grown)
	}
	return frame, grown
}

// affect notifies the subscribers of other types whose slots an event changes, so that they list the slots again. The
// notice is not an event and has no id.
func (h *Hub) affect(ev *holds.Event, grown []*topic) []*topic {
	if h.source.Affects == nil || ev.Resources == "" {
		return grown
	}
	types, generation := h.source.Affects(ev)
	notice := holds.Event{Kind: holds.EventAvailability, At: ev.At, Generation: generation,
		Span: holds.Span{SpecialistID: ev.SpecialistID}}
	for _, id := range types {
		if t := h.topicOf(id); t != nil {
			t.ring.append(appendData(nil, &notice, ""), &notice)
			if !slices.Contains(grown, t) {
				grown = append(grown, t)
			}
		}
	}
	return grown
}

// owner returns the subscriber of the client that owns the event, or nil if there is none.
func (h *Hub) owner(ev *holds.Event) *subscriber {
	if ev.Owner.IsZero() {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byOwner[ev.Owner]
}

// topicOf returns the topic with this name, or nil if it has no subscribers.
func (h *Hub) topicOf(name string) *topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.topics[name]
}

// sweep writes the frames that each subscriber has not received yet. Several goroutines share a large sweep.
func (h *Hub) sweep(list []*subscriber) {
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

// flush writes the pending bytes of a subscriber without waiting. If another goroutine is writing to it, flush asks
// that goroutine to check once more before it stops.
func (h *Hub) flush(s *subscriber) {
	for {
		s.asked.Store(true)
		if !s.writing.CompareAndSwap(false, true) {
			return
		}
		s.asked.Store(false)
		if blocked := h.flushOnce(s); blocked {
			return // the goroutine that finishes the write owns the writing mark now
		}
		s.writing.Store(false)
		if !s.asked.Load() {
			return
		}
	}
}

// flushOnce writes until nothing is left. If a write would block, a separate goroutine continues.
func (h *Hub) flushOnce(s *subscriber) (blocked bool) {
	for {
		b := s.next()
		if len(b) == 0 {
			h.closeIfEnded(s)
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

// closeIfEnded closes the connection of a subscriber once everything has been written, including the end frame.
func (h *Hub) closeIfEnded(s *subscriber) {
	if reason, sent := s.ended(); sent {
		h.drop(s, reason)
	}
}

// finishWrite writes the rest of a write that would have blocked, and all frames since then, each write under a
// deadline.
func (h *Hub) finishWrite(s *subscriber, rest []byte) {
	for {
		if err := s.conn.write(rest, h.options.WriteTimeout); err != nil {
			h.drop(s, endSendFailed)
			return
		}
		if b := s.next(); len(b) > 0 {
			rest = append(rest[:0], b...)
			continue
		}
		h.closeIfEnded(s)
		s.writing.Store(false)
		if !s.asked.Load() || !s.writing.CompareAndSwap(false, true) {
			return
		}
		s.asked.Store(false)
		rest = rest[:0]
	}
}

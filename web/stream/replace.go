package stream

import (
	"context"
	"time"

	"holdfast/holds"
)

// # One stream per client, on all nodes
//
// A hub ends a client's stream when the client opens another. With several nodes, each stream is announced to all nodes
// after it has joined. All nodes receive the announcements in the same order, and the first one announced counts as the
// older stream. So a hub ends its own stream of a client if it receives the announcement of that stream first, and then
// the announcement of another stream of the same client.

// announceBound limits how long an announcement can take. A stream that could not be announced stays open.
const announceBound = time.Second

// announce announces the stream of a subscriber that has joined to all nodes.
func (h *Hub) announce(ctx context.Context, s *subscriber) {
	if h.source.Announce == nil || s.owner.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceBound)
	defer cancel()
	if err := h.source.Announce(ctx, s.owner, s.id); err != nil {
		h.log.Warn("failed to announce that a live stream was replaced; the older stream may stay open", "connection", s.id,
			"error", err)
	}
}

// heard handles the announcement that a client has opened a stream, on this node or another one.
func (h *Hub) heard(ev *holds.Event) {
	h.mu.Lock()
	own := h.byOwner[ev.Owner]
	replaced := own != nil && own.id != ev.ConnectionID && own.announced
	if own != nil && own.id == ev.ConnectionID {
		own.announced = true
	}
	h.mu.Unlock()
	if replaced {
		h.end(own, endReplaced)
	}
}

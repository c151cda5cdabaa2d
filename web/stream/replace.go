package stream

import (
	"context"
	"time"

	"holdfast/holds"
)

// # One stream of a client, over all nodes
//
// A hub ends the stream that a client had when the client opens another. Where there are other nodes, a stream that has joined is
// announced to all of them, in one order: whoever hears of a stream of the same client after its own was announced ends its own.
// What was announced before it came first, and was replaced by it.

// announceBound is how long an announcement may take. A stream that could not be announced is not the less open.
const announceBound = time.Second

// announce tells all nodes of a subscriber that has joined.
func (h *Hub) announce(ctx context.Context, s *subscriber) {
	if h.source.Announce == nil || s.owner.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, announceBound)
	defer cancel()
	if err := h.source.Announce(ctx, s.owner, s.id); err != nil {
		h.log.Warn("replaced live stream not announced; an older one may stay open", "connection", s.id, "error", err)
	}
}

// heard takes in that a client has opened a stream, here or at another node.
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

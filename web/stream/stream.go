// Package stream is the live stream: it sends every open page the events for the times that it shows, as Server-Sent
// Events (docs/api/openapi.yaml describes the wire format). It uses the events of package holds. Everything else that
// it needs, such as the current holds, comes from functions: see Source. It imports neither web nor the engine.
//
// # From an event to a reader
//
//	holds.Watch ─► follow ─► append: one frame, into the ring of each topic it concerns
//	                   └───► sweep:  each subscriber of those rings receives its missing frames
//
// A topic is what a page subscribes to: one appointment type, AllTypes for the desk, or Presence. It has a ring and a
// list of subscribers. A ring is a log of bytes, and each subscriber has a position in it. So the hub encodes an event
// once and sends the same bytes to all subscribers. The busier the server is, the more events each write contains.
//
// A subscriber costs no goroutine, no timer and no buffer: the hub takes its connection over from the HTTP server
// (Open) and writes to it without waiting. If a write would block, a goroutine finishes it under a deadline, and sweeps
// skip that subscriber in the meantime. No other reader waits for a slow one. If a reader falls so far behind that its
// ring has dropped frames that it needs, its stream ends with send-failed.
//
// # No event is lost or sent twice
//
// Open first joins the topic, then takes the snapshot, and then starts to write. An event between joining and the
// snapshot is in both the ring and the snapshot. So the subscriber remembers the holds and selections of its snapshot
// (known) and skips their frames until events are later than the snapshot.
//
// # Ownership
//
//   - Hub.mu guards the topics, clients and addresses. No goroutine writes to a connection while it holds Hub.mu.
//   - subscriber.writing is a lock that no goroutine waits for. The goroutine that sets it owns the position and the
//     connection's writing side. All others set asked, and the owner checks it before it unlocks.
//   - subscriber.mu guards data from other goroutines: frames for this subscriber, and how the stream is to end.
//   - ring.mu guards the list of chunks. Bytes in a chunk never change, so they are written without a lock.
//
// The hub deletes a topic and its ring when the last subscriber leaves.
//
// # The end
//
// Unless the connection is lost, the last frame of a stream gives the reason for its end (endReason). end writes the
// pending frames first and then that frame. A stream that was opened with a credential also ends when the credential is
// revoked or expires (Guard). drop closes a connection immediately. When Run's context ends, Run ends all streams and
// waits up to Options.Drain for their last frames.
package stream

import (
	"context"

	"holdfast/holds"
)

// Source supplies the events and the current state to a hub.
type Source struct {
	// Epoch names this run of the event numbering.
	Epoch func() string
	// Watch follows every event from now on.
	Watch func(context.Context) (holds.Watch, error)
	// Concerns lists the appointment types whose subscribers receive an event.
	Concerns func(*holds.Event) []string
	// Affects lists the other types whose slots an event changes because they share a resource with it, and their
	// generation. Their subscribers list the slots again. Nil means that there are no such types.
	Affects func(*holds.Event) (appointmentTypeIDs []string, generation uint64)
	// Slots returns the current state of one appointment type, or of all types if the id is empty.
	Slots func(ctx context.Context, appointmentTypeID string) (Snapshot, error)
	// Presence returns the online specialists and the open sessions.
	Presence func(context.Context) (Snapshot, error)
	// Announce publishes a holds.EventStream, so that the hub of another node ends the client's stream there. Nil means
	// that there is only one node.
	Announce func(ctx context.Context, owner holds.Owner, connectionID string) error
}

// Snapshot is the state that a new subscriber receives before the first event.
type Snapshot struct {
	Generation uint64 // of the slots, read before the rest
	Holds      []holds.Hold
	Looking    []holds.Selection
	Presence   []holds.Event // EventPresence and EventSession, like live events
}

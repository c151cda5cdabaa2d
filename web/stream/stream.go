// Package stream is the live stream: it tells every open page what happens to the times that it shows, in Server-Sent Events
// (the wire is described in docs/api/openapi.yaml). It knows the events of package holds. What it needs to know besides, such as
// what is held at the moment, it is given as functions: see Source. It imports neither web nor the engine.
//
// # From an event to a reader
//
//	holds.Watch ─► follow ─► append: one frame, into the ring of each topic it concerns
//	                   └───► sweep:  each subscriber of those rings is written what it has not had
//
// A topic is what a page follows: one appointment type, AllTypes for the desk, or Presence. It has a ring and the list of its
// subscribers. A ring is a log of bytes, and a subscriber is a position in it. So an event is encoded once, all subscribers are
// sent the same bytes, and the busier the server is, the more events go out in one write.
//
// A subscriber costs no goroutine, no timer and no buffer: its connection is taken over from the HTTP server (Open), and the hub
// writes to it without waiting. A write that would block is finished by a goroutine of its own under a deadline, while sweeps
// pass that subscriber over. Nobody waits for a slow reader; one that falls off its ring is ended with send-failed.
//
// # Nothing lost, nothing doubled
//
// Open joins the topic first, takes the snapshot second, and starts the writing third. What happens between joining and the
// snapshot is in both; the subscriber remembers the holds and looks of its snapshot (known) and leaves out their frames, until
// events are later than the snapshot.
//
// # Who owns what
//
//   - Hub.mu guards who is there: topics, clients, addresses. It is never held while something is written.
//   - subscriber.writing is a lock that is never waited for. Whoever sets it owns the position and the connection's writing side;
//     all others leave a note (asked), and the owner looks once more before it lets go.
//   - subscriber.mu guards what others hand over: frames of its own, and how the stream is to end.
//   - ring.mu guards the list of chunks. Bytes in a chunk never change, so they are written without a lock.
//
// A topic lives as long as somebody is subscribed to it, and its ring with it.
//
// # The end
//
// A stream ends with a frame that says why (endReason), unless the connection is lost. end is the polite way: first what is
// still to be read, then the frame. A stream that was opened with a credential ends with it (Guard). drop is for a connection that is of no use any more. Run ends all of them when its context
// ends, and waits for their last frames, at most Options.Drain.
package stream

import (
	"context"

	"holdfast/holds"
)

// Source is where a hub learns what happens and what is so now.
type Source struct {
	// Epoch names this run of the event numbering.
	Epoch func() string
	// Watch follows every event from now on.
	Watch func(context.Context) (holds.Watch, error)
	// Concerns lists the appointment types whose subscribers an event is for.
	Concerns func(*holds.Event) []string
	// Affects lists those besides whose slots an event changes by what they have in common, and their generation: they are told to list
	// anew. Nil: there are none.
	Affects func(*holds.Event) (appointmentTypeIDs []string, generation uint64)
	// Slots says what is so now of one appointment type, or of all for the empty id.
	Slots func(ctx context.Context, appointmentTypeID string) (Snapshot, error)
	// Presence says who is online and which sessions are open.
	Presence func(context.Context) (Snapshot, error)
	// Announce publishes a holds.EventStream, so that the hub of another node ends the stream that the client had there. Nil:
	// there is no other node.
	Announce func(ctx context.Context, owner holds.Owner, connectionID string) error
}

// Snapshot is what a new subscriber is told before the first event.
type Snapshot struct {
	Generation uint64 // of the slots, read before the rest
	Holds      []holds.Hold
	Looking    []holds.Selection
	Presence   []holds.Event // EventPresence and EventSession, as if they had just happened
}

package holds

import "time"

// EventKind is the kind of an Event. Its string value is the "type" in the wire format.
type EventKind string

const (
	EventHold      EventKind = "hold"
	EventHeartbeat EventKind = "heartbeat" // a hold was extended; for its owner only
	EventRelease   EventKind = "release"
	EventConfirm   EventKind = "confirm"
	// a booking from the feed whose EventConfirm did not arrive; its type on the wire is "confirm"
	EventBooked       EventKind = "booked"
	EventCancel       EventKind = "cancel"
	EventSelect       EventKind = "select"
	EventDeselect     EventKind = "deselect"
	EventAvailability EventKind = "availability" // hours, overrides, blocks, the specialist or a type changed
	EventPresence     EventKind = "presence"     // a specialist went online or offline; Reason says which
	EventSession      EventKind = "session"      // the on-demand session SessionID changed; Reason is its status
	EventAppointment  EventKind = "appointment"  // an appointment changed; for staff only
	// Owner opened the live stream ConnectionID, on any node; used only by the hubs
	EventStream EventKind = "stream"
)

// FromFeed reports whether events of this kind are published by the follower of the store's feed. Every process
// follows the feed, so such an event goes only to the watchers of the process that publishes it.
func (k EventKind) FromFeed() bool {
	switch k {
	case EventBooked, EventCancel, EventAvailability, EventSession, EventAppointment:
		return true
	}
	return false
}

// Reason is why a hold was released.
type Reason string

const (
	ReasonReleased  Reason = "released"  // by its owner
	ReasonExpired   Reason = "expired"   // its lifetime ended
	ReasonDisplaced Reason = "displaced" // by staff, or by the rule for the loser after a storage outage
	ReasonConflict  Reason = "conflict"  // the database refused its booking
)

// Event is one change to the live state, or to durable state that watchers need to know about. It is a value and never
// changes after it is published.
//
// Events for one specialist are published in the order in which they took effect. Seq numbers all events in one epoch
// without a gap.
type Event struct {
	Kind   EventKind
	Seq    uint64
	At     time.Time
	HoldID string
	Span
	Resources IDs       // of the hold
	ExpiresAt time.Time // of the hold, if there is one
	// MaxExpiresAt is the hold's. Only other nodes use it. It is zero if the backend is a single process.
	MaxExpiresAt time.Time
	Owner        Owner // the owner of the hold, selection, appointment or session
	Reason       Reason
	// AppointmentTypeIDs is set on an EventAvailability that concerns only these types.
	AppointmentTypeIDs []string
	AppointmentID      string // for EventAppointment
	Version            int64  // of the appointment
	Generation         uint64 // for EventAvailability: the specialist's new cache generation
	SessionID          string
	ConnectionID       string // of EventStream
}

package holds

import "time"

// EventKind is what happened. Its text is the wire's "type".
type EventKind string

const (
	EventHold         EventKind = "hold"
	EventHeartbeat    EventKind = "heartbeat" // a hold was extended; for its owner only
	EventRelease      EventKind = "release"
	EventConfirm      EventKind = "confirm"
	EventBooked       EventKind = "booked" // a booking of the feed whose EventConfirm did not come; the wire's type is "confirm"
	EventCancel       EventKind = "cancel"
	EventSelect       EventKind = "select"
	EventDeselect     EventKind = "deselect"
	EventAvailability EventKind = "availability" // hours, overrides, blocks, the specialist or a type changed
	EventPresence     EventKind = "presence"     // a specialist went online or offline; Reason says which
	EventSession      EventKind = "session"      // an on-demand session changed; SessionID names it, Reason its status
	EventAppointment  EventKind = "appointment"  // an appointment changed; for staff only
	EventStream       EventKind = "stream"       // Owner opened the live stream ConnectionID, at whichever node; for the hubs only
)

// FromFeed reports whether events of this kind are told by whoever follows the store's feed. Every process follows it, so
// such an event concerns the watchers of the process that publishes it and nobody else.
func (k EventKind) FromFeed() bool {
	switch k {
	case EventBooked, EventCancel, EventAvailability, EventSession, EventAppointment:
		return true
	}
	return false
}

// Reason says why a hold was released.
type Reason string

const (
	ReasonReleased  Reason = "released"  // by its owner
	ReasonExpired   Reason = "expired"   // it lapsed
	ReasonDisplaced Reason = "displaced" // by staff, or by the loser's rule after a storage outage
	ReasonConflict  Reason = "conflict"  // its booking was refused by the database
)

// Event is one change of the live state, or of the durable state as far as watchers care. It is a value and never
// changes after it was published.
//
// Events of one specialist are published in the order in which they took effect, and Seq numbers all events of one
// epoch without a gap.
type Event struct {
	Kind   EventKind
	Seq    uint64
	At     time.Time
	HoldID string
	Span
	Resources IDs       // of the hold
	ExpiresAt time.Time // of the hold, where there is one
	// MaxExpiresAt of the hold is for the nodes only, and zero where the backend is one process.
	MaxExpiresAt time.Time
	Owner        Owner // whose hold, selection, appointment or session it is
	Reason       Reason
	// AppointmentTypeIDs is set on EventAvailability that concerns only these types.
	AppointmentTypeIDs []string
	AppointmentID      string // for EventAppointment
	Version            int64  // of the appointment
	Generation         uint64 // for EventAvailability: the specialist's new cache generation
	SessionID          string
	ConnectionID       string // of EventStream
}

// Package occupancy keeps each specialist's occupied time in memory: the confirmed appointments, and the time that the
// practice-management system reports as taken or open.
//
// # Appointments
//
// Memory contains each specialist's confirmed appointments for the range that was last requested (appointment.go). The
// store's feed applies every change in commit order before the Write that made it returns (follow.go). So memory
// matches the database, and a time that is taken is refused without a query.
//
// # Time that the practice-management system refused
//
// An appointment that exists only in the practice-management system looks like free time here. If that system refuses a
// slot for this reason, the engine closes the slot's time as if it were booked: the slot is not listed, not offered to
// agents, and cannot be held or booked. The time opens again when the practice-management system lists it, or after
// ClosedFor at the latest, since no notification says when it becomes free. An agent's booking ignores closures,
// because the practice-management system responds before the booking is confirmed. Closures are rows, so they survive a
// restart (closure.go).
//
// # Openings of the practice-management system
//
// If the practice-management system lists its openings, package outbound fetches them ahead of time, and a slot is
// offered only if it is within an opening. Otherwise, a time booked in that system by telephone would be offered here,
// confirmed by email, and refused an hour later. Openings are used until they are older than the limit. By then, the
// practice-management system has been unreachable for a long time, and the engine offers Holdfast's own calendar again,
// as it did before the first response, so that an outage does not empty the page. Bookings then wait in the queue and
// might be refused (opening.go, docs/decisions/0025).
//
// If the practice-management system has not listed any opening for a type since startup, the type is offered from
// Holdfast's own calendar, because not every practice has configured its online openings.
package occupancy

import (
	"log/slog"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Time contains the occupied time of all specialists. It is safe for concurrent use.
type Time struct {
	store  store.Store
	holds  holds.Backend // contains the busy bits
	log    *slog.Logger
	clinic *clinic.Clinic
	events record.Publisher

	appointments appointments
	closed       closures
	open         openings
	doubts       chan holds.Span // refusals to check; see Doubt
}

// maxDoubts is the maximum number of refusals waiting to be checked.
const maxDoubts = 64

// New returns an empty Time. It reads time on request and follows the changes that it receives. openingsMaxAge is the
// maximum age of the practice-management system's openings that are used.
func New(s store.Store, live holds.Backend, log *slog.Logger, c *clinic.Clinic, events record.Publisher,
	openingsMaxAge time.Duration) *Time {
	tm := &Time{store: s, holds: live, log: log, clinic: c, events: events}
	tm.appointments.filled, tm.appointments.followed = tm.fillBusy, tm.followBusy
	tm.closed.changed = make(chan struct{}, 1)
	tm.doubts = make(chan holds.Span, maxDoubts)
	tm.open.maxAge = openingsMaxAge
	return tm
}

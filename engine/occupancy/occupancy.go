// Package occupancy keeps the occupied time of each specialist in memory: the confirmed appointments, and what the
// practice-management system reports of its own.
//
// # Appointments
//
// The confirmed appointments of each specialist are kept over the stretch that was asked for last (appointment.go), applied by
// the store's feed in commit order before the Write that made a change returns (follow.go). So memory is what the database is,
// and a time that is known to be taken is refused without asking it.
//
// # Time that the practice system refused
//
// What the practice system has taken and Holdfast does not know looks free here. When it refuses a slot for that, the
// stretch is closed for a while, like a booked one: it is not listed, not offered to agents, and cannot be held or booked.
// It opens again when the practice system lists it, and after ClosedFor in any case, since nobody tells us when it is free.
// An agent's booking goes past it: the practice system itself is asked before anything is promised. Closures are rows: a
// restart forgets none (closure.go).
//
// # What the practice system itself has open
//
// Where the practice system lists its openings they are fetched ahead (package outbound), and a slot is offered only if it lies
// within one: what was booked there by telephone is not offered here, confirmed by mail, and refused an hour later. Openings are
// believed until they are older than the limit. Past it the practice system has not been reached for long, and Holdfast's own
// calendar is offered again as it was before the first answer, so that an outage does not empty the page; what is booked then
// waits in the queue, and may be refused (opening.go, docs/decisions/0025).
//
// A type for which the practice system has never listed anything since the start is offered from the own calendar: not every
// practice has set its online openings up.
package occupancy

import (
	"log/slog"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Time knows what is taken. It is safe for concurrent use.
type Time struct {
	store  store.Store
	holds  holds.Backend // its busy bits
	log    *slog.Logger
	clinic *clinic.Clinic
	events record.Publisher

	appointments appointments
	closed       closures
	open         openings
	doubts       chan holds.Span // refusals to check; see Doubt
}

// maxDoubts is the maximum number of refusals that wait to be checked.
const maxDoubts = 64

// New returns a Time that knows nothing yet: it reads what it is asked for, and follows what it is told. openingsMaxAge is how old
// the practice system's openings may be and still be believed.
func New(s store.Store, live holds.Backend, log *slog.Logger, c *clinic.Clinic, events record.Publisher, openingsMaxAge time.Duration) *Time {
	tm := &Time{store: s, holds: live, log: log, clinic: c, events: events}
	tm.appointments.filled, tm.appointments.followed = tm.fillBusy, tm.followBusy
	tm.closed.changed = make(chan struct{}, 1)
	tm.doubts = make(chan holds.Span, maxDoubts)
	tm.open.maxAge = openingsMaxAge
	return tm
}

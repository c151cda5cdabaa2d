// Package booking decides who may hold, book, move or cancel a time, and lists the free times.
//
// # The database decides
//
// Every path ends in one Write, whose insert the database can refuse. The guarantee does not depend on anything before
// it. The listing, the occupied time in memory and the hold make refusals rare, early and cheap.
//
// # The path of a booking
//
//	Book        one loop: secure the time, write it, settle the hold; on a conflict, try another seat    book.go
//	  check     everything that is wrong with the request, before the loop; the time that it asks for    book.go
//	  secure    pins the named hold, or claims and pins one of the offers                                claim.go
//	    Offers  the specialists who can take the start, or the reason why none can                       bookable.go
//	  write     one transaction: cooldown, appointment, audit entry, outbox rows, saved response         write.go
//	  settle    confirms the hold, releases it, or returns it to its client                              claim.go
//
// A move (reschedule.go) secures its new time and settles its hold with the same functions.
//
// Cancelling, moving and attendance (attendance.go) are ChangeAppointment (cancel.go): it reads, decides and writes in
// one transaction.
//
// # Memory
//
// Package occupancy keeps each specialist's occupied time in memory. Lists computed from it are cached under a
// generation (cache.go). The minimum notice, the booking horizon and holds are applied when a cached list is read.
//
// # Hooks
//
// A change can require outbound operations: writes to the practice-management system, emails and webhooks. Record
// writes them in the change's transaction, and Enqueue passes them to the queue after the commit. The packages that
// decide which operations a change requires import this one, so New receives their functions in Hooks.
package booking

import (
	"fmt"
	"log/slog"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/engine/token"
	"holdfast/holds"
	"holdfast/store"
)

// Booking holds, books, moves, cancels and lists appointment times. It is safe for concurrent use.
type Booking struct {
	*occupancy.Time // the occupied time of each specialist

	store  store.Store
	holds  *countedHolds
	log    *slog.Logger
	clinic *clinic.Clinic

	events record.Publisher
	hooks  Hooks

	keys     *token.Keys
	lists    *listCache
	recent   *timed.Map[string, recentHold] // keyed by hold id
	confirms *confirms
	live     liveDays
	pulse    pulse
	counts   counts
}

// Options are the parameters of New.
type Options struct {
	Store  store.Store
	Holds  holds.Backend
	Logger *slog.Logger
	Clinic *clinic.Clinic
	Keys   *token.Keys // for signing the manage links
	Events record.Publisher
	Hooks  Hooks

	CacheTTL   time.Duration // how long a computed list is cached; negative turns the cache off
	CacheBytes int64

	OpeningsMaxAge time.Duration // the maximum age of the practice-management system's openings; older ones are ignored
}

// New returns a Booking. Call CloseCache to stop its goroutines.
func New(o Options) (*Booking, error) {
	live := &countedHolds{Backend: o.Holds}
	bk := &Booking{
		Time:  occupancy.New(o.Store, live, o.Logger, o.Clinic, o.Events, o.OpeningsMaxAge),
		store: o.Store, holds: live, log: o.Logger, clinic: o.Clinic, keys: o.Keys, events: o.Events, hooks: o.Hooks,
		confirms: newConfirms(), recent: timed.NewMap[string, recentHold](recentHoldTime, maxRecentHolds),
	}
	var err error
	if bk.lists, err = newListCache(o.CacheBytes, o.CacheTTL); err != nil {
		return nil, fmt.Errorf("slot cache: %w", err)
	}
	return bk, nil
}

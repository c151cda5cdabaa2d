// Package booking decides who may hold, book, move and cancel, and lists what is free.
//
// # The law and the courtesy
//
// A hold is a courtesy, the table is the law. Every path ends in one Write whose insert the database may refuse; nothing
// before it is needed for safety. What comes before it (the listing, the busy bits, the taken time, the hold) makes refusals
// rare, early and cheap.
//
// # A booking's walk
//
//	Book            what is asked for is checked, and the hold it names is found      book.go
//	  bookHeld      the hold is pinned: it cannot lapse while the row is written
//	  bookClaiming  or a hold is claimed first: Candidates, Claim                     hold.go
//	  WriteBooking  one Write: cooldown, appointment, audit, promises, answer         book.go, change.go
//	  Confirm       the hold is confirmed; a conflict releases it
//
// Cancelling, moving and attendance are ChangeAppointment (cancel.go): read, decide and write in one transaction.
//
// # Memory
//
// What is taken of each specialist's time is in memory (package occupancy). Lists computed from it are cached under a generation
// (cache.go); notice, horizon and holds are laid over the cached list when it is read.
//
// # Hooks
//
// A change can require outbound operations: writes to the practice-management system, emails and webhooks. Record writes them in the
// change's transaction, and Enqueue gives them to the queue after the commit. The packages that decide which operations a change
// requires import this one, so New receives their functions in Hooks.
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

// Booking holds, books, moves, cancels and lists. It is safe for concurrent use.
type Booking struct {
	*occupancy.Time // what is taken of each specialist's time

	store  store.Store
	holds  *countedHolds
	log    *slog.Logger
	clinic *clinic.Clinic

	events record.Publisher
	hooks  Hooks

	keys     *token.Keys
	answers  *answers
	recent   *timed.Map[string, recentHold] // by the hold's id
	confirms *confirms
	live     liveDays
	pulse    pulse
	counts   counts
}

// Options are what a Booking is made of.
type Options struct {
	Store  store.Store
	Holds  holds.Backend
	Logger *slog.Logger
	Clinic *clinic.Clinic
	Keys   *token.Keys // sign manage links
	Events record.Publisher
	Hooks  Hooks

	CacheTTL   time.Duration // of a computed list; negative switches the cache off
	CacheBytes int64

	OpeningsMaxAge time.Duration // how old the practice system's openings may be and still be believed
}

// New returns a Booking. CloseCache ends its goroutines.
func New(o Options) (*Booking, error) {
	live := &countedHolds{Backend: o.Holds}
	bk := &Booking{
		Time:  occupancy.New(o.Store, live, o.Logger, o.Clinic, o.Events, o.OpeningsMaxAge),
		store: o.Store, holds: live, log: o.Logger, clinic: o.Clinic, keys: o.Keys, events: o.Events, hooks: o.Hooks,
		confirms: newConfirms(), recent: timed.NewMap[string, recentHold](keepRecentHolds, maxRecentHolds),
	}
	var err error
	if bk.answers, err = newAnswers(o.CacheBytes, o.CacheTTL); err != nil {
		return nil, fmt.Errorf("slot cache: %w", err)
	}
	return bk, nil
}

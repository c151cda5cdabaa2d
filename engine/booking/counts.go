package booking

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Act is the kind of a counted request.
type Act int

const (
	ActHold Act = iota
	ActBook
	ActMove
)

// Acts are the names of all acts in the metrics.
var Acts = []string{"hold", "book", "move"}

// Refusals are the names in the metrics of the reasons why holds, bookings and moves are refused. They are the codes
// and reasons of the answers.
var Refusals = []string{
	"slot_taken", "slot_held", "quota_exceeded", "cooldown_active", "hold_expired", "not_owner", "invalid", "storage",
	string(availability.ReasonInactive), string(availability.ReasonTooSoon), string(availability.ReasonTooFar),
	string(availability.ReasonOverrideClosed), string(availability.ReasonOutsideHours), string(availability.ReasonNotASlotStart), "other",
}

// Sources are the sources of bookings, in the order of the metrics.
var Sources = []store.Source{store.SourceWeb, store.SourceAgent, store.SourceStaff, store.SourceAPI}

// counts are the outcomes of requests since this process started. Each process has its own.
type counts struct {
	held      atomic.Uint64
	moved     atomic.Uint64
	booked    [4]atomic.Uint64     // by Sources
	conflicts atomic.Uint64        // refusals by the database after all earlier checks passed
	refused   [3][15]atomic.Uint64 // by Acts and Refusals
}

// Counts are the numbers of outcomes since this process started.
type Counts struct {
	Holds     uint64     // granted, including renewals by a repeated request
	Moves     uint64     // appointments that were moved
	Bookings  []uint64   // by Sources
	Conflicts uint64     // bookings and moves that only the database refused
	Refused   [][]uint64 // by Acts, then Refusals
}

// BookingCounts returns the counts.
func (bk *Booking) BookingCounts() Counts {
	c := Counts{Holds: bk.counts.held.Load(), Moves: bk.counts.moved.Load(), Conflicts: bk.counts.conflicts.Load()}
	for i := range bk.counts.booked {
		c.Bookings = append(c.Bookings, bk.counts.booked[i].Load())
	}
	for act := range bk.counts.refused {
		of := make([]uint64, len(Refusals))
		for i := range of {
			of[i] = bk.counts.refused[act][i].Load()
		}
		c.Refused = append(c.Refused, of)
	}
	return c
}

// CountRefusal counts a refused act by its reason. It ignores a nil error.
func (bk *Booking) CountRefusal(act Act, err error) {
	if err == nil || errors.Is(err, context.Canceled) { // the client has disconnected
		return
	}
	bk.counts.refused[act][refusalOf(err)].Add(1)
}

// refusalOf returns the index of an error in Refusals.
func refusalOf(err error) int {
	word := "other"
	var held *holds.HeldError
	var cooling *CooldownError
	var closed *availability.NotBookableError
	var invalid *record.ValidationError
	switch {
	case errors.Is(err, store.ErrSlotTaken):
		word = "slot_taken"
	case errors.As(err, &held):
		word = "slot_held"
	case errors.Is(err, holds.ErrQuota):
		word = "quota_exceeded"
	case errors.As(err, &cooling):
		word = "cooldown_active"
	case errors.As(err, &closed) && closed.Reason == availability.ReasonTaken:
		word = "slot_taken"
	case closed != nil:
		word = string(closed.Reason)
	case errors.Is(err, holds.ErrNotFound):
		word = "hold_expired"
	case errors.Is(err, holds.ErrNotOwner):
		word = "not_owner"
	case errors.As(err, &invalid), errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrInvalid):
		word = "invalid"
	case errors.Is(err, store.ErrFull), errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrOverloaded), errors.Is(err, store.ErrClosed),
		errors.Is(err, holds.ErrUnavailable), errors.Is(err, holds.ErrClosed):
		word = "storage"
	}
	if i := slices.Index(Refusals, word); i >= 0 {
		return i
	}
	return len(Refusals) - 1
}

// CountWrite counts a booking that was written, or one that only the database refused.
func (bk *Booking) CountWrite(source store.Source, err error) {
	switch i := slices.Index(Sources, source); {
	case errors.Is(err, store.ErrSlotTaken):
		bk.counts.conflicts.Add(1)
	case err == nil && i >= 0:
		bk.counts.booked[i].Add(1)
	}
}

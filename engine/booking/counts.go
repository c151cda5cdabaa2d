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

// Act is what was asked for when something is counted.
type Act int

const (
	ActHold Act = iota
	ActBook
	ActMove
)

// Acts are those there are, by the words of the metrics.
var Acts = []string{"hold", "book", "move"}

// Refusals are why holds, bookings and moves are refused, by the words of the metrics: the codes and reasons of the answers.
var Refusals = []string{
	"slot_taken", "slot_held", "quota_exceeded", "cooldown_active", "hold_expired", "not_owner", "invalid", "storage",
	string(availability.ReasonInactive), string(availability.ReasonTooSoon), string(availability.ReasonTooFar),
	string(availability.ReasonOverrideClosed), string(availability.ReasonOutsideHours), string(availability.ReasonNotASlotStart), "other",
}

// Sources are who books, by the words of the metrics.
var Sources = []store.Source{store.SourceWeb, store.SourceAgent, store.SourceStaff, store.SourceAPI}

// counts are what became of what was asked for, since the start. They are of this process alone.
type counts struct {
	held      atomic.Uint64
	moved     atomic.Uint64
	booked    [4]atomic.Uint64     // by Sources
	conflicts atomic.Uint64        // refusals by the database after everything before it said yes
	refused   [3][15]atomic.Uint64 // by Acts and Refusals
}

// Counts are how often something happened since the start of this process.
type Counts struct {
	Holds     uint64     // given, renewals by a repeated request included
	Moves     uint64     // appointments that were moved
	Bookings  []uint64   // by Sources
	Conflicts uint64     // bookings and moves that only the database refused
	Refused   [][]uint64 // by Acts, then Refusals
}

// BookingCounts reads them.
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

// CountRefusal counts why an act was refused; nil is none.
func (bk *Booking) CountRefusal(act Act, err error) {
	if err == nil || errors.Is(err, context.Canceled) { // nobody waits for the answer
		return
	}
	bk.counts.refused[act][refusalOf(err)].Add(1)
}

// refusalOf is the place of an error among Refusals.
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

package booking

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/engine/rule"
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

// acts are the names of all acts in the metrics.
var acts = [...]string{"hold", "book", "move"}

// refusals are the reasons why holds, bookings and moves are refused, in the order of the metrics. The names are the
// codes and reasons in the responses. An error counts under the first reason that matches.
var refusals = [...]struct {
	name string
	has  func(error) bool
}{
	{"slot_taken", func(err error) bool {
		return errors.Is(err, store.ErrSlotTaken) || isFor(availability.ReasonTaken)(err)
	}},
	{"slot_held", isA[*holds.HeldError]},
	{"quota_exceeded", isAny(holds.ErrQuota)},
	{"cooldown_active", isA[*CooldownError]},
	{"hold_expired", isAny(holds.ErrNotFound)},
	{"not_owner", isAny(holds.ErrNotOwner)},
	{"invalid", func(err error) bool {
		return isA[*record.ValidationError](err) || isAny(store.ErrNotFound, store.ErrInvalid)(err)
	}},
	{"storage", isAny(store.ErrFull, store.ErrUnavailable, store.ErrOverloaded, store.ErrClosed, holds.ErrUnavailable,
		holds.ErrClosed)},
	{string(availability.ReasonInactive), isFor(availability.ReasonInactive)},
	{string(availability.ReasonTooSoon), isFor(availability.ReasonTooSoon)},
	{string(availability.ReasonTooFar), isFor(availability.ReasonTooFar)},
	{string(availability.ReasonOverrideClosed), isFor(availability.ReasonOverrideClosed)},
	{string(availability.ReasonOutsideHours), isFor(availability.ReasonOutsideHours)},
	{string(availability.ReasonNotASlotStart), isFor(availability.ReasonNotASlotStart)},
	{"clinic_rule", isA[*rule.RefusedError]},
	{"other", func(error) bool { return true }},
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func isAny(all ...error) func(error) bool {
	return func(err error) bool {
		return slices.ContainsFunc(all, func(one error) bool { return errors.Is(err, one) })
	}
}

func isFor(reason availability.Reason) func(error) bool {
	return func(err error) bool {
		var closed *availability.NotBookableError
		return errors.As(err, &closed) && closed.Reason == reason
	}
}

// Sources are the sources of bookings, in the order of the metrics.
var Sources = []store.Source{store.SourceWeb, store.SourceAgent, store.SourceStaff, store.SourceAPI}

// counts holds the outcome totals of requests since this process started. Each process has its own.
type counts struct {
	held      atomic.Uint64
	moved     atomic.Uint64
	booked    [4]atomic.Uint64 // indexed like Sources
	conflicts atomic.Uint64    // refusals by the database after all earlier checks passed
	refused   [len(acts)][len(refusals)]atomic.Uint64
}

// Counts contains the outcome totals since this process started.
type Counts struct {
	Holds     uint64         // granted, including renewals by a repeated request
	Moves     uint64         // appointments that were moved
	Bookings  []uint64       // indexed like Sources
	Conflicts uint64         // bookings and moves that only the database refused
	Refused   []RefusalCount // for every act and reason
}

// RefusalCount is the number of times that an act was refused for one reason. Act and Reason are names in the metrics.
type RefusalCount struct {
	Act, Reason string
	Count       uint64
}

// Counts returns the outcome totals.
func (bk *Booking) Counts() Counts {
	c := Counts{Holds: bk.counts.held.Load(), Moves: bk.counts.moved.Load(), Conflicts: bk.counts.conflicts.Load()}
	for i := range bk.counts.booked {
		c.Bookings = append(c.Bookings, bk.counts.booked[i].Load())
	}
	for act := range acts {
		for i := range refusals {
			c.Refused = append(c.Refused, RefusalCount{acts[act], refusals[i].name, bk.counts.refused[act][i].Load()})
		}
	}
	return c
}

// CountHold counts a hold that was granted or refused.
func (bk *Booking) CountHold(err error) {
	if err == nil {
		bk.counts.held.Add(1)
	}
	bk.CountRefusal(ActHold, err)
}

// CountRefusal counts a refused act under its reason. It ignores a nil error.
func (bk *Booking) CountRefusal(act Act, err error) {
	if err == nil || errors.Is(err, context.Canceled) { // the client has disconnected
		return
	}
	for i := range refusals {
		if refusals[i].has(err) {
			bk.counts.refused[act][i].Add(1)
			return
		}
	}
}

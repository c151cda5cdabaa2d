package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// maxKept bounds by how much a time that is kept can be kept longer.
const maxKept = 8 * 24 * time.Hour

// Wanted is a slot to be kept: of a specialist, or of any; at a place, or wherever it is.
type Wanted struct {
	AppointmentTypeID, SpecialistID, Place string

	Start  time.Time
	Length time.Duration // 0: as long as the type is now
}

// Keep holds a slot until an instant for an owner that is no client: for a booking that waits to be confirmed. Repeated, it
// returns the hold there is, which lapses then if that is later. Whoever wanted the slot was in time, so notice and horizon do not matter any more.
//
// Errors: ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError.
func (bk *Booking) Keep(ctx context.Context, w Wanted, owner holds.Owner, until time.Time) (holds.Hold, error) {
	s := bk.clinic.Current()
	t, ok := s.Types[w.AppointmentTypeID]
	if !ok {
		return holds.Hold{}, record.ErrNoAppointmentType
	}
	t = asAsked(t, w.Length)
	if len(t.Needs) > 0 {
		if _, err := bk.Kept(ctx, w.SpecialistID, owner); err != nil && !errors.Is(err, holds.ErrNotFound) {
			return holds.Hold{}, err
		}
	}
	rules := Rules{Rules: availability.Rules{IgnoreNotice: true, IgnorePast: true}, Place: w.Place}
	offers, err := bk.Offers(ctx, s, t, w.SpecialistID, w.Start, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	ttl := max(time.Until(until), time.Second)
	return bk.Claim(ctx, s, offers, rules, holds.Claim{Owner: owner, TTL: ttl, MaxLife: ttl + maxKept})
}

// asAsked is a type as it was when somebody asked for a time of it: as long as that time, and beginning whenever that does. However the
// type has changed since, what was asked for is what is confirmed. Without a length it is the type as it is.
func asAsked(t *store.AppointmentType, length time.Duration) *store.AppointmentType {
	if length == 0 {
		return t
	}
	asked := *t
	asked.DurationMinutes, asked.SlotStepMinutes = int(length/time.Minute), 1
	return &asked
}

// Kept is the hold that Keep has given to an owner, while it lives. One of a room that was switched off since is given back.
//
// Errors: holds.ErrNotFound, and those of the live state.
func (bk *Booking) Kept(ctx context.Context, specialistID string, owner holds.Owner) (holds.Hold, error) {
	list, err := bk.holds.List(ctx, specialistID)
	if err != nil {
		return holds.Hold{}, err
	}
	if i := slices.IndexFunc(list, func(h holds.Hold) bool { return h.Owner.Is(owner) }); i >= 0 {
		if !bk.clinic.Current().HasInactive(list[i].Resources.List()) {
			return list[i], nil
		}
		bk.Release(ctx, list[i], holds.ReasonReleased)
	}
	return holds.Hold{}, holds.ErrNotFound
}

// LetGo gives back what Keep has kept, if it is there.
func (bk *Booking) LetGo(ctx context.Context, specialistID string, owner holds.Owner) error {
	h, err := bk.Kept(ctx, specialistID, owner)
	if errors.Is(err, holds.ErrNotFound) {
		return nil
	}
	if err == nil {
		bk.Release(ctx, h, holds.ReasonReleased)
	}
	return err
}

// Asking checks a booking that becomes a request. If it names a hold that lives, the hold is pinned and returned: HandOver gives it to
// the request, and Unpin leaves it with its client.
//
// Errors: *ValidationError, holds.ErrNotOwner, holds.ErrNotFound.
func (bk *Booking) Asking(ctx context.Context, r *Request) (t *store.AppointmentType, h holds.Hold, live bool, err error) {
	if t, err = bk.check(r); err != nil || r.HoldID == "" {
		return t, h, false, err
	}
	h, live, err = bk.pinHold(ctx, r)
	if err == nil && live {
		r.SlotStart, r.SpecialistID = h.SlotStart, h.SpecialistID
	}
	return t, h, live, err
}

// HandOver gives a client's hold to a request, in one step. It is called when the request is durable, so a failure is only logged: the
// time is then claimed again when the request is confirmed.
func (bk *Booking) HandOver(ctx context.Context, h holds.Hold, to holds.Owner, until time.Time) {
	ttl := max(time.Until(until), time.Second)
	if _, err := bk.holds.Transfer(context.WithoutCancel(ctx), h.ID, h.Owner, to, ttl, ttl+maxKept); err != nil {
		bk.log.Warn("hold not given to its request; claimed again on confirmation", "error", err)
	}
}

// ReclaimHold ends a hold that was just given and is more than its client may have.
func (bk *Booking) ReclaimHold(ctx context.Context, h *holds.Hold) error {
	_, err := bk.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, holds.ReasonReleased)
	return err
}

// HoldEnd says when a live hold will lapse, and whether it lives. Where that cannot be told, it lives for another second.
func (bk *Booking) HoldEnd(ctx context.Context, id string) (time.Time, bool) {
	h, err := bk.holds.Hold(ctx, id)
	if err != nil && !errors.Is(err, holds.ErrNotFound) {
		return time.Now().Add(time.Second), true
	}
	return h.ExpiresAt, err == nil
}

// Holds lists the live holds of these specialists, of all if none are given.
func (bk *Booking) Holds(ctx context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	return bk.holds.List(ctx, specialistIDs...)
}

// recentHold is what a hold was for, known beyond its lapse: a patient whose hold has just lapsed can still book with it if the
// time is free.
type recentHold struct {
	appointmentTypeID, specialistID string
	slotStart                       time.Time
	owner                           holds.Owner
}

func (x *recentHold) span() holds.Span {
	return holds.Span{AppointmentTypeID: x.appointmentTypeID, SpecialistID: x.specialistID, SlotStart: x.slotStart}
}

// KnowHold has a hold be known beyond its lapse, wherever it was given.
func (bk *Booking) KnowHold(id string, s *holds.Span, owner holds.Owner) {
	bk.recent.Put(id, recentHold{s.AppointmentTypeID, s.SpecialistID, s.SlotStart, owner}, time.Now())
}

const (
	keepRecentHolds = 15 * time.Minute
	maxRecentHolds  = 1 << 15 // one half of the memory
)

// Booked reports whether the booking of a hold was written. The live state asks it about a pinned hold that lapsed: the
// process that pinned it may have died between the commit and the confirmation. An appointment without a client is the
// booking of whoever had the seat pinned, because nobody else could take it.
func Booked(s store.Store) func(holds.Hold) bool {
	return func(h holds.Hold) bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		list, _, err := s.Appointments(ctx, store.AppointmentFilter{
			From: h.SlotStart, To: h.SlotEnd, SpecialistID: h.SpecialistID, Status: store.Confirmed, Limit: 500,
		})
		return err == nil && slices.ContainsFunc(list, func(a store.Appointment) bool {
			return a.AppointmentTypeID == h.AppointmentTypeID && a.SlotStart.Equal(h.SlotStart) && !a.Overbook && a.Seat == h.Seat &&
				(a.Owner == h.Owner.String() || a.Owner == "")
		})
	}
}

package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MinHoldTTL is the shortest TTL that can be requested.
const MinHoldTTL = time.Second

// HoldRequest is a request for a hold.
type HoldRequest struct {
	AppointmentTypeID string
	SlotStart         time.Time
	SpecialistID      string // empty means that Hold assigns one
	Place             string // the id of one of the clinic's places; empty means any
	Client            holds.ClientID
	TTL               time.Duration // 0 means the type's hold TTL
	Displace          bool          // staff: displace another client's hold and notify its owner
	IgnoreHours       bool          // staff: also outside the opening times
	KeepBlocks        bool          // with IgnoreHours: blocks and the hours of rooms still apply
	// Replaces is the id of one of the same client's holds that the new hold replaces. If the new time is not free, the
	// client keeps the old hold.
	Replaces string
	// Moving is the confirmed appointment that this hold will move, opened by its manage link. Its own time counts as
	// free, and the cooldown does not apply.
	Moving *store.Appointment
	// Limit returns the reason why the caller may not hold a span, or nil if it may: for example, because the caller's
	// network already holds its share of the specialist's day. If no specialist is named, specialists over the limit
	// are skipped. If Limit is nil, there is no limit.
	Limit func(*holds.Span) error
}

// moves reports whether a is a confirmed appointment of a type, so that a request for times of this type can move it.
func moves(a *store.Appointment, appointmentTypeID string) bool {
	return a != nil && a.Status == store.Confirmed && a.AppointmentTypeID == appointmentTypeID
}

// Hold claims a slot for one client. If no specialist is named, it assigns one. If a claim fails, it assigns the next
// specialist, until a claim succeeds or no specialist is left.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrQuota,
// *CooldownError, holds.ErrNotOwner (for Replaces).
func (bk *Booking) Hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	h, err := bk.hold(ctx, r)
	bk.CountHold(err)
	return h, err
}

func (bk *Booking) hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	if err := r.validate(); err != nil {
		return holds.Hold{}, err
	}
	s := bk.clinic.Current()
	t, ok := s.Types[r.AppointmentTypeID]
	if !ok {
		return holds.Hold{}, record.ErrNoAppointmentType
	}
	rules := Rules{Rules: availability.Rules{IgnoreHours: r.IgnoreHours, KeepBlocks: r.KeepBlocks}, Place: r.Place}
	if moves(r.Moving, r.AppointmentTypeID) {
		rules.Moving, rules.Moved = map[string]bool{r.Moving.ID: true}, []holds.Booked{occupancy.Booked(r.Moving)}
	}
	offers, err := bk.Offers(ctx, s, t, r.SpecialistID, r.SlotStart, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	if !moves(r.Moving, r.AppointmentTypeID) && !r.Displace {
		if err := bk.CheckCooldown(ctx, bk.store, t, r.Client.Owner().String(), time.Now()); err != nil {
			var cooling *CooldownError
			if errors.As(err, &cooling) {
				return holds.Hold{}, err
			}
			bk.log.Warn("failed to check the cooldown for a hold; the check is repeated at booking", "error", err)
		}
	}
	if offers, err = bk.WithinLimit(ctx, r.Limit, r.Client.Owner(), offers); err != nil {
		return holds.Hold{}, err
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = time.Duration(t.HoldTTLSeconds) * time.Second
	}
	maxLife := time.Duration(t.MaxHoldSeconds) * time.Second
	h, err := bk.Claim(ctx, offers, holds.Claim{
		Owner: r.Client.Owner(), TTL: min(ttl, maxLife), MaxLife: maxLife, Quota: t.HoldQuota, Displace: r.Displace,
		Replaces: holds.Replaced{ID: r.Replaces, Owner: r.Client.Owner()},
	})
	if err == nil {
		bk.KnowHold(h.ID, &h.Span, h.Owner)
	}
	return h, err
}

// WithinLimit returns the offers that a client may hold under limit (see HoldRequest.Limit). A slot that the client
// already holds is not counted again. If no offer is left, it returns the error that limit returned for the first one.
func (bk *Booking) WithinLimit(ctx context.Context, limit func(*holds.Span) error, client holds.Owner,
	offers []Offer) ([]Offer, error) {
	if limit == nil {
		return offers, nil
	}
	var refusal error
	var left []Offer
	for i := range offers {
		err := limit(&offers[i].Span)
		if err == nil {
			left = append(left, offers[i])
		} else if refusal == nil {
			refusal = err
		}
	}
	if len(left) == len(offers) || bk.ownHold(ctx, offers, client) != "" {
		return offers, nil
	}
	if len(left) == 0 {
		return nil, refusal
	}
	return left, nil
}

func (r *HoldRequest) validate() error {
	var m record.Mistakes
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if r.SpecialistID != "" {
		record.CheckID(&m, "specialistId", r.SpecialistID)
	}
	if r.Replaces != "" {
		record.CheckID(&m, "instead", r.Replaces)
	}
	record.CheckClient(&m, r.Client)
	record.CheckStart(&m, r.SlotStart)
	if r.TTL != 0 && (r.TTL < MinHoldTTL || r.TTL > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	return m.Err()
}

// ExtendHold is the heartbeat of a hold. It sets the hold to expire ttl from now (0 means the type's TTL), but never
// after its maximum life. With restart, the maximum life starts over, at most holds.MaxRestarts times.
//
// Errors: holds.ErrNotFound (expired or unknown), holds.ErrNotOwner, holds.ErrRestarts, *ValidationError.
func (bk *Booking) ExtendHold(ctx context.Context, id string, client holds.ClientID, ttl time.Duration,
	restart bool) (holds.Hold, error) {
	var m record.Mistakes
	record.CheckID(&m, "holdId", id)
	record.CheckClient(&m, client)
	if ttl != 0 && (ttl < MinHoldTTL || ttl > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	if err := m.Err(); err != nil {
		return holds.Hold{}, err
	}
	if ttl == 0 {
		ttl = 30 * time.Second
		if h, err := bk.holds.Hold(ctx, id); err == nil {
			if t, ok := bk.clinic.Current().Types[h.AppointmentTypeID]; ok {
				ttl = time.Duration(t.HoldTTLSeconds) * time.Second
			}
		}
	}
	h, err := bk.holds.Extend(ctx, id, client.Owner(), ttl, restart)
	if err == nil {
		bk.KnowHold(h.ID, &h.Span, h.Owner)
	}
	return h, err
}

// ReleaseHold releases a client's hold. It is idempotent and reports whether the hold existed. Errors:
// holds.ErrNotOwner, *ValidationError.
func (bk *Booking) ReleaseHold(ctx context.Context, id string, client holds.ClientID) (bool, error) {
	var m record.Mistakes
	record.CheckID(&m, "holdId", id)
	record.CheckClient(&m, client)
	if err := m.Err(); err != nil {
		return false, err
	}
	return bk.holds.Release(ctx, id, client.Owner(), holds.ReasonReleased)
}

// ReclaimHold releases a hold that was just granted, because its client has too many.
func (bk *Booking) ReclaimHold(ctx context.Context, h *holds.Hold) error {
	_, err := bk.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, holds.ReasonReleased)
	return err
}

// HoldEnd returns when a hold expires and reports whether it is live. If the live state is unreachable, it returns an
// instant one second from now, and true.
func (bk *Booking) HoldEnd(ctx context.Context, id string) (time.Time, bool) {
	h, err := bk.holds.Hold(ctx, id)
	if err != nil && !errors.Is(err, holds.ErrNotFound) {
		return time.Now().Add(time.Second), true
	}
	return h.ExpiresAt, err == nil
}

// Holds lists the live holds of these specialists, or all live holds if none are named.
func (bk *Booking) Holds(ctx context.Context, specialistIDs ...string) ([]holds.Hold, error) {
	return bk.holds.List(ctx, specialistIDs...)
}

// recentHold is the slot of a hold, stored beyond the hold's expiry: a patient whose hold has just expired can still
// book with it if the time is free.
type recentHold struct {
	appointmentTypeID, specialistID string
	slotStart                       time.Time
	owner                           holds.Owner
}

func (x *recentHold) span() holds.Span {
	return holds.Span{AppointmentTypeID: x.appointmentTypeID, SpecialistID: x.specialistID, SlotStart: x.slotStart}
}

// KnowHold stores the slot of a hold beyond the hold's expiry. Any node may have granted the hold.
func (bk *Booking) KnowHold(id string, s *holds.Span, owner holds.Owner) {
	bk.recent.Put(id, recentHold{s.AppointmentTypeID, s.SpecialistID, s.SlotStart, owner}, time.Now())
}

const (
	recentHoldTime = 15 * time.Minute
	maxRecentHolds = 1 << 15 // the limit for each of the two halves of the timed.Map
)

// Booked returns a function that reports whether a hold's booking was written. The live state calls it for a pinned
// hold that has expired, because the process that pinned it might have stopped between the commit and the confirmation.
// An appointment without an owner counts as the pinned hold's booking, because no other client could have taken the
// seat.
func Booked(s store.Store) func(holds.Hold) bool {
	return func(h holds.Hold) bool {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		list, _, err := s.Appointments(ctx, store.AppointmentFilter{
			From: h.SlotStart, To: h.SlotEnd, SpecialistID: h.SpecialistID, Status: store.Confirmed, Limit: 500,
		})
		return err == nil && slices.ContainsFunc(list, func(a store.Appointment) bool {
			return a.AppointmentTypeID == h.AppointmentTypeID && a.SlotStart.Equal(h.SlotStart) && !a.Overbook &&
				a.Seat == h.Seat &&
				(a.Owner == h.Owner.String() || a.Owner == "")
		})
	}
}

package booking

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MinHoldTTL is the shortest TTL that a request may ask for.
const MinHoldTTL = time.Second

// HoldRequest asks for a hold.
type HoldRequest struct {
	AppointmentTypeID string
	SlotStart         time.Time
	SpecialistID      string // empty: assigned
	Place             string // one of the clinic's; empty: any
	Client            holds.ClientID
	TTL               time.Duration // 0: the type's
	Displace          bool          // staff: take it from whoever holds it; its owner is told
	IgnoreHours       bool          // staff: outside the opening times as well
	// Moving is the confirmed appointment that this hold is to move, opened by its manage link. Its own time is free to
	// it, and a cooldown, which is about booking the same type again, does not stand in its way.
	Moving *store.Appointment
	// Limit reports why the caller may not hold this span, such as a network that holds its share of the specialist's day; nil if it may.
	// Where no specialist is named, the hold goes to one that the caller may hold. Nil: no limit.
	Limit func(*holds.Span) error
}

// moves reports whether the hold is for moving an appointment of the type it asks for.
func (r *HoldRequest) moves() bool {
	return r.Moving != nil && r.Moving.Status == store.Confirmed && r.Moving.AppointmentTypeID == r.AppointmentTypeID
}

// Hold claims a slot for one client. Where no specialist is named, one is assigned, and the next one if that claim is
// lost, until one is claimed or none is left.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrQuota,
// *CooldownError.
func (bk *Booking) Hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	h, err := bk.hold(ctx, r)
	if bk.CountRefusal(ActHold, err); err == nil {
		bk.counts.held.Add(1)
	}
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
	rules := Rules{Rules: availability.Rules{IgnoreHours: r.IgnoreHours}, Place: r.Place}
	if r.moves() {
		rules.Moving = map[string]bool{r.Moving.ID: true}
	}
	offers, err := bk.Offers(ctx, s, t, r.SpecialistID, r.SlotStart, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	if !r.moves() && !r.Displace {
		if err := bk.CheckCooldown(ctx, bk.store, t, r.Client.Owner().String(), time.Now()); err != nil {
			var cooling *CooldownError
			if errors.As(err, &cooling) {
				return holds.Hold{}, err
			}
			bk.log.Warn("cooldown not checked for a hold; checked at booking", "error", err)
		}
	}
	if offers, err = bk.withinLimit(ctx, &r, offers); err != nil {
		return holds.Hold{}, err
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = time.Duration(t.HoldTTLSeconds) * time.Second
	}
	maxLife := time.Duration(t.MaxHoldSeconds) * time.Second
	h, err := bk.Claim(ctx, s, offers, rules, holds.Claim{
		Owner: r.Client.Owner(), TTL: min(ttl, maxLife), MaxLife: maxLife, Quota: t.HoldQuota, Displace: r.Displace,
	})
	if err == nil {
		bk.KnowHold(h.ID, &h.Span, h.Owner)
	}
	return h, err
}

// withinLimit returns the offers that the caller may hold. A slot that the client holds already counts already. If no offer is left, the
// error is the limit of the first.
func (bk *Booking) withinLimit(ctx context.Context, r *HoldRequest, offers []Offer) ([]Offer, error) {
	if r.Limit == nil {
		return offers, nil
	}
	var refusal error
	var left []Offer
	for i := range offers {
		err := r.Limit(&offers[i].Span)
		if err == nil {
			left = append(left, offers[i])
		} else if refusal == nil {
			refusal = err
		}
	}
	if len(left) == len(offers) || bk.ownHold(ctx, offers, r.Client.Owner()) != "" {
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
	record.CheckClient(&m, r.Client)
	record.CheckStart(&m, r.SlotStart)
	if r.TTL != 0 && (r.TTL < MinHoldTTL || r.TTL > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	return m.Err()
}

// ExtendHold is a heartbeat: the hold lives for ttl from now (0: its type's), never past its maximum life. With
// restart, the maximum life begins anew, at most holds.MaxRestarts times.
//
// Errors: holds.ErrNotFound (lapsed or unknown), holds.ErrNotOwner, holds.ErrRestarts, *ValidationError.
func (bk *Booking) ExtendHold(ctx context.Context, id string, client holds.ClientID, ttl time.Duration, restart bool) (holds.Hold, error) {
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

// ReleaseHold gives a hold back. It is idempotent and reports whether the hold was there. holds.ErrNotOwner.
func (bk *Booking) ReleaseHold(ctx context.Context, id string, client holds.ClientID) (bool, error) {
	var m record.Mistakes
	record.CheckID(&m, "holdId", id)
	record.CheckClient(&m, client)
	if err := m.Err(); err != nil {
		return false, err
	}
	return bk.holds.Release(ctx, id, client.Owner(), holds.ReasonReleased)
}

package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxPeople is the maximum number of people in a visit.
const MaxPeople = 6

// HoldRequest is a request to hold the time for a visit.
type HoldRequest struct {
	AppointmentTypeIDs []string // one for each person, in the order of the appointments
	SlotStart          time.Time
	SpecialistID       string // empty means that Hold assigns one
	Client             holds.ClientID
	TTL                time.Duration // 0 means the TTL of the first type
	Displace           bool
	IgnoreHours        bool
	// Replaces is the id of one of the same client's holds that the new hold replaces, such as the hold for the first
	// person alone. If the visit's time is not free, the client keeps the old hold.
	Replaces string
	// Moving is an appointment of the visit that a patient will move with this hold. AppointmentTypeIDs then contains
	// only the type of the first person. The rules for patients apply, and the visit's own time counts as free.
	Moving *store.Appointment
	// Limit is booking.HoldRequest.Limit.
	Limit func(*holds.Span) error
}

// Hold claims a visit's whole time in one step: a single hold, with one id, that counts once against the quota.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError,
// holds.ErrQuota, holds.ErrNotOwner (for Replaces), ErrNoVisit and record.ErrNotConfirmed (for
// Moving), those of Limit.
func (v *Visit) Hold(ctx context.Context, r HoldRequest) (h holds.Hold, err error) {
	defer func() { v.booking.CountHold(err) }()
	var m record.Mistakes
	record.CheckClient(&m, r.Client)
	record.CheckStart(&m, r.SlotStart)
	if r.Replaces != "" {
		record.CheckID(&m, "instead", r.Replaces)
	}
	if r.TTL != 0 && (r.TTL < booking.MinHoldTTL || r.TTL > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	s := v.clinic.Current()
	rule := rules{ignoreHours: r.IgnoreHours, specialistID: r.SpecialistID, owner: r.Client.Owner()}
	w, err := v.slotToHold(ctx, s, &r, &rule)
	var invalid *record.ValidationError
	if errors.As(err, &invalid) {
		m = append(m, invalid.Fields...)
	}
	if invalid := m.Err(); invalid != nil {
		err = invalid
	}
	if err != nil {
		return holds.Hold{}, err
	}
	if !r.Displace {
		rule.replaces = r.Replaces
	}
	k, free, err := v.find(ctx, s, w, r.SlotStart, rule)
	if err == nil {
		free, err = v.withinLimit(ctx, k, free, &r)
	}
	if err != nil {
		return holds.Hold{}, err
	}
	ttl, maxLife := r.TTL, time.Duration(w.MaxHoldSeconds)*time.Second
	if ttl == 0 {
		ttl = time.Duration(w.HoldTTLSeconds) * time.Second
	}
	c := holds.Claim{Owner: r.Client.Owner(), TTL: min(ttl, maxLife), MaxLife: maxLife, Quota: w.HoldQuota,
		Displace: r.Displace, Replaces: holds.Replaced{ID: r.Replaces, Owner: r.Client.Owner()}}
	return v.claim(ctx, k, &free, r.SlotStart, c)
}

// slotToHold returns the slot of a hold, and adds the members that the hold will move to rule.
func (v *Visit) slotToHold(ctx context.Context, s *clinic.Schedule, r *HoldRequest, rule *rules) (*slot, error) {
	if r.Moving == nil {
		return slotOf(s, r.AppointmentTypeIDs)
	}
	list, err := visitOf(ctx, v.store, r.Moving, store.Confirmed)
	if err != nil {
		return nil, err
	}
	rule.patient = true
	if len(list) == 0 {
		return nil, record.ErrNotConfirmed
	}
	if !slices.Equal([]string{list[0].AppointmentTypeID}, r.AppointmentTypeIDs) {
		return nil, record.Invalid("appointmentTypeId", "must be the type of the first person in the visit")
	}
	return slotToMove(s, list, rule)
}

// withinLimit returns the specialists in ids with whom the client may hold the slot.
func (v *Visit) withinLimit(ctx context.Context, k *known, ids []string, r *HoldRequest) (left []string, err error) {
	if r.Limit == nil {
		return ids, nil
	}
	var offers []booking.Offer
	for _, id := range ids {
		if o, refusal := k.snapshot.Offer(k.AppointmentType, id, r.SlotStart); refusal.Reason == "" {
			offers = append(offers, o)
		}
	}
	offers, err = v.booking.WithinLimit(ctx, r.Limit, r.Client.Owner(), offers)
	for i := range offers {
		left = append(left, offers[i].SpecialistID)
	}
	return left, err
}

// Person is one of the people in a visit.
type Person struct {
	AppointmentTypeID string
	Patient           store.Patient // without Email and Phone, which are in the VisitRequest
	Said              clinic.Said
}

// VisitRequest is a request for a visit. It names a hold (HoldID), a start time (SlotStart, with or without a
// specialist), or both. With both, Book claims the time again if the hold has expired.
type VisitRequest struct {
	HoldID       string
	SlotStart    time.Time
	SpecialistID string
	Client       holds.ClientID
	People       []Person // 2 to MaxPeople, in the order of the appointments
	Email, Phone string   // how to contact one person about all appointments
	Locale       string
	Source       store.Source
	Actor        record.Actor
	Once         *record.Once // the result that it stores is a []store.Appointment
	Silent       bool
	Displace     bool
	IgnoreHours  bool
}

// Book books all people or none of them. They get one email. Book returns the appointments in the order of the people.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError,
// holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown and the request has no start), store.ErrDuplicate (the
// idempotency key has been used in the meantime), and the storage errors. After a storage error, the client keeps its
// hold.
func (v *Visit) Book(ctx context.Context, r VisitRequest) (made []store.Appointment, err error) {
	defer func() { v.booking.CountRefusal(booking.ActBook, err) }()
	s := v.clinic.Current()
	intakes, err := r.check(s)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(r.People))
	for i := range r.People {
		ids[i] = r.People[i].AppointmentTypeID
	}
	w, err := slotOf(s, ids)
	if err != nil {
		return nil, err
	}
	if r.HoldID != "" {
		h, err := v.holds.Pin(ctx, r.HoldID, r.Client.Owner(), booking.BookingPin)
		switch {
		case err == nil:
			return v.bookHeld(ctx, s, w, &r, &h, intakes)
		case !errors.Is(err, holds.ErrNotFound) || r.SlotStart.IsZero():
			return nil, err
		}
	}
	k, free, err := v.find(ctx, s, w, r.SlotStart, rules{ignoreHours: r.IgnoreHours, specialistID: r.SpecialistID})
	if err != nil {
		return nil, err
	}
	owner := booking.ClaimOwner(r.Client.Owner(), r.Once)
	for {
		h, err := v.secure(ctx, k, &free, r.SlotStart, owner, r.Displace)
		if err != nil {
			return nil, err
		}
		made, err := v.insert(ctx, w, &r, &h, intakes)
		if err == nil {
			return made, nil
		}
		v.release(ctx, []holds.Hold{h}, err)
		if !errors.Is(err, store.ErrSlotTaken) || len(free) == 0 {
			return nil, err
		}
	}
}

// check validates the request and returns, for each person, the part of the answers that is stored.
func (r *VisitRequest) check(s *clinic.Schedule) ([]store.Intake, error) {
	var m record.Mistakes
	if r.HoldID != "" {
		record.CheckID(&m, "holdId", r.HoldID)
		record.CheckClient(&m, r.Client)
	} else {
		record.CheckStart(&m, r.SlotStart)
	}
	if r.SpecialistID != "" {
		record.CheckID(&m, "specialistId", r.SpecialistID)
	}
	record.CheckLocale(&m, r.Locale)
	if len(r.People) < 2 || len(r.People) > MaxPeople {
		m.Add("people", "a visit has 2 to %d people", MaxPeople)
		return nil, m.Err()
	}
	now := time.Now()
	intakes := make([]store.Intake, len(r.People))
	for i := range r.People {
		p, at := &r.People[i], fmt.Sprintf("people[%d].", i)
		p.Patient.Email, p.Patient.Phone = r.Email, r.Phone
		var own record.Mistakes
		record.CheckID(&own, "appointmentTypeId", p.AppointmentTypeID)
		record.NormalizePatient(&own, &p.Patient, nil, now.In(s.Zone))
		if t, ok := s.Types[p.AppointmentTypeID]; ok {
			intakes[i] = clinic.CheckIntake(&own, &s.Settings, t, &p.Said, false, now)
		}
		for _, mistake := range own {
			field, ofPatient := strings.CutPrefix(mistake.Field, "patient.")
			switch contact := ofPatient && (field == "email" || field == "phone"); {
			case contact && i > 0: // already reported for the first person
			case contact:
				m.Add("contact."+field, "%s", mistake.Message)
			default:
				m.Add(at+field, "%s", mistake.Message)
			}
		}
	}
	return intakes, m.Err()
}

// bookHeld writes the visit for a pinned hold.
func (v *Visit) bookHeld(ctx context.Context, s *clinic.Schedule, w *slot, r *VisitRequest, h *holds.Hold,
	intakes []store.Intake) ([]store.Appointment, error) {
	if err := v.checkHeld(ctx, s, w, h, r.SlotStart, r.SpecialistID, r.IgnoreHours); err != nil {
		return nil, err
	}
	made, err := v.insert(ctx, w, r, h, intakes)
	if err != nil {
		v.returnHold(ctx, h, err)
		return nil, err
	}
	return made, nil
}

// checkHeld checks that a pinned hold is for this slot, start and specialist, and that the schedule still allows it.
// start and specialistID may be zero. If checkHeld returns an error, it has unpinned or released the hold.
func (v *Visit) checkHeld(ctx context.Context, s *clinic.Schedule, w *slot, h *holds.Hold, start time.Time,
	specialistID string, ignoreHours bool) error {
	var err error
	switch {
	case h.Span != availability.SpanOf(w.AppointmentType, h.SpecialistID, h.SlotStart):
		err = record.Invalid("holdId",
			"this hold is for other appointments, or in another order; hold the visit again")
	case !start.IsZero() && !start.Equal(h.SlotStart):
		err = record.Invalid("slotStartDate",
			"this hold is for another time; leave slotStartDate out, or hold that time")
	case specialistID != "" && specialistID != h.SpecialistID:
		err = record.Invalid("specialistId",
			"this hold is for another specialist; leave specialistId out, or hold that time")
	case !w.isFor(h):
		err = record.Invalid("holdId",
			"this hold is for other appointments, or in another order; hold the visit again")
	case !ignoreHours:
		err = w.stillOpen(s.Calendars[h.SpecialistID], h.SlotStart)
	}
	if err != nil {
		v.returnHold(ctx, h, err)
		return err
	}
	if reason := booking.CheckHeldRooms(s, w.AppointmentType, h, ignoreHours); reason != "" {
		v.booking.Release(ctx, *h, holds.ReasonConflict)
		return &availability.NotBookableError{Reason: reason}
	}
	return nil
}

// isFor reports whether a hold on the same time can be used for these types: its specialist serves all of them, and it
// includes every room that any of them needs. The check is necessary because other types can have the same total
// length.
func (w *slot) isFor(h *holds.Hold) bool {
	for i, t := range w.types {
		if len(w.resourcesOf(i, h.Resources)) != len(t.Needs) {
			return false
		}
	}
	return w.AppointmentType.IsServedBy(h.SpecialistID)
}

// stillOpen returns a *NotBookableError if the schedule has changed since the hold was claimed and the time is
// now closed.
func (w *slot) stillOpen(calendar *availability.Calendar, start time.Time) error {
	reason := availability.ReasonInactive
	if calendar != nil {
		rules := availability.Rules{IgnoreNotice: true, IgnorePast: true, IgnoreGrid: true}
		_, reason = calendar.Seats(w.AppointmentType, start, nil, time.Now(), rules)
	}
	return booking.Refusal{Reason: reason}.Err()
}

// insert commits a visit's appointments and ends their hold. If it fails, it leaves the hold to the caller.
func (v *Visit) insert(ctx context.Context, w *slot, r *VisitRequest, h *holds.Hold,
	intakes []store.Intake) ([]store.Appointment, error) {
	id := record.NewID()
	made := make([]store.Appointment, len(r.People))
	for i, to := range w.places(h) {
		made[i] = booking.NewAppointment(&booking.Request{Patient: r.People[i].Patient, Intake: intakes[i],
			Locale: r.Locale, Source: r.Source}, to.Span, to.resources...)
		made[i].VisitID = id
	}
	return v.create(ctx, made, []holds.Hold{*h}, booking.Change{Actor: r.Actor, Silent: r.Silent}, r.Once)
}

package visit

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

// HoldRequest asks for the time of a visit.
type HoldRequest struct {
	AppointmentTypeIDs []string // by person, in the order in which they come
	SlotStart          time.Time
	SpecialistID       string // empty: assigned
	Client             holds.ClientID
	TTL                time.Duration // 0: that of the first one's type
	Displace           bool
	IgnoreHours        bool
	// Instead is a hold of the same client that is given up for this one, such as that of the first person alone. It is kept if
	// the visit cannot be had as far as is known before.
	Instead string
}

// Hold claims the whole time of a visit in one step: one hold, with one id, that counts once against the quota.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrQuota,
// holds.ErrNotOwner (of Instead).
func (v *Visits) Hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	var m record.Mistakes
	record.CheckClient(&m, r.Client)
	record.CheckStart(&m, r.SlotStart)
	if r.TTL != 0 && (r.TTL < booking.MinHoldTTL || r.TTL > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	if err := m.Err(); err != nil {
		return holds.Hold{}, err
	}
	s := v.clinic.Current()
	w, err := slotOf(s, r.AppointmentTypeIDs)
	if err != nil {
		return holds.Hold{}, err
	}
	k, found, err := v.free(ctx, s, w, r.SpecialistID, r.SlotStart, &rules{ignoreHours: r.IgnoreHours})
	if err != nil {
		return holds.Hold{}, err
	}
	var given holds.Hold
	if r.Instead != "" {
		if given, err = v.giveUp(ctx, k, &r, found); err != nil {
			return holds.Hold{}, err
		}
	}
	ttl, most := r.TTL, time.Duration(w.MaxHoldSeconds)*time.Second
	if ttl == 0 {
		ttl = time.Duration(w.HoldTTLSeconds) * time.Second
	}
	h, err := v.claim(ctx, k, &found, r.SlotStart, holds.Claim{Owner: r.Client.Owner(), TTL: min(ttl, most), MaxLife: most, Quota: w.HoldQuota, Displace: r.Displace})
	if err != nil && given.ID != "" {
		v.takeBack(ctx, &given)
	}
	return h, err
}

// giveUp releases the hold that a visit's is asked for instead of, unless others hold what the visit takes. It is without an id if it has lapsed.
func (v *Visits) giveUp(ctx context.Context, k *known, r *HoldRequest, found []store.Assignment) (holds.Hold, error) {
	if err := v.inTheWay(ctx, k, r, found); err != nil {
		return holds.Hold{}, err
	}
	given, err := v.holds.Hold(ctx, r.Instead)
	if errors.Is(err, holds.ErrNotFound) {
		return holds.Hold{}, nil
	}
	if err != nil {
		return holds.Hold{}, err
	}
	there, err := v.holds.Release(ctx, r.Instead, r.Client.Owner(), holds.ReasonReleased)
	if err != nil || !there {
		return holds.Hold{}, err
	}
	return given, nil
}

// takeBack claims what was given up for a visit that could not be held after all, for its owner and for the time that it had left. Its
// id is another one; whoever names the start as well books with the old one all the same.
func (v *Visits) takeBack(ctx context.Context, given *holds.Hold) {
	c := holds.Claim{Span: given.Span, Owner: given.Owner, Seats: []int{given.Seat}, TTL: time.Until(given.ExpiresAt), MaxLife: time.Until(given.MaxExpiresAt)}
	for _, id := range given.Resources.List() {
		c.Needs = append(c.Needs, []string{id})
	}
	if c.TTL > 0 {
		_, _ = v.holds.Claim(context.WithoutCancel(ctx), c) // else somebody else was faster
	}
}

// inTheWay is a *holds.HeldError where others hold a part of the time with everybody who is free, or every room of a group: then what the
// client has is not given up.
func (v *Visits) inTheWay(ctx context.Context, k *known, r *HoldRequest, found []store.Assignment) error {
	if r.Displace {
		return nil
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].SpecialistID
	}
	held, err := v.holds.List(ctx, slices.Concat(ids, availability.ResourcesOf(k.AppointmentType))...)
	if err != nil {
		return err
	}
	held = slices.DeleteFunc(held, func(h holds.Hold) bool { return h.ID == r.Instead })
	for _, group := range append(k.needs.Free(r.SlotStart, k.ignoreHours), ids) {
		var until time.Time
		isFree := func(id string) bool {
			span := availability.SpanOf(k.AppointmentType, id, r.SlotStart)
			i := slices.IndexFunc(held, func(h holds.Hold) bool { return excludes(&h, &span, r.Client.Owner()) })
			if i >= 0 {
				until = held[i].ExpiresAt
			}
			return i < 0
		}
		if !slices.ContainsFunc(group, isFree) {
			return &holds.HeldError{Until: until}
		}
	}
	return nil
}

// excludes reports whether a hold is in the way of a span of a specialist's time or a room's. What the asking client holds of this very slot
// is not.
func excludes(h *holds.Hold, span *holds.Span, asking holds.Owner) bool {
	other := h.Span
	if slices.Contains(h.Resources.List(), span.SpecialistID) {
		other.SpecialistID = span.SpecialistID
	}
	return span.Conflicts(&other) && !(h.Owner.Is(asking) && span.SameGroup(&other))
}

// Person is one of those who come.
type Person struct {
	AppointmentTypeID string
	Patient           store.Patient // without Email and Phone: those are the visit's
	Said              clinic.Said
}

// Request asks for a visit. Either HoldID, or SlotStart with or without a specialist, or both: then a hold that has lapsed is claimed anew.
type Request struct {
	HoldID       string
	SlotStart    time.Time
	SpecialistID string
	Client       holds.ClientID
	People       []Person // 2 to MaxPeople, in the order in which they come
	Email, Phone string   // of whoever is written to and called about all of them
	Locale       string
	Source       store.Source
	Actor        record.Actor
	Once         *record.Once // its result is []store.Appointment
	Silent       bool
	Displace     bool
	IgnoreHours  bool
}

// Book books all of them or nobody. They are told in one mail. The appointments come back in the order of the people.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrNotOwner,
// holds.ErrNotFound (the hold is unknown and no start was named), store.ErrDuplicate (the idempotency key was used meanwhile), and the
// storage errors; after one of those the hold is still the client's.
func (v *Visits) Book(ctx context.Context, r Request) ([]store.Appointment, error) {
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
	k, found, err := v.free(ctx, s, w, r.SpecialistID, r.SlotStart, &rules{ignoreHours: r.IgnoreHours})
	if err != nil {
		return nil, err
	}
	owner := ownerOf(r.Client, r.Once)
	for {
		h, err := v.claimPinned(ctx, k, &found, r.SlotStart, owner, r.Displace)
		if err != nil {
			return nil, err
		}
		made, err := v.write(ctx, s, w, &r, &h, intakes)
		if err == nil {
			return made, nil
		}
		v.letGo(ctx, &h, false, err)
		if !errors.Is(err, store.ErrSlotTaken) || len(found) == 0 {
			return nil, err
		}
	}
}

// claimPinned claims the time for as long as it takes to write it. A hold that is gone before it is pinned, since somebody displaced it
// or the backend of holds failed at that moment, is claimed again: whoever books without a hold has none that could have lapsed.
func (v *Visits) claimPinned(ctx context.Context, k *known, found *[]store.Assignment, start time.Time, owner holds.Owner, displace bool) (holds.Hold, error) {
	for range 3 {
		left := slices.Clone(*found)
		h, err := v.claim(ctx, k, &left, start, holds.Claim{Owner: owner, TTL: booking.BookingTTL, MaxLife: booking.BookingTTL, Displace: displace})
		if err != nil {
			return holds.Hold{}, err
		}
		if h, err = v.holds.Pin(ctx, h.ID, owner, booking.BookingPin); !errors.Is(err, holds.ErrNotFound) {
			*found = left
			return h, err
		}
	}
	return holds.Hold{}, fmt.Errorf("%w: what is held does not stay", holds.ErrUnavailable)
}

func (r *Request) check(s *clinic.Schedule) ([]store.Intake, error) {
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
	if r.Locale != "" && !clinic.ValidLocale(r.Locale) {
		m.Add("locale", "must be a language tag like en, de or pt-BR")
	}
	if len(r.People) < 2 || len(r.People) > MaxPeople {
		m.Add("people", "a visit is of 2 to %d people", MaxPeople)
		return nil, m.Err()
	}
	now := time.Now()
	intakes := make([]store.Intake, len(r.People))
	for i := range r.People {
		p, at := &r.People[i], fmt.Sprintf("people[%d].", i)
		p.Patient.Email, p.Patient.Phone = r.Email, r.Phone
		var own record.Mistakes
		record.CheckID(&own, "appointmentTypeId", p.AppointmentTypeID)
		record.NormalizePatient(&own, &p.Patient, nil, store.DateOf(now.In(s.Zone)))
		if t, ok := s.Types[p.AppointmentTypeID]; ok {
			intakes[i] = clinic.CheckIntake(&own, &s.Settings, t, &p.Said, false, now)
		}
		for _, mistake := range own {
			field, ofPatient := strings.CutPrefix(mistake.Field, "patient.")
			switch contact := ofPatient && (field == "email" || field == "phone"); {
			case contact && i > 0: // said once
			case contact:
				m.Add("contact."+field, "%s", mistake.Message)
			default:
				m.Add(at+field, "%s", mistake.Message)
			}
		}
	}
	return intakes, m.Err()
}

// bookHeld writes the visit of a pinned hold.
func (v *Visits) bookHeld(ctx context.Context, s *clinic.Schedule, w *slot, r *Request, h *holds.Hold, intakes []store.Intake) ([]store.Appointment, error) {
	whole := availability.SpanOf(w.AppointmentType, h.SpecialistID, h.SlotStart)
	var err error
	switch {
	case h.Span != whole:
		err = record.Invalid("holdId", "this hold is not of these people's appointments in this order; hold the visit anew")
	case !r.SlotStart.IsZero() && !r.SlotStart.Equal(h.SlotStart):
		err = record.Invalid("slotStartDate", "this hold is for another time; leave slotStartDate out, or hold that time")
	case r.SpecialistID != "" && r.SpecialistID != h.SpecialistID:
		err = record.Invalid("specialistId", "this hold is for another specialist; leave specialistId out, or hold that time")
	case !w.isFor(h):
		err = record.Invalid("holdId", "this hold is not of these people's appointments in this order; hold the visit anew")
	case !r.IgnoreHours:
		err = w.stillOpen(s.Calendars[h.SpecialistID], h.SlotStart)
	}
	var made []store.Appointment
	if err == nil {
		made, err = v.write(ctx, s, w, r, h, intakes)
	}
	if err != nil {
		v.letGo(ctx, h, true, err)
		return nil, err
	}
	return made, nil
}

// isFor reports whether a hold of the same time was made for these types: its specialist serves all of them, and it has every room that
// one of them needs. Other types can be as long together.
func (w *slot) isFor(h *holds.Hold) bool {
	for i, t := range w.types {
		if len(w.resourcesOf(i, h.Resources)) != len(t.Needs) {
			return false
		}
	}
	return serves(w.AppointmentType, h.SpecialistID)
}

// stillOpen is a *NotBookableError where a change of the schedule since the hold is in the way.
func (w *slot) stillOpen(calendar *availability.Calendar, start time.Time) error {
	reason := availability.ReasonInactive
	if calendar != nil {
		reason = calendar.Bookable(booking.WithoutNotice(w.AppointmentType), start, nil, time.Now())
	}
	if reason == "" || reason == availability.ReasonNotASlotStart { // the desk need not keep to the grid
		return nil
	}
	return &availability.NotBookableError{Reason: reason}
}

// write commits the appointments of a visit and everything that belongs to them, and ends their hold.
func (v *Visits) write(ctx context.Context, s *clinic.Schedule, w *slot, r *Request, h *holds.Hold, intakes []store.Intake) ([]store.Appointment, error) {
	id := record.NewID()
	made, ids := make([]store.Appointment, len(r.People)), make([]string, len(r.People))
	for i := range made {
		made[i] = booking.NewAppointment(&booking.Request{Patient: r.People[i].Patient, Intake: intakes[i], Locale: r.Locale, Source: r.Source},
			w.spanOf(i, h.SpecialistID, h.SlotStart), w.resourcesOf(i, h.Resources)...)
		made[i].VisitID, ids[i] = id, made[i].ID
		made[i].CreatedAt, made[i].UpdatedAt = made[0].CreatedAt, made[0].CreatedAt
		made[i].Place = s.PlaceAt(made[i].SpecialistID, made[i].SlotStart)
		v.booking.MarkUpstream(nil, &made[i], booking.ChangeCreated)
	}
	var calls []booking.Promise
	err := v.store.Write(ctx, func(tx store.Tx) error {
		calls = nil
		for i := range made {
			if err := tx.InsertAppointment(ctx, made[i]); err != nil {
				return err
			}
			c := booking.Change{Kind: booking.ChangeCreated, After: &made[i], Actor: r.Actor, Silent: r.Silent, At: made[i].CreatedAt, Series: ids}
			if err := v.booking.Record(ctx, tx, &c); err != nil {
				return err
			}
			calls = append(calls, c.Calls...)
		}
		return r.Once.Remember(ctx, tx, made, made[0].CreatedAt)
	})
	if err != nil {
		v.booking.CountWrite(r.Source, err)
		return nil, err
	}
	for range made {
		v.booking.CountWrite(r.Source, nil)
	}
	v.booking.Enqueue(calls...)
	v.booking.Confirm(ctx, *h, made[0])
	return made, nil
}

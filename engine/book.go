package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Times of the booking path. A pin outlasts any write that is not lost; the grace is what an owner gets back whose
// booking could not be written, so that the page can try again.
const (
	bookingTTL   = 30 * time.Second
	bookingPin   = 30 * time.Second
	bookingGrace = 15 * time.Second
)

// BookRequest asks for an appointment. Either HoldID, or SlotStart with or without a specialist, or both.
type BookRequest struct {
	AppointmentTypeID string
	HoldID            string
	SlotStart         time.Time
	SpecialistID      string
	Client            holds.ClientID
	Patient           store.Patient
	Source            store.Source
	Actor             Actor
	Once              *Once
	Silent            bool // tell nobody: no mail, no webhook

	// For staff and programs with an admin key only.
	OverbookReason string // not empty: outside the guarantee
	IgnoreHours    bool   // outside opening times, notice and horizon
	Displace       bool   // over another client's hold, whose owner is told

	owner holds.Owner // of Client
	fence Fence       // of an agent's booking; nil for all others
}

// Book writes an appointment. With a live hold: the hold is pinned, the row written, the hold confirmed. A hold that has
// lapsed still books if the time is free and nobody else holds it; without one, a hold is claimed first and the path
// is the same. Whatever is believed before the write, the database decides.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError,
// holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown and no slot was named), *CooldownError, store.ErrDuplicate
// (the idempotency key was used meanwhile), and the storage errors; after one of those the hold is still the client's.
func (e *Engine) Book(ctx context.Context, r BookRequest) (store.Appointment, error) {
	s := e.Current()
	t, err := e.checkBooking(s, &r)
	if err != nil {
		return store.Appointment{}, err
	}
	if r.OverbookReason != "" {
		return e.overbook(ctx, s, t, r)
	}
	h, live, err := e.bookingHold(ctx, &r)
	if err != nil {
		return store.Appointment{}, err
	}
	if live {
		return e.bookHeld(ctx, s, t, r, h)
	}
	return e.bookClaiming(ctx, s, t, r)
}

func (e *Engine) checkBooking(s *schedule, r *BookRequest) (*store.AppointmentType, error) {
	var m mistakes
	checkID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if r.Client != "" || r.Source == store.SourceWeb {
		checkClient(&m, r.Client)
		r.owner = r.Client.Owner()
	}
	if r.HoldID != "" {
		checkID(&m, "holdId", r.HoldID)
	} else {
		checkStart(&m, r.SlotStart)
	}
	if r.SpecialistID != "" {
		checkID(&m, "specialistId", r.SpecialistID)
	}
	r.OverbookReason = strings.TrimSpace(r.OverbookReason)
	if r.OverbookReason != "" && r.SpecialistID == "" {
		m.add("specialistId", "name whose time is overbooked")
	}
	checkText(&m, "overbook.reason", r.OverbookReason, 500, true)
	var required []string
	if r.Source == store.SourceWeb {
		required = e.Settings().RequiredFields
	}
	normalizePatient(&m, &r.Patient, required, store.DateOf(time.Now().In(s.zone)))
	if r.Source == store.SourceWeb {
		checkPublicName(&m, "patient.name", r.Patient.Name)
	}
	if err := m.err(); err != nil {
		return nil, err
	}
	t, ok := s.types[r.AppointmentTypeID]
	if !ok {
		return nil, ErrNoAppointmentType
	}
	return t, nil
}

// bookingHold finds the hold that a booking names. A lapsed one gives its slot and specialist to the request.
func (e *Engine) bookingHold(ctx context.Context, r *BookRequest) (h holds.Hold, live bool, err error) {
	if r.HoldID == "" {
		return holds.Hold{}, false, nil
	}
	h, err = e.holds.Pin(ctx, r.HoldID, r.owner, bookingPin)
	if err == nil {
		if err := r.agrees(h.AppointmentTypeID, h.SpecialistID, h.SlotStart); err != nil {
			e.unpin(ctx, h)
			return holds.Hold{}, false, err
		}
		return h, true, nil
	}
	if !errors.Is(err, holds.ErrNotFound) {
		return holds.Hold{}, false, err
	}
	was, known := e.recent.get(r.HoldID)
	switch {
	case known && !was.owner.Is(r.owner):
		return holds.Hold{}, false, holds.ErrNotOwner
	case known:
		if err := r.agrees(was.appointmentTypeID, was.specialistID, was.slotStart); err != nil {
			return holds.Hold{}, false, err
		}
		r.SlotStart, r.SpecialistID = was.slotStart, was.specialistID
	case r.SlotStart.IsZero():
		return holds.Hold{}, false, err
	}
	return holds.Hold{}, false, nil
}

// agrees checks that a request that names a hold and a slot means the same one.
func (r *BookRequest) agrees(appointmentTypeID, specialistID string, start time.Time) error {
	var m mistakes
	if r.AppointmentTypeID != appointmentTypeID {
		m.add("holdId", "this hold is for another appointment type")
	}
	if !r.SlotStart.IsZero() && !r.SlotStart.Equal(start) {
		m.add("slotStartDate", "this hold is for another time; leave slotStartDate out, or hold that time")
	}
	if r.SpecialistID != "" && r.SpecialistID != specialistID {
		m.add("specialistId", "this hold is for another specialist; leave specialistId out, or hold that time")
	}
	return m.err()
}

// bookHeld writes the booking of a pinned hold.
func (e *Engine) bookHeld(ctx context.Context, s *schedule, t *store.AppointmentType, r BookRequest, h holds.Hold) (store.Appointment, error) {
	if !r.IgnoreHours {
		// The hold was given in time; only a change of the schedule since can be in the way.
		calendar := s.calendars[h.SpecialistID]
		reason := ReasonInactive
		if calendar != nil {
			reason = calendar.Bookable(withoutNotice(t), h.SlotStart, nil, time.Now())
		}
		if reason != "" {
			e.release(ctx, h, holds.ReasonConflict)
			return store.Appointment{}, &NotBookableError{reason}
		}
	}
	a := newAppointment(&r, h.Span)
	err := e.writeBooking(ctx, t, &r, &a)
	var cooling *CooldownError
	switch {
	case err == nil:
		e.confirm(ctx, h, a)
		return a, nil
	case errors.Is(err, store.ErrSlotTaken):
		e.release(ctx, h, holds.ReasonConflict)
	case errors.As(err, &cooling):
		e.release(ctx, h, holds.ReasonReleased)
	default:
		e.unpin(ctx, h)
	}
	return store.Appointment{}, err
}

// bookClaiming claims a hold for a request that has none and writes the booking. For a pooled request a specialist
// lost to a conflict is left out and the next one tried.
func (e *Engine) bookClaiming(ctx context.Context, s *schedule, t *store.AppointmentType, r BookRequest) (store.Appointment, error) {
	now := time.Now()
	found, err := e.bookingCandidates(ctx, s, t, &r, now)
	if err != nil {
		return store.Appointment{}, err
	}
	owner := r.owner
	if owner.IsZero() {
		owner = newOwner() // of the hold alone; the appointment is nobody's
	}
	for {
		h, err := e.claim(ctx, t, r.SlotStart, found, holds.Claim{
			Owner: owner, TTL: bookingTTL, MaxLife: bookingTTL, Displace: r.Displace,
		})
		if err != nil {
			return store.Appointment{}, err
		}
		if h, err = e.holds.Pin(ctx, h.ID, owner, bookingPin); err != nil {
			return store.Appointment{}, err
		}
		a := newAppointment(&r, h.Span)
		if err = e.writeBooking(ctx, t, &r, &a); err == nil {
			e.confirm(ctx, h, a)
			return a, nil
		}
		if !errors.Is(err, store.ErrSlotTaken) {
			e.release(ctx, h, holds.ReasonReleased)
			return store.Appointment{}, err
		}
		e.release(ctx, h, holds.ReasonConflict)
		found = lose(found, h)
		if len(found) == 0 {
			return store.Appointment{}, err
		}
	}
}

// bookingCandidates is who could take a booking without a hold. A named specialist whose calendar offers the start is
// not looked up in the database a second time: the insert is about to ask it.
func (e *Engine) bookingCandidates(ctx context.Context, s *schedule, t *store.AppointmentType, r *BookRequest, now time.Time) ([]candidate, error) {
	rules := candidateRules{ignoreHours: r.IgnoreHours}
	calendar := s.calendars[r.SpecialistID]
	if i := slices.IndexFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == r.SpecialistID }); i >= 0 &&
		calendar != nil && t.Capacity == 1 && (r.IgnoreHours || calendar.Bookable(t, r.SlotStart, nil, now) == "") {
		span := SpanOf(t, r.SpecialistID, r.SlotStart)
		busy, err := e.holds.IsBusy(ctx, span.SpecialistID, span.SlotStart, span.SlotEnd)
		if err == nil && busy || len(FreeSeats(t, span, e.closed.over(nil, []string{span.SpecialistID}))) == 0 {
			return nil, store.ErrSlotTaken
		}
		return []candidate{{t.Specialists[i], span, onlySeat}}, nil
	}
	return e.candidates(ctx, s, t, r.SpecialistID, r.SlotStart, now, rules)
}

// lose takes the seat of a lost hold out of the candidates, and its specialist when no seat is left.
func lose(found []candidate, h holds.Hold) []candidate {
	var left []candidate
	for _, f := range found {
		if f.SpecialistID == h.SpecialistID {
			f.seats = slices.DeleteFunc(slices.Clone(f.seats), func(seat int) bool { return seat == h.Seat })
		}
		if len(f.seats) > 0 {
			left = append(left, f)
		}
	}
	return left
}

// overbook writes an appointment outside the guarantee. It takes no hold and breaks none.
func (e *Engine) overbook(ctx context.Context, s *schedule, t *store.AppointmentType, r BookRequest) (store.Appointment, error) {
	if s.specialists[r.SpecialistID] == nil {
		return store.Appointment{}, invalid("specialistId", "no specialist has this id")
	}
	a := newAppointment(&r, SpanOf(t, r.SpecialistID, r.SlotStart))
	a.Overbook, a.OverbookReason = true, r.OverbookReason
	if err := e.writeBooking(ctx, t, &r, &a); err != nil {
		return store.Appointment{}, err
	}
	e.publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: spanOf(&a), Owner: r.owner})
	return a, nil
}

// newAppointment is without a client where the desk books or an agent: whose hold it was says nothing about the patient.
func newAppointment(r *BookRequest, span holds.Span) store.Appointment {
	now := time.Now().UTC().Truncate(time.Millisecond)
	owner := r.owner.String()
	if r.Source == store.SourceStaff || r.fence != nil {
		owner = ""
	}
	return store.Appointment{
		ID: newID(), AppointmentTypeID: span.AppointmentTypeID, SpecialistID: span.SpecialistID, Owner: owner,
		Seat: span.Seat, Status: store.Confirmed, Attendance: store.Expected,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
		Patient: r.Patient, Source: r.Source, UpstreamState: store.UpstreamNone,
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// writeBooking commits the appointment and everything that belongs to it, and then makes it visible, all but the end
// of its hold.
func (e *Engine) writeBooking(ctx context.Context, t *store.AppointmentType, r *BookRequest, a *store.Appointment) error {
	c := change{kind: changeCreated, after: a, actor: r.Actor, reason: r.OverbookReason, silent: r.Silent, at: a.CreatedAt, once: r.Once}
	e.outside.MarkUpstream(nil, a, c.kind)
	if r.fence != nil {
		r.fence.Mark(&c)
	}
	err := e.store.Write(ctx, func(tx store.Tx) error {
		if a.Source == store.SourceWeb {
			if err := e.checkCooldown(ctx, tx, t, a.Owner, a.CreatedAt); err != nil {
				return err
			}
		}
		if err := tx.InsertAppointment(ctx, *a); err != nil {
			return err
		}
		if r.fence != nil {
			if err := r.fence.Burn(ctx, tx, a); err != nil {
				return err
			}
		}
		return e.record(ctx, tx, &c)
	})
	if r.fence == nil {
		if err == nil {
			e.outside.HandOver(c.calls...)
		}
		return err
	}
	if err != nil {
		r.fence.Drop()
		return err
	}
	e.outside.HandOver(r.fence.Takes(&c)...)
	return nil
}

// confirm ends the hold of a booking that is durable. A hold that has lapsed while it was written cannot say so any
// more, so the streams are told here. A failure is only logged: the hold lapses by itself.
func (e *Engine) confirm(ctx context.Context, h holds.Hold, a store.Appointment) {
	ctx = context.WithoutCancel(ctx)
	there, err := e.holds.Confirm(ctx, h.ID, h.Owner)
	if err != nil {
		e.log.Warn("a hold outlives its booking until it lapses", "appointment", a.ID, "error", err)
	} else if !there {
		e.publish(ctx, holds.Event{Kind: holds.EventConfirm, HoldID: h.ID, Span: h.Span, Owner: h.Owner})
	}
}

func (e *Engine) release(ctx context.Context, h holds.Hold, reason holds.Reason) {
	if _, err := e.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, reason); err != nil {
		e.log.Warn("a hold could not be released and lapses by itself", "error", err)
	}
}

func (e *Engine) unpin(ctx context.Context, h holds.Hold) {
	if _, err := e.holds.Unpin(context.WithoutCancel(ctx), h.ID, h.Owner, bookingGrace); err != nil && !errors.Is(err, holds.ErrNotFound) {
		e.log.Warn("a hold stays pinned until it lapses", "error", err)
	}
}

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

package booking

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Times of the booking path. A pin outlasts any write that is not lost; the grace is what an owner gets back whose
// booking could not be written, so that the page can try again.
const (
	BookingTTL   = 30 * time.Second
	BookingPin   = 30 * time.Second
	bookingGrace = 15 * time.Second
)

// Request asks for an appointment. Either HoldID, or SlotStart with or without a specialist, or both.
type Request struct {
	AppointmentTypeID string
	HoldID            string
	SlotStart         time.Time
	SpecialistID      string
	Place             string // one of the clinic's; empty: any
	Client            holds.ClientID
	Patient           store.Patient
	Said              clinic.Said  // beside it
	Intake            store.Intake // what is kept of it; given where a request is confirmed
	Locale            string       // the language the patient is written to, such as "de"; empty: the clinic's
	Source            store.Source
	Actor             record.Actor
	Once              *record.Once
	Silent            bool // tell nobody: no mail, no webhook
	// Wrong is what the caller found wrong with the values that it could not pass on. Book refuses the request with these mistakes and its own.
	Wrong record.Mistakes

	// For staff and programs with an admin key only.
	OverbookReason string // not empty: outside the guarantee
	IgnoreHours    bool   // outside opening times, notice and horizon
	Displace       bool   // over another client's hold, whose owner is told

	Owner holds.Owner // of Client
	Fence Fence       // of an agent's booking; nil for all others

	// Admit has the last word in the transaction that writes the appointment, before it is written. Nil: it is welcome.
	Admit func(context.Context, store.Tx) error
	// Asked is the request that this booking confirms; nil for all others.
	Asked *Asked
}

// Asked is what a booking has from the request that it confirms: its id, and who asked, while Owner is who kept its time.
type Asked struct {
	ID      string
	By      string        // the client's owner, as it is stored
	Offered bool          // by the clinic, which does not mind what they booked a moment ago
	Length  time.Duration // of what was asked for, however long the type is by now; 0: as long as that
}

// Book writes an appointment. With a live hold: the hold is pinned, the row written, the hold confirmed. A hold that has
// lapsed still books if the time is free and nobody else holds it; without one, a hold is claimed first and the path
// is the same. Whatever is believed before the write, the database decides.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError,
// holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown and no slot was named), *CooldownError, store.ErrDuplicate
// (the idempotency key was used meanwhile), and the storage errors; after one of those the hold is still the client's.
func (bk *Booking) Book(ctx context.Context, r Request) (store.Appointment, error) {
	a, err := bk.book(ctx, r)
	bk.CountRefusal(ActBook, err)
	return a, err
}

func (bk *Booking) book(ctx context.Context, r Request) (store.Appointment, error) {
	s := bk.clinic.Current()
	t, err := bk.checkBooking(s, &r)
	if err != nil {
		return store.Appointment{}, err
	}
	if r.OverbookReason != "" {
		return bk.overbook(ctx, s, t, r)
	}
	if r.Asked != nil {
		t = asAsked(t, r.Asked.Length)
	}
	h, live, err := bk.bookingHold(ctx, &r)
	if err != nil {
		return store.Appointment{}, err
	}
	if live {
		return bk.bookHeld(ctx, s, t, r, h)
	}
	return bk.bookClaiming(ctx, s, t, r)
}

func (bk *Booking) checkBooking(s *clinic.Schedule, r *Request) (*store.AppointmentType, error) {
	var m record.Mistakes
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if r.Asked == nil && (r.Client != "" || r.Source == store.SourceWeb) {
		record.CheckClient(&m, r.Client)
		r.Owner = r.Client.Owner()
	}
	if r.HoldID != "" {
		record.CheckID(&m, "holdId", r.HoldID)
	} else {
		record.CheckStart(&m, r.SlotStart)
	}
	if r.SpecialistID != "" {
		record.CheckID(&m, "specialistId", r.SpecialistID)
	}
	r.OverbookReason = strings.TrimSpace(r.OverbookReason)
	if r.OverbookReason != "" && r.SpecialistID == "" {
		m.Add("specialistId", "name whose time is overbooked")
	}
	record.CheckText(&m, "overbook.reason", r.OverbookReason, 500, true)
	if r.Locale != "" && !clinic.ValidLocale(r.Locale) {
		m.Add("locale", "must be a language tag like en, de or pt-BR")
	}
	var required []string
	public := r.Source == store.SourceWeb && r.Asked == nil // what is asked for is checked when it is asked for
	if public {
		required = bk.clinic.Settings().RequiredFields
	}
	record.NormalizePatient(&m, &r.Patient, required, store.DateOf(time.Now().In(s.Zone)))
	if public {
		record.CheckPublicName(&m, "patient.name", r.Patient.Name)
	}
	t, ok := s.Types[r.AppointmentTypeID]
	if ok && r.Asked == nil {
		r.Intake = clinic.CheckIntake(&m, &s.Settings, t, &r.Said, r.Source == store.SourceWeb, time.Now())
	}
	if err := r.Wrong.Together(m).Err(); err != nil {
		return nil, err
	}
	if !ok || t.Page.DeskOnly && r.Asked == nil && (r.Source == store.SourceWeb || r.Source == store.SourceAgent) {
		return nil, record.ErrNoAppointmentType
	}
	return t, nil
}

// bookingHold finds the hold that a booking names. A lapsed one gives its slot and specialist to the request.
func (bk *Booking) bookingHold(ctx context.Context, r *Request) (h holds.Hold, live bool, err error) {
	if r.HoldID == "" {
		return holds.Hold{}, false, nil
	}
	h, err = bk.holds.Pin(ctx, r.HoldID, r.Owner, BookingPin)
	if err == nil {
		err := r.agrees(h.AppointmentTypeID, h.SpecialistID, h.SlotStart)
		if t := bk.clinic.Current().Types[h.AppointmentTypeID]; err == nil && r.Asked == nil && t != nil && h.SlotEnd.Sub(h.SlotStart) > availability.Minutes(t.DurationMinutes) {
			err = record.Invalid("holdId", "this hold is for several people one after the other, or the type was longer when it was made; hold the time anew")
		}
		if err != nil {
			bk.unpin(ctx, h)
			return holds.Hold{}, false, err
		}
		return h, true, nil
	}
	if !errors.Is(err, holds.ErrNotFound) {
		return holds.Hold{}, false, err
	}
	was, known := bk.recent.Get(r.HoldID)
	switch {
	case known && !was.owner.Is(r.Owner):
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
func (r *Request) agrees(appointmentTypeID, specialistID string, start time.Time) error {
	var m record.Mistakes
	if r.AppointmentTypeID != appointmentTypeID {
		m.Add("holdId", "this hold is for another appointment type")
	}
	if !r.SlotStart.IsZero() && !r.SlotStart.Equal(start) {
		m.Add("slotStartDate", "this hold is for another time; leave slotStartDate out, or hold that time")
	}
	if r.SpecialistID != "" && r.SpecialistID != specialistID {
		m.Add("specialistId", "this hold is for another specialist; leave specialistId out, or hold that time")
	}
	return m.Err()
}

// bookHeld writes the booking of a pinned hold.
func (bk *Booking) bookHeld(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r Request, h holds.Hold) (store.Appointment, error) {
	if !r.IgnoreHours {
		// The hold was given in time; only a change of the schedule since can be in the way.
		calendar := s.Calendars[h.SpecialistID]
		reason := availability.ReasonInactive
		if calendar != nil {
			reason = calendar.Bookable(WithoutNotice(t), h.SlotStart, nil, time.Now())
		}
		if reason == "" && s.HasInactive(h.Resources.List()) { // held anew, another one may be found
			bk.Release(ctx, h, holds.ReasonConflict)
			return store.Appointment{}, &availability.NotBookableError{Reason: availability.ReasonInactive}
		}
		if reason != "" {
			bk.refuse(ctx, &r, h, holds.ReasonConflict)
			return store.Appointment{}, &availability.NotBookableError{Reason: reason}
		}
	}
	a := NewAppointment(&r, h.Span, h.Resources.List()...)
	err := bk.WriteBooking(ctx, t, &r, &a)
	var cooling *CooldownError
	switch {
	case err == nil:
		bk.Confirm(ctx, h, a)
		return a, nil
	case errors.Is(err, store.ErrSlotTaken):
		bk.Release(ctx, h, holds.ReasonConflict)
	case errors.As(err, &cooling):
		bk.refuse(ctx, &r, h, holds.ReasonReleased)
	default:
		bk.unpin(ctx, h)
	}
	return store.Appointment{}, err
}

// refuse gives back the hold of a booking that was refused. That of a request stays with it: the request is still open.
func (bk *Booking) refuse(ctx context.Context, r *Request, h holds.Hold, reason holds.Reason) {
	if r.Asked == nil {
		bk.Release(ctx, h, reason)
		return
	}
	bk.unpin(ctx, h)
}

// bookClaiming claims a hold for a request that has none and writes the booking. For a pooled request a specialist
// lost to a conflict is left out and the next one tried.
func (bk *Booking) bookClaiming(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r Request) (store.Appointment, error) {
	now := time.Now()
	found, err := bk.bookingCandidates(ctx, s, t, &r, now)
	if err != nil {
		return store.Appointment{}, err
	}
	owner := r.Owner
	if owner.IsZero() {
		owner = r.Once.Owner() // of the hold alone; the appointment has no client
	}
	for {
		h, err := bk.claimPinned(ctx, t, r.SlotStart, found, owner, r.Displace)
		if err != nil {
			return store.Appointment{}, err
		}
		a := NewAppointment(&r, h.Span, h.Resources.List()...)
		if err = bk.WriteBooking(ctx, t, &r, &a); err == nil {
			bk.Confirm(ctx, h, a)
			return a, nil
		}
		if !errors.Is(err, store.ErrSlotTaken) {
			bk.Release(ctx, h, holds.ReasonReleased)
			return store.Appointment{}, err
		}
		bk.Release(ctx, h, holds.ReasonConflict)
		found = lose(found, h)
		if len(found) == 0 {
			return store.Appointment{}, err
		}
	}
}

// bookingCandidates is who could take a booking without a hold. A named specialist whose calendar offers the start is looked up in the
// taken time alone, unless the claim is going to displace others: they would lose theirs for nothing.
func (bk *Booking) bookingCandidates(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r *Request, now time.Time) ([]candidate, error) {
	rules := CandidateRules{IgnoreHours: r.IgnoreHours, Place: r.Place}
	calendar := s.Calendars[r.SpecialistID]
	if i := slices.IndexFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == r.SpecialistID }); i >= 0 &&
		calendar != nil && t.Capacity == 1 && len(t.Needs) == 0 && r.Place == "" && !r.Displace && (r.IgnoreHours || calendar.Bookable(t, r.SlotStart, nil, now) == "") {
		span := availability.SpanOf(t, r.SpecialistID, r.SlotStart)
		busy, err := bk.holds.IsBusy(ctx, span.SpecialistID, span.SlotStart, span.SlotEnd)
		if err == nil && busy || !r.IgnoreHours && !bk.IsOpen(s, t, r.SpecialistID, r.SlotStart, occupancy.Interval{}, now) {
			return nil, store.ErrSlotTaken
		}
		// Neither the busy bits nor the insert know overbooks.
		first, last := availability.Around(t, r.SlotStart, r.SlotStart)
		known, err := bk.TakenTimeInWeeks(ctx, []string{span.SpecialistID}, first, last)
		if err == nil && len(availability.FreeSeats(t, span, bk.WithClosed(known, []string{span.SpecialistID}))) == 0 {
			err = store.ErrSlotTaken
		}
		if err != nil {
			return nil, err
		}
		return []candidate{{t.Specialists[i], span, onlySeat, nil}}, nil
	}
	return bk.Candidates(ctx, s, t, r.SpecialistID, r.SlotStart, now, rules)
}

// overbook writes an appointment outside the guarantee. It takes no hold and breaks none.
func (bk *Booking) overbook(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, r Request) (store.Appointment, error) {
	if s.SpecialistByID[r.SpecialistID] == nil {
		return store.Appointment{}, record.Invalid("specialistId", "no specialist has this id")
	}
	a := NewAppointment(&r, availability.SpanOf(t, r.SpecialistID, r.SlotStart))
	a.Overbook, a.OverbookReason = true, r.OverbookReason
	if err := bk.WriteBooking(ctx, t, &r, &a); err != nil {
		return store.Appointment{}, err
	}
	bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, Span: spanOf(&a), Owner: r.Owner})
	return a, nil
}

// NewAppointment is without a client where the desk books or an agent: whose hold it was says nothing about the patient.
func NewAppointment(r *Request, span holds.Span, resources ...string) store.Appointment {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id, owner := record.NewID(), r.Owner.String()
	if r.Source == store.SourceStaff || r.Fence != nil {
		owner = ""
	}
	if r.Asked != nil {
		id, owner = r.Asked.ID, r.Asked.By
	}
	return store.Appointment{
		ID: id, AppointmentTypeID: span.AppointmentTypeID, SpecialistID: span.SpecialistID, Owner: owner,
		Seat: span.Seat, Status: store.Confirmed, Attendance: store.Expected,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
		Resources: resources, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, Source: r.Source, UpstreamState: store.UpstreamNone,
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// WriteBooking commits the appointment and everything that belongs to it, and then makes it visible, all but the end
// of its hold.
func (bk *Booking) WriteBooking(ctx context.Context, t *store.AppointmentType, r *Request, a *store.Appointment) error {
	c := Change{Kind: ChangeCreated, After: a, Actor: r.Actor, Reason: r.OverbookReason, Silent: r.Silent, At: a.CreatedAt, once: r.Once}
	a.Place = bk.clinic.Current().PlaceAt(a.SpecialistID, a.SlotStart)
	bk.hooks.MarkUpstream(nil, a, c.Kind)
	if r.Fence != nil {
		r.Fence.Mark(&c)
	}
	err := bk.store.Write(ctx, func(tx store.Tx) error {
		if a.Source == store.SourceWeb && (r.Asked == nil || !r.Asked.Offered) {
			if err := bk.CheckCooldown(ctx, tx, t, a.Owner, a.CreatedAt); err != nil {
				return err
			}
		}
		if r.Admit != nil {
			if err := r.Admit(ctx, tx); err != nil {
				return err
			}
		}
		if err := tx.InsertAppointment(ctx, *a); err != nil {
			return err
		}
		if r.Fence != nil {
			if err := r.Fence.Burn(ctx, tx, a); err != nil {
				return err
			}
		}
		return bk.Record(ctx, tx, &c)
	})
	bk.CountWrite(a.Source, err)
	if r.Fence == nil {
		if err == nil {
			bk.hooks.Enqueue(c.Calls...)
		}
		return err
	}
	if err != nil {
		r.Fence.Drop()
		return err
	}
	bk.hooks.Enqueue(r.Fence.Takes(&c)...)
	return nil
}

// Confirm ends the hold of a booking that is durable. A hold that has lapsed while it was written cannot say so any
// more, so the streams are told here. A failure is only logged: the hold lapses by itself.
func (bk *Booking) Confirm(ctx context.Context, h holds.Hold, a store.Appointment) {
	ctx = context.WithoutCancel(ctx)
	there, err := bk.holds.Confirm(ctx, h.ID, h.Owner)
	if err != nil {
		bk.log.Warn("hold of a booked slot not ended; it expires on its own", "appointment", a.ID, "error", err)
	} else if !there {
		bk.events.Publish(ctx, holds.Event{Kind: holds.EventConfirm, HoldID: h.ID, Span: h.Span, Resources: h.Resources, Owner: h.Owner})
	}
}

func (bk *Booking) Release(ctx context.Context, h holds.Hold, reason holds.Reason) {
	if _, err := bk.holds.Release(context.WithoutCancel(ctx), h.ID, h.Owner, reason); err != nil {
		bk.log.Warn("hold not released; it expires on its own", "error", err)
	}
}

func (bk *Booking) unpin(ctx context.Context, h holds.Hold) {
	if _, err := bk.holds.Unpin(context.WithoutCancel(ctx), h.ID, h.Owner, bookingGrace); err != nil && !errors.Is(err, holds.ErrNotFound) {
		bk.log.Warn("hold not unpinned; it expires on its own", "error", err)
	}
}

package booking

import (
	"context"
	"errors"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Request is a request for an appointment. It names a hold, a start time (with or without a specialist), or both.
type Request struct {
	AppointmentTypeID string
	HoldID            string
	SlotStart         time.Time
	SpecialistID      string // empty means any specialist of the type
	Place             string // the id of one of the clinic's places; empty means any
	Client            holds.ClientID
	Patient           store.Patient
	Said              clinic.Said  // the patient's consent and answers, as received
	Intake            store.Intake // the stored form of Said; set by the caller only when a request is confirmed
	Locale            string       // the language of the patient's emails, such as "de"; empty means the clinic's
	Source            store.Source
	Actor             record.Actor
	Once              *record.Once
	Silent            bool // no email and no text message

	// For staff and programs with an admin key only.
	OverbookReason string // if not empty, the booking is outside the guarantee
	IgnoreHours    bool   // book outside opening times, notice and horizon
	Displace       bool   // displace another client's hold and notify its owner

	Owner holds.Owner // the owner derived from Client; Book sets it if Client is set
	Fence Fence       // for an agent's booking; nil for all others

	// Admit runs in the transaction that writes the appointment, before it is written. An error refuses the booking. If
	// Admit is nil, there is no check.
	Admit func(context.Context, store.Tx) error
	// Permit runs after the time has been secured and before the transaction. An error refuses the booking. Permit may
	// call another server. If it is nil, there is no check.
	Permit func(context.Context, *Request, holds.Span) error
	// Confirms is the request that this booking confirms, or nil if there is none.
	Confirms *Confirmation
}

// Confirmation is the request that a booking confirms. The booking's Owner is then the owner of the request's hold.
type Confirmation struct {
	RequestID      string
	Owner          string // the client that sent the request, as stored
	IgnoreCooldown bool   // set if the clinic confirms the request or made the offer
	// the length of the requested time, whatever the type's current length is; 0 means the type's length
	Length time.Duration
}

// WithLength returns a copy of a type for a time that was requested or booked earlier. The copy has the length of that
// time and can start at any minute, so later changes to the type do not affect that time. If the length is 0,
// WithLength returns the type unchanged.
func WithLength(t *store.AppointmentType, length time.Duration) *store.AppointmentType {
	if length == 0 {
		return t
	}
	requested := *t
	requested.DurationMinutes, requested.SlotStepMinutes = int(length/time.Minute), 1
	return &requested
}

// Book writes an appointment. It secures the time with a pinned hold, writes the row, and ends the hold. If a named
// hold has expired, the booking still succeeds if the time is free and no other client holds it. Without a hold, Book
// claims one. If the database refuses the row, Book excludes that seat and retries until no specialist is left. The
// database decides, whatever the engine found before the write.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError,
// holds.ErrNotOwner, holds.ErrNotFound (the hold is unknown and no start was named), *CooldownError,
// store.ErrDuplicate (another request used the idempotency key in the meantime), and the storage errors. After a
// storage error, the client keeps its hold.
func (bk *Booking) Book(ctx context.Context, r Request) (store.Appointment, error) {
	a, err := bk.book(ctx, &r)
	bk.CountRefusal(ActBook, err)
	return a, err
}

func (bk *Booking) book(ctx context.Context, r *Request) (store.Appointment, error) {
	w, err := bk.check(r)
	if err != nil {
		return store.Appointment{}, err
	}
	for {
		h, err := bk.secure(ctx, w)
		if err != nil {
			return store.Appointment{}, err
		}
		a, err := bk.write(ctx, w.Type, r, h.Hold)
		bk.settle(ctx, h, &a, err)
		if !errors.Is(err, store.ErrSlotTaken) || h.isNamed || w.Overbook {
			return a, err
		}
		w.lost = append(w.lost, h.Span)
	}
}

// BookClaimed writes the appointment for a request, at the time of a hold that the caller has claimed and pinned, and
// settles the hold. It leaves all checks to the transaction.
//
// Errors: store.ErrSlotTaken, *CooldownError, those of r.Admit and r.Fence, store.ErrDuplicate, and the storage errors.
func (bk *Booking) BookClaimed(ctx context.Context, t *store.AppointmentType, r *Request,
	h holds.Hold) (store.Appointment, error) {
	a, err := bk.write(ctx, t, r, h)
	bk.settle(ctx, secured{Hold: h}, &a, err)
	return a, err
}

// check reports everything that is wrong with a request and returns the requested time. It normalizes the patient, and
// sets Owner and Intake.
func (bk *Booking) check(r *Request) (*wanted, error) {
	s := bk.clinic.Current()
	t, isKnown := s.Types[r.AppointmentTypeID]
	isConfirmed := r.Confirms != nil // everything was checked when the time was requested
	if isKnown && isConfirmed {
		t = WithLength(t, r.Confirms.Length)
	}
	isPublic := r.Source == store.SourceWeb && !isConfirmed
	var m record.Mistakes
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if !isConfirmed && (r.Client != "" || isPublic) {
		record.CheckClient(&m, r.Client)
		r.Owner = r.Client.Owner()
	}
	if r.OverbookReason = strings.TrimSpace(r.OverbookReason); r.OverbookReason != "" {
		r.HoldID = "" // overbooking uses no hold, so the request must name the start
	}
	if r.HoldID != "" {
		record.CheckID(&m, "holdId", r.HoldID)
	} else {
		record.CheckStart(&m, r.SlotStart)
	}
	if r.SpecialistID != "" {
		record.CheckID(&m, "specialistId", r.SpecialistID)
	}
	switch {
	case r.OverbookReason != "" && r.SpecialistID == "":
		m.Add("specialistId", "name the specialist whose time is overbooked")
	case r.OverbookReason != "" && len(m) == 0 && s.SpecialistByID[r.SpecialistID] == nil:
		m.Add("specialistId", "no specialist has this id")
	}
	record.CheckText(&m, "overbook.reason", r.OverbookReason, 500, true)
	var required []string
	if isPublic {
		required = s.Settings.RequiredFields
	}
	record.NormalizePatient(&m, &r.Patient, required, time.Now().In(s.Zone))
	if isPublic {
		record.CheckPublicName(&m, "patient.name", r.Patient.Name)
	}
	record.CheckLocale(&m, r.Locale)
	if isKnown && !isConfirmed {
		r.Intake = clinic.CheckIntake(&m, &s.Settings, t, &r.Said, r.Source == store.SourceWeb, time.Now())
	}
	if err := m.Err(); err != nil {
		return nil, err
	}
	isOnline := r.Source == store.SourceWeb || r.Source == store.SourceAgent
	if !isKnown || t.Page.DeskOnly && !isConfirmed && isOnline {
		return nil, record.ErrNoAppointmentType
	}
	return &wanted{
		Type: t, HoldID: r.HoldID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Owner: r.Owner, Once: r.Once,
		Rules:    Rules{Rules: availability.Rules{IgnoreHours: r.IgnoreHours}, Place: r.Place},
		Displace: r.Displace, Overbook: r.OverbookReason != "", IsRequested: isConfirmed,
	}, nil
}

package absence

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

const (
	// DefaultHold is how long a proposed time is held by default, and MaxHold is the longest time that it can be held.
	DefaultHold = 24 * time.Hour
	MaxHold     = 72 * time.Hour
	// lead is the minimum time between the end of a proposal and the start of the proposed appointment. leastOpen is
	// the shortest time that a proposal stays open.
	lead      = 10 * time.Minute
	leastOpen = 5 * time.Minute
)

// Choice is the desk's decision about one appointment.
type Choice struct {
	AppointmentID string
	Version       int64 // the version that the desk has read; 0 means any
	By            store.DisplacedBy
	SpecialistID  string
	Start         time.Time // the new time; zero if the patient is asked or called without a proposed time
}

// Request is a request to record an absence.
type Request struct {
	Away
	Choices []Choice
	Hold    time.Duration // how long proposed times are held; 0 means DefaultHold
	Actor   record.Actor
	Once    *record.Once // the result that it stores is a Created
}

// Created is the result of recording an absence.
type Created struct {
	Block   store.Block
	Results []Result // in the order of the choices
}

// Result is the outcome of one choice. If Err is set, the appointment is unchanged and its patient has not been
// notified.
type Result struct {
	AppointmentID string
	By            store.DisplacedBy
	Err           error
}

// absenceAudit is the audit record for an absence.
type absenceAudit struct {
	AbsenceID string    `json:"absenceId"`
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"`
	Moved     int       `json:"moved"`
	Asked     int       `json:"asked"`
	Calls     int       `json:"calls"`
	Failed    int       `json:"failed"`
}

// Create blocks the time of an absence and then carries out each choice on its own: it moves the appointment, asks its
// patient, or puts it on the call list. If one of the new times has been taken since the plan was made, only that
// choice fails. Messages are sent only once the absence can no longer be undone. A repeated request with the same
// idempotency key continues where the earlier one stopped.
//
// Errors: *ValidationError, and the errors of clinic.CreateBlock.
func (ab *Absences) Create(ctx context.Context, r Request) (Created, error) {
	if err := ab.checkRequest(&r); err != nil {
		return Created{}, err
	}
	b := r.block()
	if b.ID = record.NewID(); r.Once != nil {
		sum := sha256.Sum256([]byte("absence\x00" + r.Once.Scope + "\x00" + r.Once.Key))
		b.ID = hex.EncodeToString(sum[:16])
	}
	b, err := ab.Clinic.CreateBlock(ctx, r.Actor, b, nil)
	if err != nil {
		return Created{}, err
	}
	made := Created{Block: b, Results: make([]Result, len(r.Choices))}
	after := absenceAudit{AbsenceID: b.ID, Start: b.Start, End: b.End}
	for i := range r.Choices {
		c := &r.Choices[i]
		err := ab.apply(ctx, &r, b.ID, c)
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		made.Results[i] = Result{c.AppointmentID, c.By, err}
		switch {
		case err != nil:
			after.Failed++
		case c.By == store.DisplacedMove:
			after.Moved++
		case c.By == store.DisplacedAsk:
			after.Asked++
		default:
			after.Calls++
		}
	}
	return made, ab.Store.Write(ctx, func(tx store.Tx) error {
		now := record.Now()
		err := record.Audit(ctx, tx, now, r.Actor, record.ActionAbsenceCreated, "specialist:"+b.SpecialistID, b.Reason,
			nil, after)
		if err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, made, now)
	})
}

func (ab *Absences) checkRequest(r *Request) error {
	if err := ab.check(&r.Away); err != nil {
		return err
	}
	var m record.Mistakes
	if r.Hold == 0 {
		r.Hold = DefaultHold
	}
	if r.Hold < time.Hour || r.Hold > MaxHold {
		m.Add("holdHours", "must be 1 to %d hours, or 0 for the default", int(MaxHold/time.Hour))
	}
	if len(r.Choices) > booking.MaxInTheWay {
		m.Add("choices", "must be at most %d", booking.MaxInTheWay)
	}
	for i := range r.Choices {
		c := &r.Choices[i]
		switch c.By {
		case store.DisplacedMove:
			if c.Start.IsZero() {
				m.Add("choices", "a move needs a new time: number %d has none", i+1)
			}
		case store.DisplacedAsk, store.DisplacedCall:
		default:
			m.Add("choices", "number %d must be move, ask or call", i+1)
		}
	}
	return m.Err()
}

// apply handles one appointment. If the absence has already handled it, apply changes nothing.
func (ab *Absences) apply(ctx context.Context, r *Request, absenceID string, c *Choice) error {
	if !record.ValidID(c.AppointmentID) {
		return store.ErrNotFound
	}
	done, err := ab.Store.DisplacedEntries(ctx, absenceID, c.AppointmentID)
	if err != nil || len(done) > 0 {
		return err
	}
	a, err := ab.Store.Appointment(ctx, c.AppointmentID)
	switch {
	case err != nil:
		return err
	case c.Version != 0 && a.Version != c.Version:
		return store.ErrVersion
	case a.Status != store.Confirmed:
		return record.ErrNotConfirmed
	case a.SpecialistID != r.SpecialistID, !a.SlotStart.Before(r.End), !r.Start.Before(a.SlotEnd):
		return store.ErrVersion // the appointment has been moved since the plan was made
	}
	if c.By == store.DisplacedMove {
		_, err := ab.Booking.Reschedule(ctx, booking.RescheduleRequest{
			ID: a.ID, Version: a.Version, SlotStart: c.Start, SpecialistID: c.SpecialistID, Actor: r.Actor,
			Undoable: true,
			Admit: func(ctx context.Context, tx store.Tx, a *store.Appointment) error {
				return ab.Waitlist.RecordMove(ctx, tx, absenceID, a, r.Actor)
			},
		})
		return err
	}
	d := waitlist.Displacement{AbsenceID: absenceID, Appointment: a, By: c.By, SpecialistID: c.SpecialistID,
		Start: c.Start, Actor: r.Actor}
	if !c.Start.IsZero() {
		now := record.Now()
		if d.Until = now.Add(r.Hold); c.Start.Add(-lead).Before(d.Until) {
			d.Until = c.Start.Add(-lead).UTC().Truncate(time.Millisecond)
		}
		if d.Until.Before(now.Add(leastOpen)) {
			return record.Invalid("slotStartDate", "is too soon to wait for an answer; move the appointment instead")
		}
	}
	return ab.Waitlist.Displace(ctx, d)
}

// Undone is the result of undoing an absence.
type Undone struct {
	Kept []string // ids of moved appointments that keep their new times, because their old times are taken
}

// Undo reverts an absence that the same member of staff has just recorded: it withdraws the proposals and their emails,
// moves the moved appointments back, and deletes the block. If the old time of an appointment is taken, that
// appointment keeps its new time.
//
// Errors: booking.ErrUndoLate, store.ErrNotFound.
func (ab *Absences) Undo(ctx context.Context, id string, actor record.Actor, once *record.Once) (Undone, error) {
	b, err := ab.blockOf(id)
	if err != nil {
		return Undone{}, err
	}
	entries, err := ab.Store.DisplacedEntries(ctx, id, "")
	if err != nil {
		return Undone{}, err
	}
	if err := ab.checkRecorded(ctx, &b, entries, actor); err != nil {
		return Undone{}, err
	}
	var moved []string
	for i := range entries {
		e := &entries[i]
		if time.Since(e.CreatedAt) > booking.UndoTime+lateRequests {
			return Undone{}, booking.ErrUndoLate
		}
		if e.Displaced.By != store.DisplacedMove {
			continue
		}
		a, err := ab.Store.Appointment(ctx, e.AppointmentID)
		if err != nil {
			return Undone{}, err
		}
		if e.Displaced.From(&a) {
			continue // its move has already been undone, on its own or by an earlier attempt
		}
		if _, err := ab.Booking.UndoState(ctx, &a, actor); err != nil {
			return Undone{}, err
		}
		moved = append(moved, a.ID)
	}
	if err := ab.Waitlist.WithdrawDisplaced(ctx, id, actor); err != nil {
		return Undone{}, err
	}
	undone := Undone{Kept: []string{}}
	for _, appointmentID := range moved {
		if _, err := ab.Booking.Undo(ctx, booking.UndoRequest{ID: appointmentID, Actor: actor}); err != nil {
			if ctx.Err() != nil {
				return undone, err
			}
			undone.Kept = append(undone.Kept, appointmentID)
		}
	}
	if err := ab.Clinic.DeleteBlock(ctx, actor, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		return undone, err
	}
	return undone, ab.Store.Write(ctx, func(tx store.Tx) error {
		now := record.Now()
		err := record.Audit(ctx, tx, now, actor, record.ActionAbsenceUndone, "specialist:"+b.SpecialistID, "",
			absenceAudit{AbsenceID: id, Start: b.Start, End: b.End}, nil)
		if err != nil {
			return err
		}
		return once.Remember(ctx, tx, undone, now)
	})
}

// checkRecorded returns booking.ErrUndoLate unless the audit log shows that this actor has just recorded the absence of
// a block, with all its displaced appointments.
func (ab *Absences) checkRecorded(ctx context.Context, b *store.Block, entries []store.WaitlistEntry,
	actor record.Actor) error {
	f := store.AuditFilter{From: time.Now().Add(-booking.UndoTime - lateRequests), Subjects: []string{
		"specialist:" + b.SpecialistID}, Limit: 500}
	for i := range entries {
		f.Subjects = append(f.Subjects, "appointment:"+entries[i].AppointmentID)
	}
	isRecorded := false
	for {
		list, next, err := ab.Store.Audit(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			var of struct {
				AbsenceID string `json:"absenceId"`
			}
			if json.Unmarshal(list[i].After, &of) != nil || of.AbsenceID != b.ID {
				continue
			}
			if isRecorded = list[i].Actor == string(actor); !isRecorded {
				return booking.ErrUndoLate
			}
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	if !isRecorded {
		return booking.ErrUndoLate
	}
	return nil
}

// lateRequests is how long after booking.UndoTime an undo request may still arrive.
const lateRequests = 2 * time.Second

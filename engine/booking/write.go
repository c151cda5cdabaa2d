package booking

import (
	"context"
	"errors"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Write commits the appointment of a request at the time of a pinned hold, and all rows that belong to the appointment.
// Then it ends the hold according to the outcome. For an overbook, h has no id.
//
// Errors: store.ErrSlotTaken, *CooldownError, those of r.Admit, store.ErrDuplicate, and the storage errors.
func (bk *Booking) Write(ctx context.Context, t *store.AppointmentType, r *Request, h holds.Hold) (store.Appointment, error) {
	a := NewAppointment(r, h.Span, h.Resources.List()...)
	if r.OverbookReason != "" {
		a.Overbook, a.OverbookReason, a.Resources = true, r.OverbookReason, nil
	}
	err := bk.insert(ctx, t, r, &a)
	bk.settle(ctx, r, h, &a, err)
	if err != nil {
		return store.Appointment{}, err
	}
	return a, nil
}

// NewAppointment returns the appointment to write for a request. An appointment of the desk or of an agent has no
// owner, because the owner of the hold is not the patient.
func NewAppointment(r *Request, span holds.Span, resources ...string) store.Appointment {
	now := time.Now().UTC().Truncate(time.Millisecond)
	id, owner := record.NewID(), r.Owner.String()
	if r.Source == store.SourceStaff || r.Fence != nil {
		owner = ""
	}
	if r.Confirms != nil {
		id, owner = r.Confirms.RequestID, r.Confirms.Owner
	}
	return store.Appointment{
		ID: id, AppointmentTypeID: span.AppointmentTypeID, SpecialistID: span.SpecialistID, Owner: owner,
		Seat: span.Seat, Status: store.Confirmed, Attendance: store.Expected,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
		Resources: resources, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, Source: r.Source, UpstreamState: store.UpstreamNone,
		CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// insert commits the appointment and everything that belongs to it: one transaction checks the cooldown and the
// limits, and writes the row, its audit entry, its outbox rows and the remembered answer. After the commit it gives
// the outbound operations to the queue.
func (bk *Booking) insert(ctx context.Context, t *store.AppointmentType, r *Request, a *store.Appointment) error {
	c := Change{Kind: ChangeCreated, After: a, Actor: r.Actor, Reason: r.OverbookReason, Silent: r.Silent, At: a.CreatedAt, once: r.Once}
	a.Place = bk.clinic.Current().PlaceAt(a.SpecialistID, a.SlotStart)
	bk.hooks.MarkUpstream(nil, a, c.Kind)
	if r.Fence != nil {
		r.Fence.Mark(&c)
	}
	err := bk.store.Write(ctx, func(tx store.Tx) error {
		if a.Source == store.SourceWeb && (r.Confirms == nil || !r.Confirms.IgnoreCooldown) {
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

// Record writes everything that commits together with a change: its audit entry, the state to which it can be undone,
// its outbox rows, and the remembered answer.
func (bk *Booking) Record(ctx context.Context, tx store.Tx, c *Change) error {
	var before any
	if c.Before != nil {
		before = auditedAppointment(c.Before)
	}
	err := record.Audit(ctx, tx, c.At, c.Actor, record.Action("appointment."+c.Kind), "appointment:"+c.After.ID, c.Reason, before, auditedAppointment(c.After))
	if err != nil {
		return err
	}
	if c.Undoable {
		if err := tx.InsertUndoState(ctx, undoStateOf(c)); err != nil {
			return err
		}
	}
	c.Calls = bk.hooks.Operations(c)
	for i := range c.Calls {
		if op := &c.Calls[i].Operation; c.Undoable && op.NextAttemptAt.Before(c.At.Add(undoDelay)) {
			op.NextAttemptAt = c.At.Add(undoDelay)
		}
	}
	if err := WritePromises(ctx, tx, c.At, c.Calls...); err != nil {
		return err
	}
	return c.once.Remember(ctx, tx, *c.After, c.At)
}

func spanOf(a *store.Appointment) holds.Span {
	return holds.Span{
		AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat,
		SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}

// appointmentAudit is an appointment in the audit log. It has no data of the person.
type appointmentAudit struct {
	AppointmentTypeID string    `json:"appointmentTypeId"`
	SpecialistID      string    `json:"specialistId"`
	SlotStartDate     time.Time `json:"slotStartDate"`
	SlotEndDate       time.Time `json:"slotEndDate"`
	Status            string    `json:"status"`
	Attendance        string    `json:"attendance"`
	Overbook          bool      `json:"overbook,omitempty"`
	UpstreamState     string    `json:"upstreamState,omitempty"`
	SeriesID          string    `json:"seriesId,omitempty"`
	ResourceIDs       []string  `json:"resourceIds,omitempty"`
	VisitID           string    `json:"visitId,omitempty"`
}

func auditedAppointment(a *store.Appointment) appointmentAudit {
	return appointmentAudit{
		a.AppointmentTypeID, a.SpecialistID, a.SlotStart, a.SlotEnd, string(a.Status), string(a.Attendance), a.Overbook, string(a.UpstreamState), a.SeriesID, a.Resources, a.VisitID,
	}
}

// Promise is one outbound operation that a change requires, and the name of its delivery in the appointment's
// delivery log.
type Promise struct {
	store.Operation
	Notice string // such as "book", "confirmation", "appointment.created"
}

// DeliveryQueued is the state of a store.Delivery that waits in the queue.
const DeliveryQueued = "queued"

// WritePromises writes operations to the outbox, and to the delivery log of their appointment.
func WritePromises(ctx context.Context, tx store.Tx, at time.Time, calls ...Promise) error {
	for _, c := range calls {
		if err := tx.Promise(ctx, c.Operation); err != nil {
			return err
		}
		if c.AppointmentID == "" {
			continue
		}
		err := tx.PutDelivery(ctx, store.Delivery{
			OperationID: c.ID, AppointmentID: c.AppointmentID, Channel: ChannelOf(c.Kind), Notice: c.Notice, State: DeliveryQueued, UpdatedAt: at,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ChannelOf returns the name of a kind of operation in the delivery log.
func ChannelOf(k store.OperationKind) string {
	switch k {
	case store.Webhook, store.Email:
		return string(k)
	}
	return "upstream"
}

// CooldownError reports that the client already booked this type, and names that appointment. Only that client may
// see it.
type CooldownError struct {
	Until         time.Time // UTC
	AppointmentID string
	SlotStart     time.Time // of the appointment, UTC
}

func (e *CooldownError) Error() string {
	return "already booked; the next booking of this type is possible from " + e.Until.UTC().Format(time.RFC3339)
}

// CheckCooldown returns *CooldownError if this client made a web booking of this type within the type's cooldown and
// that booking is still confirmed. The cooldown is derived from the appointments, so a cancellation clears it and a
// failed booking never sets it. With a Tx as reader it sees the state of that transaction.
func (bk *Booking) CheckCooldown(ctx context.Context, r store.Reader, t *store.AppointmentType, owner string, now time.Time) error {
	if t.CooldownMinutes <= 0 || owner == "" {
		return nil
	}
	length := time.Duration(t.CooldownMinutes) * time.Minute
	made, err := r.LatestWebBooking(ctx, owner, t.ID, now.Add(-length))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if until := made.CreatedAt.Add(length); until.After(now) {
		return &CooldownError{Until: until.UTC(), AppointmentID: made.AppointmentID, SlotStart: made.SlotStart}
	}
	return nil
}

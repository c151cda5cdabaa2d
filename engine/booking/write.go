package booking

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// write calls r.Permit, and then commits the appointment of a request and everything that belongs to it. One
// transaction checks the cooldown and the limits, and writes the row, its audit entry, its outbox rows and the saved
// response. After the commit, write passes the outbound operations to the queue. For an overbooking, h contains only a
// span.
func (bk *Booking) write(ctx context.Context, t *store.AppointmentType, r *Request,
	h holds.Hold) (store.Appointment, error) {
	if r.Permit != nil {
		if err := r.Permit(ctx, r, h.Span); err != nil {
			return store.Appointment{}, err
		}
	}
	a := NewAppointment(r, h.Span, h.Resources.List()...)
	if a.Overbook {
		a.Resources = nil // only a hold reserves rooms
	}
	a.Place = bk.clinic.Current().PlaceAt(h.SpecialistID, h.SlotStart)
	c := Change{
		Kind: ChangeCreated, After: &a, Actor: r.Actor, Reason: r.OverbookReason, Silent: r.Silent, At: a.CreatedAt,
		once: r.Once,
	}
	bk.hooks.MarkUpstream(nil, &a, c.Kind)
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
		if err := tx.InsertAppointment(ctx, a); err != nil {
			return err
		}
		if r.Fence != nil {
			if err := r.Fence.Burn(ctx, tx, &a); err != nil {
				return err
			}
		}
		return bk.Record(ctx, tx, &c)
	})
	bk.CountWrite(a.Source, err)
	if err != nil {
		if r.Fence != nil {
			r.Fence.Drop()
		}
		return store.Appointment{}, err
	}
	if r.Fence != nil {
		c.Calls = r.Fence.Takes(&c)
	}
	bk.hooks.Enqueue(c.Calls...)
	return a, nil
}

// CountWrite counts a booking that was written, or that was refused only by the database.
func (bk *Booking) CountWrite(source store.Source, err error) {
	switch i := slices.Index(Sources, source); {
	case errors.Is(err, store.ErrSlotTaken):
		bk.counts.conflicts.Add(1)
	case err == nil && i >= 0:
		bk.counts.booked[i].Add(1)
	}
}

// CountMoves counts n appointments that were moved together, or a move that was refused only by the database.
func (bk *Booking) CountMoves(n int, err error) {
	switch {
	case errors.Is(err, store.ErrSlotTaken):
		bk.counts.conflicts.Add(1)
	case err == nil:
		bk.counts.moved.Add(uint64(n))
	}
}

// NewAppointment returns the appointment to write for a request. An appointment booked by the desk or an agent
// has no owner, because the owner of the hold is not the patient.
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
		Overbook: r.OverbookReason != "", OverbookReason: r.OverbookReason,
		SlotStart: span.SlotStart, SlotEnd: span.SlotEnd, BusyStart: span.BusyStart, BusyEnd: span.BusyEnd,
		Resources: resources, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, Source: r.Source,
		UpstreamState: store.UpstreamNone, CreatedAt: now, UpdatedAt: now, Version: 1,
	}
}

// Record writes everything that is committed together with a change: its audit entry, the state that an undo restores,
// its outbox rows, and the saved response.
func (bk *Booking) Record(ctx context.Context, tx store.Tx, c *Change) error {
	var before any
	if c.Before != nil {
		before = auditedAppointment(c.Before)
	}
	err := record.Audit(ctx, tx, c.At, c.Actor, record.Action("appointment."+c.Kind), "appointment:"+c.After.ID,
		c.Reason, before, auditedAppointment(c.After))
	if err != nil {
		return err
	}
	if c.Undoable {
		if err := tx.InsertUndoState(ctx, undoStateOf(c)); err != nil {
			return err
		}
	}
	c.Calls = bk.hooks.Operations(c)
	earliest := c.At.Add(undoDelay)
	for i := range c.Calls {
		if op := &c.Calls[i].Operation; c.Undoable && earliest.After(op.NextAttemptAt) {
			op.NextAttemptAt = earliest
		}
	}
	if err := WritePromises(ctx, tx, c.At, c.Calls...); err != nil {
		return err
	}
	return c.once.Remember(ctx, tx, *c.After, c.At)
}

// undoStateOf returns the state that an appointment had before an undoable change.
func undoStateOf(c *Change) store.UndoState {
	a := c.Before
	return store.UndoState{
		AppointmentID: a.ID, Version: c.After.Version, ChangeID: cmp.Or(c.ID, record.NewID()), Actor: string(c.Actor),
		At: c.At, ExpiresAt: c.At.Add(UndoTime + undoSlack),
		AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, SlotStart: a.SlotStart,
		SlotEnd: a.SlotEnd, Overbook: a.Overbook, OverbookReason: a.OverbookReason, Resources: a.Resources,
		UpstreamState: a.UpstreamState, ManageEpoch: a.ManageEpoch, VisitID: a.VisitID,
	}
}

func spanOf(a *store.Appointment) holds.Span {
	return holds.Span{
		AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat,
		SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}

// appointmentAudit is an appointment in the audit log. It contains no personal data.
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
	RecallAt          time.Time `json:"recallAt,omitzero"`
}

func auditedAppointment(a *store.Appointment) appointmentAudit {
	return appointmentAudit{
		a.AppointmentTypeID, a.SpecialistID, a.SlotStart, a.SlotEnd, string(a.Status), string(a.Attendance), a.Overbook,
		string(a.UpstreamState), a.SeriesID, a.Resources, a.VisitID,
		a.RecallAt,
	}
}

// Promise is one outbound operation that a change requires, and the name of its delivery in the appointment's
// delivery log.
type Promise struct {
	store.Operation
	Notice string // such as "book", "confirmation", "appointment.created"
}

// DeliveryQueued is the state of a store.Delivery that is waiting in the queue.
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
			OperationID: c.ID, AppointmentID: c.AppointmentID, Channel: ChannelOf(c.Kind), Notice: c.Notice,
			State: DeliveryQueued, UpdatedAt: at,
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
	case store.Webhook, store.Email, store.SMS:
		return string(k)
	}
	return "upstream"
}

// CooldownError reports that the client has already booked this type and identifies that appointment. Only that client
// may see it.
type CooldownError struct {
	Until         time.Time // UTC
	AppointmentID string
	SlotStart     time.Time // start of the appointment, UTC
}

func (e *CooldownError) Error() string {
	return "already booked; the next booking of this type is possible from " + e.Until.UTC().Format(time.RFC3339)
}

// CheckCooldown returns *CooldownError if this client made a web booking of this type within the type's cooldown and
// that booking is still confirmed. The cooldown is derived from the appointments, so a cancellation clears it and a
// failed booking never sets it. With a Tx as the reader, it sees that transaction's state.
func (bk *Booking) CheckCooldown(ctx context.Context, r store.Reader, t *store.AppointmentType, owner string,
	now time.Time) error {
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

package practice

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// target is the upstream appointment that an operation writes.
type target struct {
	Start   time.Time `json:"start,omitzero"`
	Minutes int       `json:"minutes,omitempty"`
	// Specialist is the specialist at the time of the change. A move to another specialist or time has its own
	// operation.
	Specialist string `json:"specialist,omitempty"`

	View   string `json:"view,omitempty"` // upstream GUIDs
	Column string `json:"column,omitempty"`
	Type   string `json:"type,omitempty"`
}

// payload is the payload of an upstream operation. It contains no personal data: the patient and the note are read from
// the appointment when the attempt is made.
type payload struct {
	target
	// Step is the last write that began: stepPatient, stepAppointment or stepForgotten. It is empty if no write began.
	Step string `json:"step,omitempty"`
	// Doubt means that an attempt had an unknown outcome, so this operation may itself have taken the slot.
	Doubt   bool   `json:"doubt,omitempty"`
	Written bool   `json:"written,omitempty"` // the appointment exists, but the response contained no GUID
	GUID    string `json:"guid,omitempty"`    // the appointment to cancel; empty means the appointment's own
	Search  bool   `json:"search,omitempty"`  // the appointment to cancel must be looked up first
	Patient string `json:"patient,omitempty"` // the GUID of a patient who was added but is not recorded yet
	// the start, in Unix ms, of the process that last looked up the appointment without finding it
	Checked int64  `json:"checked,omitempty"`
	By      string `json:"by,omitempty"`    // the API key of the caller who made the change; see outbound.QueueFilter
	Asked   int    `json:"asked,omitempty"` // consecutive look-ups without a response
}

const (
	stepPatient     = "patient"
	stepAppointment = "appointment"
	stepForgotten   = "forgotten" // the queue was lost: either of the two writes may have begun
)

func payloadOf(op *store.Operation) payload {
	var p payload
	_ = json.Unmarshal(op.Payload, &p) // an unreadable payload was blanked, and is empty
	return p
}

func (p *payload) json() json.RawMessage {
	b, _ := json.Marshal(p) // strings, numbers and times never fail
	return b
}

// isBlank reports whether the person has been erased, and with them the appointment to write.
func (p *payload) isBlank() bool { return p.Start.IsZero() }

// write returns the target in the upstream's format.
func (t target) write(patientGUID string, zone *time.Location) upstream.NewAppointment {
	return upstream.NewAppointment{
		PatientGUID: patientGUID, Start: t.Start, Zone: zone, ScheduleViewGUID: t.View, ScheduleColumnGUID: t.Column,
		AppointmentTypeGUID: t.Type, Minutes: t.Minutes,
	}
}

// targetOf returns an appointment's target in the upstream. It returns false if the appointment does not belong there:
// no upstream is configured, or the type or the specialist has no upstream GUIDs.
func (pr *Practice) targetOf(a *store.Appointment) (target, bool) {
	s := pr.clinic.Current()
	t, p := s.Types[a.AppointmentTypeID], s.SpecialistByID[a.SpecialistID]
	if !pr.IsConnected() || t == nil || p == nil || t.UpstreamTypeID == "" || p.UpstreamColumnID == "" ||
		p.UpstreamScheduleViewID == "" {
		return target{}, false
	}
	return target{
		Start: a.SlotStart, Minutes: int(a.SlotEnd.Sub(a.SlotStart) / time.Minute), Specialist: a.SpecialistID,
		View: p.UpstreamScheduleViewID, Column: p.UpstreamColumnID, Type: t.UpstreamTypeID,
	}, true
}

// isCurrent reports whether an operation still writes the current state of the appointment. A later change has an
// operation of its own.
func isCurrent(a *store.Appointment, p *payload) bool {
	return a.Status == store.Confirmed && a.SlotStart.Equal(p.Start) && a.SpecialistID == p.Specialist
}

// MarkUpstream sets the upstream state of a changed appointment to pending if the change must be written upstream. The
// state stays needs_review, because the write waits until a person has decided about the earlier operation. before is
// nil for a new appointment.
func (pr *Practice) MarkUpstream(before, a *store.Appointment, kind string) {
	if !pr.IsConnected() || before != nil && before.UpstreamState == store.UpstreamReview {
		return
	}
	_, goes := pr.targetOf(a)
	known := before != nil && before.UpstreamState != store.UpstreamNone
	if kind == booking.ChangeCancelled && known || kind == booking.ChangeRescheduled && (known || goes) ||
		kind == booking.ChangeCreated && goes {
		a.UpstreamState = store.UpstreamPending
	}
}

// Operations returns the upstream write required by a change, or none.
func (pr *Practice) Operations(c *booking.Change) []booking.Promise {
	a := c.After
	if !pr.IsConnected() || a.UpstreamState != store.UpstreamPending && a.UpstreamState != store.UpstreamReview {
		return nil
	}
	var kind store.OperationKind
	p := payload{By: c.Actor.Key()}
	var goes bool
	p.target, goes = pr.targetOf(a)
	switch {
	case c.Kind == booking.ChangeCreated && goes:
		kind = store.UpstreamBook
	case c.Kind == booking.ChangeRescheduled && goes:
		kind = store.UpstreamReschedule
	case c.Kind == booking.ChangeCancelled, c.Kind == booking.ChangeRescheduled:
		// After a move to a specialist who does not exist upstream, no appointment remains there.
		kind = store.UpstreamCancel
		p.target, _ = pr.targetOf(c.Before)
		p.Start, p.Minutes = c.Before.SlotStart, int(c.Before.SlotEnd.Sub(c.Before.SlotStart)/time.Minute)
		p.Search = c.Before.UpstreamState == store.UpstreamConfirmed && c.Before.UpstreamID == ""
	default:
		return nil
	}
	op := pr.outbound.NewOperation(kind, a, c.At)
	if kind != store.UpstreamCancel {
		op.Deadline = deadlineOf(a.SlotStart, c.At)
	}
	if c.Actor.AtDesk() {
		op.NextAttemptAt = c.At.Add(-deskLead)
	}
	if c.Direct != "" {
		// The caller has claimed the operation and is about to attempt it. The outbox records that before anything is
		// sent.
		op.ID, op.Unknown, p.Step = c.Direct, true, stepAppointment
		op.NextAttemptAt = c.At.Add(pr.Options.AgentBound + pr.outbound.Options.Limits.Quarantine)
	}
	op.Payload = p.json()
	return []booking.Promise{{Operation: op, Notice: NoticeOf(kind)}}
}

// deskLead is how far ahead of public writes the desk's writes can go, at most. The lane takes the operation that has
// been due longest, and a patient is waiting at the desk for the desk's write.
const deskLead = time.Hour

// NoticeOf returns the name of an upstream operation in the delivery log.
func NoticeOf(kind store.OperationKind) string {
	switch kind {
	case store.UpstreamCancel:
		return "cancel"
	case store.UpstreamReschedule:
		return "reschedule"
	case store.UpstreamComment:
		return "note"
	}
	return "book"
}

// deadlineOf returns the instant after which a write is too late: 15 minutes before the start, so that staff can still
// act, but not before half the time between the booking and the start has passed.
func deadlineOf(start, booked time.Time) time.Time {
	return start.Add(-min(15*time.Minute, start.Sub(booked)/2))
}

// tooLate is the user-facing reason why a write ends at its deadline.
const tooLate = "too late to deliver: the appointment is about to start"

// ended applies an operation's ending to its appointment, in the transaction that records the ending.
func (pr *Practice) ended(ctx context.Context, tx store.Tx, op *store.Operation) (*booking.Change, error) {
	a, err := tx.Appointment(ctx, op.AppointmentID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	log, err := tx.Deliveries(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	before, p, now := a, payloadOf(op), pr.outbound.Now()
	c := &booking.Change{Before: &before, After: &a, Actor: "system", Reason: op.LastError}
	isGivenUp := op.Status == store.OperationFailed && op.LastError == outbound.GivenUp
	isLeftover := op.Kind == store.UpstreamCancel && p.GUID != ""
	switch {
	case isLeftover && (isGivenUp || op.Status == store.OperationCompleted):
		// A time that the appointment no longer occupies has been cancelled, or a person has decided about it. What
		// remains is the outcome of the appointment's own write.
		if hasFailed(&a) && isConfirmed(&a, log, op) {
			c.Kind, a.UpstreamState = booking.ChangeUpstreamDone, store.UpstreamConfirmed
		}
	case isGivenUp && op.Kind == store.UpstreamCancel && a.Status == store.Confirmed:
		// The same for a move to a specialist who does not exist upstream: no appointment remains there.
		if hasFailed(&a) && decides(&a, log, op, &p) {
			c.Kind, a.UpstreamState = booking.ChangeUpdated, store.UpstreamNone
		}
	case op.Status == store.OperationFailed:
		failureEnded(c, log, op, &p)
	case op.Kind == store.UpstreamCancel && p.GUID == "":
		cancelEnded(c, log, op, &p)
	case op.Result != "":
		pr.writeEnded(c, log, op, &p, now)
	}
	if a.UpstreamState == store.UpstreamReview && goesOn(log, op) {
		if a.UpstreamState = store.UpstreamPending; c.Kind != booking.ChangeUpstreamDone {
			c.Kind, c.Silent = booking.ChangeUpdated, true
		}
	}
	if reflect.DeepEqual(a, before) {
		return nil, nil
	}
	a.UpdatedAt = now
	if err := tx.UpdateAppointment(ctx, a); err != nil {
		return nil, err
	}
	a.Version++
	return c, nil
}

// failureEnded applies the ending of an operation that failed or needs a person's decision.
func failureEnded(c *booking.Change, log []store.Delivery, op *store.Operation, p *payload) {
	a := c.After
	c.Kind, c.Leftover = booking.ChangeUpstreamFailed, op.Kind == store.UpstreamCancel
	state := store.UpstreamFailed
	if op.NeedsReview {
		c.Kind, state = booking.ChangeUpstreamReview, store.UpstreamReview
	}
	isInTheWay := op.NeedsReview && op.Kind != store.UpstreamComment // of all later operations, until a person decides
	if decides(a, log, op, p) || op.Kind == store.UpstreamCancel && p.GUID != "" ||
		a.Status == store.Confirmed && p.isBlank() || isInTheWay {
		a.UpstreamState = state
	}
}

// cancelEnded applies the ending of an operation that cancelled the appointment's own time.
func cancelEnded(c *booking.Change, log []store.Delivery, op *store.Operation, p *payload) {
	a := c.After
	c.Kind, c.First = booking.ChangeUpstreamDone, isFirst(a, log, op)
	if decides(a, log, op, p) {
		a.UpstreamState = store.UpstreamNone
	}
	if op.Result == "" {
		return
	}
	if a.Status == store.Cancelled {
		a.UpstreamState = store.UpstreamConfirmed
	} else {
		a.UpstreamID = ""
	}
}

// writeEnded applies the ending of an operation that wrote the appointment. An appointment that it replaced is
// cancelled, and the first write is followed by the patient's note.
func (pr *Practice) writeEnded(c *booking.Change, log []store.Delivery, op *store.Operation, p *payload,
	now time.Time) {
	a := c.After
	c.Kind, c.First = booking.ChangeUpstreamDone, isFirst(a, log, op)
	replaced := a.UpstreamID
	a.UpstreamID = op.Result
	if op.Result == outbound.DoneWithoutName {
		a.UpstreamID = ""
	}
	if isCurrent(a, p) {
		a.UpstreamState = store.UpstreamConfirmed
	}
	if replaced != "" && !upstream.EqualGUID(replaced, a.UpstreamID) {
		c.Follow = append(c.Follow, pr.cancelCall(a, payload{GUID: replaced}, now))
	}
	if c.First && a.Patient.Notes != "" && a.Status == store.Confirmed {
		note := pr.outbound.NewOperation(store.UpstreamComment, a, now)
		c.Follow = append(c.Follow, booking.Promise{Operation: note, Notice: NoticeOf(store.UpstreamComment)})
	}
}

// hasFailed reports whether an appointment shows a failed operation.
func hasFailed(a *store.Appointment) bool {
	return a.UpstreamState == store.UpstreamFailed || a.UpstreamState == store.UpstreamReview
}

func (pr *Practice) cancelCall(a *store.Appointment, p payload, at time.Time) booking.Promise {
	op := pr.outbound.NewOperation(store.UpstreamCancel, a, at)
	op.Payload = p.json()
	return booking.Promise{Operation: op, Notice: NoticeOf(store.UpstreamCancel)}
}

// reopened sets an appointment to pending when a person retries its operation, in the transaction that reopens the
// operation. If a later change has replaced the operation, the appointment does not change.
func (pr *Practice) reopened(ctx context.Context, tx store.Tx, op *store.Operation, actor record.Actor,
	now time.Time) (*booking.Change, error) {
	if op.AppointmentID == "" {
		return nil, nil
	}
	a, err := tx.Appointment(ctx, op.AppointmentID)
	if err != nil {
		return nil, err
	}
	log, err := tx.Deliveries(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	if p := payloadOf(op); !decides(&a, log, op, &p) {
		return nil, nil
	}
	before := a
	a.UpstreamState, a.UpdatedAt = store.UpstreamPending, now
	if err := tx.UpdateAppointment(ctx, a); err != nil {
		return nil, err
	}
	a.Version++
	return &booking.Change{Kind: booking.ChangeUpdated, Before: &before, After: &a, Actor: actor, Silent: true,
		At: now}, nil
}

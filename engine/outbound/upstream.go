package outbound

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// Upstream is the clinic's practice-management system, as the engine needs it. *upstream.Client is one; its errors sort
// what happened (see upstream.ClassOf), and only upstream.Unknown may have taken effect.
type Upstream interface {
	SetPatient(ctx context.Context, n upstream.NewPatient) (patientGUID string, err error)
	// FindPatients and PatientInformation are not there at every vendor: upstream.Misconfigured.
	FindPatients(ctx context.Context, firstName, lastName string) ([]upstream.KnownPatient, error)
	PatientInformation(ctx context.Context, patientGUID string) (upstream.KnownPatient, error)
	SetPatientComment(ctx context.Context, patientGUID, comment string) error
	SetAppointment(ctx context.Context, n upstream.NewAppointment) (upstream.Created, error)
	SetAppointmentStatusCanceled(ctx context.Context, appointmentGUID string) error
	GetAppointmentListByPatient(ctx context.Context, patientGUID string, zone *time.Location) ([]upstream.Appointment, error)
	GetOnlineReservations(ctx context.Context, o upstream.Openings) (list []upstream.Opening, dropped int, err error)
}

// target is the appointment that an operation was promised to write.
type target struct {
	Start   time.Time `json:"start,omitzero"`
	Minutes int       `json:"minutes,omitempty"`
	// Specialist is who it was promised for. A move to somebody else, or another time, has an operation of its own.
	Specialist string `json:"specialist,omitempty"`

	View   string `json:"view,omitempty"` // GUIDs of the upstream
	Column string `json:"column,omitempty"`
	Type   string `json:"type,omitempty"`
}

// upstreamPayload is what an upstream operation carries. There is nothing about the person in it: who the patient is,
// and the note, are read from the appointment when they are needed.
type upstreamPayload struct {
	target
	// Step is the write that was begun last: stepPatient, stepAppointment, or stepForgotten; empty if none was.
	Step string `json:"step,omitempty"`
	// Doubt: some attempt had an unknown outcome, so a slot that is taken may be taken by us.
	Doubt   bool   `json:"doubt,omitempty"`
	Written bool   `json:"written,omitempty"` // it is there, and we were not told under which GUID
	GUID    string `json:"guid,omitempty"`    // the appointment to cancel; empty: the appointment's own
	Search  bool   `json:"search,omitempty"`  // to cancel, it has to be found first
	Patient string `json:"patient,omitempty"` // a patient that was added and could not be recorded
	Checked int64  `json:"checked,omitempty"` // the start, in Unix ms, of the process that last found it not to be there
	By      string `json:"by,omitempty"`      // the API key that decided it
	Asked   int    `json:"asked,omitempty"`   // look-ups in a row that got no answer, or none for now
}

const (
	stepPatient     = "patient"
	stepAppointment = "appointment"
	stepForgotten   = "forgotten" // the queue was lost: any of the two may have been begun
)

func payloadOf(op *store.Operation) upstreamPayload {
	var p upstreamPayload
	_ = json.Unmarshal(op.Payload, &p) // one that cannot be read was blanked, and is empty
	return p
}

func (p upstreamPayload) json() json.RawMessage {
	b, _ := json.Marshal(p) // strings, numbers and a time cannot fail
	return b
}

// blank: the person was erased, and with them what was to be written.
func (p upstreamPayload) blank() bool { return p.Start.IsZero() }

// write is the target as the upstream takes it.
func (t target) write(patientGUID string, zone *time.Location) upstream.NewAppointment {
	return upstream.NewAppointment{
		PatientGUID: patientGUID, Start: t.Start, Zone: zone, ScheduleViewGUID: t.View, ScheduleColumnGUID: t.Column,
		AppointmentTypeGUID: t.Type, Minutes: t.Minutes,
	}
}

// targetOf is where an appointment belongs upstream, or false if it does not belong there: no upstream is configured,
// or it does not know this type or this specialist.
func (out *Outbound) targetOf(a *store.Appointment) (target, bool) {
	s := out.clinic.Current()
	t, p := s.Types[a.AppointmentTypeID], s.SpecialistByID[a.SpecialistID]
	if out.Options.Upstream == nil || t == nil || p == nil || t.UpstreamTypeID == "" || p.UpstreamColumnID == "" || p.UpstreamScheduleViewID == "" {
		return target{}, false
	}
	return target{
		Start: a.SlotStart, Minutes: int(a.SlotEnd.Sub(a.SlotStart) / time.Minute), Specialist: a.SpecialistID,
		View: p.UpstreamScheduleViewID, Column: p.UpstreamColumnID, Type: t.UpstreamTypeID,
	}, true
}

// wanted reports whether an operation still writes what the appointment is. A later change has an operation of its own.
func wanted(a *store.Appointment, p *upstreamPayload) bool {
	return a.Status == store.Confirmed && a.SlotStart.Equal(p.Start) && a.SpecialistID == p.Specialist
}

// MarkUpstream says of a changed appointment that the upstream does not know it like this yet.
func (out *Outbound) MarkUpstream(before, a *store.Appointment, kind string) {
	if out.Options.Upstream == nil {
		return
	}
	_, goes := out.targetOf(a)
	known := before != nil && before.UpstreamState != store.UpstreamNone
	if kind == booking.ChangeCancelled && known || kind == booking.ChangeRescheduled && (known || goes) || kind == booking.ChangeCreated && goes {
		a.UpstreamState = store.UpstreamPending
	}
}

// Operations returns the operations that a change requires: upstream writes, emails and webhooks. Without a queue there are none.
func (out *Outbound) Operations(c *booking.Change) []booking.Promise {
	if out.Queue == nil {
		return nil
	}
	calls := append(c.Follow[:len(c.Follow):len(c.Follow)], out.upstreamCalls(c)...)
	for _, more := range out.notices {
		calls = append(calls, more(c)...)
	}
	return calls
}

// upstreamCalls are the operations that bring a change upstream.
func (out *Outbound) upstreamCalls(c *booking.Change) []booking.Promise {
	a := c.After
	if out.Options.Upstream == nil || a.UpstreamState != store.UpstreamPending {
		return nil
	}
	var kind store.OperationKind
	p := upstreamPayload{By: c.Actor.Key()}
	var goes bool
	p.target, goes = out.targetOf(a)
	switch {
	case c.Kind == booking.ChangeCreated && goes:
		kind = store.UpstreamBook
	case c.Kind == booking.ChangeRescheduled && goes:
		kind = store.UpstreamReschedule
	case c.Kind == booking.ChangeCancelled, c.Kind == booking.ChangeRescheduled:
		// After the move nothing is left upstream: the new specialist is not known there.
		kind = store.UpstreamCancel
		p.target, _ = out.targetOf(c.Before)
		p.Start, p.Minutes = c.Before.SlotStart, int(c.Before.SlotEnd.Sub(c.Before.SlotStart)/time.Minute)
		p.Search = c.Before.UpstreamState == store.UpstreamConfirmed && c.Before.UpstreamID == ""
	default:
		return nil
	}
	op := out.NewOperation(kind, a, c.At)
	if kind != store.UpstreamCancel {
		op.Deadline = deadlineOf(a.SlotStart, c.At)
	}
	if c.Actor.AtDesk() {
		op.NextAttemptAt = c.At.Add(-deskLead)
	}
	if c.Direct != "" {
		// Whoever has claimed it is about to try: that is recorded here, before anything is sent.
		op.ID, op.Unknown, p.Step = c.Direct, true, stepAppointment
		op.NextAttemptAt = c.At.Add(out.Options.AgentBound + out.Options.Limits.Quarantine)
	}
	op.Payload = p.json()
	return []booking.Promise{{Operation: op, Notice: NoticeOf(kind)}}
}

// deskLead is how long the public's writes may have waited and still let one of the desk go first: the lane takes what has been
// due longest, and whoever is at the desk has somebody in front of them.
const deskLead = time.Hour

// NewOperation is an operation about an appointment that is due at once and has no payload yet.
func (out *Outbound) NewOperation(kind store.OperationKind, a *store.Appointment, at time.Time) store.Operation {
	return store.Operation{
		ID: out.Outbox.Ids.Next(at), Kind: kind, AppointmentID: a.ID, Status: store.OperationPending, MaxAttempts: out.Options.Limits.MaxAttempts,
		CreatedAt: at, NextAttemptAt: at, StartTime: a.SlotStart,
	}
}

// NoticeOf is what the delivery of an upstream operation is called.
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

// deadlineOf is when it is of no use any more to try: a quarter of an hour before the start, so that staff can still
// act, but not before half of the time from the booking on has gone.
func deadlineOf(start, booked time.Time) time.Time {
	return start.Add(-min(15*time.Minute, start.Sub(booked)/2))
}

// forgotten is a promise whose copy in the queue was lost, and with it whether it was attempted.
func forgotten(op store.Operation) store.Operation {
	if p := payloadOf(&op); booking.ChannelOf(op.Kind) == "upstream" && !op.Status.Final() && !p.blank() {
		p.Step, p.Doubt = stepForgotten, true
		op.Unknown, op.Payload = true, p.json()
	}
	return op
}

// interrupted is an operation whose attempt was cut off by the end of the process.
func (out *Outbound) interrupted(op store.Operation, now time.Time) store.Operation {
	op.Status, op.Unknown, op.NextAttemptAt = store.OperationPending, true, now
	if booking.ChannelOf(op.Kind) == "upstream" {
		op.NextAttemptAt = op.AttemptedAt.Add(out.Options.Limits.Quarantine)
		if p := payloadOf(&op); p.Step != "" {
			p.Doubt = true
			op.Payload = p.json()
		}
	}
	return op
}

// rememberLastWrite sets the pacer's clock after a start by the last write that can have been sent.
func (out *Outbound) rememberLastWrite(ctx context.Context, now time.Time) error {
	if out.Options.Upstream == nil {
		return nil
	}
	var last time.Time
	at := func(t time.Time) {
		if t.After(last) {
			last = t
		}
	}
	recent := now.Add(-out.Options.AgentBound - 2*out.Options.Pacer.Spacing())
	entries, _, err := out.store.Audit(ctx, store.AuditFilter{From: recent, Action: "appointment.upstream.", Limit: 500})
	if err != nil {
		return err
	}
	for _, entry := range entries {
		at(entry.At)
	}
	err = out.eachPending(ctx, func(op store.Operation) error {
		at(op.AttemptedAt)
		return nil
	})
	if err != nil {
		return err
	}
	for after := ""; ; {
		list, err := out.store.Outbox(ctx, after, 500)
		if err != nil {
			return err
		}
		for _, op := range list {
			after = op.ID
			if op.Unknown && op.CreatedAt.Before(out.started) {
				at(op.CreatedAt.Add(out.Options.AgentBound))
			}
		}
		if len(list) < 500 {
			break
		}
	}
	out.Options.Pacer.Restart(last)
	return nil
}

// upstreamEnded is what the end of an upstream operation means to its appointment.
func (out *Outbound) upstreamEnded(ctx context.Context, tx store.Tx, op *store.Operation) (*booking.Change, error) {
	a, err := tx.Appointment(ctx, op.AppointmentID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	before, p, now := a, payloadOf(op), out.Now()
	c := &booking.Change{Before: &before, After: &a, Actor: "system", Reason: op.LastError}
	switch {
	case op.Status == store.OperationFailed:
		c.Kind = booking.ChangeUpstreamFailed
		state := store.UpstreamFailed
		if op.NeedsReview {
			c.Kind, state = booking.ChangeUpstreamReview, store.UpstreamReview
		}
		if op.Kind == store.UpstreamCancel || wanted(&a, &p) || a.Status == store.Confirmed && p.blank() {
			a.UpstreamState = state
		}
	case op.Kind == store.UpstreamCancel && p.GUID == "":
		c.Kind = booking.ChangeUpstreamDone
		a.UpstreamState = store.UpstreamNone
		if a.Status == store.Cancelled && op.Result != "" {
			a.UpstreamState = store.UpstreamConfirmed
		} else if op.Result != "" {
			a.UpstreamID = ""
		}
	case op.Result != "" && op.Kind != store.UpstreamCancel:
		c.Kind = booking.ChangeUpstreamDone
		replaced := a.UpstreamID
		a.UpstreamID = op.Result
		if op.Result == doneWithoutName {
			a.UpstreamID = ""
		}
		if wanted(&a, &p) {
			a.UpstreamState = store.UpstreamConfirmed
		}
		if replaced != "" && !upstream.EqualGUID(replaced, a.UpstreamID) {
			c.Follow = append(c.Follow, out.cancelCall(&a, upstreamPayload{GUID: replaced}, now))
		}
		if op.Kind == store.UpstreamBook && a.Source == store.SourceAgent && a.Patient.Notes != "" && a.Status == store.Confirmed {
			c.Follow = append(c.Follow, booking.Promise{Operation: out.NewOperation(store.UpstreamComment, &a, now), Notice: NoticeOf(store.UpstreamComment)})
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

func (out *Outbound) cancelCall(a *store.Appointment, p upstreamPayload, at time.Time) booking.Promise {
	op := out.NewOperation(store.UpstreamCancel, a, at)
	op.Payload = p.json()
	return booking.Promise{Operation: op, Notice: NoticeOf(store.UpstreamCancel)}
}

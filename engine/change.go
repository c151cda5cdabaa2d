package engine

import (
	"context"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// change is one durable change of an appointment: what is recorded with it and what is told after it.
type change struct {
	kind   string
	before *store.Appointment // nil when it was created
	after  *store.Appointment
	actor  Actor
	reason string
	silent bool // no mail, no webhook
	at     time.Time
	once   *Once
	// fence: the time is kept while an agent's booking is being written upstream, and nobody has been promised anything.
	fence  bool
	direct string     // the id of the upstream operation if somebody is about to try it at once
	follow []outbound // operations that come with it besides those that every such change has
	calls  []outbound // the operations that record promised; to be handed over after the commit
}

const (
	changeCreated     = "created"
	changeCancelled   = "cancelled"
	changeRescheduled = "rescheduled"
	changeAttendance  = "attendance"
	changeUpdated     = "updated"

	// What the upstream's answers change; the appointment's UpstreamState says the same.
	changeUpstreamDone    = "upstream.completed"
	changeUpstreamFailed  = "upstream.failed"
	changeUpstreamReview  = "upstream.needs_review"
	changeUpstreamRefused = "upstream.refused" // while an agent's caller waited: it is cancelled and never was
)

// frees reports whether the change ended the appointment.
func (c *change) frees() bool { return c.kind == changeCancelled || c.kind == changeUpstreamRefused }

// moves reports whether the change made a difference to what is taken.
func (c *change) moves() bool {
	return c.kind == changeCreated || c.kind == changeRescheduled || c.frees()
}

// record writes what must commit together with the change: its audit entry, the remembered answer, and the operations
// that it promises.
func (e *Engine) record(ctx context.Context, tx store.Tx, c *change) error {
	var before any
	if c.before != nil {
		before = auditedAppointment(c.before)
	}
	err := audit(ctx, tx, c.at, c.actor, "appointment."+c.kind, "appointment:"+c.after.ID, c.reason, before, auditedAppointment(c.after))
	if err != nil {
		return err
	}
	if e.queue != nil {
		c.calls = append(c.follow[:len(c.follow):len(c.follow)], e.upstreamCalls(c)...)
		for _, more := range e.notices {
			c.calls = append(c.calls, more(c)...)
		}
		if err := promise(ctx, tx, c.at, c.calls...); err != nil {
			return err
		}
	}
	return c.once.remember(ctx, tx, *c.after, c.at)
}

// announce makes a committed change visible: cache generations, busy bits and events, in that order, so that whoever
// hears of it finds it. The end of a hold is the caller's to publish, and says the same to the streams.
func (e *Engine) announce(ctx context.Context, c *change) {
	s := e.schedule.current.Load()
	e.taken.apply(c.before, c.after)
	if c.moves() {
		e.moveGenerations(s.serves[c.after.SpecialistID]...)
	}
	if c.before != nil && c.before.SpecialistID != c.after.SpecialistID {
		e.moveGenerations(s.serves[c.before.SpecialistID]...)
	}
	if c.moves() {
		e.markBusy(ctx, s, c)
	}
	if c.frees() || c.kind == changeRescheduled {
		e.publish(ctx, holds.Event{Kind: holds.EventCancel, Span: spanOf(c.before), Client: holds.ClientID(c.before.ClientID)})
	}
	e.publish(ctx, holds.Event{
		Kind: holds.EventAppointment, Span: spanOf(c.after), AppointmentID: c.after.ID, Version: c.after.Version, Reason: holds.Reason(c.kind),
	})
}

// disbelieve is called when the database refused a time that was believed free: what is remembered of the specialist is
// wrong, and everybody asks anew.
func (e *Engine) disbelieve(specialistID string) {
	e.taken.forget(specialistID)
	e.moveGenerations(e.Serves(specialistID)...)
}

// markBusy keeps the fast pre-check. Only what shares its time with nobody is marked, so that a hit is always true.
func (e *Engine) markBusy(ctx context.Context, s *schedule, c *change) {
	exclusive := func(a *store.Appointment) bool {
		t := s.types[a.AppointmentTypeID]
		return a.Status == store.Confirmed && !a.Overbook && t != nil && t.Capacity == 1
	}
	var err error
	if c.before != nil && exclusive(c.before) {
		err = e.holds.ClearBusy(ctx, c.before.SpecialistID, c.before.SlotStart, c.before.SlotEnd)
	}
	if err == nil && exclusive(c.after) {
		err = e.holds.MarkBusy(ctx, c.after.SpecialistID, c.after.SlotStart, c.after.SlotEnd)
	}
	if err != nil {
		e.log.Warn("the busy bits were not updated", "error", err)
	}
}

func spanOf(a *store.Appointment) holds.Span {
	return holds.Span{
		AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Seat: a.Seat,
		SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}

// appointmentAudit is what the audit log keeps of an appointment: nothing about the person.
type appointmentAudit struct {
	AppointmentTypeID string    `json:"appointmentTypeId"`
	SpecialistID      string    `json:"specialistId"`
	SlotStartDate     time.Time `json:"slotStartDate"`
	SlotEndDate       time.Time `json:"slotEndDate"`
	Status            string    `json:"status"`
	Attendance        string    `json:"attendance"`
	Overbook          bool      `json:"overbook,omitempty"`
	UpstreamState     string    `json:"upstreamState,omitempty"`
}

func auditedAppointment(a *store.Appointment) appointmentAudit {
	return appointmentAudit{
		a.AppointmentTypeID, a.SpecialistID, a.SlotStart, a.SlotEnd, string(a.Status), string(a.Attendance), a.Overbook, string(a.UpstreamState),
	}
}

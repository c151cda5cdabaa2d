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

// Outside is what a change of an appointment means beyond this house; package outbound is it.
type Outside interface {
	// MarkUpstream notes on after whether the practice-management system is to hear of the change.
	MarkUpstream(before, after *store.Appointment, kind string)
	// Promised lists the operations that the change promises.
	Promised(c *change) []outbound
	// HandOver gives promised operations to the queue, once they are committed.
	HandOver(calls ...outbound)
}

// Fence is what an agent's booking adds to a booking: its time is kept before anything is written upstream.
type Fence interface {
	// Mark prepares the change before its transaction.
	Mark(c *change)
	// Burn uses up, in the transaction, what the agent booked with. store.ErrDuplicate if it was used before.
	Burn(ctx context.Context, tx store.Tx, a *store.Appointment) error
	// Drop lets go of what Mark took, of a booking that was not written.
	Drop()
	// Takes keeps the upstream write of a committed change in hand and returns the other operations.
	Takes(c *change) []outbound
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
	c.calls = e.outside.Promised(c)
	if err := promise(ctx, tx, c.at, c.calls...); err != nil {
		return err
	}
	return c.once.remember(ctx, tx, *c.after, c.at)
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

package store

import (
	"context"
	"errors"
	"time"
)

// ErrBehind means that the requested changes have been deleted. Read everything again, and follow from the last change.
var ErrBehind = errors.New("the requested changes are no longer stored")

// Feed delivers committed changes in commit order. Every in-memory copy of the durable record is updated only from
// this feed. So a copy can neither miss a change nor apply two of them in the wrong order.
type Feed interface {
	// LastChange returns the number of the last committed change; 0 if there was none.
	LastChange() int64

	// Await returns once the followers of this process have received the change with this number. Any process may have
	// committed it. If they already have the change, Await returns immediately. Use it for a client that received a
	// response from another node and now calls this node. Errors: that of ctx; ErrClosed.
	Await(ctx context.Context, number int64) error

	// Changes calls each with every change whose number is greater than after, in commit order and exactly once, until
	// ctx ends. The calls do not overlap. Changes returns once the follower is registered. Before it returns, it passes
	// the changes that are already committed to each, in one call. It returns ErrBehind if some of them have been
	// deleted. Then read LastChange, read everything again, and follow from there.
	//
	// Write returns only after each has been called with the changes of that Write, so a caller finds its own change in
	// memory. Therefore each must be quick. It may read, but it must not call Write or Changes: that would be a
	// deadlock.
	Changes(ctx context.Context, after int64, each func([]Change)) error
}

// Change is one committed change of the durable record. It contains no personal data and no secret.
type Change struct {
	Number int64 // its position in the order of all commits, from 1; numbers are never reused and may have gaps
	Noun   Noun  // what changed
	ID     string

	// Before is the time that an appointment took before the change, and After the time that it takes now. Each is nil
	// if the appointment was not confirmed then. If only Before is set, the appointment was cancelled. If only After is
	// set, it was booked. If the two are equal, another field has changed.
	Before, After *Taken

	Stands  Taken  // of an appointment: its time after the change, confirmed or not
	What    Kind   // the kind of change to an appointment
	Version int64  // version of the appointment or session after the change
	Owner   string // owner of the appointment or session; empty for staff
	// of a session or a closure: the specialist, if there is one; of a sign-in: the user
	Assigned string
	Session  SessionAt // state of a session
}

// SessionAt is the state of an on-demand session after a change.
type SessionAt struct {
	Status    SessionStatus
	ExpiresAt time.Time
}

// Noun is the subject of a Change.
type Noun string

const (
	NounAppointment     Noun = "appointment"
	NounClinic          Noun = "clinic" // the clinic and its settings
	NounAppointmentType Noun = "appointment_type"
	// the row, weekly hours, overrides or blocks: everything that the calendar is computed from
	NounSpecialist Noun = "specialist"
	NounUser       Noun = "user"
	NounSignIn     Noun = "sign_in" // a sign-in that ended; without an ID, several sign-ins of one user
	NounAPIKey     Noun = "api_key" // a revoked key
	NounSession    Noun = "session"
	NounClosure    Noun = "closure"  // Assigned: the specialist
	NounWaitlist   Noun = "waitlist" // an entry or an offer to it
)

// Kind is the kind of change to an appointment. It is derived from the row before and after, so no caller can omit it
// or set the wrong one.
type Kind string

const (
	KindCreated     Kind = "created"
	KindCancelled   Kind = "cancelled"
	KindRescheduled Kind = "rescheduled" // a different time, specialist, resource or seat
	KindAttendance  Kind = "attendance"
	KindUpstream    Kind = "upstream." // followed by the upstream state, such as "upstream.confirmed"
	KindUpdated     Kind = "updated"
)

// Takes returns the specialist's time that a takes, or nil if a is not confirmed.
func (a *Appointment) Takes() *Taken {
	if a.Status != Confirmed {
		return nil
	}
	stands := a.stands()
	return &stands
}

func (a *Appointment) stands() Taken {
	return Taken{
		AppointmentID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID,
		Resources: IDsOf(a.Resources), Seat: a.Seat, Overbook: a.Overbook, SlotStart: a.SlotStart, SlotEnd: a.SlotEnd,
		BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}

// ChangeOf returns the change to an appointment from before to after. before is nil for a new appointment.
func ChangeOf(before, after *Appointment) Change {
	c := Change{
		Noun: NounAppointment, ID: after.ID, After: after.Takes(), Stands: after.stands(), What: kindOf(before, after),
		Version: after.Version, Owner: after.Owner,
	}
	if before != nil {
		c.Before = before.Takes()
	}
	return c
}

// ChangeOfSession returns the change to an on-demand session whose state after the change is s.
func ChangeOfSession(s *Session) Change {
	return Change{
		Noun: NounSession, ID: s.ID, Version: s.Version, Owner: s.Owner, Assigned: s.SpecialistID,
		Session: SessionAt{Status: s.Status, ExpiresAt: s.ExpiresAt},
	}
}

func kindOf(before, after *Appointment) Kind {
	switch {
	case before == nil:
		return KindCreated
	case before.Status != after.Status && after.Status == Cancelled:
		return KindCancelled
	case !before.Takes().equal(after.Takes()):
		return KindRescheduled
	case before.Attendance != after.Attendance:
		return KindAttendance
	case before.UpstreamState != after.UpstreamState:
		return KindUpstream + Kind(after.UpstreamState)
	}
	return KindUpdated
}

// Moved reports whether the change affects the time that the appointment takes.
func (c *Change) Moved() bool { return !c.Before.equal(c.After) }

func (t *Taken) equal(o *Taken) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.AppointmentID == o.AppointmentID && t.AppointmentTypeID == o.AppointmentTypeID &&
		t.SpecialistID == o.SpecialistID &&
		t.Resources == o.Resources && t.Seat == o.Seat && t.Overbook == o.Overbook && t.SlotStart.Equal(o.SlotStart) &&
		t.SlotEnd.Equal(o.SlotEnd) &&
		t.BusyStart.Equal(o.BusyStart) && t.BusyEnd.Equal(o.BusyEnd)
}

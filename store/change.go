package store

import (
	"context"
	"errors"
	"time"
)

// ErrBehind: the requested changes are deleted. Read everything again, and follow from the last change.
var ErrBehind = errors.New("the changes asked for are no longer kept")

// Feed tells what was committed, in the order in which it was. Whatever a process keeps in memory of what is remembered is
// fed by it and by nothing else, so memory can neither miss a change nor take two of them in the wrong order.
type Feed interface {
	// LastChange is the number of the last committed change; 0 if there never was one.
	LastChange() int64

	// Await returns once this process has taken in the change with the number, committed by whichever process: its followers have
	// it. At once if that is so. It is for whoever comes here with the answer of another node. The error of ctx; ErrClosed.
	Await(ctx context.Context, number int64) error

	// Changes calls each with every change committed after the one with the number given, in commit order, each exactly
	// once and never two calls at a time, until ctx ends. It returns once the follower is registered; the changes between
	// after and the registration come in one call before it returns. ErrBehind if they are no longer kept: then read
	// LastChange, read everything again, and follow from there.
	//
	// Write returns only after each was called with the changes of that Write, so whoever is answered finds its own
	// change in memory. each must therefore be quick, and must not call Write or Changes: it would wait for itself. It may
	// read.
	Changes(ctx context.Context, after int64, each func([]Change)) error
}

// Change is one committed change of what is remembered. It has no personal data and no secret.
type Change struct {
	Number int64 // its place in the order of all commits, from 1 on; numbers are never used twice and may have gaps
	Noun   Noun  // what changed
	ID     string

	// What an appointment took before and takes now, nil while it is not confirmed: Before alone is a cancellation, After
	// alone a booking, and two that are equal changed something else.
	Before, After *Taken

	Stands   Taken     // of an appointment: where it is after the change, confirmed or not
	What     Kind      // of an appointment: what was done to it
	Version  int64     // of the appointment or session, after the change
	Owner    string    // of the appointment or session; empty for staff
	Assigned string    // of a session: the specialist, if there is one; of a closure: the specialist; of a sign-in: the user
	Session  SessionAt // of a session
}

// SessionAt is where an on-demand session stands after a change.
type SessionAt struct {
	Status    SessionStatus
	ExpiresAt time.Time
}

// Noun is what a Change is about.
type Noun string

const (
	NounAppointment     Noun = "appointment"
	NounClinic          Noun = "clinic" // the settings included
	NounAppointmentType Noun = "appointment_type"
	NounSpecialist      Noun = "specialist" // the row, the weekly hours, the overrides, the blocks: whatever its calendar is made from
	NounUser            Noun = "user"
	NounSignIn          Noun = "sign_in" // one that ended; without an ID, some of one user
	NounAPIKey          Noun = "api_key" // one that was revoked
	NounSession         Noun = "session"
	NounClosure         Noun = "closure"  // Assigned: the specialist
	NounWaitlist        Noun = "waitlist" // an entry, or what was offered to it
)

// Kind says what was done to an appointment. It is derived from the row before and after, so no caller can forget or
// confuse it.
type Kind string

const (
	KindCreated     Kind = "created"
	KindCancelled   Kind = "cancelled"
	KindRescheduled Kind = "rescheduled" // another time, specialist, resource or seat
	KindAttendance  Kind = "attendance"
	KindUpstream    Kind = "upstream." // followed by the upstream state, such as "upstream.confirmed"
	KindUpdated     Kind = "updated"
)

// Takes is what a takes of a specialist's time; nil unless it is confirmed.
func (a *Appointment) Takes() *Taken {
	if a.Status != Confirmed {
		return nil
	}
	stands := a.stands()
	return &stands
}

func (a *Appointment) stands() Taken {
	return Taken{
		AppointmentID: a.ID, AppointmentTypeID: a.AppointmentTypeID, SpecialistID: a.SpecialistID, Resources: IDsOf(a.Resources), Seat: a.Seat, Overbook: a.Overbook,
		SlotStart: a.SlotStart, SlotEnd: a.SlotEnd, BusyStart: a.BusyStart, BusyEnd: a.BusyEnd,
	}
}

// ChangeOf is the change that makes before (nil if there was nothing) into after.
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

// ChangeOfSession is the change that left an on-demand session as s.
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

// Moved reports whether the change made a difference to what is taken.
func (c *Change) Moved() bool { return !c.Before.equal(c.After) }

func (t *Taken) equal(o *Taken) bool {
	if t == nil || o == nil {
		return t == o
	}
	return t.AppointmentID == o.AppointmentID && t.AppointmentTypeID == o.AppointmentTypeID && t.SpecialistID == o.SpecialistID &&
		t.Resources == o.Resources && t.Seat == o.Seat && t.Overbook == o.Overbook && t.SlotStart.Equal(o.SlotStart) && t.SlotEnd.Equal(o.SlotEnd) &&
		t.BusyStart.Equal(o.BusyStart) && t.BusyEnd.Equal(o.BusyEnd)
}

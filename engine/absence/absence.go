// Package absence finds new times for the patients of a specialist who is away, for example ill today or delayed until
// noon.
//
// An absence is a block of the specialist's time (package clinic), together with the outcome for each appointment in
// it. Plan proposes a new time for each appointment without writing anything (plan.go). Create writes the block first,
// so that no client can book the time, and then handles each appointment as the desk decided (create.go):
//
//   - move: the appointment moves immediately, and the patient gets the usual email about the new time.
//   - ask: the server holds the proposed time and asks the patient, who can use the appointment's link to
//     accept it, choose another one, or cancel.
//   - call: the server holds the proposed time, and the desk calls the patient.
//
// A proposed time is an offer of package waitlist: it is held, can be accepted, expires and is erased like any other
// offer. Status returns the patients' answers (status.go). The server sends nothing until booking.UndoTime has passed.
// Until then, Undo can revert the whole absence.
package absence

import (
	"log/slog"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/waitlist"
	"holdfast/store"
)

// Absences plans, records and undoes absences. It is safe for concurrent use.
type Absences struct{ Options }

// Options are the parameters of New. All fields are required.
type Options struct {
	Store    store.Store
	Logger   *slog.Logger
	Clinic   *clinic.Clinic
	Booking  *booking.Booking
	Messages *message.Messages
	Waitlist *waitlist.Waitlist
}

// New returns an Absences.
func New(o Options) *Absences { return &Absences{o} }

// Away is the period during which a specialist is absent.
type Away struct {
	SpecialistID string
	Start, End   time.Time
	Reason       string // for the staff only; patients never see it
}

// block returns the block for an absence. Its instants are truncated like those of any other block.
func (a *Away) block() store.Block {
	return store.Block{
		SpecialistID: a.SpecialistID, Start: a.Start.UTC().Truncate(time.Second),
		End: a.End.UTC().Truncate(time.Second), Reason: a.Reason,
	}
}

// check checks the specialist and the time. Errors: *ValidationError.
func (ab *Absences) check(a *Away) error {
	var m record.Mistakes
	switch s := ab.Clinic.Current(); {
	case s.IsResource(a.SpecialistID):
		m.Add("specialistId", "is a room or a device; create a block for it instead")
	case s.SpecialistByID[a.SpecialistID] == nil:
		m.Add("specialistId", "no specialist has this id")
	}
	switch {
	case a.Start.IsZero():
		m.Add("start", "must be a time such as 2026-11-23T09:00:00Z")
	case !a.Start.Before(a.End):
		m.Add("end", "must be later than start")
	case !a.End.After(time.Now()):
		m.Add("end", "is past")
	}
	record.CheckText(&m, "reason", a.Reason, 500, true)
	return m.Err()
}

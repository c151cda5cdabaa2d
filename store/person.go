package store

import (
	"context"
	"slices"
	"time"
)

// Person names somebody to be erased by any one of these; the others are empty.
type Person struct {
	Email string // compared without case
	Phone string // compared by its digits
	Owner string
	// Of is how appointments spell the person: who Is one of these is meant, and nobody else who has the same address, number or
	// browser. A family shares those.
	Of []Identity
}

// Names are those of the spellings in Of, folded, each once.
func (p Person) Names() (all []string) {
	for i := range p.Of {
		if name := Fold(p.Of[i].Name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Erased counts what was blanked.
type Erased struct {
	Appointments int
	Operations   int // outbox rows whose payload was blanked
	Answers      int // idempotency records removed
	AuditEntries int
	Sessions     int
	Requests     int // booking requests removed, whole
	Waitlist     int // entries of the waiting list removed, whole
	Notes        int // that the desk wrote about the person, removed
	Links        int // to other spellings of the person, removed
	// OperationIDs are those whose copies in the queue must be blanked as well.
	OperationIDs []string
}

// Add counts what else was blanked.
func (e *Erased) Add(o Erased) {
	e.Appointments, e.Operations, e.Answers, e.AuditEntries = e.Appointments+o.Appointments, e.Operations+o.Operations, e.Answers+o.Answers, e.AuditEntries+o.AuditEntries
	e.Sessions, e.Requests, e.Waitlist = e.Sessions+o.Sessions, e.Requests+o.Requests, e.Waitlist+o.Waitlist
	e.Notes, e.Links = e.Notes+o.Notes, e.Links+o.Links
	e.OperationIDs = slices.Concat(e.OperationIDs, o.OperationIDs)
}

// PersonEraser erases people.
type PersonEraser interface {
	// Erase blanks the personal columns of every appointment of this person (a confirmed one keeps its time), and
	// the person's traces in outbox payloads, those of webhooks left out (Traces.InOperation), idempotency answers, audit entries and sessions; booking requests, entries of the
	// waiting list, notes and links of the person go whole, and so does what agents were told of the person, which is not counted. at
	// is now. A store in files of its own also takes what was blanked off them before it returns, and makes up later for what
	// it could not; in a database server no query finds it any more, and what the server's files hold is its operator's to let go.
	//
	// It is many transactions, each a bounded step, and other writes go on between them. The appointments are blanked
	// last: whoever repeats an erasure that did not get to its end finds everything that is left. last runs in the final
	// transaction with what was counted, so that whatever records the erasure commits with its end; the rules of
	// Store.Write are those of last.
	//
	// ErrInvalid unless p names somebody in exactly one way. ctx bounds the steps up to the final one.
	Erase(ctx context.Context, p Person, at time.Time, last func(Tx, Erased) error) (Erased, error)
}

// Identity is who an appointment is for. Nobody is remembered as a person: whoever has appointments is one, by what those say.
type Identity struct {
	Name      string
	Email     string
	Phone     string
	BirthDate string // local date, or empty
}

// Identity is a patient without what is said about one visit.
func (p *Patient) Identity() Identity { return Identity{p.Name, p.Email, p.Phone, p.BirthDate} }

// Is reports whether two are one and the same: the same name, and the same date of birth, phone number or mail address. A name
// alone is nobody, and a family's phone number is several people. Two dates of birth are two people, whatever else is alike.
func (i *Identity) Is(o *Identity) bool {
	switch {
	case Fold(i.Name) != Fold(o.Name):
		return false
	case i.BirthDate != "" && o.BirthDate != "":
		return i.BirthDate == o.BirthDate
	case i.Email != "" && Fold(i.Email) == Fold(o.Email):
		return true
	}
	number := Digits(i.Phone)
	return number != "" && number == Digits(o.Phone)
}

// IsOneOf reports whether i is somebody to be erased: by the address or number, or because it is one of those who are known or
// named, or is exactly as they are. Where people are named, a date of birth is one of theirs: without one, a name and a number may be
// a mother's and her daughter's.
func (i *Identity) IsOneOf(p Person, known []Identity) bool {
	if len(p.Of) > 0 && i.BirthDate != "" && !slices.ContainsFunc(p.Of, func(k Identity) bool { return k.BirthDate == i.BirthDate }) {
		return false
	}
	is := func(k Identity) bool { return k == *i || k.Is(i) }
	return p.Email != "" && Fold(i.Email) == Fold(p.Email) || p.Phone != "" && Digits(i.Phone) == Digits(p.Phone) ||
		slices.ContainsFunc(known, is) || slices.ContainsFunc(p.Of, is)
}

// PatientAt is who one appointment is for.
type PatientAt struct {
	Identity
	AppointmentID string
	SlotStart     time.Time
}

// PersonNote is something the desk says about a person.
type PersonNote struct {
	ID        string
	Of        Identity // as the appointment says that it was written at
	Text      string
	Author    string // as an audit entry names an actor
	CreatedAt time.Time
}

// PersonLink says that two identities are one person.
type PersonLink struct {
	ID        string
	A, B      Identity
	Author    string
	CreatedAt time.Time
}

// PersonReader asks about people.
type PersonReader interface {
	// Patients calls each with who every appointment is for, those who were erased left out, in no order: of one specialist, or of
	// all if none is named. It reads the whole table.
	Patients(ctx context.Context, specialistID string, each func(PatientAt)) error

	// PersonNotes lists the notes about those of a name, folded, by when they were made. PersonNote: ErrNotFound.
	PersonNotes(ctx context.Context, name string) ([]PersonNote, error)
	PersonNote(ctx context.Context, id string) (PersonNote, error)

	// PersonLinks lists the links on either side of which somebody has a name, folded, by when they were made.
	PersonLinks(ctx context.Context, name string) ([]PersonLink, error)
}

// PersonWriter changes what the desk says about people.
type PersonWriter interface {
	// InsertPersonNote and InsertPersonLink add one. ErrDuplicate if its id is there.
	InsertPersonNote(ctx context.Context, n PersonNote) error
	InsertPersonLink(ctx context.Context, l PersonLink) error

	// DeletePersonNote and DeletePersonLink remove one. ErrNotFound.
	DeletePersonNote(ctx context.Context, id string) error
	DeletePersonLink(ctx context.Context, id string) error
}

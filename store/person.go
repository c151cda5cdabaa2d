package store

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// Person identifies a person to be erased, by exactly one of these fields; the others are empty.
type Person struct {
	Email string // compared without case
	Phone string // compared by its digits
	Owner string
	// Of lists the identities of the person, as their appointments spell them. An identity belongs to the person if it
	// matches one of these (see Identity.Is). People who only share an address, a number or a browser are not included:
	// families share those.
	Of []Identity
}

// Names returns the names in Of, folded, each once.
func (p Person) Names() (all []string) {
	for i := range p.Of {
		if name := Fold(p.Of[i].Name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

// Erased counts blanked and removed data.
type Erased struct {
	Appointments int
	Operations   int // outbox rows with a blanked payload
	Answers      int // idempotency records removed
	AuditEntries int
	Sessions     int
	Requests     int // booking requests removed
	Waitlist     int // waiting-list entries removed
	Notes        int // the desk's notes about the person, removed
	Links        int // links to the person's other identities, removed
	// OperationIDs are the operations whose copies in the queue must be blanked too.
	OperationIDs []string
}

// Add adds the counts of o.
func (e *Erased) Add(o Erased) {
	e.Appointments, e.Operations, e.Answers, e.AuditEntries = e.Appointments+o.Appointments, e.Operations+o.Operations,
		e.Answers+o.Answers, e.AuditEntries+o.AuditEntries
	e.Sessions, e.Requests, e.Waitlist = e.Sessions+o.Sessions, e.Requests+o.Requests, e.Waitlist+o.Waitlist
	e.Notes, e.Links = e.Notes+o.Notes, e.Links+o.Links
	e.OperationIDs = slices.Concat(e.OperationIDs, o.OperationIDs)
}

// PersonEraser erases people.
type PersonEraser interface {
	// Erase blanks the personal columns of every appointment of this person (a confirmed one keeps its time). It also
	// blanks the person's traces in outbox payloads (except webhooks, see Traces.InOperation), idempotency records,
	// audit entries and sessions. It deletes the person's booking requests, waiting-list entries, notes, links, agent
	// sessions and saved undo states. Erased does not count the last two. at is the current time. A store that has its
	// own files also removes the blanked data from its files before it returns, and later retries the files that it
	// could not clean. In a database server, no query finds the data any more; the server's operator is responsible for
	// its files.
	//
	// Erase runs many transactions, each a bounded step, and other writes run between them. It blanks the appointments
	// last, so that repeating an interrupted erasure finds everything that is left. last runs in the final transaction
	// and receives the counts, so that a record of the erasure is committed with the last step. The rules of
	// Store.Write apply to last.
	//
	// It returns ErrInvalid if p does not identify a person in exactly one way. ctx limits all steps except the final
	// one.
	Erase(ctx context.Context, p Person, at time.Time, last func(Tx, Erased) error) (Erased, error)
}

// Identity is the person for whom an appointment is booked. The store has no record of a person: a person is the set
// of appointments whose identities match.
type Identity struct {
	Name      string
	Email     string
	Phone     string
	BirthDate string // local date, or empty
}

// Identity returns the patient without the details of one visit.
func (p *Patient) Identity() Identity { return Identity{p.Name, p.Email, p.Phone, p.BirthDate} }

// Is reports whether two identities are the same person: the same name, and the same date of birth, phone number or
// email address. A name alone does not identify a person, and several members of a family may share a phone number. Two
// identities with different dates of birth are two people, even if everything else is equal.
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

// IsOneOf reports whether i is the person to be erased: it has the address or number of p, or it Is or equals one of
// known or p.Of. If p.Of is given and i has a date of birth, p.Of must contain that date: without a date, a name and a
// number could belong to a mother and her daughter.
func (i *Identity) IsOneOf(p Person, known []Identity) bool {
	if len(p.Of) > 0 && i.BirthDate != "" &&
		!slices.ContainsFunc(p.Of, func(k Identity) bool { return k.BirthDate == i.BirthDate }) {
		return false
	}
	is := func(k Identity) bool { return k == *i || k.Is(i) }
	return p.Email != "" && Fold(i.Email) == Fold(p.Email) || p.Phone != "" && Digits(i.Phone) == Digits(p.Phone) ||
		slices.ContainsFunc(known, is) || slices.ContainsFunc(p.Of, is)
}

// PatientAt is the patient of one appointment.
type PatientAt struct {
	Identity
	AppointmentID string
	SlotStart     time.Time
}

// FoundPerson is one spelling of a person in the result of a search.
type FoundPerson struct {
	Identity
	AppointmentID string // id of the newest appointment; of several with the same start, the lowest id
	Appointments  int
	Last          time.Time // the start of the newest appointment
	Score         int       // how much the spelling differs from the query (PersonQuery.Match)
}

// Compare orders the people found by a search: the best match first, then the newest appointment, then the lowest
// appointment id.
func (f *FoundPerson) Compare(o *FoundPerson) int {
	return cmp.Or(cmp.Compare(f.Score, o.Score), o.Last.Compare(f.Last), cmp.Compare(f.AppointmentID, o.AppointmentID))
}

// Add counts one more appointment of the person.
func (f *FoundPerson) Add(appointmentID string, start time.Time) {
	newer := start.Compare(f.Last)
	if f.Appointments == 0 || newer > 0 || newer == 0 && appointmentID < f.AppointmentID {
		f.AppointmentID, f.Last = appointmentID, start
	}
	f.Appointments++
}

// PersonNote is a note by the desk about a person.
type PersonNote struct {
	ID        string
	Of        Identity `column:",inline"` // as in the appointment that the desk wrote the note for
	Text      string   `column:"note"`
	Author    string   // in the format of AuditEntry.Actor
	CreatedAt time.Time
}

// PersonLink records that two identities are one person.
type PersonLink struct {
	ID        string
	A         Identity `column:"a_,inline"`
	B         Identity `column:"b_,inline"`
	Author    string
	CreatedAt time.Time
}

// PersonReader reads the stored data about people.
type PersonReader interface {
	// Patients calls each with the patient of every appointment, in no particular order and without erased patients. It
	// passes the patients of one specialist, or of all if specialistID is empty. It reads the whole table.
	Patients(ctx context.Context, specialistID string, each func(PatientAt)) error

	// FindPeople calls each with every spelling of a person that q matches, in the order of FoundPerson.Compare, until
	// each returns false. It searches and counts the appointments with one specialist, or with any specialist if
	// specialistID is empty. It finds the same people as a scan of Patients with q.Match. It reads one snapshot of the
	// database: the index, and the appointments that are not in the index yet (PeopleIndexed).
	FindPeople(ctx context.Context, q PersonQuery, specialistID string, each func(FoundPerson) bool) error

	// AppointmentsNamed lists at most limit appointments for people with this name, by start and id. name is folded. It
	// lists those with one specialist, or with any specialist if specialistID is empty. Like FindPeople, it uses the
	// index.
	AppointmentsNamed(ctx context.Context, name, specialistID string, limit int) ([]Appointment, error)

	// PeopleIndexed returns how many appointments are in the index of people, and how many are not yet. Both numbers
	// are upper bounds.
	PeopleIndexed(ctx context.Context) (indexed, rest int64, err error)

	// PersonNotes lists the notes about people with this name, by creation. name is folded. PersonNote returns one
	// note, or ErrNotFound.
	PersonNotes(ctx context.Context, name string) ([]PersonNote, error)
	PersonNote(ctx context.Context, id string) (PersonNote, error)

	// PersonLinks lists the links that have this name on either side, by creation. name is folded.
	PersonLinks(ctx context.Context, name string) ([]PersonLink, error)
}

// PersonWriter changes the desk's notes and links.
type PersonWriter interface {
	// IndexPeople adds the patients of at most limit further appointments to the index, in the order in which the
	// appointments were inserted. Every change of an indexed appointment, and its erasure, updates the index in the
	// same transaction.
	IndexPeople(ctx context.Context, limit int) error

	// InsertPersonNote and InsertPersonLink add one row. They return ErrDuplicate if the id already exists.
	InsertPersonNote(ctx context.Context, n PersonNote) error
	InsertPersonLink(ctx context.Context, l PersonLink) error

	// DeletePersonNote and DeletePersonLink remove one row. Errors: ErrNotFound.
	DeletePersonNote(ctx context.Context, id string) error
	DeletePersonLink(ctx context.Context, id string) error
}

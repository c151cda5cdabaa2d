package table

import (
	"context"
	"slices"
	"unicode/utf8"

	"holdfast/store"
)

// These conditions test the column patient_search of several tables, which contains the result of store.SearchText.
const (
	hasEmail = `{instr}(patient_search, ?) > 0`
	hasPhone = `substr(patient_search, length(patient_search) - ? + 1) = ?`
	hasName  = `substr(patient_search, 1, ?) = ?`
)

// emailLine returns the argument of hasEmail.
func emailLine(p store.Person) string { return "\n" + store.Fold(p.Email) + "\n" }

// phoneLine returns the arguments of hasPhone. The number is the last line.
func phoneLine(p store.Person) []any {
	line := "\n" + store.Digits(p.Phone)
	return []any{len(line), line}
}

// nameLine returns the arguments of hasName. The name is the first line.
func nameLine(name string) []any {
	line := store.Fold(name) + "\n"
	return []any{utf8.RuneCountInString(line), line}
}

// identityColumns lists the columns of an identity in every table that contains a patient.
const identityColumns = `patient_name, patient_email, patient_phone, patient_birth_date`

func scanIdentity(r Row) store.Identity {
	return store.Identity{Name: r.Text(), Email: r.Text(), Phone: r.Text(), BirthDate: r.Text()}
}

// personal is one appointment of a person: its id, the client that booked it, and the patient.
type personal struct {
	appointmentID, clientID string
	identity                store.Identity
}

// appointmentsOf finds the appointments of a person whose rows were inserted after the row with the given number.
func appointmentsOf(ctx context.Context, s Source, p store.Person, after int64) ([]personal, error) {
	find := func(where string, args ...any) ([]personal, error) {
		return list(ctx, s, func(r Row) personal { return personal{r.Text(), r.Text(), scanIdentity(r)} },
			`SELECT id, client_id, `+identityColumns+` FROM appointments WHERE {row} > ? AND `+where,
			append([]any{after}, args...)...)
	}
	switch {
	case len(p.Of) > 0:
		var all []personal
		for _, name := range p.Names() {
			namesakes, err := find(hasName, nameLine(name)...)
			if err != nil {
				return nil, err
			}
			isOther := func(f personal) bool { return !f.identity.IsOneOf(p, nil) }
			all = append(all, slices.DeleteFunc(namesakes, isOther)...)
		}
		return all, nil
	case p.Owner != "":
		return find(`client_id = ? AND client_id <> ''`, p.Owner)
	case p.Email != "":
		return find(hasEmail, emailLine(p))
	}
	return find(hasPhone, phoneLine(p)...)
}

// rowsOf returns the ids of a person's rows in the table of requests or of waiting-list entries. Both tables are small,
// so it reads the whole table.
func rowsOf(
	ctx context.Context, s Source, table string, p store.Person, known []store.Identity,
) (ids []string, err error) {
	find := func(where string, args ...any) ([]string, error) {
		return list(ctx, s, Row.Text, `SELECT id FROM `+table+` WHERE `+where, args...)
	}
	switch {
	case len(p.Of) > 0:
		err = s.Query(ctx, func(r Row) {
			id, of := r.Text(), scanIdentity(r)
			if of.IsOneOf(p, known) {
				ids = append(ids, id)
			}
		}, `SELECT id, `+identityColumns+` FROM `+table)
		return ids, err
	case p.Owner != "":
		return find(`client_id = ? AND client_id <> ''`, p.Owner)
	case p.Email != "":
		return find(hasEmail, emailLine(p))
	}
	return find(hasPhone, phoneLine(p)...)
}

// Patients implements store.PersonReader.
func (r Reads) Patients(ctx context.Context, specialistID string, each func(store.PatientAt)) error {
	return r.source.Query(ctx, func(r Row) {
		each(store.PatientAt{AppointmentID: r.Text(), SlotStart: r.Time(), Identity: scanIdentity(r)})
	}, `SELECT id, slot_start, `+identityColumns+` FROM appointments
		WHERE patient_search <> '' AND (CAST(?1 AS TEXT) = '' OR specialist_id = ?1)`, specialistID)
}

var notes = nounOf[store.PersonNote]("person_notes", "id",
	derived("name_key", func(n *store.PersonNote) any { return store.Fold(n.Of.Name) }),
)

// PersonNotes implements store.PersonReader.
func (r Reads) PersonNotes(ctx context.Context, name string) ([]store.PersonNote, error) {
	return notes.list(ctx, r.source, `WHERE name_key = ? ORDER BY created_at, id`, store.Fold(name))
}

// PersonNote implements store.PersonReader.
func (r Reads) PersonNote(ctx context.Context, id string) (store.PersonNote, error) {
	return notes.one(ctx, r.source, `WHERE id = ?`, id)
}

// InsertPersonNote implements store.PersonWriter.
func (t *Tx) InsertPersonNote(_ context.Context, n store.PersonNote) error {
	return t.run(notes.insert, notes.values(&n)...)
}

// DeletePersonNote implements store.PersonWriter.
func (t *Tx) DeletePersonNote(_ context.Context, id string) error {
	return t.mustChange(`DELETE FROM person_notes WHERE id = ?`, id)
}

var links = nounOf[store.PersonLink]("person_links", "id",
	derived("a_name_key", func(l *store.PersonLink) any { return store.Fold(l.A.Name) }),
	derived("b_name_key", func(l *store.PersonLink) any { return store.Fold(l.B.Name) }),
)

// PersonLinks implements store.PersonReader.
func (r Reads) PersonLinks(ctx context.Context, name string) ([]store.PersonLink, error) {
	const either = `WHERE a_name_key = ?1 OR b_name_key = ?1 ORDER BY created_at, id`
	return links.list(ctx, r.source, either, store.Fold(name))
}

// InsertPersonLink implements store.PersonWriter.
func (t *Tx) InsertPersonLink(_ context.Context, l store.PersonLink) error {
	return t.run(links.insert, links.values(&l)...)
}

// DeletePersonLink implements store.PersonWriter.
func (t *Tx) DeletePersonLink(_ context.Context, id string) error {
	return t.mustChange(`DELETE FROM person_links WHERE id = ?`, id)
}

// eraseNotesAndLinks removes the notes and the links whose identity matches p or known (store.Identity.IsOneOf). Both
// tables are small, so it reads all their rows.
func (t *Tx) eraseNotesAndLinks(
	ctx context.Context, p store.Person, known []store.Identity,
) (removedNotes, removedLinks int, err error) {
	allNotes, err := notes.list(ctx, t.source, ``)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range allNotes {
		if !n.Of.IsOneOf(p, known) {
			continue
		}
		if err := t.DeletePersonNote(ctx, n.ID); err != nil {
			return removedNotes, 0, err
		}
		removedNotes++
	}
	allLinks, err := links.list(ctx, t.source, ``)
	for _, l := range allLinks {
		if !l.A.IsOneOf(p, known) && !l.B.IsOneOf(p, known) {
			continue
		}
		if err := t.DeletePersonLink(ctx, l.ID); err != nil {
			return removedNotes, removedLinks, err
		}
		removedLinks++
	}
	return removedNotes, removedLinks, err
}

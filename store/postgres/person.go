package postgres

import (
	"context"
	"slices"

	"holdfast/store"
)

// personal is one appointment of the person: its id, the client that booked it, and who it is for.
type personal struct {
	appointmentID, clientID string
	identity                store.Identity
}

// appointmentsOf finds those of a person whose rows were added after the given one.
func appointmentsOf(ctx context.Context, r reads, p store.Person, after int64) ([]personal, error) {
	scan := func(r *row) personal { return personal{r.text(), r.text(), scanIdentity(r)} }
	switch {
	case len(p.Of) > 0:
		var all []personal
		for _, name := range p.Names() {
			namesakes, err := list(ctx, r, scan,
				`SELECT id, client_id, `+identityColumns+` FROM appointments WHERE row_number > $1 AND starts_with(patient_search, $2)`, after, store.Fold(name)+"\n")
			if err != nil {
				return nil, err
			}
			all = append(all, slices.DeleteFunc(namesakes, func(f personal) bool { return !f.identity.IsOneOf(p, nil) })...)
		}
		return all, nil
	case p.Owner != "":
		return list(ctx, r, scan,
			`SELECT id, client_id, `+identityColumns+` FROM appointments WHERE client_id = $1 AND client_id <> '' AND row_number > $2`, p.Owner, after)
	case p.Email != "":
		return list(ctx, r, scan,
			`SELECT id, client_id, `+identityColumns+` FROM appointments WHERE row_number > $1 AND strpos(patient_search, $2) > 0`, after, "\n"+store.Fold(p.Email)+"\n")
	}
	line := "\n" + store.Digits(p.Phone)
	return list(ctx, r, scan,
		`SELECT id, client_id, `+identityColumns+` FROM appointments WHERE row_number > $1 AND right(patient_search, $2::int) = $3`, after, len(line), line)
}

const identityColumns = `patient_name, patient_email, patient_phone, patient_birth_date`

func scanIdentity(r *row) store.Identity {
	return store.Identity{Name: r.text(), Email: r.text(), Phone: r.text(), BirthDate: r.text()}
}

func (r reads) Patients(ctx context.Context, specialistID string, each func(store.PatientAt)) error {
	const query = `SELECT id, slot_start, ` + identityColumns + ` FROM appointments WHERE patient_search <> '' AND ($1::text = '' OR specialist_id = $1)`
	scan := func(r *row) {
		each(store.PatientAt{AppointmentID: r.text(), SlotStart: r.time(), Identity: scanIdentity(r)})
	}
	return r.ask(ctx, asks(scan, query, specialistID))
}

const noteColumns = `id, name, email, phone, birth_date, note, author, created_at`

func scanNote(r *row) store.PersonNote {
	return store.PersonNote{ID: r.text(), Of: scanIdentity(r), Text: r.text(), Author: r.text(), CreatedAt: r.time()}
}

func (r reads) PersonNotes(ctx context.Context, name string) ([]store.PersonNote, error) {
	return list(ctx, r, scanNote, `SELECT `+noteColumns+` FROM person_notes WHERE name_key = $1 ORDER BY created_at, id`, store.Fold(name))
}

func (r reads) PersonNote(ctx context.Context, id string) (store.PersonNote, error) {
	return one(ctx, r, scanNote, `SELECT `+noteColumns+` FROM person_notes WHERE id = $1`, id)
}

func (t *tx) InsertPersonNote(_ context.Context, n store.PersonNote) error {
	return t.run(`INSERT INTO person_notes (name_key, `+noteColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		store.Fold(n.Of.Name), n.ID, n.Of.Name, n.Of.Email, n.Of.Phone, n.Of.BirthDate, n.Text, n.Author, n.CreatedAt)
}

func (t *tx) DeletePersonNote(_ context.Context, id string) error {
	return t.mustChange(`DELETE FROM person_notes WHERE id = $1`, id)
}

const linkColumns = `id, a_name, a_email, a_phone, a_birth_date, b_name, b_email, b_phone, b_birth_date, author, created_at`

func scanLink(r *row) store.PersonLink {
	return store.PersonLink{ID: r.text(), A: scanIdentity(r), B: scanIdentity(r), Author: r.text(), CreatedAt: r.time()}
}

func (r reads) PersonLinks(ctx context.Context, name string) ([]store.PersonLink, error) {
	return list(ctx, r, scanLink, `SELECT `+linkColumns+` FROM person_links WHERE a_name_key = $1 OR b_name_key = $1 ORDER BY created_at, id`, store.Fold(name))
}

func (t *tx) InsertPersonLink(_ context.Context, l store.PersonLink) error {
	return t.run(`INSERT INTO person_links (a_name_key, b_name_key, `+linkColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		store.Fold(l.A.Name), store.Fold(l.B.Name), l.ID, l.A.Name, l.A.Email, l.A.Phone, l.A.BirthDate, l.B.Name, l.B.Email, l.B.Phone, l.B.BirthDate, l.Author, l.CreatedAt)
}

func (t *tx) DeletePersonLink(_ context.Context, id string) error {
	return t.mustChange(`DELETE FROM person_links WHERE id = $1`, id)
}

// eraseSaid removes what the desk said about a person: notes and links of those who are of the same name as somebody in known and
// are that person, or who have the address or number. They are few, so they are looked through as a whole.
func (t *tx) eraseSaid(ctx context.Context, p store.Person, known []store.Identity) (notes, links int, err error) {
	allNotes, err := list(ctx, t.reads, scanNote, `SELECT `+noteColumns+` FROM person_notes`)
	if err != nil {
		return 0, 0, err
	}
	for _, n := range allNotes {
		if !n.Of.IsOneOf(p, known) {
			continue
		}
		if err := t.DeletePersonNote(ctx, n.ID); err != nil {
			return notes, 0, err
		}
		notes++
	}
	allLinks, err := list(ctx, t.reads, scanLink, `SELECT `+linkColumns+` FROM person_links`)
	for _, l := range allLinks {
		if !l.A.IsOneOf(p, known) && !l.B.IsOneOf(p, known) {
			continue
		}
		if err := t.DeletePersonLink(ctx, l.ID); err != nil {
			return notes, links, err
		}
		links++
	}
	return notes, links, err
}

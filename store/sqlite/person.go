package sqlite

import (
	"context"

	"holdfast/store"
)

// personal is one appointment of the person: its id and the client that booked it.
type personal struct{ appointmentID, clientID string }

// appointmentsOf finds those of a person whose rows were added after the given one.
func appointmentsOf(ctx context.Context, r reads, p store.Person, after int64) ([]personal, error) {
	scan := func(r *row) personal { return personal{r.text(), r.text()} }
	switch {
	case p.Owner != "":
		return list(ctx, r, scan,
			`SELECT id, client_id FROM appointments WHERE client_id = ? AND client_id <> '' AND rowid > ?`, p.Owner, after)
	case p.Email != "":
		return list(ctx, r, scan,
			`SELECT id, client_id FROM appointments WHERE rowid > ? AND instr(patient_search, ?) > 0`, after, "\n"+store.Fold(p.Email)+"\n")
	}
	line := "\n" + store.Digits(p.Phone)
	return list(ctx, r, scan,
		`SELECT id, client_id FROM appointments WHERE rowid > ? AND substr(patient_search, ?) = ?`, after, -len(line), line)
}

package postgres

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
			`SELECT id, client_id FROM appointments WHERE client_id = $1 AND client_id <> '' AND row_number > $2`, p.Owner, after)
	case p.Email != "":
		return list(ctx, r, scan,
			`SELECT id, client_id FROM appointments WHERE row_number > $1 AND strpos(patient_search, $2) > 0`, after, "\n"+store.Fold(p.Email)+"\n")
	}
	line := "\n" + store.Digits(p.Phone)
	return list(ctx, r, scan,
		`SELECT id, client_id FROM appointments WHERE row_number > $1 AND right(patient_search, $2::int) = $3`, after, len(line), line)
}

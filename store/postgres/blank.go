package postgres

import (
	"time"

	"holdfast/store"
)

// What an erasure does to the rows that it found, inside one transaction.

func (t *tx) blankAppointments(found []personal, at time.Time) (n int, err error) {
	for _, f := range found {
		// What an agent was told of them: by the practice system's name for them, which is about to go.
		err := t.run(`DELETE FROM agent_sessions WHERE patient_id <> '' AND patient_id = (
			SELECT lower(upstream_patient_id) FROM appointments WHERE id = $1)`, f.appointmentID)
		if err != nil {
			return n, err
		}
		changed, err := t.exec(`
			UPDATE appointments SET client_id = '', overbook_reason = '', patient_name = '', patient_email = '',
				patient_phone = '', patient_birth_date = '', notes = '', intake = '', patient_search = '', upstream_patient_id = '',
				cancel_reason = '', updated_at = $1, version = version + 1
			WHERE id = $2`, at, f.appointmentID)
		if err != nil {
			return n, err
		}
		n += int(changed)
		if err := t.run(`UPDATE nonce_uses SET patient_id = '' WHERE appointment_id = $1`, f.appointmentID); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *tx) blankSessions(clients []string, at time.Time) (n int, err error) {
	for _, client := range clients {
		changed, err := t.exec(`
			UPDATE sessions SET client_id = '', outcome = '', updated_at = $1, version = version + 1
			WHERE client_id = $2 AND client_id <> ''`, at, client)
		if err != nil {
			return n, err
		}
		n += int(changed)
	}
	return n, nil
}

func (t *tx) blankOperations(ids []string) (int, error) {
	for _, id := range ids {
		if err := t.run(`UPDATE outbox SET payload = '{}', last_error = '' WHERE id = $1`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// removeAnswers looks at each answer again: its row may be another's by now.
func (t *tx) removeAnswers(rows []int64, traces store.Traces) (n int, err error) {
	for _, number := range rows {
		speaks := false
		err := t.ask(asks(func(r *row) { speaks = traces.In(string(r.next())) },
			`SELECT body FROM idempotency_records WHERE row_number = $1`, number))
		if err != nil {
			return n, err
		}
		if !speaks {
			continue
		}
		if err := t.run(`DELETE FROM idempotency_records WHERE row_number = $1`, number); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (t *tx) blankAudit(rows []int64) (int, error) {
	for _, number := range rows {
		if err := t.linkErasure(number); err != nil {
			return 0, err
		}
		if err := t.run(`UPDATE audit_entries SET reason = '', before = NULL, after = NULL, salt = '' WHERE row_number = $1`, number); err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

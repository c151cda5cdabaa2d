package sqlite

import (
	"context"
	"time"

	"holdfast/store"
)

// What an erasure does to the rows that it found, inside one transaction.

func (t *tx) blankAppointments(found []personal, at time.Time) (n int, err error) {
	for _, f := range found {
		// What an agent was told of them: by the practice system's name for them, which is about to go.
		err := t.run(`DELETE FROM agent_sessions WHERE patient_id <> '' AND patient_id = (
			SELECT lower(upstream_patient_id) FROM appointments WHERE id = ?)`, f.appointmentID)
		if err != nil {
			return n, err
		}
		changed, err := t.exec(`
			UPDATE appointments SET client_id = '', overbook_reason = '', patient_name = '', patient_email = '',
				patient_phone = '', patient_birth_date = '', notes = '', intake = '', patient_search = '', upstream_patient_id = '',
				cancel_reason = '', updated_at = ?, version = version + 1
			WHERE id = ?`, at, f.appointmentID)
		if err != nil {
			return n, err
		}
		n += int(changed)
		if err := t.run(`UPDATE nonce_uses SET patient_id = '' WHERE appointment_id = ?`, f.appointmentID); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (t *tx) blankSessions(clients []string, at time.Time) (n int, err error) {
	for _, client := range clients {
		changed, err := t.exec(`
			UPDATE sessions SET client_id = '', outcome = '', updated_at = ?, version = version + 1
			WHERE client_id = ? AND client_id <> ''`, at, client)
		if err != nil {
			return n, err
		}
		n += int(changed)
	}
	return n, nil
}

func (t *tx) blankOperations(ids []string) (int, error) {
	for _, id := range ids {
		if err := t.run(`UPDATE outbox SET payload = '{}', last_error = '' WHERE id = ?`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// removeAnswers looks at each answer again: its row may be another's by now.
func (t *tx) removeAnswers(rowids []int64, traces store.Traces) (n int, err error) {
	for _, rowid := range rowids {
		speaks := false
		err := t.conn.query(context.Background(), func(r *row) { speaks = traces.In(string(r.bytes())) },
			`SELECT body FROM idempotency_records WHERE rowid = ?`, rowid)
		if err != nil {
			return n, err
		}
		if !speaks {
			continue
		}
		if err := t.run(`DELETE FROM idempotency_records WHERE rowid = ?`, rowid); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (t *tx) blankAudit(rowids []int64) (int, error) {
	for _, rowid := range rowids {
		if err := t.linkErasure(rowid); err != nil {
			return 0, err
		}
		if err := t.run(`UPDATE audit_entries SET reason = '', before = NULL, after = NULL, salt = x'' WHERE rowid = ?`, rowid); err != nil {
			return 0, err
		}
	}
	return len(rowids), nil
}

package table

import (
	"context"
	"slices"
	"time"

	"holdfast/store"
)

// This file contains the changes that an erasure makes to the rows that it has found. Each runs inside one transaction.

func (t *Tx) blankAppointments(ctx context.Context, found []personal, at time.Time) (n int, err error) {
	for _, f := range found {
		// Agents' sessions contain the patient's upstream id. Find them now: a later statement removes that id from the
		// appointment.
		err := t.run(`DELETE FROM agent_sessions WHERE patient_id <> '' AND patient_id = (
			SELECT lower(upstream_patient_id) FROM appointments WHERE id = ?)`, f.appointmentID)
		if err != nil {
			return n, err
		}
		if err := t.reindex(ctx, f.appointmentID, store.Identity{}, time.Time{}); err != nil {
			return n, err
		}
		changed, err := t.count(`
			UPDATE appointments SET client_id = '', overbook_reason = '', patient_name = '', patient_email = '',
				patient_phone = '', patient_birth_date = '', notes = '', intake = '', patient_search = '',
				upstream_patient_id = '', cancel_reason = '', recall_at = NULL, updated_at = ?, version = version + 1
			WHERE id = ?`, at, f.appointmentID)
		if err != nil {
			return n, err
		}
		n += changed
		if changed > 0 {
			a, err := t.Appointment(ctx, f.appointmentID)
			if err != nil {
				return n, err
			}
			t.to.Changed(store.ChangeOf(&a, &a)) // an erasure does not change the time that the appointment takes
		}
		if err := t.run(`DELETE FROM undo_states WHERE appointment_id = ?`, f.appointmentID); err != nil {
			return n, err
		}
		if err := t.run(`UPDATE nonce_uses SET patient_id = '' WHERE appointment_id = ?`, f.appointmentID); err != nil {
			return n, err
		}
	}
	return n, nil
}

// blankSessions blanks the sessions of the person's clients, and those whose patient is the person. Only open sessions
// have patient data, so the second search reads few rows.
func (t *Tx) blankSessions(ctx context.Context, e *erasure) (n int, err error) {
	const blank = `UPDATE sessions SET client_id = '', outcome = '', reason = '', patient_name = '', patient_phone = '',
		updated_at = ?, version = version + 1 WHERE `
	for _, client := range e.traces.Owners() {
		changed, err := t.count(blank+`client_id = ? AND client_id <> ''`, e.at, client)
		if err != nil {
			return n, err
		}
		n += changed
	}
	open, err := sessions.list(ctx, t.source,
		`WHERE status IN ('requested', 'active', 'pending_payment') AND patient_phone <> '' ORDER BY id`)
	if err != nil {
		return n, err
	}
	for i := range open {
		of := store.Identity{Name: open[i].PatientName, Phone: open[i].PatientPhone}
		isTheirs := of.IsOneOf(e.person, e.known) ||
			slices.ContainsFunc(e.handles, func(h store.Person) bool { return of.IsOneOf(h, nil) })
		if !isTheirs {
			continue
		}
		changed, err := t.count(blank+`id = ?`, e.at, open[i].ID)
		if err != nil {
			return n, err
		}
		n += changed
	}
	return n, nil
}

func (t *Tx) blankOperations(ids []string) (int, error) {
	for _, id := range ids {
		if err := t.run(`UPDATE outbox SET payload = '{}', last_error = '' WHERE id = ?`, id); err != nil {
			return 0, err
		}
	}
	return len(ids), nil
}

// removeAnswers reads each saved response again before it deletes it, because the row may have been reused for another
// response.
func (t *Tx) removeAnswers(ctx context.Context, rows []int64, traces store.Traces) (n int, err error) {
	for _, row := range rows {
		found := false
		err := t.source.Query(ctx, func(r Row) { found = traces.In(string(r.Bytes())) },
			`SELECT body FROM idempotency_records WHERE {row} = ?`, row)
		if err != nil {
			return n, err
		}
		if !found {
			continue
		}
		if err := t.run(`DELETE FROM idempotency_records WHERE {row} = ?`, row); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (t *Tx) blankAudit(rows []int64) (int, error) {
	for _, row := range rows {
		if err := t.to.LinkErasure(row); err != nil {
			return 0, err
		}
		err := t.run(`UPDATE audit_entries SET reason = '', before = NULL, after = NULL, salt = ? WHERE {row} = ?`,
			[]byte{}, row)
		if err != nil {
			return 0, err
		}
	}
	return len(rows), nil
}

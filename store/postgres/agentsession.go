package postgres

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

const agentSessionColumns = `patient_id, patient_name, patient_email, patient_phone, patient_birth_date, open, at, expires_at`

func scanAgentSession(r *row) store.AgentSession {
	return store.AgentSession{
		PatientID: r.text(), Patient: store.Patient{Name: r.text(), Email: r.text(), Phone: r.text(), BirthDate: r.text()},
		Open: r.bool(), At: r.time(), ExpiresAt: r.time(),
	}
}

func (r reads) AgentSession(ctx context.Context, after time.Time, names ...string) (latest store.AgentSession, err error) {
	found := false
	for _, name := range names {
		s, err := one(ctx, r, scanAgentSession, `SELECT `+agentSessionColumns+` FROM agent_sessions WHERE name = $1 AND at > $2`, name, after)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return store.AgentSession{}, err
		}
		if err == nil && (!found || s.At.After(latest.At)) {
			latest, found = s, true
		}
	}
	if !found {
		err = store.ErrNotFound
	}
	return latest, err
}

func (t *tx) PutAgentSession(_ context.Context, s store.AgentSession, names ...string) error {
	p := store.Patient{Name: s.Patient.Name, Email: s.Patient.Email, Phone: s.Patient.Phone, BirthDate: s.Patient.BirthDate}
	for _, name := range names {
		err := t.run(`
			INSERT INTO agent_sessions (name, patient_search, `+agentSessionColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (name) DO UPDATE SET patient_search = excluded.patient_search, patient_id = excluded.patient_id,
				patient_name = excluded.patient_name, patient_email = excluded.patient_email, patient_phone = excluded.patient_phone,
				patient_birth_date = excluded.patient_birth_date, open = excluded.open, at = excluded.at, expires_at = excluded.expires_at`,
			name, store.SearchText(p), s.PatientID, p.Name, p.Email, p.Phone, p.BirthDate, s.Open, s.At, s.ExpiresAt)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) ForgetAgentSessions(_ context.Context, before time.Time, limit int) (int, error) {
	n, err := t.exec(`DELETE FROM agent_sessions WHERE name IN (
		SELECT name FROM agent_sessions WHERE at < $1 ORDER BY at LIMIT $2)`, before, limit)
	return int(n), err
}

// eraseAgentSessions removes what agents were told of a person. It is little, so it is looked through as a whole; what is found
// by an appointment goes with that (blankAppointments). handles are further addresses and numbers of the person.
func (t *tx) eraseAgentSessions(p store.Person, handles []store.Person) (err error) {
	for _, handle := range handles {
		if err := t.eraseAgentSessions(handle, nil); err != nil {
			return err
		}
	}
	switch {
	case store.Fold(p.Email) != "":
		err = t.run(`DELETE FROM agent_sessions WHERE strpos(patient_search, $1) > 0`, "\n"+store.Fold(p.Email)+"\n")
	case store.Digits(p.Phone) != "":
		line := "\n" + store.Digits(p.Phone)
		err = t.run(`DELETE FROM agent_sessions WHERE right(patient_search, $1::int) = $2`, len(line), line)
	}
	return err
}

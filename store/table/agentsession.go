package table

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/store"
)

// namedAgentSession is a row of agent_sessions: a session under one of its names.
type namedAgentSession struct {
	store.AgentSession
	name string
}

var agentSessions = nounOf[namedAgentSession]("agent_sessions", "name",
	column{name: "notes"},
	derived("patient_search", func(s *namedAgentSession) any { return store.SearchText(s.Patient) }),
)

// AgentSession implements store.AgentSessionReader.
func (r Reads) AgentSession(ctx context.Context, after time.Time, names ...string) (store.AgentSession, error) {
	var latest store.AgentSession
	found := false
	for _, name := range names {
		s, err := agentSessions.one(ctx, r.source, `WHERE name = ? AND at > ?`, name, after)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return store.AgentSession{}, err
		}
		if err == nil && (!found || s.At.After(latest.At)) {
			latest, found = s.AgentSession, true
		}
	}
	if !found {
		return latest, store.ErrNotFound
	}
	return latest, nil
}

// PutAgentSession implements store.AgentSessionWriter.
func (t *Tx) PutAgentSession(_ context.Context, s store.AgentSession, names ...string) error {
	p := s.Patient
	s.Patient = store.Patient{Name: p.Name, Email: p.Email, Phone: p.Phone, BirthDate: p.BirthDate}
	for _, name := range names {
		if err := t.run(agentSessions.put, agentSessions.values(&namedAgentSession{s, name})...); err != nil {
			return err
		}
	}
	return nil
}

// ForgetAgentSessions implements store.AgentSessionWriter.
func (t *Tx) ForgetAgentSessions(_ context.Context, before time.Time, limit int) (int, error) {
	return t.count(`DELETE FROM agent_sessions WHERE name IN (
		SELECT name FROM agent_sessions WHERE at < ? ORDER BY at LIMIT +?)`, before, limit)
}

// eraseAgentSessions removes the sessions of the person, and the sessions that name the same patient upstream: those
// with an email address or phone number that belongs to the person only (handles holds further ones), and those of a
// patient who is the person or is one of known. The table is small, so the function reads the whole table.
// blankAppointments removes the sessions that belong to an appointment.
func (t *Tx) eraseAgentSessions(ctx context.Context, p store.Person, known []store.Identity,
	handles []store.Person) error {
	all, err := agentSessions.list(ctx, t.source, ``)
	if err != nil {
		return err
	}
	patients := make(map[string]bool)
	isTheirs := func(s *namedAgentSession) bool {
		i := s.Patient.Identity()
		return i != (store.Identity{}) && (i.IsOneOf(p, known) ||
			slices.ContainsFunc(handles, func(h store.Person) bool { return i.IsOneOf(h, nil) }))
	}
	for i := range all {
		if s := &all[i]; s.PatientID != "" && isTheirs(s) {
			patients[s.PatientID] = true
		}
	}
	for i := range all {
		if s := &all[i]; !patients[s.PatientID] && !isTheirs(s) {
			continue
		}
		if err := t.run(`DELETE FROM agent_sessions WHERE name = ?`, all[i].name); err != nil {
			return err
		}
	}
	return nil
}

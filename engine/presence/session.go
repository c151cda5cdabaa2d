package presence

import (
	"context"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// SessionRequestTTL is how long a request waits for somebody to accept it.
const SessionRequestTTL = 60 * time.Second

// Why a session cannot be changed as asked, as the Reason of a *NotBookableError.
const (
	ReasonAccepted   availability.Reason = "already_accepted"
	ReasonEnded      availability.Reason = "session_over"
	ReasonNotActive  availability.Reason = "session_not_active"
	ReasonAtCapacity availability.Reason = "at_capacity"
	ReasonNotOnline  availability.Reason = "not_online"
)

// RequestSession asks for an on-demand consultation. Every available specialist hears of it, and the first to accept
// has it. A client that is waiting already gets the request it has. *ValidationError.
func (pr *Presence) RequestSession(ctx context.Context, client holds.ClientID, once *record.Once) (store.Session, error) {
	var m record.Mistakes
	record.CheckClient(&m, client)
	if err := m.Err(); err != nil {
		return store.Session{}, err
	}
	now := record.Now()
	s := store.Session{
		ID: record.NewID(), Owner: client.Owner().String(), Status: store.SessionRequested, RequestedAt: now, ExpiresAt: now.Add(SessionRequestTTL), UpdatedAt: now, Version: 1,
	}
	found := s
	err := pr.store.Write(ctx, func(tx store.Tx) error {
		waiting, err := tx.Sessions(ctx, store.SessionFilter{Owner: s.Owner, Statuses: []store.SessionStatus{store.SessionRequested}})
		if err != nil {
			return err
		}
		found = s
		for _, w := range waiting {
			if now.Before(w.ExpiresAt) {
				found = w
				return once.Remember(ctx, tx, found, now)
			}
		}
		if err := tx.InsertSession(ctx, s); err != nil {
			return err
		}
		return once.Remember(ctx, tx, s, now)
	})
	if err == nil && found.ID == s.ID {
		select {
		case pr.requested <- struct{}{}:
		default: // it will look anyway
		}
	}
	return found, err
}

// Session returns one. store.ErrNotFound.
func (pr *Presence) Session(ctx context.Context, id string) (store.Session, error) {
	if !record.ValidID(id) {
		return store.Session{}, store.ErrNotFound
	}
	return pr.store.Session(ctx, id)
}

// Sessions lists sessions, oldest first.
func (pr *Presence) Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error) {
	return pr.store.Sessions(ctx, f)
}

// AcceptSession gives a request to the first specialist who asks; the others get *NotBookableError. The capacity is
// decided in the transaction; the live counter is a hint that reconciliation heals. A repeat by the same specialist is
// answered with the session again, and is a sign of life of it. store.ErrNotFound.
func (pr *Presence) AcceptSession(ctx context.Context, id, specialistID string) (store.Session, error) {
	p, err := pr.onlineSpecialist(ctx, specialistID)
	if err != nil {
		return store.Session{}, err
	}
	return pr.changeSession(ctx, id, func(tx store.Tx, s *store.Session, now time.Time) (bool, error) {
		switch {
		case counts(s) && s.SpecialistID == specialistID:
			return signOfLife(s, now), nil
		case counts(s):
			return false, &availability.NotBookableError{Reason: ReasonAccepted}
		case s.Status != store.SessionRequested || !now.Before(s.ExpiresAt):
			return false, &availability.NotBookableError{Reason: ReasonEnded}
		}
		if err := withinCapacity(ctx, tx, &p); err != nil {
			return false, err
		}
		s.Status, s.SpecialistID, s.AcceptedAt = store.SessionActive, specialistID, now
		return true, nil
	})
}

// EndSession closes an active session with an outcome in a few words. Ending twice is ending once. store.ErrNotFound,
// *NotBookableError.
func (pr *Presence) EndSession(ctx context.Context, id, outcome string) (store.Session, error) {
	outcome = strings.TrimSpace(outcome)
	var m record.Mistakes
	record.CheckText(&m, "outcome", outcome, 200, false)
	if err := m.Err(); err != nil {
		return store.Session{}, err
	}
	return pr.changeSession(ctx, id, func(_ store.Tx, s *store.Session, now time.Time) (bool, error) {
		if s.Status == store.SessionEnded {
			return false, nil
		}
		if err := inProgress(s); err != nil {
			return false, err
		}
		s.Status, s.Outcome, s.EndedAt = store.SessionEnded, outcome, now
		return true, nil
	})
}

// RerouteSession hands an active session to another specialist: one load goes down and one up. To hand it to whoever has it is a sign of
// life of it. store.ErrNotFound, *NotBookableError.
func (pr *Presence) RerouteSession(ctx context.Context, id, specialistID string) (store.Session, error) {
	p, err := pr.onlineSpecialist(ctx, specialistID)
	if err != nil {
		return store.Session{}, err
	}
	return pr.changeSession(ctx, id, func(tx store.Tx, s *store.Session, now time.Time) (bool, error) {
		if err := inProgress(s); err != nil {
			return false, err
		}
		if s.SpecialistID == specialistID {
			return signOfLife(s, now), nil
		}
		if err := withinCapacity(ctx, tx, &p); err != nil {
			return false, err
		}
		s.SpecialistID = specialistID
		return true, nil
	})
}

// SetSessionPayment says whether a session waits for its payment. It keeps its place in the specialist's load. To say it
// again is a sign of life.
// store.ErrNotFound, *NotBookableError.
func (pr *Presence) SetSessionPayment(ctx context.Context, id string, pending bool) (store.Session, error) {
	to := store.SessionActive
	if pending {
		to = store.SessionPendingPayment
	}
	return pr.changeSession(ctx, id, func(_ store.Tx, s *store.Session, now time.Time) (bool, error) {
		if err := inProgress(s); err != nil {
			return false, err
		}
		changed := s.Status != to
		s.Status = to
		return changed || signOfLife(s, now), nil
	})
}

// CancelSession takes back the client's own request, or ends the client's session. One that is over stays as it is.
// *ValidationError, store.ErrNotFound, holds.ErrNotOwner.
func (pr *Presence) CancelSession(ctx context.Context, id string, client holds.ClientID) (store.Session, error) {
	var m record.Mistakes
	record.CheckClient(&m, client)
	if err := m.Err(); err != nil {
		return store.Session{}, err
	}
	return pr.changeSession(ctx, id, func(_ store.Tx, s *store.Session, now time.Time) (bool, error) {
		if !client.Owner().Is(record.SpelledOwner(s.Owner)) {
			return false, holds.ErrNotOwner
		}
		if s.Status != store.SessionRequested && !counts(s) {
			return false, nil
		}
		s.Status, s.EndedAt = store.SessionCancelled, now
		return true, nil
	})
}

func (pr *Presence) onlineSpecialist(ctx context.Context, id string) (store.Specialist, error) {
	var m record.Mistakes
	record.CheckID(&m, "specialistId", id)
	if err := m.Err(); err != nil {
		return store.Specialist{}, err
	}
	p, err := pr.clinic.Specialist(id)
	if err != nil {
		return p, record.Invalid("specialistId", "no specialist has this id")
	}
	live, err := pr.holds.Present(ctx, id)
	switch {
	case err != nil:
		return p, err
	case !p.Active:
		return p, holds.ErrDeactivated
	case !live.Online:
		return p, &availability.NotBookableError{Reason: ReasonNotOnline}
	}
	return p, nil
}

func withinCapacity(ctx context.Context, tx store.Tx, p *store.Specialist) error {
	loads, err := tx.Loads(ctx)
	if err != nil {
		return err
	}
	if loads[p.ID] >= p.MaxSessions {
		return &availability.NotBookableError{Reason: ReasonAtCapacity}
	}
	return nil
}

func inProgress(s *store.Session) error {
	switch {
	case counts(s):
		return nil
	case s.Status == store.SessionRequested:
		return &availability.NotBookableError{Reason: ReasonNotActive}
	}
	return &availability.NotBookableError{Reason: ReasonEnded}
}

// counts reports whether a session is part of its specialist's load.
func counts(s *store.Session) bool {
	return s.Status == store.SessionActive || s.Status == store.SessionPendingPayment
}

// changeSession lets edit change one session in a transaction, then brings the live loads in step. The feed tells the streams.
func (pr *Presence) changeSession(ctx context.Context, id string, edit func(tx store.Tx, s *store.Session, now time.Time) (bool, error)) (store.Session, error) {
	if !record.ValidID(id) {
		return store.Session{}, store.ErrNotFound
	}
	pr.presence.loads.RLock() // until the live loads show what was committed
	defer pr.presence.loads.RUnlock()
	now := record.Now()
	var before, after store.Session
	var changed bool
	err := pr.store.Write(ctx, func(tx store.Tx) error {
		var err error
		if before, err = tx.Session(ctx, id); err != nil {
			return err
		}
		after = before
		if changed, err = edit(tx, &after, now); err != nil {
			return err
		}
		if changed {
			after.UpdatedAt = now
			if err := tx.UpdateSession(ctx, after); err != nil {
				return err
			}
			after.Version++
		}
		return record.OnceOf(ctx).Remember(ctx, tx, after, now)
	})
	if err != nil || !changed {
		return after, err
	}
	ctx = context.WithoutCancel(ctx)
	if counts(&before) && (!counts(&after) || before.SpecialistID != after.SpecialistID) {
		pr.addLoad(ctx, before.SpecialistID, -1)
	}
	if counts(&after) && (!counts(&before) || before.SpecialistID != after.SpecialistID) {
		pr.addLoad(ctx, after.SpecialistID, 1)
	}
	return after, nil
}

func (pr *Presence) addLoad(ctx context.Context, specialistID string, delta int) {
	if _, err := pr.holds.Load(ctx, specialistID, delta); err != nil {
		pr.log.Warn("live load of a specialist wrong until reconciliation", "specialist", specialistID, "error", err)
	}
}

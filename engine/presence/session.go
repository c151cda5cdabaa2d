package presence

import (
	"context"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// SessionRequestTTL is how long a session request waits for a specialist to accept it.
const SessionRequestTTL = 60 * time.Second

// The reasons why a session change is refused, used as the Reason in a *NotBookableError.
const (
	ReasonAccepted   availability.Reason = "already_accepted"
	ReasonEnded      availability.Reason = "session_over"
	ReasonNotActive  availability.Reason = "session_not_active"
	ReasonAtCapacity availability.Reason = "at_capacity"
	ReasonNotOnline  availability.Reason = "not_online"
)

// SessionRequest is what a patient enters when requesting a session. All fields are optional.
type SessionRequest struct {
	AppointmentTypeID string
	Reason            string // at most 200 characters
	PatientName       string
	PatientPhone      string // the specialist calls this number
}

// check trims the fields of a request and validates them.
func (r *SessionRequest) check(m *record.Mistakes, c *clinic.Clinic) {
	for _, text := range []*string{&r.Reason, &r.PatientName, &r.PatientPhone} {
		*text = strings.TrimSpace(*text)
	}
	record.CheckText(m, "reason", r.Reason, 200, false)
	record.CheckText(m, "patient.name", r.PatientName, 200, false)
	record.CheckText(m, "patient.phone", r.PatientPhone, 50, false)
	if r.PatientPhone != "" && store.Digits(r.PatientPhone) == "" {
		m.Add("patient.phone", "must be a telephone number")
	}
	if r.AppointmentTypeID == "" {
		return
	}
	if t, err := c.AppointmentType(r.AppointmentTypeID); err != nil || !t.Active {
		m.Add("appointmentTypeId", "no appointment type has this id")
	}
}

// RequestSession requests an on-demand consultation. All available specialists receive the request, and the first
// specialist to accept it gets the session. If the client already has an open request, RequestSession returns that
// request. Errors: *ValidationError.
func (pr *Presence) RequestSession(ctx context.Context, client holds.ClientID, r SessionRequest,
	once *record.Once) (store.Session, error) {
	var m record.Mistakes
	record.CheckClient(&m, client)
	r.check(&m, pr.clinic)
	if err := m.Err(); err != nil {
		return store.Session{}, err
	}
	now := record.Now()
	s := store.Session{
		ID: record.NewID(), Owner: client.Owner().String(), Status: store.SessionRequested, RequestedAt: now,
		AppointmentTypeID: r.AppointmentTypeID, Reason: r.Reason, PatientName: r.PatientName,
		PatientPhone: r.PatientPhone, ExpiresAt: now.Add(SessionRequestTTL), UpdatedAt: now, Version: 1,
	}
	found := s
	err := pr.store.Write(ctx, func(tx store.Tx) error {
		waiting, err := tx.Sessions(ctx, store.SessionFilter{Owner: s.Owner,
			Statuses: []store.SessionStatus{store.SessionRequested}})
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
	return found, err
}

// Session returns one session. Errors: store.ErrNotFound.
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

// AcceptSession assigns a request to the first specialist who accepts it. The other specialists get *NotBookableError.
// The transaction checks the capacity; the live counter is only a hint, which reconciliation repairs. If the same
// specialist repeats the call, it returns the session again and counts as a sign of life. Errors: store.ErrNotFound.
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

// DeclineSession declines a request for the specialist with specialistID. The others can still accept until all
// available specialists have declined. If specialistID is empty, the request is declined for the whole clinic. If no
// specialist can accept the request any more, it expires immediately. Repeating the call changes nothing. Errors:
// *ValidationError, store.ErrNotFound, *NotBookableError.
func (pr *Presence) DeclineSession(ctx context.Context, id, specialistID string) (store.Session, error) {
	var available []holds.Present
	if specialistID != "" {
		if _, err := pr.clinic.Specialist(specialistID); err != nil {
			return store.Session{}, record.Invalid("specialistId", "no specialist has this id")
		}
		var err error
		if available, err = pr.Available(ctx, 0); err != nil {
			return store.Session{}, err
		}
	}
	return pr.changeSession(ctx, id, func(_ store.Tx, s *store.Session, now time.Time) (bool, error) {
		switch {
		case counts(s):
			return false, &availability.NotBookableError{Reason: ReasonAccepted}
		case s.Status != store.SessionRequested || !now.Before(s.ExpiresAt):
			return false, &availability.NotBookableError{Reason: ReasonEnded}
		}
		declined := strings.Fields(s.Declined)
		if specialistID != "" {
			if slices.Contains(declined, specialistID) {
				return false, nil
			}
			declined = append(declined, specialistID)
			s.Declined = strings.Join(declined, " ")
		}
		canAccept := func(p holds.Present) bool { return !slices.Contains(declined, p.SpecialistID) }
		if !slices.ContainsFunc(available, canAccept) {
			s.Status, s.EndedAt = store.SessionExpired, now
		}
		return true, nil
	})
}

// EndSession ends a session in progress with a short outcome. If the session has already been ended, EndSession
// changes nothing. Errors: *ValidationError, store.ErrNotFound, *NotBookableError.
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

// RerouteSession moves a session in progress to another specialist: one load decreases and the other increases.
// Rerouting to the specialist who already has the session counts as a sign of life. Errors: store.ErrNotFound,
// *NotBookableError.
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

// SetSessionPayment sets whether a session is waiting for payment. The session counts toward the specialist's load
// either way. Repeating the call counts as a sign of life. Errors: store.ErrNotFound, *NotBookableError.
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

// CancelSession cancels the client's own request or session in progress. It does not change a session that has already
// ended. Errors: *ValidationError, store.ErrNotFound, holds.ErrNotOwner.
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
	pr.settle(ctx)
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

// counts reports whether a session counts toward its specialist's load.
func counts(s *store.Session) bool {
	return slices.Contains(busySessions, s.Status)
}

// changeSession calls edit on one session in a transaction and then updates the live loads. edit reports whether it
// changed the session. The feed notifies the streams.
func (pr *Presence) changeSession(ctx context.Context, id string,
	edit func(tx store.Tx, s *store.Session, now time.Time) (bool, error)) (store.Session, error) {
	if !record.ValidID(id) {
		return store.Session{}, store.ErrNotFound
	}
	pr.presence.loads.RLock() // held until the live loads include the committed change
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
			// the session is over, so the data that the patient entered is no longer needed
			if after.Status != store.SessionRequested && !counts(&after) {
				after.Reason, after.PatientName, after.PatientPhone = "", "", ""
			}
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
		pr.log.Warn("failed to update the load of a specialist; reconciliation will correct it", "specialist", specialistID,
			"error", err)
	}
}

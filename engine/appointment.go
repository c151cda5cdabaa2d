package engine

import (
	"context"
	"time"

	"holdfast/engine/token"
	"holdfast/store"
)

// manageAfter is how long a manage link still shows an appointment after its end.
const manageAfter = 30 * 24 * time.Hour

// Appointment returns one appointment. store.ErrNotFound.
func (e *Engine) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	if !ValidID(id) {
		return store.Appointment{}, store.ErrNotFound
	}
	return e.store.Appointment(ctx, id)
}

// Appointments lists by slot start, a page at a time. store.ErrInvalid for a foreign cursor.
func (e *Engine) Appointments(ctx context.Context, f store.AppointmentFilter) ([]store.Appointment, string, error) {
	return e.store.Appointments(ctx, f)
}

// ManageToken signs the link with which a patient sees, moves and cancels one appointment. The same appointment gives
// the same token until it is moved.
func (e *Engine) ManageToken(a *store.Appointment) string {
	t, err := e.keys().IssueManage(token.Manage{
		AppointmentID: a.ID, Version: uint32(a.ManageEpoch), ExpiresAt: a.SlotEnd.Add(manageAfter),
	}, a.CreatedAt)
	if err != nil {
		e.log.Error("a manage link could not be signed", "appointment", a.ID, "error", err)
	}
	return t
}

// Managed returns the appointment that a manage token opens. ErrUnauthorized if the token is forged, has expired, or was
// replaced when the appointment was moved.
func (e *Engine) Managed(ctx context.Context, manageToken string) (store.Appointment, error) {
	m, err := e.keys().VerifyManage(manageToken, time.Now())
	if err != nil {
		return store.Appointment{}, ErrUnauthorized
	}
	a, err := e.store.Appointment(ctx, m.AppointmentID)
	if err != nil {
		return store.Appointment{}, err
	}
	if uint32(a.ManageEpoch) != m.Version {
		return store.Appointment{}, ErrUnauthorized
	}
	return a, nil
}

func (e *Engine) keys() *token.Keyring { return e.keyring.Load() }

// UseKeys replaces the signing keys of a running engine, after a rotation.
func (e *Engine) UseKeys(k *token.Keyring) { e.keyring.Store(k) }

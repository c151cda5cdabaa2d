package booking

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// manageAfter is how long after the end of an appointment its manage link still opens it.
const manageAfter = 30 * 24 * time.Hour

// Appointment returns one appointment. Errors: store.ErrNotFound.
func (bk *Booking) Appointment(ctx context.Context, id string) (store.Appointment, error) {
	if !record.ValidID(id) {
		return store.Appointment{}, store.ErrNotFound
	}
	return bk.store.Appointment(ctx, id)
}

// Appointments lists appointments by slot start, one page at a time. It returns store.ErrInvalid if the cursor belongs
// to a different list.
func (bk *Booking) Appointments(ctx context.Context, f store.AppointmentFilter) ([]store.Appointment, string, error) {
	return bk.store.Appointments(ctx, f)
}

// BookedOnline lists the bookings that patients and agents have made since the given instant, newest first, for one
// specialist or, if no specialist is named, for all.
func (bk *Booking) BookedOnline(ctx context.Context, since time.Time, specialistID string,
	limit int) ([]store.Appointment, error) {
	return bk.store.BookedOnline(ctx, since, specialistID, limit)
}

// ManageToken signs the link that lets a patient see, move and cancel one appointment. An appointment has the same
// token until it is moved.
func (bk *Booking) ManageToken(a *store.Appointment) string {
	return bk.manageToken(a, bk.Keys().IssueManage)
}

// ShortManageToken returns a shorter manage token, for text messages. Both tokens open the same appointment, and both
// stop working when it is moved.
func (bk *Booking) ShortManageToken(a *store.Appointment) string {
	return bk.manageToken(a, bk.Keys().IssueShortManage)
}

func (bk *Booking) manageToken(a *store.Appointment, issue func(token.Manage, time.Time) (string, error)) string {
	t, err := issue(token.Manage{
		AppointmentID: a.ID, Version: uint32(a.ManageEpoch), ExpiresAt: a.SlotEnd.Add(manageAfter),
	}, a.CreatedAt)
	if err != nil {
		bk.log.Error("failed to sign a manage link", "appointment", a.ID, "error", err)
	}
	return t
}

// Managed returns the appointment that a manage token opens. It returns ErrUnauthorized if the token is forged, has
// expired, or was replaced when the appointment was moved.
func (bk *Booking) Managed(ctx context.Context, manageToken string) (store.Appointment, error) {
	m, err := bk.Keys().VerifyManage(manageToken, time.Now())
	if err != nil {
		return store.Appointment{}, record.ErrUnauthorized
	}
	a, err := bk.store.Appointment(ctx, m.AppointmentID)
	if err != nil {
		return store.Appointment{}, err
	}
	if uint32(a.ManageEpoch) != m.Version {
		return store.Appointment{}, record.ErrUnauthorized
	}
	return a, nil
}

// TokenID returns the id of the appointment that a manage token was signed for. It returns ErrUnauthorized if the token
// is forged or has expired.
func (bk *Booking) TokenID(manageToken string) (string, error) {
	m, err := bk.Keys().VerifyManage(manageToken, time.Now())
	if err != nil {
		return "", record.ErrUnauthorized
	}
	return m.AppointmentID, nil
}

// Keys returns the keyring that is currently used for signing.
func (bk *Booking) Keys() *token.Keyring { return bk.keys.Current() }

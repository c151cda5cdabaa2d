package booking

import (
	"context"
	"errors"
	"hash/fnv"
	"io"
	"math"
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

// VisitToken signs the link to a group visit in a message. Of the appointments that the message covers, last is
// the last one. The link opens the appointments of the people with the same email address. It stops working when the
// whole visit is moved. It survives a change that takes one person out of the visit, even if that person is last.
func (bk *Booking) VisitToken(last *store.Appointment) string {
	return bk.sign(last, last.VisitID, visitVersion(last), bk.Keys().IssueManage)
}

// ShortVisitToken returns a shorter VisitToken, for text messages.
func (bk *Booking) ShortVisitToken(last *store.Appointment) string {
	return bk.sign(last, last.VisitID, visitVersion(last)&math.MaxUint16, bk.Keys().IssueShortManage)
}

// visitVersion returns the version of the links to an appointment's visit. The address is part of it because a changed
// address increments only the epoch of its own appointment, which could then equal the epoch of another one.
func visitVersion(a *store.Appointment) uint32 {
	h := fnv.New32a()
	_, _ = io.WriteString(h, a.VisitID+store.Fold(a.Patient.Email))
	return h.Sum32() + uint32(a.ManageEpoch)
}

func (bk *Booking) manageToken(a *store.Appointment, issue func(token.Manage, time.Time) (string, error)) string {
	return bk.sign(a, a.ID, uint32(a.ManageEpoch), issue)
}

// sign signs a link to an appointment or to its visit, and returns an empty token if that fails.
func (bk *Booking) sign(a *store.Appointment, id string, version uint32,
	issue func(token.Manage, time.Time) (string, error)) string {
	t, err := issue(token.Manage{AppointmentID: id, Version: version, ExpiresAt: a.SlotEnd.Add(manageAfter)},
		a.CreatedAt)
	if err != nil {
		bk.log.Error("failed to sign a manage link", "appointment", a.ID, "error", err)
	}
	return t
}

// Managed returns the appointment that a manage token opens. For a VisitToken, that is the last confirmed appointment
// with its version or, if there is none, the one that was cancelled last. It returns ErrUnauthorized if the token is
// forged, has expired, or was replaced when the appointment was moved.
func (bk *Booking) Managed(ctx context.Context, manageToken string) (store.Appointment, error) {
	m, err := bk.Keys().VerifyManage(manageToken, time.Now())
	if err != nil {
		return store.Appointment{}, record.ErrUnauthorized
	}
	a, err := bk.store.Appointment(ctx, m.AppointmentID)
	if errors.Is(err, store.ErrNotFound) {
		return bk.visitor(ctx, &m)
	}
	if err != nil {
		return store.Appointment{}, err
	}
	if uint32(a.ManageEpoch) != m.Version {
		return store.Appointment{}, record.ErrUnauthorized
	}
	return a, nil
}

// visitor returns the appointment that a VisitToken opens. Errors: store.ErrNotFound.
func (bk *Booking) visitor(ctx context.Context, m *token.Manage) (store.Appointment, error) {
	list, _, err := bk.store.Appointments(ctx, store.AppointmentFilter{VisitID: m.AppointmentID})
	if err != nil {
		return store.Appointment{}, err
	}
	var found *store.Appointment
	for i := range list {
		a := &list[i]
		v := visitVersion(a)
		switch {
		case m.Version != v && m.Version != v&math.MaxUint16, a.Patient.Name == "": // another version, or erased
		case found == nil, a.Status == store.Confirmed,
			found.Status == store.Cancelled && a.CancelledAt.After(found.CancelledAt):
			found = a
		}
	}
	if found == nil {
		return store.Appointment{}, store.ErrNotFound
	}
	return *found, nil
}

// TokenID returns the id that a manage token was signed for: of an appointment, a group visit, a booking request, or an
// entry or offer of the waiting list. It returns ErrUnauthorized if the token is forged or has expired.
func (bk *Booking) TokenID(manageToken string) (string, error) {
	m, err := bk.Keys().VerifyManage(manageToken, time.Now())
	if err != nil {
		return "", record.ErrUnauthorized
	}
	return m.AppointmentID, nil
}

// Keys returns the keyring that is currently used for signing.
func (bk *Booking) Keys() *token.Keyring { return bk.keys.Current() }

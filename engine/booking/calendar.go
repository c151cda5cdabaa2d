package booking

import (
	"context"
	"errors"
	"strconv"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// A patient's calendar program reads one appointment at a signed address. The server does not store the address. When
// an address is revoked, the server marks its nonce as used for as long as the address would have worked. The address
// does not depend on ManageEpoch, so it survives a move: calendars subscribe precisely in order to see moves.

// mostCalendars is the maximum number of calendar addresses per appointment. Each one replaces the previous one, which
// was revoked.
const mostCalendars = 32

func calendarNonce(a *store.Appointment, serial uint32) string {
	return "calendar:" + a.ID + ":" + strconv.FormatUint(uint64(serial), 10)
}

// calendarEnds returns when the last calendar address of an appointment stops working.
func calendarEnds(a *store.Appointment) time.Time {
	return a.CreatedAt.Add(token.MaxManageTTL)
}

// calendarSerial returns the number of the valid address. Addresses with lower numbers have been revoked. It returns
// store.ErrNotFound if all mostCalendars addresses have been revoked.
func calendarSerial(ctx context.Context, uses store.NonceReader, a *store.Appointment) (uint32, error) {
	for serial := range uint32(mostCalendars) {
		_, err := uses.NonceUse(ctx, calendarNonce(a, serial))
		if errors.Is(err, store.ErrNotFound) {
			return serial, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, store.ErrNotFound
}

// isInCalendars reports whether an address can still show an appointment: the patient's data has not been erased, and
// the appointment did not end too long ago.
func isInCalendars(a *store.Appointment, now time.Time) bool {
	return a.Patient.Name != "" && now.Before(a.SlotEnd.Add(manageAfter)) && now.Before(calendarEnds(a))
}

// endCalendar revokes the valid address, in a transaction. It returns store.ErrNotFound if there is no valid address.
func endCalendar(ctx context.Context, tx store.Tx, a *store.Appointment) error {
	serial, err := calendarSerial(ctx, tx, a)
	if err != nil {
		return err
	}
	return tx.UseNonce(ctx, store.NonceUse{Nonce: calendarNonce(a, serial), ExpiresAt: calendarEnds(a)})
}

// CalendarToken returns the secret part of an appointment's calendar address. It stays the same until the address is
// revoked or the appointment gets a different patient. It returns store.ErrNotFound if the person has been erased, the
// appointment ended too long ago, or all of its addresses have been revoked.
func (bk *Booking) CalendarToken(ctx context.Context, a *store.Appointment, now time.Time) (string, error) {
	if !isInCalendars(a, now) {
		return "", store.ErrNotFound
	}
	serial, err := calendarSerial(ctx, bk.store, a)
	if err != nil {
		return "", err
	}
	return bk.Keys().IssueCalendar(token.Calendar{AppointmentID: a.ID, Serial: serial, ExpiresAt: calendarEnds(a)},
		a.CreatedAt)
}

// EndCalendar revokes an appointment's calendar address for everyone who has it.
func (bk *Booking) EndCalendar(ctx context.Context, actor record.Actor, appointmentID string) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	return bk.store.Write(ctx, func(tx store.Tx) error {
		a, err := tx.Appointment(ctx, appointmentID)
		if err != nil {
			return err
		}
		if err := endCalendar(ctx, tx, &a); errors.Is(err, store.ErrNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		return record.Audit(ctx, tx, now, actor, record.ActionAppointmentCalendarEnded, "appointment:"+a.ID, "", nil,
			nil)
	})
}

// InCalendar returns the current state of the appointment that a calendar token opens. It returns store.ErrNotFound if
// the token is forged, has expired or has been revoked, if the person has been erased, or if the appointment ended too
// long ago (the limit is the same as for its manage link).
func (bk *Booking) InCalendar(ctx context.Context, calendarToken string, now time.Time) (store.Appointment, error) {
	c, err := bk.Keys().VerifyCalendar(calendarToken, now)
	if err != nil {
		return store.Appointment{}, store.ErrNotFound
	}
	a, err := bk.store.Appointment(ctx, c.AppointmentID)
	if err != nil {
		return store.Appointment{}, err
	}
	serial, err := calendarSerial(ctx, bk.store, &a)
	if err == nil && (serial != c.Serial || !isInCalendars(&a, now)) {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Appointment{}, err
	}
	return a, nil
}

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

// The address at which a patient's own calendar program reads one appointment. It is signed and not stored; what is stored is that
// one was ended, as a used nonce, for as long as the address would otherwise have worked. An address outlives a move, because that is
// what a calendar subscribes for, and so it does not follow ManageEpoch.

// mostCalendars is how many addresses an appointment can have, each after the one before was ended.
const mostCalendars = 32

func calendarNonce(a *store.Appointment, serial uint32) string {
	return "calendar:" + a.ID + ":" + strconv.FormatUint(uint64(serial), 10)
}

// calendarEnds is when the last address of an appointment's calendar is refused.
func calendarEnds(a *store.Appointment) time.Time {
	return a.CreatedAt.Add(token.MaxManageTTL)
}

// calendarSerial is the number of the address that works: those below it were ended. ErrNotFound past the last one.
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

// isInCalendars reports whether an appointment is one that an address can be read of: not an erased person's, not one that is long over.
func isInCalendars(a *store.Appointment, now time.Time) bool {
	return a.Patient.Name != "" && now.Before(a.SlotEnd.Add(manageAfter)) && now.Before(calendarEnds(a))
}

// endCalendar ends the address that works, in a transaction. store.ErrNotFound where none is left.
func endCalendar(ctx context.Context, tx store.Tx, a *store.Appointment) error {
	serial, err := calendarSerial(ctx, tx, a)
	if err != nil {
		return err
	}
	return tx.UseNonce(ctx, store.NonceUse{Nonce: calendarNonce(a, serial), ExpiresAt: calendarEnds(a)})
}

// CalendarToken is what is secret in the address of an appointment's calendar. It is the same until the address is ended, or the
// appointment becomes somebody else's. store.ErrNotFound where the person was erased or the appointment is long over, or so many were
// ended that there is no other.
func (bk *Booking) CalendarToken(ctx context.Context, a *store.Appointment, now time.Time) (string, error) {
	if !isInCalendars(a, now) {
		return "", store.ErrNotFound
	}
	serial, err := calendarSerial(ctx, bk.store, a)
	if err != nil {
		return "", err
	}
	return bk.Keys().IssueCalendar(token.Calendar{AppointmentID: a.ID, Serial: serial, ExpiresAt: calendarEnds(a)}, a.CreatedAt)
}

// EndCalendar makes the address of an appointment's calendar useless, whoever has it. Ending none is no error. store.ErrNotFound if
// there is no such appointment.
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
		return record.Audit(ctx, tx, now, actor, record.ActionAppointmentCalendarEnded, "appointment:"+a.ID, "", nil, nil)
	})
}

// InCalendar is the appointment, as it is now, that a calendar token opens. store.ErrNotFound if the token is forged, has lapsed or was ended, if
// the person was erased, and when the appointment is long over, as with its manage link.
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

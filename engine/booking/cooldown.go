package booking

import (
	"context"
	"errors"
	"time"

	"holdfast/store"
)

// CooldownError says that the client already booked this type, and which appointment that is. It is for that client alone.
type CooldownError struct {
	Until         time.Time // UTC
	AppointmentID string
	SlotStart     time.Time // of the appointment, UTC
}

func (e *CooldownError) Error() string {
	return "already booked; the next booking of this type is possible from " + e.Until.UTC().Format(time.RFC3339)
}

// CheckCooldown returns *CooldownError if this client made a web booking of this type within the type's cooldown that is
// still confirmed. It is derived from the appointments themselves, so a cancellation clears it and a booking that
// failed never set it. Reading through a Tx it sees that transaction's own state.
func (bk *Booking) CheckCooldown(ctx context.Context, r store.Reader, t *store.AppointmentType, owner string, now time.Time) error {
	if t.CooldownMinutes <= 0 || owner == "" {
		return nil
	}
	length := time.Duration(t.CooldownMinutes) * time.Minute
	made, err := r.LatestWebBooking(ctx, owner, t.ID, now.Add(-length))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if until := made.CreatedAt.Add(length); until.After(now) {
		return &CooldownError{Until: until.UTC(), AppointmentID: made.AppointmentID, SlotStart: made.SlotStart}
	}
	return nil
}

package booking

import (
	"context"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/token"
	"holdfast/store"
)

// SetRecall sets when an appointment's patient is reminded of the next visit; the zero time withdraws the recall. It
// does nothing if the appointment has this time already, or if there is no coming recall to withdraw. check runs first,
// in the same transaction. The hook Operations returns the message.
//
// Errors: store.ErrNotFound, store.ErrVersion, and those of check.
func (bk *Booking) SetRecall(ctx context.Context, id string, version int64, at time.Time, actor record.Actor,
	once *record.Once, check func(tx store.Tx, a *store.Appointment, now time.Time) error) (store.Appointment, error) {
	return bk.ChangeAppointment(ctx, id, version,
		Change{Kind: ChangeRecall, Actor: actor, Silent: true, once: once},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.RecallAt.Equal(at) || at.IsZero() && !a.RecallAt.After(now) {
				return false, nil
			}
			if err := check(tx, a, now); err != nil {
				return false, err
			}
			a.RecallAt = at
			return true, nil
		})
}

// RecallToken returns the short manage token in the text message of an appointment's recall. It is valid from the day
// of the recall for as long as a manage token after the end of an appointment.
func (bk *Booking) RecallToken(a *store.Appointment) string {
	return bk.manageToken(a, func(m token.Manage, _ time.Time) (string, error) {
		m.ExpiresAt = a.RecallAt.Add(manageAfter)
		return bk.Keys().IssueShortManage(m, a.RecallAt)
	})
}

package engine

import (
	"context"
	"time"

	"holdfast/store"
)

// CancelRequest asks for the end of an appointment.
type CancelRequest struct {
	ID      string
	Version int64 // the version the caller has seen; 0 = any
	Reason  string
	Actor   Actor
	CutOff  bool // the patient asks: the clinic's change cut-off applies
	Silent  bool
	Once    *Once
}

// Cancel frees the slot at once and clears the cooldown that was derived from the appointment. Cancelling a cancelled
// appointment changes nothing and returns it.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrCutOff, *ValidationError.
func (e *Engine) Cancel(ctx context.Context, r CancelRequest) (store.Appointment, error) {
	var m mistakes
	checkText(&m, "reason", r.Reason, 500, true)
	if err := m.err(); err != nil {
		return store.Appointment{}, err
	}
	return e.changeAppointment(ctx, r.ID, r.Version, change{kind: changeCancelled, actor: r.Actor, reason: r.Reason, silent: r.Silent, once: r.Once},
		func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.Status == store.Cancelled {
				return false, nil
			}
			if r.CutOff && e.pastCutOff(a, now) {
				return false, ErrCutOff
			}
			a.Status, a.CancelledAt, a.CancelReason = store.Cancelled, now, r.Reason
			return true, tx.FreeNonces(ctx, a.ID)
		})
}

// SetAttendance records what happened at the desk. It moves freely in any direction and is audited.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNotConfirmed, *ValidationError.
func (e *Engine) SetAttendance(ctx context.Context, id string, version int64, to store.Attendance, actor Actor, once *Once) (store.Appointment, error) {
	switch to {
	case store.Expected, store.Arrived, store.InProgress, store.Completed, store.NoShow:
	default:
		return store.Appointment{}, invalid("attendance", "must be expected, arrived, in_progress, completed or no_show")
	}
	return e.changeAppointment(ctx, id, version, change{kind: changeAttendance, actor: actor, silent: true, once: once},
		func(_ store.Tx, a *store.Appointment, _ time.Time) (bool, error) {
			if a.Status != store.Confirmed {
				return false, ErrNotConfirmed
			}
			changed := a.Attendance != to
			a.Attendance = to
			return changed, nil
		})
}

// changeAppointment reads one appointment, lets edit change it, and commits it with its records. edit reports whether
// anything changed; if not, nothing is written but the remembered answer. It may run more than once.
func (e *Engine) changeAppointment(ctx context.Context, id string, version int64, c change,
	edit func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error)) (store.Appointment, error) {
	if !ValidID(id) {
		return store.Appointment{}, store.ErrNotFound
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	c.at = now
	var before, after store.Appointment
	var changed bool
	err := e.store.Write(ctx, func(tx store.Tx) error {
		var err error
		if before, err = tx.Appointment(ctx, id); err != nil {
			return err
		}
		if version != 0 && before.Version != version {
			return store.ErrVersion
		}
		after = before
		if changed, err = edit(tx, &after, now); err != nil {
			return err
		}
		c.before, c.after = &before, &after
		if !changed {
			return c.once.remember(ctx, tx, after, now)
		}
		after.UpdatedAt = now
		e.outside.MarkUpstream(&before, &after, c.kind)
		if err := tx.UpdateAppointment(ctx, after); err != nil {
			return err
		}
		after.Version++
		return e.record(ctx, tx, &c)
	})
	if err != nil {
		return store.Appointment{}, err
	}
	if changed {
		e.outside.HandOver(c.calls...)
	}
	return after, nil
}

func (e *Engine) pastCutOff(a *store.Appointment, now time.Time) bool {
	cutOff := time.Duration(e.Settings().ChangeCutoffHours) * time.Hour
	return !now.Add(cutOff).Before(a.SlotStart)
}

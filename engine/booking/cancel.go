package booking

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// CancelRequest is a request to cancel an appointment.
type CancelRequest struct {
	ID      string
	Version int64 // the version that the caller has read; 0 means any
	Reason  string
	Actor   record.Actor
	CutOff  bool // the patient cancels: the clinic's cut-off for changes applies
	Silent  bool
	// Undoable: staff can undo the cancellation for UndoTime, and no notification is sent before that.
	Undoable bool
	Once     *record.Once
}

// Cancel frees the slot immediately and clears the cooldown that the appointment caused. If the appointment is already
// cancelled, Cancel returns it unchanged.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrCutOff, ErrVisit, *ValidationError.
func (bk *Booking) Cancel(ctx context.Context, r CancelRequest) (store.Appointment, error) {
	var m record.Mistakes
	record.CheckText(&m, "reason", r.Reason, 500, true)
	if err := m.Err(); err != nil {
		return store.Appointment{}, err
	}
	return bk.ChangeAppointment(ctx, r.ID, r.Version, Change{
		Kind: ChangeCancelled, Actor: r.Actor, Reason: r.Reason, Silent: r.Silent,
		Undoable: r.Undoable && r.Actor.AtDesk(), once: r.Once,
	}, func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error) {
		if a.Status == store.Cancelled {
			return false, nil
		}
		if r.CutOff {
			if err := checkAlone(ctx, tx, a); err != nil {
				return false, err
			}
			if bk.PastCutOff(now, *a) {
				return false, record.ErrCutOff
			}
		}
		a.Status, a.CancelledAt, a.CancelReason = store.Cancelled, now, r.Reason
		return true, tx.FreeNonces(ctx, a.ID)
	})
}

// checkAlone returns ErrVisit if other people of the appointment's visit are still confirmed. A patient names the
// people whose appointments change, so that a cancellation for all of them is not mistaken for one.
func checkAlone(ctx context.Context, r store.Reader, a *store.Appointment) error {
	if a.VisitID == "" {
		return nil
	}
	list, _, err := r.Appointments(ctx, store.AppointmentFilter{VisitID: a.VisitID, Status: store.Confirmed, Limit: 2})
	if err == nil && slices.ContainsFunc(list, func(x store.Appointment) bool { return x.ID != a.ID }) {
		err = record.ErrVisit
	}
	return err
}

// ChangeAppointment reads one appointment, lets edit change it, and commits the change together with its records. edit
// reports whether it changed anything; if it did not, only the saved response is written. edit may run more than once.
func (bk *Booking) ChangeAppointment(ctx context.Context, id string, version int64, c Change,
	edit func(tx store.Tx, a *store.Appointment, now time.Time) (bool, error)) (store.Appointment, error) {
	if !record.ValidID(id) {
		return store.Appointment{}, store.ErrNotFound
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	c.At = now
	var before, after store.Appointment
	var changed bool
	err := bk.store.Write(ctx, func(tx store.Tx) error {
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
		c.Before, c.After = &before, &after
		if !changed {
			return c.once.Remember(ctx, tx, after, now)
		}
		after.UpdatedAt = now
		if after.SpecialistID != before.SpecialistID || !after.SlotStart.Equal(before.SlotStart) {
			after.Place = bk.clinic.Current().PlaceAt(after.SpecialistID, after.SlotStart)
		}
		bk.hooks.MarkUpstream(&before, &after, c.Kind)
		if err := tx.UpdateAppointment(ctx, after); err != nil {
			return err
		}
		after.Version++
		return bk.Record(ctx, tx, &c)
	})
	if err != nil {
		return store.Appointment{}, err
	}
	if changed {
		bk.hooks.Enqueue(c.Calls...)
	}
	return after, nil
}

// PastCutOff reports whether it is too late for the patient to change an appointment, or those of one visit, earliest
// first. If the desk blocked the time after the booking, the patient can change the appointment until its start. After
// the desk has recorded for one of them that the patient was called in or did not come, it is too late, even before the
// start.
func (bk *Booking) PastCutOff(now time.Time, list ...store.Appointment) bool {
	if slices.ContainsFunc(list, func(a store.Appointment) bool {
		return a.Attendance != store.Expected && a.Attendance != store.Arrived
	}) {
		return true
	}
	a := &list[0]
	cutOff := time.Duration(bk.clinic.Settings().ChangeCutoffHours) * time.Hour
	if slices.ContainsFunc(bk.clinic.Current().BlocksOf(a.SpecialistID), func(b store.Block) bool {
		return b.Source == store.BlockDesk && b.Start.Before(a.SlotEnd) && a.SlotStart.Before(b.End)
	}) {
		cutOff = 0
	}
	return !now.Add(cutOff).Before(a.SlotStart)
}

package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// SetAttendance records an appointment's attendance: expected, arrived, in progress, completed or no-show. It allows
// every transition and audits each one.
func (bk *Booking) SetAttendance(ctx context.Context, id string, version int64, to store.Attendance, actor record.Actor,
	once *record.Once) (store.Appointment, error) {
	switch to {
	case store.Expected, store.Arrived, store.InProgress, store.Completed, store.NoShow:
	default:
		return store.Appointment{},
			record.Invalid("attendance", "must be expected, arrived, in_progress, completed or no_show")
	}
	return bk.ChangeAppointment(ctx, id, version,
		Change{Kind: ChangeAttendance, Actor: actor, Silent: true, once: once},
		func(_ store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			if a.Status != store.Confirmed {
				return false, record.ErrNotConfirmed
			}
			return attend(a, to, now), nil
		})
}

// attend sets an appointment's attendance and the time of the arrival. It reports whether the attendance has changed.
func attend(a *store.Appointment, to store.Attendance, now time.Time) bool {
	changed := a.Attendance != to
	switch {
	case to == store.Arrived && changed:
		a.ArrivedAt = now
	case to == store.Expected, to == store.NoShow:
		a.ArrivedAt = time.Time{}
	}
	a.Attendance = to
	return changed
}

// ArrivalLead is how long before the start patients can report that they have arrived.
const ArrivalLead = time.Hour

// ErrArrivalOff means that the clinic does not let patients report their arrival.
var ErrArrivalOff = errors.New("patients cannot report their arrival")

// ArrivalError means that a patient cannot report the arrival in the appointment's current state. If both fields are
// zero, the appointment is over.
type ArrivalError struct {
	From       time.Time        // if it is too early: the time from which the patient can report the arrival
	Attendance store.Attendance // if the desk has already recorded what happened: in progress, completed or no-show
}

func (e *ArrivalError) Error() string {
	switch {
	case !e.From.IsZero():
		return "it is too early to report the arrival"
	case e.Attendance != "":
		return "the attendance is already " + string(e.Attendance)
	}
	return "the appointment is over"
}

// Arrive records that the patient has arrived, if the patient is still expected. If the patient has already arrived, it
// changes nothing. A patient who is not alone arrives with Visit.Arrive.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrArrivalOff, record.ErrNotConfirmed, *ArrivalError.
func (bk *Booking) Arrive(ctx context.Context, id string, version int64, actor record.Actor,
	once *record.Once) (store.Appointment, error) {
	return bk.ChangeAppointment(ctx, id, version,
		Change{Kind: ChangeAttendance, Actor: actor, Silent: true, once: once},
		func(_ store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			all := []store.Appointment{*a}
			changed, err := bk.ArriveAll(a, all, now)
			*a = all[0]
			return changed > 0, err
		})
}

// ArriveAll sets the attendance of the people who arrive with the patient of an appointment, and are still expected, to
// arrived. all contains their confirmed appointments, including the named one, sorted by start. ArriveAll returns the
// number of appointments that it changed in all. They count as one appointment: patients can report the arrival from
// ArrivalLead before the first start until the last end.
//
// Errors: ErrArrivalOff, record.ErrNotConfirmed, *ArrivalError.
func (bk *Booking) ArriveAll(named *store.Appointment, all []store.Appointment, now time.Time) (changed int,
	err error) {
	isExpected := func(a store.Appointment) bool { return a.Attendance == store.Expected }
	switch {
	case !bk.clinic.Settings().OnlineArrival:
		return 0, ErrArrivalOff
	case named.Status != store.Confirmed:
		return 0, record.ErrNotConfirmed
	case !slices.ContainsFunc(all, isExpected) && named.Attendance == store.Arrived:
		return 0, nil
	case !slices.ContainsFunc(all, isExpected):
		return 0, &ArrivalError{Attendance: named.Attendance}
	}
	last := slices.MaxFunc(all, func(a, b store.Appointment) int { return a.SlotEnd.Compare(b.SlotEnd) })
	if from := all[0].SlotStart.Add(-ArrivalLead); now.Before(from) {
		return 0, &ArrivalError{From: from}
	}
	if !now.Before(last.SlotEnd) {
		return 0, &ArrivalError{}
	}
	for i := range all {
		if isExpected(all[i]) && attend(&all[i], store.Arrived, now) {
			changed++
		}
	}
	return changed, nil
}

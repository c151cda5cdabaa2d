package booking

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/store"
)

// PatientRequest asks for other data of the person an appointment is for.
type PatientRequest struct {
	ID      string
	Version int64                // the version the caller has seen; 0 = any
	Edit    func(*store.Patient) // what is changed
	Answers map[string]string    // to the type's questions, by their ids; an empty one is taken away, and what is left out stays
	Actor   record.Actor
	Silent  bool // the new mail address is not told; the old one always is
	Once    *record.Once
}

// ChangePatient corrects the person of a confirmed appointment, and what was answered. With another mail address the manage links handed out before
// are dead, and so is the address of its calendar, since they lie in somebody else's mail: the new address is told with a new one, and the old address that it is told
// nothing more.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNotConfirmed, *ValidationError.
func (bk *Booking) ChangePatient(ctx context.Context, r PatientRequest) (store.Appointment, error) {
	today := store.DateOf(time.Now().In(bk.clinic.Zone()))
	return bk.ChangeAppointment(ctx, r.ID, r.Version, Change{Kind: ChangePatientData, Actor: r.Actor, Silent: r.Silent, once: r.Once},
		func(tx store.Tx, a *store.Appointment, _ time.Time) (bool, error) {
			if a.Status != store.Confirmed {
				return false, record.ErrNotConfirmed
			}
			before, said := a.Patient, a.Intake.Answers
			r.Edit(&a.Patient)
			var m record.Mistakes
			if t := bk.clinic.Current().Types[a.AppointmentTypeID]; t != nil && len(r.Answers) > 0 {
				a.Intake.Answers = clinic.ChangeAnswers(&m, t, said, r.Answers)
			}
			record.NormalizePatient(&m, &a.Patient, nil, today)
			if err := m.Err(); err != nil {
				return false, err
			}
			// Whom an erased person's time is given to is somebody else.
			if before.Name == "" || !SameAddress(before.Email, a.Patient.Email) {
				a.ManageEpoch++
				if err := endCalendar(ctx, tx, a); err != nil && !errors.Is(err, store.ErrNotFound) {
					return false, err
				}
			}
			return a.Patient != before || !slices.Equal(a.Intake.Answers, said), nil
		})
}

// SameAddress reports whether two spellings are one mail address.
func SameAddress(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

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

// PatientRequest is a request to change the patient data of an appointment.
type PatientRequest struct {
	ID      string
	Version int64                // the version that the caller has read; 0 means any
	Edit    func(*store.Patient) // applies the changes
	// answers to the type's questions, by question id; an empty answer removes the stored one, and a missing one leaves
	// it unchanged
	Answers map[string]string
	SMS     *bool // whether the patient agrees to text messages; nil means unchanged
	Actor   record.Actor
	Silent  bool // no email to the new address; the old address always gets one
	Once    *record.Once
}

// ChangePatient corrects the patient of a confirmed appointment and the answers to the type's questions. If the email
// address changes, the earlier manage links and the calendar address stop working, because they may be in someone
// else's mailbox. The new address gets an email with a new link. The old address gets an email saying that it will not
// receive any more emails.
//
// Errors: store.ErrNotFound, store.ErrVersion, ErrNotConfirmed, *ValidationError.
func (bk *Booking) ChangePatient(ctx context.Context, r PatientRequest) (store.Appointment, error) {
	now := time.Now().In(bk.clinic.Zone())
	return bk.ChangeAppointment(ctx, r.ID, r.Version,
		Change{Kind: ChangePatientData, Actor: r.Actor, Silent: r.Silent, once: r.Once},
		func(tx store.Tx, a *store.Appointment, _ time.Time) (bool, error) {
			if a.Status != store.Confirmed {
				return false, record.ErrNotConfirmed
			}
			before, said, sms := a.Patient, a.Intake.Answers, a.Intake.SMS
			r.Edit(&a.Patient)
			var m record.Mistakes
			if t := bk.clinic.Current().Types[a.AppointmentTypeID]; t != nil && len(r.Answers) > 0 {
				a.Intake.Answers = clinic.ChangeAnswers(&m, t, said, r.Answers)
			}
			if r.SMS != nil {
				a.Intake.SMS = *r.SMS
			}
			record.NormalizePatient(&m, &a.Patient, nil, now)
			if err := m.Err(); err != nil {
				return false, err
			}
			// If the person was erased, the appointment now belongs to a different patient.
			if before.Name == "" || !SameAddress(before.Email, a.Patient.Email) {
				a.ManageEpoch++
				if err := endCalendar(ctx, tx, a); err != nil && !errors.Is(err, store.ErrNotFound) {
					return false, err
				}
			}
			return a.Patient != before || a.Intake.SMS != sms || !slices.Equal(a.Intake.Answers, said), nil
		})
}

// SameAddress reports whether two spellings denote the same email address.
func SameAddress(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// SameContact reports whether two people have the same email address or, if neither has one, the same phone number.
func SameContact(a, b *store.Patient) bool {
	if a.Email != "" || b.Email != "" {
		return SameAddress(a.Email, b.Email)
	}
	return a.Phone != "" && store.Digits(a.Phone) == store.Digits(b.Phone)
}

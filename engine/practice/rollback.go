package practice

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/outbound"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// # After a rollback of the data
//
// A restored machine snapshot contains the database and the queue as of an earlier instant. The practice-management
// system still contains the writes made after that instant, but the files do not show them. A booking for a known
// patient is looked up after every start. A booking whose patient had not been added yet has no GUID to look up, so its
// patient is first searched for by name.
//
// If an operator starts the server with --after-rollback, it looks up every such booking from earlier runs. Without the
// flag, it looks up only the first one after each start. Operations are delivered in the order in which they became
// due, so after a rollback the first one should already exist in the practice-management system. If it does, the server
// logs an error and looks up the others as well.

// maxNamesakes is the maximum number of patients with the same name whose appointments are read.
const maxNamesakes = 10

// rollback is the state of the look-ups after a rollback of the data.
type rollback struct {
	known   atomic.Bool // earlier writes are looked up by the patient's name
	checked atomic.Bool // the first write after startup was looked up and did not exist
}

// suspectRollback makes the server look up all writes from earlier runs, because op's appointment exists in the
// practice-management system even though every recorded attempt certainly failed.
func (pr *Practice) suspectRollback(op *store.Operation) {
	if !pr.rollback.known.Swap(true) {
		pr.log.Error(
			"practice-management system has a booking that this server has no record of sending; checking for duplicates before sending earlier bookings",
			"operation", op.ID, "appointment", op.AppointmentID,
		)
	}
}

// findRolledBack looks for a booking from an earlier run whose patient has no GUID here. It returns true and the
// outcome if the attempt ends with that, and false if the booking must be written.
func (pr *Practice) findRolledBack(ctx context.Context, op *store.Operation, p *payload,
	a *store.Appointment) (outbound.Outcome, bool) {
	known := pr.rollback.known.Load()
	if !known && (pr.rollback.checked.Load() || p.Doubt || p.Patient != "") {
		return outbound.Outcome{}, false
	}
	patient, found, err := pr.findByName(ctx, p, a, known)
	var answered *upstream.Error
	switch {
	case err == nil && found != "":
		pr.suspectRollback(op)
		if pr.recordPatient(ctx, a, patient) != nil {
			return pr.soon("the booking was found and could not be recorded yet"), true
		}
		return outbound.Outcome{End: outbound.Delivered, Result: found}, true
	case err == nil:
		pr.rollback.checked.Store(true)
		p.Patient, p.Checked = patient, pr.outbound.Started().UnixMilli()
		op.Payload = p.json()
		return outbound.Outcome{}, false
	case !known:
		return outbound.Outcome{}, false
	case errors.Is(err, errManyFound), upstream.ClassOf(err) == upstream.Misconfigured:
		return outbound.Outcome{End: outbound.Undecided,
			Detail: "it is not known whether the booking was written before the rollback (" + wordsOf(err) +
				"); check in the practice-management system whether the patient and the appointment exist"}, true
	case errors.As(err, &answered):
		return pr.unanswered(op, p, err), true
	}
	return pr.soon(outbound.Unread(ctx)), true
}

// errManyFound is the error for a search by name that does not lead to a single appointment.
var errManyFound = errors.New("more than one patient or appointment matches")

// wordsOf converts an error from findByName into a user-facing explanation.
func wordsOf(err error) string {
	if errors.Is(err, errManyFound) {
		return err.Error()
	}
	return upstream.Words(err)
}

// findByName finds the appointment of a patient without a GUID in the practice-management system, and returns both
// GUIDs. If the appointment does not exist, it returns only the patient's GUID: the one that p or another appointment
// contains or, with reuse, that of the patient whose name, date of birth, and telephone number or email address are the
// same. If there is none, it returns empty strings.
func (pr *Practice) findByName(ctx context.Context, p *payload, a *store.Appointment,
	reuse bool) (patient, appointment string, err error) {
	namesakes := []string{p.Patient}
	if p.Patient == "" {
		namesakes[0] = pr.knownPatient(ctx, a)
	}
	certain := namesakes[0] != ""
	if !certain {
		if namesakes, err = pr.namesakes(ctx, a); err != nil {
			return "", "", err
		}
	}
	for _, guid := range namesakes {
		if err := pr.asks.Wait(ctx, upstream.NoBound); err != nil {
			return "", "", err
		}
		theirs := *a
		theirs.UpstreamPatientID = guid
		list, err := pr.findUpstream(ctx, p, &theirs)
		switch {
		case err != nil && upstream.ReasonOf(err) != upstream.PatientUnknown:
			return "", "", err
		case len(list) > 1, len(list) == 1 && appointment != "":
			return "", "", errManyFound
		case len(list) == 1:
			patient, appointment = guid, list[0].GUID
		}
	}
	switch {
	case appointment != "":
		return patient, appointment, nil
	case certain:
		return namesakes[0], "", nil
	case !reuse:
		return "", "", nil
	}
	patient, err = pr.samePatient(ctx, namesakes, a)
	return patient, "", err
}

// namesakes returns the patients in the practice-management system who have the same name as an appointment's patient
// and no different date of birth.
func (pr *Practice) namesakes(ctx context.Context, a *store.Appointment) (guids []string, err error) {
	if err := pr.asks.Wait(ctx, upstream.NoBound); err != nil {
		return nil, err
	}
	person := newPatientOf(&a.Patient)
	list, err := pr.Options.Upstream.FindPatients(ctx, person.FirstName, person.LastName)
	if err != nil {
		return nil, err
	}
	for _, k := range list {
		sameName := strings.EqualFold(k.FirstName, person.FirstName) && strings.EqualFold(k.LastName, person.LastName)
		if sameName && (k.BirthDate.IsZero() || person.BirthDate.IsZero() || k.BirthDate.Equal(person.BirthDate)) {
			guids = append(guids, k.GUID)
		}
	}
	slices.Sort(guids)
	if guids = slices.Compact(guids); len(guids) > maxNamesakes {
		return nil, errManyFound
	}
	return guids, nil
}

// samePatient returns the one patient among guids who is certainly the appointment's patient, or an empty string.
func (pr *Practice) samePatient(ctx context.Context, guids []string, a *store.Appointment) (same string, err error) {
	born, err := time.Parse(time.DateOnly, a.Patient.BirthDate)
	if err != nil {
		return "", nil
	}
	for _, guid := range guids {
		if err := pr.asks.Wait(ctx, upstream.NoBound); err != nil {
			return "", err
		}
		known, err := pr.Options.Upstream.PatientInformation(ctx, guid)
		if err != nil {
			return "", err
		}
		reached := known.Phone != "" && known.Phone == a.Patient.Phone || known.Email != "" &&
			strings.EqualFold(known.Email, a.Patient.Email)
		if !reached || !known.BirthDate.Equal(born) {
			continue
		}
		if same != "" {
			return "", errManyFound
		}
		same = guid
	}
	return same, nil
}

package outbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"holdfast/engine/upstream"
	"holdfast/store"
)

// # After a rollback of the data
//
// A machine snapshot that is put back has the database and the queue of an earlier instant. The practice-management system still has
// what was written after that instant, and nothing in the files shows it. A booking of a known patient is looked up after every start.
// A booking whose patient was still to be added has no GUID to look up: its patient is found by name first.
//
// An operator starts the server with --after-rollback, and then every such booking of an earlier run is looked up. Without it, the first
// one of each start is: operations are delivered in the order in which they became due, so after a rollback the first one is there. If it
// is, the server logs an error and looks up the others too.

// maxNamesakes is the largest number of patients of one name whose appointments are read.
const maxNamesakes = 10

// rollback is what an Outbound knows about a rollback of its data.
type rollback struct {
	known   atomic.Bool // earlier writes are looked up by the patient's name
	checked atomic.Bool // the first write of this start was looked up and was not there
}

// suspectRollback makes the server look up all writes of earlier runs, because the practice-management system has op although every
// recorded attempt of it certainly failed.
func (out *Outbound) suspectRollback(op *store.Operation) {
	if !out.rollback.known.Swap(true) {
		out.log.Error("practice-management system has a booking that this server has not written; earlier bookings are looked up before they are sent",
			"operation", op.ID, "appointment", op.AppointmentID)
	}
}

// findRolledBack looks for a booking of an earlier run whose patient has no GUID here. It reports true with the outcome if the attempt
// ends with that, and false if the booking is to be written.
func (out *Outbound) findRolledBack(ctx context.Context, op *store.Operation, p *upstreamPayload, a *store.Appointment) (Outcome, bool) {
	known := out.rollback.known.Load()
	if !known && (out.rollback.checked.Load() || p.Doubt || p.Patient != "") {
		return Outcome{}, false
	}
	patient, found, err := out.findByName(ctx, p, a, known)
	var answered *upstream.Error
	switch {
	case err == nil && found != "":
		out.suspectRollback(op)
		if out.recordPatient(ctx, a, patient) != nil {
			return out.soon("the booking was found and could not be recorded yet"), true
		}
		return Outcome{End: Delivered, Result: found}, true
	case err == nil:
		out.rollback.checked.Store(true)
		p.Patient, p.Checked = patient, out.started.UnixMilli()
		op.Payload = p.json()
		return Outcome{}, false
	case !known:
		return Outcome{}, false
	case errors.Is(err, errManyFound), upstream.ClassOf(err) == upstream.Misconfigured:
		return Outcome{End: undecided, Detail: "it is not known whether the booking was written before the rollback (" + wordsOf(err) +
			"); see in the practice-management system whether patient and appointment are there"}, true
	case errors.As(err, &answered):
		return out.unanswered(op, p, err), true
	}
	return out.soon(Unread(ctx)), true
}

// errManyFound is the error of a search by name that does not lead to one appointment.
var errManyFound = errors.New("more than one patient or appointment fits")

// wordsOf returns what an error of findByName means, for people.
func wordsOf(err error) string {
	if errors.Is(err, errManyFound) {
		return err.Error()
	}
	return upstream.Words(err)
}

// findByName finds the appointment of a patient without a GUID in the practice-management system, and returns both GUIDs. Without the
// appointment, it returns empty strings, or with reuse the patient whose name, date of birth and telephone number or email address are the
// same.
func (out *Outbound) findByName(ctx context.Context, p *upstreamPayload, a *store.Appointment, reuse bool) (patient, appointment string, err error) {
	namesakes := []string{p.Patient}
	if p.Patient == "" {
		namesakes[0] = out.knownPatient(ctx, a)
	}
	certain := namesakes[0] != ""
	if !certain {
		if namesakes, err = out.namesakes(ctx, a); err != nil {
			return "", "", err
		}
	}
	for _, guid := range namesakes {
		if err := out.asks.Wait(ctx, upstream.NoBound); err != nil {
			return "", "", err
		}
		theirs := *a
		theirs.UpstreamPatientID = guid
		list, err := out.findUpstream(ctx, p, &theirs)
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
	patient, err = out.samePatient(ctx, namesakes, a)
	return patient, "", err
}

// namesakes returns the patients whom the practice-management system has under the name of an appointment's patient, and no other date of birth.
func (out *Outbound) namesakes(ctx context.Context, a *store.Appointment) (guids []string, err error) {
	if err := out.asks.Wait(ctx, upstream.NoBound); err != nil {
		return nil, err
	}
	person := newPatientOf(&a.Patient)
	list, err := out.Options.Upstream.FindPatients(ctx, person.FirstName, person.LastName)
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

// samePatient returns the one patient among guids who is the patient of an appointment for certain, or an empty string.
func (out *Outbound) samePatient(ctx context.Context, guids []string, a *store.Appointment) (same string, err error) {
	born, err := time.Parse(time.DateOnly, a.Patient.BirthDate)
	if err != nil {
		return "", nil
	}
	for _, guid := range guids {
		if err := out.asks.Wait(ctx, upstream.NoBound); err != nil {
			return "", err
		}
		known, err := out.Options.Upstream.PatientInformation(ctx, guid)
		if err != nil {
			return "", err
		}
		reached := known.Phone != "" && known.Phone == a.Patient.Phone || known.Email != "" && strings.EqualFold(known.Email, a.Patient.Email)
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

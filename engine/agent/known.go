package agent

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"holdfast/engine/upstream"
	"holdfast/store"
)

// # Known patients
//
// A practice-management system adds a new patient for every request to add one, even if it already has that patient. So
// the server first searches for the person among the patients of earlier appointments, and then in the practice system
// if the vendor offers a look-up (lookup.go). Two patients are the same person if both have a name, a date of birth and
// a telephone number, and all three are equal. If a person matches only in part, the agent asks for the missing detail.
// The server never reveals the name of a patient that it found.

// knownPages is the maximum number of pages, each with 500 appointments, that a search for one person reads.
const knownPages = 4

// knownAs returns the GUID of a known person. If it cannot tell whether the person is known, it returns the question
// (sayAsk…) to ask. Both are empty if the person is unknown.
func (ag *Agent) knownAs(ctx context.Context, r *Patient, born string) (guid, ask string, err error) {
	phone := digitsOf(r.Phone)
	if born == "" && phone == "" {
		return "", "", nil
	}
	name, query := foldName(r.FirstName+r.LastName), r.Phone
	if phone == "" {
		query = r.FirstName + " " + r.LastName
	}
	var found []store.Appointment
	err = ag.eachKnown(ctx, store.AppointmentFilter{Query: query}, func(a *store.Appointment) bool {
		theirs := digitsOf(a.Patient.Phone)
		return foldName(a.Patient.Name) == name && theirs != "" && a.Patient.BirthDate != "" &&
			(theirs == phone || phone == "") &&
			(a.Patient.BirthDate == born || born == "")
	}, func(a *store.Appointment) {
		switch {
		case born == "":
			ask = sayAskBirthDate
		case phone == "":
			ask = sayAskPhone
		default:
			found = append(found, *a)
		}
	})
	if err != nil || len(found) == 0 {
		return "", ask, err
	}
	if len(distinct(found, func(a *store.Appointment) string { return strings.ToLower(a.Patient.Email) })) > 1 &&
		len(distinct(found, func(a *store.Appointment) string {
			return upstream.CanonicalGUID(a.UpstreamPatientID)
		})) > 1 {
		if r.Email == "" {
			return "", sayAskEmail, nil
		}
		if found = slices.DeleteFunc(found, func(a store.Appointment) bool {
			return !strings.EqualFold(a.Patient.Email, r.Email)
		}); len(found) == 0 {
			return "", sayAskPerson, nil
		}
	}
	last := slices.MaxFunc(found, func(a, b store.Appointment) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return last.UpstreamPatientID, "", nil
}

// knownBy returns the patient with a GUID and a date of birth, from an earlier appointment or from a session of this
// key.
func (ag *Agent) knownBy(ctx context.Context, keyID, guid, born string) (patient store.Patient, found bool, err error) {
	s, there, err := ag.session(ctx, byGUID(keyID, guid))
	if err != nil || there && s.Patient.BirthDate == born {
		return s.Patient, err == nil, err
	}
	err = ag.eachKnown(ctx, store.AppointmentFilter{UpstreamPatient: guid}, func(a *store.Appointment) bool {
		return a.Patient.BirthDate == born
	}, func(a *store.Appointment) {
		patient, found = a.Patient, true
		patient.Notes = ""
	})
	return patient, found, err
}

// eachKnown calls visit for each appointment that matches the filter, that fits accepts, and whose patient is probably
// in the practice system.
func (ag *Agent) eachKnown(ctx context.Context, f store.AppointmentFilter, fits func(*store.Appointment) bool,
	visit func(*store.Appointment)) error {
	f.Limit = 500
	for range knownPages {
		list, next, err := ag.store.Appointments(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			// The upstream may have refused a booking because it did not have the patient.
			a := &list[i]
			there := ag.practice.Options.Upstream == nil || a.UpstreamID != "" ||
				a.UpstreamState == store.UpstreamConfirmed || a.UpstreamState == store.UpstreamPending
			if !there || a.UpstreamPatientID == "" || !fits(a) {
				continue
			}
			if gone, err := ag.isGone(ctx, a.UpstreamPatientID); err != nil {
				return err
			} else if !gone {
				visit(a)
			}
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	return nil
}

// distinct returns the distinct non-empty values that of returns for a list.
func distinct(list []store.Appointment, of func(*store.Appointment) string) []string {
	var all []string
	for i := range list {
		if v := of(&list[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// foldName reduces a name to its letters and digits, ignoring case, so that different spellings compare equal.
func foldName(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}

func digitsOf(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

// byPerson returns the session name for a person, which is the same whichever call created the session. It returns an
// empty name without a date of birth and a telephone number.
func byPerson(keyID string, r *Patient, born string) string {
	phone := digitsOf(r.Phone)
	if born == "" || phone == "" {
		return ""
	}
	return keyID + "\x00person\x00" + foldName(r.FirstName+r.LastName) + "\x00" + born + "\x00" + phone
}

// forgetPatient records that the practice system does not have a patient, so that the next Identify call for that
// person adds them.
func (ag *Agent) forgetPatient(ctx context.Context, guid string) {
	err := ag.note(context.WithoutCancel(ctx), store.AgentSession{At: time.Now()}, gone(guid))
	if err != nil {
		ag.log.Warn("failed to record that a patient does not exist upstream", "error", err)
	}
}

// isGone reports whether the practice system no longer has the patient.
func (ag *Agent) isGone(ctx context.Context, guid string) (bool, error) {
	_, found, err := ag.session(ctx, gone(guid))
	return found, err
}

func gone(guid string) string { return "\x00gone\x00" + upstream.CanonicalGUID(guid) }

// patientAsk returns the PatientAnswer for a person who might be known, or whose details do not match any patient.
func (ag *Agent) patientAsk(say string) PatientAnswer {
	a := PatientAnswer{ErrorType: PatientAmbiguous, Message: "More details are needed to identify the patient.",
		Guidance: ag.guide(say, time.Time{})}
	if say == sayNoMatch {
		a.ErrorType, a.Message = PatientNotFound, "No patient has this patientGUID and date of birth."
	}
	return a
}

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

// # Who is known already
//
// A practice system adds a patient each time it is asked to. So the person is looked up here first, among the patients of
// earlier appointments, and then there, where the vendor has a way to do so (lookup.go). The same person is the one with the same name, date of birth and telephone
// number, all three given both times. What is nearly the same is asked about, and who was found is never named.

// knownPages bounds how many appointments are looked through for one person, in pages of 500.
const knownPages = 4

// knownAs is the GUID of the person, if they are known; or what is to be asked (sayAsk…), if they may be.
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
		return foldName(a.Patient.Name) == name && theirs != "" && a.Patient.BirthDate != "" && (theirs == phone || phone == "") &&
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
		len(distinct(found, func(a *store.Appointment) string { return upstream.CanonicalGUID(a.UpstreamPatientID) })) > 1 {
		if r.Email == "" {
			return "", sayAskEmail, nil
		}
		if found = slices.DeleteFunc(found, func(a store.Appointment) bool { return !strings.EqualFold(a.Patient.Email, r.Email) }); len(found) == 0 {
			return "", sayAskPerson, nil
		}
	}
	last := slices.MaxFunc(found, func(a, b store.Appointment) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return last.UpstreamPatientID, "", nil
}

// knownBy is the patient of a GUID and its date of birth, as an earlier appointment or this key's own session has them.
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

// eachKnown visits the appointments that a filter and fits select whose patient is there, as far as can be told.
func (ag *Agent) eachKnown(ctx context.Context, f store.AppointmentFilter, fits func(*store.Appointment) bool, visit func(*store.Appointment)) error {
	f.Limit = 500
	for range knownPages {
		list, next, err := ag.store.Appointments(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			// A booking that was refused may have been so because nobody knew its patient.
			a := &list[i]
			there := ag.practice.Options.Upstream == nil || a.UpstreamID != "" || a.UpstreamState == store.UpstreamConfirmed || a.UpstreamState == store.UpstreamPending
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

// distinct are the values, other than none, that something has in a list.
func distinct(list []store.Appointment, of func(*store.Appointment) string) []string {
	var all []string
	for i := range list {
		if v := of(&list[i]); v != "" && !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// foldName is a name by which two spellings of it are equal: letters and digits, whatever their case.
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

// byPerson finds a session by the person, whichever call it was; empty unless all that makes one is known.
func byPerson(keyID string, r *Patient, born string) string {
	phone := digitsOf(r.Phone)
	if born == "" || phone == "" {
		return ""
	}
	return keyID + "\x00person\x00" + foldName(r.FirstName+r.LastName) + "\x00" + born + "\x00" + phone
}

// forgetPatient remembers that the practice system does not know a patient, so that identifying them again adds them.
func (ag *Agent) forgetPatient(ctx context.Context, guid string) {
	err := ag.note(context.WithoutCancel(ctx), store.AgentSession{At: time.Now()}, gone(guid))
	if err != nil {
		ag.log.Warn("unknown patient not remembered", "error", err)
	}
}

// isGone reports whether the practice system does not know a patient any more.
func (ag *Agent) isGone(ctx context.Context, guid string) (bool, error) {
	_, found, err := ag.session(ctx, gone(guid))
	return found, err
}

func gone(guid string) string { return "\x00gone\x00" + upstream.CanonicalGUID(guid) }

// patientAsk is the answer to a person who may be known, or is not known by what was said.
func (ag *Agent) patientAsk(say string) PatientAnswer {
	a := PatientAnswer{ErrorType: PatientAmbiguous, Message: "More has to be known to tell who the patient is.", Guidance: ag.guide(say, time.Time{})}
	if say == sayNoMatch {
		a.ErrorType, a.Message = PatientNotFound, "No patient has this patientGUID and date of birth."
	}
	return a
}

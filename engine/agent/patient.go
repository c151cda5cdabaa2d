package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/engine/timed"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// Patient is a person that an agent books for, with the field names of the wire format.
type Patient struct {
	FirstName   string
	LastName    string
	BirthDate   string // "2015-02-03" or "02/03/2015"
	Phone       string
	Email       string
	SessionID   string
	UUI         string
	PatientGUID string // identifies a known patient; together with the date of birth, it replaces the other fields
}

// PatientAnswer is the result of Identify, for the agent.
type PatientAnswer struct {
	Success          bool
	ErrorType        string // empty on success
	Message          string // empty on success
	PatientGUID      string
	BookingAuthToken string
	ExpiresAt        time.Time
	Guidance         Guidance
}

// Error types of Identify.
const (
	errorPatientOpen     = "PATIENT_OUTCOME_UNKNOWN"
	PatientRefused       = "PATIENT_NOT_ACCEPTED"
	errorUpstreamMissing = "UPSTREAM_UNAVAILABLE"
	PatientAmbiguous     = "PATIENT_AMBIGUOUS"
)

// Identify finds the patient or adds them: upstream or, without an upstream, with a GUID created here. It signs a
// bookingAuthToken for the GUID. A repeated request finds the same patient and returns a new token. Errors:
// *ValidationError, and the storage errors.
func (ag *Agent) Identify(ctx context.Context, p record.Principal, r Patient) (PatientAnswer, error) {
	now := time.Now()
	deadline := now.Add(ag.practice.Options.AgentBound)
	born, err := r.normalize(store.DateOf(now.In(ag.clinic.Zone())))
	if err != nil {
		return PatientAnswer{}, err
	}
	if err := store.Trial(ctx); err != nil {
		return PatientAnswer{}, err
	}
	if r.PatientGUID != "" {
		return ag.identifyKnown(ctx, p, &r, born, now, deadline)
	}
	said, person := bySaid(p.KeyID, &r), byPerson(p.KeyID, &r, dateOfBirth(born))
	s, known, err := ag.session(ctx, sessionNames(said, person)...)
	if err != nil {
		return PatientAnswer{}, err
	}
	if known && s.Open {
		return ag.patientOpen(), nil
	}
	gone := ""
	if known = known && s.PatientID != ""; known {
		is, err := ag.isGone(ctx, s.PatientID)
		if err != nil {
			return PatientAnswer{}, err
		}
		if is {
			known, gone = false, s.PatientID
		}
	}
	if !known {
		guid, ask, err := ag.knownAs(ctx, &r, dateOfBirth(born))
		if err == nil && guid == "" && ask == "" {
			guid, ask, err = ag.knownThere(ctx, &r, born, deadline)
		}
		switch {
		case err != nil:
			return PatientAnswer{}, err
		case ask != "":
			return ag.patientAsk(ask), nil
		}
		s.PatientID, known = guid, guid != ""
	}
	if !known {
		var refused *PatientAnswer
		if s.PatientID, refused, err = ag.addPatient(ctx, &r, born, now, deadline, gone,
			sessionNames(said, person)); err != nil || refused != nil {
			return *cmp.Or(refused, &PatientAnswer{}), err
		}
	}
	s.Patient = store.Patient{Name: r.FirstName + " " + r.LastName, Email: r.Email, Phone: r.Phone,
		BirthDate: dateOfBirth(born)}
	return ag.identified(ctx, p, &r, s, now, said, person)
}

// addPatient adds a patient upstream, or creates a GUID if there is no upstream. It records the attempt first, so that
// no other request repeats an attempt whose outcome is unknown, whether after this node was killed or on another node
// at the same time. If the patient was not added, the PatientAnswer is non-nil.
func (ag *Agent) addPatient(ctx context.Context, r *Patient, born, now, deadline time.Time, gone string,
	names []string) (string, *PatientAnswer, error) {
	if ag.practice.Options.Upstream == nil {
		return newGUID(), nil, nil
	}
	there, found, err := ag.begin(ctx, now, gone, names)
	switch {
	case err != nil:
		return "", nil, err
	case found && there.Open:
		answer := ag.patientOpen()
		return "", &answer, nil
	case found:
		return there.PatientID, nil, nil
	}
	guid, err := ag.setPatientNow(ctx, deadline, upstream.NewPatient{
		FirstName: r.FirstName, LastName: r.LastName, BirthDate: born, Phone: r.Phone, Email: r.Email,
	})
	answer := PatientAnswer{ErrorType: errorUpstreamMissing, Message: "The practice system is not responding.",
		Guidance: ag.guide(sayUnreachable, time.Time{})}
	switch upstream.ClassOf(err) {
	case "":
		return guid, nil, nil
	case upstream.Unknown:
		answer = ag.patientOpen()
		return "", &answer, nil
	case upstream.Refused:
		answer = PatientAnswer{
			ErrorType: PatientRefused, Message: "The practice system did not accept these details.",
			Guidance: ag.guide(sayPatientRefused, time.Time{}),
		}
	}
	// The patient was not added. If this record fails, the outcome counts as unknown and a person must check it.
	if err := ag.note(context.WithoutCancel(ctx), store.AgentSession{At: now}, names...); err != nil {
		ag.log.Warn("failed to record that the patient was not added upstream", "error", err)
	}
	return "", &answer, nil
}

// identifyKnown is like Identify, for a patientGUID and a date of birth. If they do not match any patient, it does not
// add one.
func (ag *Agent) identifyKnown(ctx context.Context, p record.Principal, r *Patient, born, now,
	deadline time.Time) (PatientAnswer, error) {
	s := store.AgentSession{PatientID: upstream.CanonicalGUID(r.PatientGUID)}
	var found bool
	var err error
	if s.Patient, found, err = ag.knownBy(ctx, p.KeyID, s.PatientID, dateOfBirth(born)); err != nil {
		return PatientAnswer{}, err
	}
	if !found {
		known, there := ag.knownThereBy(ctx, s.PatientID, born, deadline)
		if !there {
			return ag.patientAsk(sayNoMatch), nil
		}
		s.Patient = store.Patient{Name: known.FirstName + " " + known.LastName, Email: known.Email, Phone: known.Phone,
			BirthDate: dateOfBirth(born)}
	}
	return ag.identified(ctx, p, r, s, now)
}

// identified signs a token for a session's patient and stores the session under the given names and under those that it
// derives from the patient and the request.
func (ag *Agent) identified(ctx context.Context, p record.Principal, r *Patient, s store.AgentSession, now time.Time,
	names ...string) (PatientAnswer, error) {
	signed, auth, err := ag.booking.Keys().IssueBookingAuth(r.SessionID, s.PatientID, now)
	if err != nil {
		return PatientAnswer{}, err
	}
	s.At, s.ExpiresAt = now, time.UnixMilli(auth.ExpiresAt)
	names = append(sessionNames(names...), byGUID(p.KeyID, s.PatientID), byPatient(s.PatientID))
	if r.UUI != "" {
		names = append(names, byUUI(p.KeyID, r.UUI))
	}
	// The practice system may now have a new patient, so the session is stored even if the caller has hung up.
	if err := ag.note(context.WithoutCancel(ctx), s, names...); err != nil {
		return PatientAnswer{}, err
	}
	return PatientAnswer{
		Success: true, PatientGUID: s.PatientID, BookingAuthToken: signed, ExpiresAt: s.ExpiresAt.UTC(),
		Guidance: ag.guide(sayPatient, time.Time{}),
	}, nil
}

// sessionNames returns the non-empty names.
func sessionNames(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// dateOfBirth formats a date in the form that appointments store. The result is empty for the zero time.
func dateOfBirth(born time.Time) string {
	if born.IsZero() {
		return ""
	}
	return born.Format(time.DateOnly)
}

func (ag *Agent) patientOpen() PatientAnswer {
	return PatientAnswer{
		ErrorType: errorPatientOpen,
		Message:   "The practice system did not respond, and the patient may have been added.",
		Guidance:  ag.guide(sayPatientOpen, time.Time{}),
	}
}

// setPatientNow adds a patient while a caller waits. If the upstream reports a rate limit, setPatientNow tries again
// once, after the retry delay.
func (ag *Agent) setPatientNow(ctx context.Context, deadline time.Time, n upstream.NewPatient) (string, error) {
	// Even if the caller abandons the request, the call must run to completion. Otherwise its outcome would be unknown.
	ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	guid, err := ag.practice.Options.Upstream.SetPatient(ctx, n)
	if upstream.ClassOf(err) == upstream.RateLimited {
		timed.Sleep(ctx, min(ag.practice.Options.Limits.RetryDelay, ag.practice.Options.AgentBound/2), nil)
		guid, err = ag.practice.Options.Upstream.SetPatient(ctx, n)
	}
	return guid, err
}

// normalize trims and checks the fields. It returns the date of birth, or the zero time if there is none.
func (r *Patient) normalize(today store.Date) (time.Time, error) {
	var m record.Mistakes
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	r.FirstName, r.LastName = words(r.FirstName), words(r.LastName)
	r.Phone, r.Email, r.BirthDate = strings.TrimSpace(r.Phone), strings.TrimSpace(r.Email),
		strings.TrimSpace(r.BirthDate)
	for _, f := range []struct{ field, value string }{{"firstName", r.FirstName}, {"lastName", r.LastName}} {
		if f.value == "" && r.PatientGUID == "" {
			m.Add(f.field, "is required; ask the caller for it")
		}
		record.CheckText(&m, f.field, f.value, 100, false)
	}
	record.CheckText(&m, "sessionId", r.SessionID, 256, false)
	if len(r.SessionID) > 256 {
		m.Add("sessionId", "must be at most 256 bytes")
	}
	record.CheckText(&m, "uui", r.UUI, 256, false)
	if r.Phone != "" {
		record.CheckPhone(&m, "phone", r.Phone)
	}
	if r.Email != "" {
		record.CheckEmail(&m, "email", r.Email)
	}
	if r.PatientGUID != "" && !upstream.ValidGUID(r.PatientGUID) {
		m.Add("patientGUID", "must be a patientGUID from an earlier answer, or be left out")
	}
	if r.PatientGUID != "" && r.BirthDate == "" {
		m.Add("birthDate", "is required with a patientGUID; ask the caller for it")
	}
	var born time.Time
	if r.BirthDate != "" {
		var err error
		if born, err = time.Parse(time.DateOnly, r.BirthDate); err != nil {
			born, err = time.Parse("1/2/2006", r.BirthDate)
		}
		if err != nil || born.Year() < 1880 || today.Before(store.DateOf(born)) {
			m.Add("birthDate", "must be a date of birth like 2015-02-03 or 02/03/2015")
		}
	}
	return born, m.Err()
}

// newGUID creates a random GUID (RFC 9562 version 4), which does not reveal when it was created.
func newGUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails; see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return record.SpellUUID(b)
}

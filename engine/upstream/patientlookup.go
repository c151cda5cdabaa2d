package upstream

import (
	"context"
	"net/http"
	"strings"
	"time"
)

const (
	findPatients = "GetPortalPatientLookup"
	readPatient  = "GetPatientInformation"
)

// KnownPatient is a patient who exists in the upstream. Omitted fields are empty. Lists do not contain telephone
// numbers or email addresses.
type KnownPatient struct {
	GUID      string
	FirstName string
	LastName  string
	BirthDate time.Time // a date at midnight UTC; zero if unknown
	Phone     string
	Email     string
}

// FindPatients lists the active patients with a given name. The upstream may return other names too. Some vendors do
// not offer this procedure to every client; the error is then an *Error of class Misconfigured.
func (c *Client) FindPatients(ctx context.Context, firstName, lastName string) ([]KnownPatient, error) {
	if firstName == "" || lastName == "" {
		return nil, &Error{Procedure: findPatients, Class: Refused, Reason: Invalid,
			Detail: "the patient needs a first and a last name"}
	}
	a, err := c.call(ctx, findPatients, parameters{
		{"filter", lastName + ", " + firstName}, {"lookupByPatient", "1"}, {"showInactive", "0"},
	})
	if err != nil {
		return nil, err
	}
	list := make([]KnownPatient, 0, len(a.records))
	for _, r := range a.records {
		if p := r.patient(); ValidGUID(p.GUID) {
			list = append(list, p)
		}
	}
	return list, nil
}

// PatientInformation returns the upstream's data about one patient. If the patient is unknown, the error is an *Error
// of class Refused with the reason PatientUnknown.
func (c *Client) PatientInformation(ctx context.Context, patientGUID string) (KnownPatient, error) {
	if !ValidGUID(patientGUID) {
		return KnownPatient{}, &Error{Procedure: readPatient, Class: Refused, Reason: PatientUnknown,
			Detail: "the patient has no GUID"}
	}
	a, err := c.call(ctx, readPatient, parameters{{"patguid", patientGUID}})
	if err != nil {
		return KnownPatient{}, err
	}
	for _, r := range a.records {
		if p := r.patient(); p.LastName != "" {
			p.GUID = CanonicalGUID(patientGUID)
			return p, nil
		}
	}
	if len(a.records) == 0 {
		return KnownPatient{}, &Error{Procedure: readPatient, Class: Refused, Reason: PatientUnknown,
			Status: http.StatusOK, Detail: "the patient does not exist"}
	}
	return KnownPatient{}, &Error{Procedure: readPatient, Class: Unknown, Status: http.StatusOK,
		Detail: "it answered Success without a patient"}
}

// patient reads a record returned by either procedure. A full name in one field is "Last, First" or "First Last".
func (r record) patient() KnownPatient {
	p := KnownPatient{
		GUID:      CanonicalGUID(r.first("patientguid", "patguid")),
		FirstName: r.first("patientfirstname", "persfirstname", "firstname"),
		LastName:  r.first("patientlastname", "perslastname", "lastname"),
		BirthDate: parseBirth(r.first("patientbirthdate", "birthdate", "birthdaydatetime")),
		Phone:     r.first("patientphone", "phonenumber", "phone"), Email: r.first("patientemail", "email"),
	}
	if full := r.first("patientname", "patientfullname", "fullname"); p.LastName == "" && full != "" {
		last, first, reversed := strings.Cut(full, ",")
		if !reversed {
			words := strings.Fields(full)
			first, last = words[0], strings.Join(words[1:], " ")
		}
		p.FirstName, p.LastName = strings.TrimSpace(first), strings.TrimSpace(last)
	}
	return p
}

// parseBirth parses a date of birth and ignores a time of day after it. It returns the zero time for anything else.
func parseBirth(s string) time.Time {
	s, _, _ = strings.Cut(strings.ReplaceAll(strings.TrimSpace(s), "T", " "), " ")
	for _, layout := range []string{"1/2/2006", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.Year() >= 1880 {
			return t
		}
	}
	return time.Time{}
}

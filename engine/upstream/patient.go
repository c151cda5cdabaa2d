package upstream

import (
	"context"
	"net/http"
	"time"
)

const (
	setPatient        = "SetPatient"
	setPatientComment = "SetPatientComment"
)

// NewPatient is a patient to create in the upstream. The names are required. Empty fields are left out of the request.
type NewPatient struct {
	FirstName    string
	LastName     string
	ProviderGUID string
	LocationGUID string
	BirthDate    time.Time // a date; its time of day and zone are ignored
	Phone        string
	Email        string
}

// SetPatient creates a patient in the upstream and returns the GUID. Not every vendor offers a patient look-up, so a
// success without a GUID is an *Error of class Unknown.
func (c *Client) SetPatient(ctx context.Context, n NewPatient) (string, error) {
	if n.FirstName == "" || n.LastName == "" {
		return "", &Error{Procedure: setPatient, Class: Refused, Reason: Invalid,
			Detail: "the patient needs a first and a last name"}
	}
	var birth string
	if !n.BirthDate.IsZero() {
		birth = n.BirthDate.Format("2006-01-02T00:00:00")
	}
	a, err := c.call(ctx, setPatient, parameters{
		{"patientFirstName", n.FirstName},
		{"patientLastName", n.LastName},
		{"providerGUID", n.ProviderGUID},
		{"locationGUID", n.LocationGUID},
		{"birthdayDateTime", birth},
		{"phoneNumber", n.Phone},
		{"email", n.Email},
		{"VendorUserName", c.vendor},
	})
	if err != nil {
		return "", err
	}
	if made := a.made(); made != "" {
		return made, nil
	}
	return "", &Error{Procedure: setPatient, Class: Unknown, Status: http.StatusOK,
		Detail: "it answered Success without a patient GUID"}
}

// SetPatientComment adds a note to a patient. As with every write, the outcome can be Unknown. In that case, repeat the
// call: a duplicate note does less harm than a missing one.
func (c *Client) SetPatientComment(ctx context.Context, patientGUID, comment string) error {
	if patientGUID == "" || comment == "" {
		return &Error{Procedure: setPatientComment, Class: Misconfigured,
			Detail: "the note is empty, or the patient has no GUID"}
	}
	_, err := c.call(ctx, setPatientComment, parameters{{"patGUID", patientGUID}, {"patComment", comment}})
	return err
}

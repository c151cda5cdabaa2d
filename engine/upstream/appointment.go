package upstream

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	setAppointment       = "SetAppointment"
	setAppointmentCancel = "SetAppointmentStatusCanceled"
	appointmentsOf       = "GetAppointmentListByPatient"
)

// NewAppointment is an appointment to create in the upstream. All fields are required.
type NewAppointment struct {
	PatientGUID         string
	Start               time.Time
	Zone                *time.Location // the clinic's zone; Start is written as local time in it
	ScheduleViewGUID    string
	ScheduleColumnGUID  string
	AppointmentTypeGUID string
	Minutes             int
}

// Created is the result of a successful write.
type Created struct {
	GUID string // "" if LookUp is true
	// LookUp means that the appointment was written, but the response does not contain its GUID. Find it with
	// GetAppointmentListByPatient; never write it again.
	LookUp bool
}

// Appointment is one appointment as the upstream lists it.
type Appointment struct {
	GUID                string
	PatientGUID         string    // "" if the upstream leaves it out, as it does in a list by patient
	Start               time.Time // UTC; zero for an appointment without a time
	Minutes             int       // 0 if the upstream leaves it out
	ScheduleViewGUID    string    // "" if the upstream leaves it out
	ScheduleColumnGUID  string    // "" if the upstream leaves it out
	AppointmentTypeGUID string    // "" if the upstream leaves it out
	Cancelled           bool
}

// SetAppointment writes an appointment. The caller must have waited for its turn and recorded the attempt, because
// the error can be an *Error of class Unknown.
func (c *Client) SetAppointment(ctx context.Context, n NewAppointment) (Created, error) {
	if detail := n.incomplete(); detail != "" {
		return Created{}, &Error{Procedure: setAppointment, Class: Misconfigured, Detail: detail}
	}
	a, err := c.call(ctx, setAppointment, parameters{
		{"PatientGUID", n.PatientGUID},
		{"StartTime", FormatTime(n.Start, n.Zone)},
		{"ScheduleViewGUID", n.ScheduleViewGUID},
		{"ScheduleColumnGUID", n.ScheduleColumnGUID},
		{"AppointmentTypeGUID", n.AppointmentTypeGUID},
		{"Minutes", strconv.Itoa(n.Minutes)},
		{"VendorUserName", c.vendor},
	})
	if err != nil {
		return Created{}, err
	}
	if !a.done() {
		return Created{}, &Error{Procedure: setAppointment, Class: Unknown, Status: http.StatusOK,
			Detail: "it answered Success without an appointment"}
	}
	made := a.made()
	return Created{GUID: made, LookUp: made == ""}, nil
}

// incomplete describes the field that is missing from n, or returns "" if n can be sent.
func (n NewAppointment) incomplete() string {
	switch {
	case n.PatientGUID == "":
		return "the patient has no GUID"
	case n.ScheduleViewGUID == "", n.ScheduleColumnGUID == "":
		return "the specialist has no schedule view or column GUID of the upstream"
	case n.AppointmentTypeGUID == "":
		return "the appointment type has no GUID of the upstream"
	case n.Zone == nil:
		return "the clinic's time zone is not known"
	case n.Start.IsZero(), n.Minutes <= 0:
		return "the appointment has no start or no length"
	}
	return ""
}

// SetAppointmentStatusCanceled cancels an appointment. It succeeds if the appointment is already cancelled. An
// appointment that does not exist is Refused (AppointmentUnknown). Repeating the call is harmless, so call it again
// after Unknown.
func (c *Client) SetAppointmentStatusCanceled(ctx context.Context, appointmentGUID string) error {
	if appointmentGUID == "" {
		return &Error{Procedure: setAppointmentCancel, Class: Misconfigured, Detail: "the appointment has no GUID"}
	}
	_, err := c.call(ctx, setAppointmentCancel, parameters{{"apptGUID", appointmentGUID}})
	if ReasonOf(err) == AlreadyCancelled {
		return nil
	}
	return err
}

// GetAppointmentListByPatient lists the appointments of one patient, including cancelled ones. zone is the clinic's
// time zone. If part of the list is unreadable, the error is an *Error of class Unknown: otherwise the caller would
// write an appointment again that is missing from the list.
func (c *Client) GetAppointmentListByPatient(ctx context.Context, patientGUID string,
	zone *time.Location) ([]Appointment, error) {
	if patientGUID == "" || zone == nil {
		return nil, &Error{Procedure: appointmentsOf, Class: Misconfigured,
			Detail: "the patient has no GUID, or the clinic's time zone is not known"}
	}
	a, err := c.call(ctx, appointmentsOf, parameters{{"patGUID", patientGUID}})
	if ReasonOf(err) == AppointmentUnknown {
		return nil, nil // "No appointments found" is an empty list
	}
	if err != nil {
		return nil, err
	}
	list := make([]Appointment, 0, len(a.records))
	for _, r := range a.records {
		if len(r) == 1 && noneFound.MatchString(r["result"]) {
			continue
		}
		each, ok := r.appointment(zone)
		if !ok {
			return nil, &Error{Procedure: appointmentsOf, Class: Unknown, Status: http.StatusOK,
				Detail: "it listed an appointment that cannot be read"}
		}
		list = append(list, each)
	}
	return list, nil
}

func (r record) appointment(zone *time.Location) (Appointment, bool) {
	a := Appointment{
		GUID:                r.first("appointmentguid", "apptguid", "guid"),
		PatientGUID:         r.first("patientguid", "patguid"),
		ScheduleViewGUID:    r.first("scheduleviewguid", "schdvwguid"),
		ScheduleColumnGUID:  r.first("schedulecolumnguid", "schdcolguid"),
		AppointmentTypeGUID: r.first("appointmenttypeguid", "appttypguid", "appttypeguid"),
		Cancelled: strings.Contains(strings.ToLower(r.first("appointmentstatusdescription",
			"appointmentstatus", "statusdescription", "status")), "cancel"),
	}
	if !ValidGUID(a.GUID) {
		return Appointment{}, false
	}
	if start := r.first("appointmentdatetime", "appointmentstarttime", "starttime", "apptstarttime"); start != "" {
		t, err := ParseTime(start, zone)
		if err != nil {
			return Appointment{}, false
		}
		a.Start = t
	}
	if minutes := r.first("appointmentminutes", "minutes", "apptminutes"); minutes != "" {
		n, err := strconv.Atoi(minutes)
		if err != nil || n < 0 {
			return Appointment{}, false
		}
		a.Minutes = n
	}
	return a, true
}

// Match returns the appointments in a patient's list that could be n: not cancelled, with the same local start time in
// the clinic's zone and the same column. If the upstream omits the column, Match compares the appointment type. If the
// upstream omits that too, the start time alone decides. More than one result means that the upstream has duplicates.
func (n NewAppointment) Match(list []Appointment) []Appointment {
	return slices.DeleteFunc(slices.Clone(list), func(a Appointment) bool {
		switch {
		case a.Cancelled, a.Start.IsZero(), FormatTime(a.Start, n.Zone) != FormatTime(n.Start, n.Zone):
			return true
		case a.PatientGUID != "" && !EqualGUID(a.PatientGUID, n.PatientGUID):
			return true
		case a.ScheduleColumnGUID != "":
			return !EqualGUID(a.ScheduleColumnGUID, n.ScheduleColumnGUID)
		case a.AppointmentTypeGUID != "":
			return !EqualGUID(a.AppointmentTypeGUID, n.AppointmentTypeGUID)
		}
		return false
	})
}

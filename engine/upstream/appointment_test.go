package upstream

import (
	"strings"
	"testing"
	"time"
)

// TestMatch checks which entries in a patient's list match the appointment in question.
func TestMatch(t *testing.T) {
	n := wanted(t)
	there := Appointment{GUID: appointment, PatientGUID: patient, Start: ten, Minutes: 30, ScheduleViewGUID: view,
		ScheduleColumnGUID: column, AppointmentTypeGUID: typ}
	for name, test := range map[string]struct {
		change func(*Appointment)
		want   bool
	}{
		"itself": {func(*Appointment) {}, true},
		"in other letter case": {func(a *Appointment) {
			a.ScheduleColumnGUID, a.PatientGUID = strings.ToUpper(column), strings.ToUpper(patient)
		}, true},
		"with seconds":                 {func(a *Appointment) { a.Start = a.Start.Add(30 * time.Second) }, true},
		"made longer at the desk":      {func(a *Appointment) { a.Minutes = 60 }, true},
		"of another type, same column": {func(a *Appointment) { a.AppointmentTypeGUID = view }, true},
		"cancelled":                    {func(a *Appointment) { a.Cancelled = true }, false},
		"a quarter of an hour later":   {func(a *Appointment) { a.Start = a.Start.Add(15 * time.Minute) }, false},
		"without a time":               {func(a *Appointment) { a.Start = time.Time{} }, false},
		"in another column":            {func(a *Appointment) { a.ScheduleColumnGUID = view }, false},
		"of another patient":           {func(a *Appointment) { a.PatientGUID = view }, false},
		"no patient given":             {func(a *Appointment) { a.PatientGUID = "" }, true},
		"no column given, same type":   {func(a *Appointment) { a.ScheduleColumnGUID = "" }, true},
		"no column given, another type": {func(a *Appointment) {
			a.ScheduleColumnGUID, a.AppointmentTypeGUID = "", view
		}, false},
		"neither column nor type are given": {func(a *Appointment) {
			a.ScheduleColumnGUID, a.AppointmentTypeGUID = "", ""
		}, true},
	} {
		a := there
		test.change(&a)
		if got := len(n.Match([]Appointment{a})) == 1; got != test.want {
			t.Errorf("%s: got a match %v, want %v", name, got, test.want)
		}
	}
	list := []Appointment{there, {GUID: view}, there}
	if got := n.Match(list); len(got) != 2 || len(list) != 3 || list[1].GUID != view {
		t.Errorf("two of three: got %d matches, and the argument is now %v; want 2 and the argument unchanged", len(got),
			list)
	}
	// In the hour that occurs twice, the local time decides, because nothing else is sent.
	fold := n
	fold.Start = time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC) // the second 1:30 AM
	first := there
	first.Start = fold.Start.Add(-time.Hour)
	if len(fold.Match([]Appointment{first})) != 1 {
		t.Error("the same wall clock time in a repeated hour: got no match, want one")
	}
}

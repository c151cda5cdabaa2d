package web_test

import (
	"strings"
	"testing"
)

// TestScheduleNamesArchived: the board's data name an archived specialist and an archived type, because their
// appointments stay.
func TestScheduleNamesArchived(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	before := h.do("GET", "/v1/schedule", nil, asAdmin).want(200)
	if len(before.get("archived", "specialists").([]any)) != 0 {
		t.Errorf("a new clinic has archived specialists: %s", before.raw)
	}
	h.do("DELETE", "/v1/specialists/ada", nil, asAdmin).want(200)
	h.do("DELETE", "/v1/appointment-types/checkup", nil, asAdmin).want(200)
	r := h.do("GET", "/v1/schedule", nil, asAdmin).want(200)
	r.conforms("GET", "/v1/schedule")
	who := r.get("archived", "specialists").([]any)
	types := r.get("archived", "appointmentTypes").([]any)
	if len(who) != 1 || who[0].(map[string]any)["name"] != "Dr ada" || len(types) != 1 ||
		types[0].(map[string]any)["id"] != "checkup" {
		t.Errorf("archived: %v, %v", who, types)
	}
}

// TestExportsNameThePlace: in a clinic with two places, the spreadsheet and the FHIR resource of an appointment name
// its place. Importing the spreadsheet finds the appointment.
func TestExportsNameThePlace(t *testing.T) {
	t.Parallel()
	h := twoPlaces(t)
	id := h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "bea",
		"slotStartDate": h.at(0), "patient": map[string]any{"name": "Lena Vogt"}}, asAdmin).want(201).
		text("appointment", "id")
	file := h.do("GET", "/v1/export/appointments?from="+h.day(0)+"&to="+h.day(1), nil, asAdmin).want(200)
	lines := strings.Split(strings.TrimSpace(file.raw), "\r\n")
	if !strings.HasSuffix(lines[0], ",place") || !strings.HasSuffix(lines[1], ",South") {
		t.Errorf("the spreadsheet is %q", lines)
	}
	plan := h.do("POST", "/v1/import/appointments-plan", map[string]any{"csv": file.raw}, asAdmin).want(200)
	if plan.get("import", "there") != 1.0 || len(plan.get("import", "ignored").([]any)) != 0 {
		t.Errorf("planned is %s", plan.raw)
	}
	read := func() string { return h.do("GET", "/fhir/Appointment/"+id, nil, asAdmin).want(200).raw }
	readDefinitions(t).resource(t, "/fhir/Appointment/"+id, []byte(read()))
	if !strings.Contains(read(), `"type":"Location"`) || !strings.Contains(read(), `"value":"south"`) ||
		!strings.Contains(read(), `"display":"South"`) {
		t.Errorf("the resource is %s", read())
	}
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"remote": true}, asAdmin).want(200)
	if strings.Contains(read(), "Location") {
		t.Errorf("a remote appointment has a place: %s", read())
	}
}

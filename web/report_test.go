package web_test

import (
	"strings"
	"testing"
)

// TestReportCountsWithoutPatients: a report counts bookings by source, cancellations and the booked time of each
// specialist. It contains no patient data.
func TestReportCountsWithoutPatients(t *testing.T) {
	h := newHouse(t)
	h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{
		"slotStartDate": h.at(60), "specialistId": "ada", "clientId": client(1), "patient": patient(1),
	}).want(201)
	id := h.do("POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at(120), "specialistId": "bea", "patient": patient(2),
	}, asAdmin).want(201).text("appointment", "id")
	h.do("POST", "/v1/appointments/"+id+"/cancel", nil, asAdmin).want(200)

	day := h.at(60)[:10]
	r := h.do("GET", "/v1/reports?by=week&from="+day+"&to="+nextDay(t, day), nil, asAdmin).want(200)
	p := r.body["periods"].([]any)[0].(map[string]any)
	booked := p["booked"].(map[string]any)
	if len(r.body["periods"].([]any)) != 1 || p["appointments"] != 1.0 || p["cancelled"] != 1.0 || p["started"] != 0.0 ||
		booked["web"] != 1.0 || len(booked) != 2 || p["leadHours"].(float64) <= 0 {
		t.Errorf("got %v, want one online appointment and one cancelled appointment", p)
	}
	for _, x := range p["specialists"].([]any) {
		use := x.(map[string]any)
		if isAda := use["specialistId"] == "ada"; (use["bookedMinutes"].(float64) > 0) != isAda || use["openMinutes"].(float64) <= 0 {
			t.Errorf("the report of one specialist: got %v", use)
		}
	}
	name := patient(1)["name"].(string)
	if strings.Contains(r.raw, name) || strings.Contains(r.raw, id) {
		t.Errorf("the report contains a patient or an appointment: %s", r.raw)
	}
	h.do("GET", "/v1/reports?by=day", nil, asAdmin).want(422)
	h.do("GET", "/v1/reports?from=2020-01-01&to=2026-01-01", nil, asAdmin).want(422)
	h.do("GET", "/v1/reports?from=2026-01-02&to=2026-01-01", nil, asAdmin).want(422)
}

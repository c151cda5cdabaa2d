package web_test

import (
	"strings"
	"testing"
)

// TestDeskUndoes: the desk undoes its own cancellation over HTTP. A program cannot, and a second undo fails.
func TestDeskUndoes(t *testing.T) {
	h := newHouse(t)
	reception := h.signedIn("desk@clinic.example", "reception", "")
	id := h.do("POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0),
		"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1234567"},
	}, asAdmin).want(201).text("appointment", "id")
	path := "/v1/appointments/" + id
	h.do("POST", path+"/cancel", map[string]any{"undoable": true}, reception).want(200)
	if got := h.do("POST", path+"/undo", nil, asAdmin).problem(409, "not_bookable"); got.text("reason") != "undo_late" {
		t.Errorf("a program gets %s", got.raw)
	}
	h.do("POST", path+"/undo", nil, reception, header{"If-Match": `"1"`}).problem(412, "version_mismatch")
	if back := h.do("POST", path+"/undo", nil, reception, header{"If-Match": `"2"`}).want(200); back.text("appointment",
		"status") != "confirmed" {
		t.Errorf("got %s", back.raw)
	}
	h.do("POST", path+"/undo", nil, reception).problem(409, "not_bookable")
	h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(0), "appointmentTypeId": "checkup",
		"specialistId": "ada"}, asAdmin).want(200)
	if got := h.do("GET", "/v1/audit?action=appointment.undone", nil, asAdmin).want(200); !strings.Contains(got.raw,
		"appointment:"+id) {
		t.Errorf("the log has no entry about the undo: %s", got.raw)
	}
}

package web_test

import (
	"strings"
	"testing"
)

// TestApprovalRequestOnTheWire: the link of a request that needs the desk's approval shows and declines the request,
// but does not confirm it. Agents create requests like any visitor.
func TestApprovalRequestOnTheWire(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"approval": true,
		"remote": true, "videoLink": "https://video.example.org/{appointment}"}, asAdmin).want(200)
	body := func(n, minutes int) map[string]any {
		return map[string]any{"slotStartDate": h.at(minutes), "clientId": client(n),
			"patient": map[string]any{"name": "Rosa Winter", "phone": "030 1234567"}}
	}
	asked := h.do("POST", bookCheckup, body(1, 0)).want(202)
	id := asked.text("request", "id")
	if asked.get("request", "approval") != true || asked.get("request", "byMail") != false {
		t.Errorf("the visitor is told %s", asked.raw)
	}
	link := header{"Holdfast-Manage": h.requestLink(id)}
	h.do("POST", "/v1/requests/managed/confirm", nil, link).problem(403, "forbidden")
	if got := h.do("GET", "/v1/requests/managed", nil, link).want(200); got.get("request", "approval") != true {
		t.Errorf("the link shows %s", got.raw)
	}
	booked := h.do("POST", "/v1/requests/"+id+"/confirm", nil, asAdmin).want(200)
	if booked.text("appointment", "videoLink") != "https://video.example.org/"+id {
		t.Errorf("approved: %s", booked.raw)
	}
	// A different time needs a new approval: the link cannot move the appointment, the desk can.
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(240)}, link).problem(403,
		"forbidden")
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(240)}, asAdmin).want(200)
	h.do("POST", "/v1/appointments/"+id+"/cancel", nil, asAdmin).want(200)
	if got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200); got.get("appointment", "videoLink") != nil {
		t.Error("a cancelled appointment has a call")
	}
	other := h.do("POST", bookCheckup, body(2, 60)).want(202).text("request", "id")
	h.do("POST", "/v1/requests/managed/decline", nil, header{"Holdfast-Manage": h.requestLink(other)}).want(200)

	key := h.do("POST", "/v1/api-keys", map[string]any{"name": "Phone", "scope": "agent"},
		asAdmin).want(201).text("key")
	agent := header{"Authorization": "Bearer " + key}
	h.do("POST", bookCheckup, body(3, 120), agent).want(202)
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup"}, agent)
	if strings.Contains(slots.raw, "bookingToken") {
		t.Errorf("an agent is offered what it cannot book: %s", slots.raw)
	}
	// Programs with an admin key, and the desk, book without approval.
	h.do("POST", bookCheckup, body(4, 180), asAdmin).want(201)
}

package web_test

import (
	"strings"
	"testing"
)

// TestProposedTimeOnTheWire: the desk proposes another time for a request. The link to the request shows both times and
// books the proposed one. If the page showed a different time, the link books nothing.
func TestProposedTimeOnTheWire(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"approval": true}, asAdmin).want(200)
	id := h.do("POST", bookCheckup, map[string]any{"slotStartDate": h.at(0), "clientId": client(1),
		"patient": map[string]any{"name": "Rosa Winter", "phone": "030 1234567"}}).want(202).text("request", "id")
	link := header{"Holdfast-Manage": h.requestLink(id)}
	propose := "/v1/requests/" + id + "/propose"
	h.do("POST", propose, map[string]any{"slotStartDate": h.at(60)}, link).problem(401, "unauthorized")
	h.do("POST", propose, map[string]any{}, asAdmin).problem(422, "validation_failed")
	h.do("POST", propose, map[string]any{"slotStartDate": h.at(0)}, asAdmin).problem(422, "validation_failed")
	next := h.at(24 * 60)
	h.do("POST", "/v1/specialists/ada/overrides", map[string]any{"date": next[:10], "closed": true}, asAdmin).want(201)
	h.do("POST", propose, map[string]any{"slotStartDate": next}, asAdmin).problem(409, "not_bookable")
	again := header{"Idempotency-Key": "once"}
	proposed := h.do("POST", propose, map[string]any{"slotStartDate": h.at(60)}, asAdmin, again).want(200)
	h.do("POST", propose, map[string]any{"slotStartDate": h.at(60)}, asAdmin, again).want(200)
	if got := proposed.text("request", "slotStartDate") + " " + proposed.text("request", "wantedStartDate"); got !=
		h.at(60)+" "+h.at(0) {
		t.Errorf("proposed: %s", proposed.raw)
	}
	seen := h.do("GET", "/v1/requests/managed", nil, link).want(200)
	if seen.text("request", "wantedStartDate") != h.at(0) {
		t.Errorf("the link returns %s", seen.raw)
	}
	confirm := "/v1/requests/managed/confirm"
	h.do("POST", confirm, map[string]any{"slotStartDate": h.at(0)}, link).problem(412, "version_mismatch")
	booked := h.do("POST", confirm, map[string]any{"slotStartDate": h.at(60)}, link).want(200)
	if booked.text("appointment", "slotStartDate") != h.at(60) || booked.text("appointment", "id") != id {
		t.Errorf("booked: %s", booked.raw)
	}
	h.do("POST", propose, map[string]any{"slotStartDate": h.at(120)}, asAdmin).problem(404, "not_found")
}

// TestRequestsShowObstacle: the list for the desk and the request's link say why a request can no longer be approved,
// and approving it is refused for the same reason. The time that a request itself holds is not an obstacle.
func TestRequestsShowObstacle(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(h *house){
		"": func(*house) {},
		"override_closed": func(h *house) {
			h.do("POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.at(0)[:10], "closed": true},
				asAdmin).want(201)
		},
		"inactive": func(h *house) {
			h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": false}, asAdmin).want(200)
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"approval": true}, asAdmin).want(200)
			id := h.do("POST", bookCheckup, map[string]any{"slotStartDate": h.at(0), "clientId": client(1),
				"specialistId": "ada", "patient": map[string]any{"name": "Rosa Winter", "phone": "030 1234567"},
			}).want(202).text("request", "id")
			change(h)
			list, _ := h.do("GET", "/v1/requests", nil, asAdmin).want(200).get("requests").([]any)
			if got, _ := list[0].(map[string]any)["obstacle"].(string); len(list) != 1 || got != want {
				t.Errorf("got %q in %v, want %q", got, list, want)
			}
			seen := h.do("GET", "/v1/requests/managed", nil, header{"Holdfast-Manage": h.requestLink(id)}).want(200)
			if got, _ := seen.get("request", "obstacle").(string); got != want {
				t.Errorf("the link shows the obstacle %q, want %q", got, want)
			}
			approved := h.do("POST", "/v1/requests/"+id+"/confirm", nil, asAdmin)
			if want == "" {
				approved.want(200)
			} else if got := approved.problem(409, "not_bookable").text("reason"); got != want {
				t.Errorf("approved: refused with %q, want %q", got, want)
			}
		})
	}
}

// TestApprovalRequestOnTheWire: the link to a request that needs the desk's approval can show and decline the request,
// but not confirm it. Agents create requests like any visitor.
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
		t.Errorf("the visitor gets %s", asked.raw)
	}
	link := header{"Holdfast-Manage": h.requestLink(id)}
	h.do("POST", "/v1/requests/managed/confirm", nil, link).problem(403, "forbidden")
	if got := h.do("GET", "/v1/requests/managed", nil, link).want(200); got.get("request", "approval") != true {
		t.Errorf("the link returns %s", got.raw)
	}
	booked := h.do("POST", "/v1/requests/"+id+"/confirm", nil, asAdmin).want(200)
	if booked.text("appointment", "videoLink") != "https://video.example.org/"+id {
		t.Errorf("approved: %s", booked.raw)
	}
	// A different time needs a new approval: the link cannot move the appointment, but the desk can.
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(240)}, link).problem(403,
		"forbidden")
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(240)}, asAdmin).want(200)
	h.do("POST", "/v1/appointments/"+id+"/cancel", nil, asAdmin).want(200)
	if got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200); got.get("appointment", "videoLink") != nil {
		t.Error("a cancelled appointment has the link of its video call")
	}
	other := h.do("POST", bookCheckup, body(2, 60)).want(202).text("request", "id")
	h.do("POST", "/v1/requests/managed/decline", nil, header{"Holdfast-Manage": h.requestLink(other)}).want(200)

	key := h.do("POST", "/v1/api-keys", map[string]any{"name": "Phone", "scope": "agent"},
		asAdmin).want(201).text("key")
	agent := header{"Authorization": "Bearer " + key}
	h.do("POST", bookCheckup, body(3, 120), agent).want(202)
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup"}, agent)
	if strings.Contains(slots.raw, "bookingToken") {
		t.Errorf("an agent is offered a type that it cannot book: %s", slots.raw)
	}
	// Programs with an admin key, and the desk, book without approval.
	h.do("POST", bookCheckup, body(4, 180), asAdmin).want(201)
}

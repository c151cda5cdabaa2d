package web_test

import (
	"strings"
	"testing"
)

// TestVisitOverHTTP: a visit for a parent and two children is listed at times that fit all three, and is held, booked,
// repeated, moved, undone and cancelled as one.
func TestVisitOverHTTP(t *testing.T) {
	h := newHouse(t)
	h.book(9, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).want(201)
	for query, want := range map[string]bool{"&people=2": true, "&people=3": false, "&with=checkup": true,
		"&with=checkup,checkup": false} {
		if _, listed := h.slots(1, "checkup", query+"&specialistId=ada")[h.at(0)]; listed != want {
			t.Errorf("%s: listed is %t", query, listed)
		}
	}
	h.do("GET", "/v1/appointment-types/checkup/timeslots?people=7", nil).problem(422,
		"validation_failed").field("people")
	h.do("GET", "/v1/appointment-types/checkup/timeslots?people=2&with=checkup", nil).problem(422,
		"validation_failed").field("with")
	h.do("GET", "/v1/appointment-types/checkup/timeslots?with=magic", nil).problem(404, "not_found")

	types, desk := []string{"checkup", "checkup", "checkup"}, header{"Holdfast-Client": client(1)}
	held := h.do("POST", "/v1/visits/hold", map[string]any{"appointmentTypeIds": types,
		"slotStartDate": h.at(90), "specialistId": "ada"}, asAdmin, desk).want(201)
	if held.text("slotEndDate") != h.at(180) {
		t.Errorf("held: %s", held.raw)
	}
	h.do("POST", "/v1/visits/hold", map[string]any{"appointmentTypeIds": []string{"checkup", "class"},
		"slotStartDate": h.at(90)}, asAdmin, desk).problem(422,
		"validation_failed").field("people[1].appointmentTypeId")
	people := []any{map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
		map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt", "birthDate": "2019-05-05"},
		map[string]any{"appointmentTypeId": "checkup", "name": "Ben Vogt", "notes": "shy"}}
	body := map[string]any{"holdId": held.text("holdId"), "people": people,
		"contact": map[string]any{"email": "vogt@example.org", "phone": "030 12345"}}
	once := header{"Idempotency-Key": "a-parent-and-two-children"}
	made := h.do("POST", "/v1/visits", body, asAdmin, desk, once).want(201)
	if again := h.do("POST", "/v1/visits", body, asAdmin, desk, once).want(201); again.raw != made.raw ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same request again: %s", again.raw)
	}
	h.do("POST", "/v1/visits", body, asAdmin, desk).problem(410, "hold_expired")
	all, _ := made.get("appointments").([]any)
	if len(all) != 3 || made.text("visitId") == "" {
		t.Fatalf("got %s", made.raw)
	}
	last, _ := all[2].(map[string]any)
	link := header{"Holdfast-Manage": last["manageUrl"].(string)[strings.Index(last["manageUrl"].(string), "#")+1:]}
	path := "/v1/appointments/" + last["id"].(string)
	if last["visitId"] != made.text("visitId") || last["slotStartDate"] != h.at(150) {
		t.Errorf("the last is %v", last)
	}

	// With the link of one person, only the whole visit can be cancelled, and nothing can be moved.
	if p := h.do("POST", path+"/cancel", nil, link).problem(403, "forbidden"); p.text("reason") != "part_of_a_visit" {
		t.Errorf("got %s", p.raw)
	}
	if p := h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(300)}, link).problem(403,
		"forbidden"); p.text("reason") != "part_of_a_visit" {
		t.Errorf("got %s", p.raw)
	}
	if p := h.do("POST", path+"/waitlist", map[string]any{}, link).problem(403,
		"forbidden"); p.text("reason") != "part_of_a_visit" {
		t.Errorf("got %s", p.raw)
	}
	h.do("POST", path+"/visit/reschedule", map[string]any{"slotStartDate": h.at(30), "specialistId": "ada"},
		asAdmin).problem(409, "slot_taken")
	moved := h.do("POST", path+"/visit/reschedule", map[string]any{"slotStartDate": h.at(120), "specialistId": "ada"},
		asAdmin, header{"If-Match": `"1"`}).want(200)
	if list, _ := moved.get("appointments").([]any); len(list) != 3 ||
		list[2].(map[string]any)["slotStartDate"] != h.at(180) {
		t.Errorf("moved: %s", moved.raw)
	}
	h.do("GET", path, nil, link).problem(401, "unauthorized")
	listed := h.do("GET", path+"/visit", nil, asAdmin).want(200)
	if list, _ := listed.get("appointments").([]any); len(list) != 3 {
		t.Errorf("listed: %s", listed.raw)
	}
	now := h.do("GET", path, nil, asAdmin).want(200)
	url := now.get("appointment").(map[string]any)["manageUrl"].(string)
	link = header{"Holdfast-Manage": url[strings.Index(url, "#")+1:]}
	shown, _ := h.do("GET", path, nil, link).want(200).get("visit").([]any)
	if len(shown) != 3 || shown[0].(map[string]any)["name"] != "Lena Vogt" ||
		shown[0].(map[string]any)["slotStartDate"] != h.at(120) {
		t.Errorf("a caller with the link gets %v, want all three", shown)
	}
	h.do("POST", path+"/visit/cancel", map[string]any{"reason": "ill"}, link).want(200)
	h.do("POST", path+"/visit/cancel", nil, asAdmin).want(200)
	listed = h.do("GET", path+"/visit", nil, asAdmin).want(200)
	if strings.Count(listed.raw, `"status":"cancelled"`) != 3 {
		t.Errorf("cancelled: %s", listed.raw)
	}
}

// TestVisitLinkShowsOnePerson: the link of one person in a visit reveals no data about the others, neither when it
// cancels the visit nor when nothing is left to cancel. It names only people with the same contact details.
func TestVisitLinkShowsOnePerson(t *testing.T) {
	h := newHouse(t)
	for name, x := range map[string]struct {
		contact, own map[string]any // of all people, and of the first one after a change
		named        int            // how many of the three people the link names
	}{
		"an address of one's own": {map[string]any{"email": "vogt@example.org", "phone": "030 12345"},
			map[string]any{"email": "canary@example.org"}, 2},
		"an address for one": {map[string]any{"phone": "030 12345"}, map[string]any{"email": "canary@example.org"},
			2},
		"a number of one's own": {map[string]any{"phone": "030 12345"}, map[string]any{"phone": "030 9990001"}, 2},
		"one contact":           {map[string]any{"phone": "030 12345"}, map[string]any{"notes": "canary"}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			made := h.do("POST", "/v1/visits", map[string]any{"slotStartDate": h.at(0),
				"specialistId": "ada", "contact": x.contact, "people": []any{
					map[string]any{"appointmentTypeId": "checkup", "name": "Lena Canary", "birthDate": "1984-03-03",
						"notes": "canary of the first"},
					map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"},
					map[string]any{"appointmentTypeId": "checkup", "name": "Ben Canary", "birthDate": "1984-03-03"},
				}}, asAdmin).want(201)
			var path [3]string
			var link [3]header
			all, _ := made.get("appointments").([]any)
			for i := range path {
				a, _ := all[i].(map[string]any)
				path[i] = "/v1/appointments/" + a["id"].(string)
				link[i] = header{"Holdfast-Manage": a["manageUrl"].(string)[strings.Index(a["manageUrl"].(string), "#")+
					1:]}
			}
			h.do("PATCH", path[0], map[string]any{"patient": x.own}, asAdmin).want(200)
			named, _ := h.do("GET", path[1], nil, link[1]).want(200).get("visit").([]any)
			if len(named) != x.named {
				t.Errorf("the link shows %v, want %d", named, x.named)
			}
			h.do("POST", path[2]+"/cancel", map[string]any{"reason": "canary of the last"}, asAdmin).want(200)
			for _, when := range []string{"it cancels all", "nothing is left to cancel"} {
				said := h.do("POST", path[1]+"/visit/cancel", map[string]any{"reason": "ill"}, link[1]).want(200)
				for _, secret := range []string{"anary", "1984-03-03", "030 9990001"} {
					if strings.Contains(said.raw, secret) {
						t.Errorf("%s: %q of another person is in %s", when, secret, said.raw)
					}
				}
				if strings.Count(said.raw, "manageUrl") > 1 || !strings.Contains(said.raw, "Mia Vogt") {
					t.Errorf("%s: %s", when, said.raw)
				}
			}
		})
	}
}

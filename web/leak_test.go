package web_test

import (
	"strings"
	"testing"
)

// TestNothingPersonalLeaks books, moves, refuses and lists with canary strings in every personal field and every
// secret. Then it checks that they do not appear in the log, in metrics, in public responses or in problems.
func TestNothingPersonalLeaks(t *testing.T) {
	h := newHouse(t)
	const secret = "canaryclient-0123456789"
	person := map[string]any{
		"name": "Canaryname Surname", "email": "canarymail@example.org", "phone": "0170 5550123",
		"birthDate": "1961-07-04", "notes": "canarynote",
	}
	canaries := []string{"Canaryname", "canarymail", "5550123", "1961-07-04", "canarynote", "canaryanswer", secret}
	h.do("PATCH", "/v1/appointment-types/cooling",
		map[string]any{"questions": []any{map[string]any{"id": "q", "kind": "text", "label": "What?"}}},
		asAdmin).want(200)
	var public []*reply
	say := func(method, path string, body any, headers ...header) *reply {
		r := h.do(method, path, body, headers...)
		public = append(public, r)
		return r
	}
	hold := say("POST", "/v1/holds", map[string]any{"appointmentTypeId": "cooling", "slotStartDate": h.at(0),
		"clientId": secret}).want(201)
	say("PATCH", "/v1/holds", map[string]any{"holdId": hold.text("holdId"), "clientId": secret}).want(200)
	say("GET", "/v1/holds?clientId="+secret, nil).want(200)
	booking := map[string]any{"clientId": secret, "holdId": hold.text("holdId"), "patient": person,
		"answers": map[string]any{"q": "canaryanswer"}}
	path := "/v1/appointment-types/cooling/book"
	booked := say("POST", path, booking, key("canary-key-1")).want(201)
	say("POST", path, booking, key("canary-key-1")).want(201) // a repeat
	again := map[string]any{"clientId": secret, "slotStartDate": h.at(120), "patient": person}
	say("POST", path, again, key("canary-key-2")).want(429) // cooldown
	say("POST", path, map[string]any{"clientId": secret + "2", "slotStartDate": h.at(0), "specialistId": "ada",
		"patient": person}).want(409)
	bad := map[string]any{"clientId": secret, "patient": map[string]any{"name": person["name"],
		"email": "canarymail.example", "phone": "canarynote", "birthDate": "1961-07-04x"}}
	say("POST", path, bad).want(422)
	say("POST", path, `{"clientId":"`+secret+`","patient":{"name":"Canaryname","notes":["canarynote"]}}`).want(422)
	say("POST", path, `{"clientId":"`+secret+`","patient":{"name":"Canaryname"`).want(400)
	say("GET", "/v1/appointment-types/cooling/timeslots?clientId="+secret, nil).want(200)
	say("GET", "/v1/clinic?q=Canaryname", nil).want(200)
	say("GET", "/Canaryname/"+secret, nil).want(404)
	say("PUT", "/v1/holds?clientId="+secret, "{}").want(405)
	link := booked.managing()
	token := link["Holdfast-Manage"]

	// Responses to requests with the link or a key do contain the person's data: that is their purpose.
	for _, r := range []*reply{
		h.do("GET", "/v1/appointments/managed", nil, link).want(200),
		h.do("GET", "/v1/appointments?q=Canaryname", nil, asAdmin).want(200),
		h.do("POST", "/v1/appointments/managed/reschedule",
			map[string]any{"slotStartDate": h.at(60), "clientId": secret}, link).want(200),
	} {
		if !strings.Contains(r.raw, "Canaryname") {
			t.Errorf("the patient is missing in %s", r.raw)
		}
		if strings.Contains(r.raw, secret) {
			t.Errorf("%s contains the client's secret", r.raw)
		}
	}
	h.do("GET", "/v1/appointments/managed/ics?token="+token, nil).want(401) // moved
	say("GET", "/v1/appointments/managed", nil, link).want(401)

	for _, r := range public {
		for _, c := range canaries {
			if strings.Contains(r.raw, c) {
				t.Errorf("a public answer contains %q: %s", c, r.raw)
			}
		}
	}
	metrics := h.do("GET", "/metrics", nil).want(200).raw
	log := h.log.String()
	if !strings.Contains(log, "/v1/appointment-types/{id}/book") {
		t.Error("the log does not contain the routes")
	}
	for _, c := range append(canaries, token, adminKey, "canary-key", "Patient", booked.text("appointment", "id")) {
		if strings.Contains(metrics, c) {
			t.Errorf("the metrics contain %q", c)
		}
		if i := strings.Index(log, c); i >= 0 {
			t.Errorf("the log contains %q: …%s…", c, log[max(0, i-200):min(len(log), i+100)])
		}
	}
}

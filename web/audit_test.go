package web_test

import (
	"fmt"
	"testing"
)

// auditActions returns the action and the actor's name of each entry in a response.
func auditActions(r *reply) string {
	var all []string
	for _, x := range r.body["audit"].([]any) {
		e := x.(map[string]any)
		name, _ := e["actorName"].(string)
		all = append(all, fmt.Sprint(e["action"], " ", name))
	}
	return fmt.Sprint(all)
}

// TestAuditFindsWhoChangedAppointment: the desk sees who booked, moved and cancelled an appointment. An owner finds
// the entries by patient, by appointment and by words.
func TestAuditFindsWhoChangedAppointment(t *testing.T) {
	h := newHouse(t)
	desk := h.signedIn("jo@clinic.example", "reception", "")
	book := func(n int) string {
		return h.do("POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "slotStartDate": h.at(60 * n), "specialistId": "ada", "patient": patient(n),
		}, desk).want(201).text("appointment", "id")
	}
	id, other := book(1), book(2)
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(180)}, desk).want(200)
	h.do("POST", "/v1/appointments/"+id+"/cancel", map[string]any{"reason": "Kann nicht: Ärztin krank"}, desk).want(200)

	name := h.do("GET", "/v1/auth/me", nil, desk).want(200).text("user", "name")
	all := fmt.Sprintf("[appointment.cancelled %[1]s appointment.rescheduled %[1]s appointment.created %[1]s]", name)
	if got := auditActions(h.do("GET", "/v1/appointments/"+id+"/audit", nil, desk).want(200)); got != all {
		t.Errorf("the appointment's log: got %s, want %s", got, all)
	}
	cancelled, created := "[appointment.cancelled "+name+"]", "[appointment.created "+name+"]"
	for _, test := range []struct {
		of   string
		body map[string]any
		want string
	}{
		{"an appointment", map[string]any{"appointmentId": id}, all},
		{"a person", map[string]any{"personOf": id}, all},
		{"another person", map[string]any{"personOf": other}, created},
		{"words of a reason", map[string]any{"q": "ärztin KRANK"}, cancelled},
		{"a person and a word", map[string]any{"personOf": id, "q": "cancelled"}, cancelled},
		{"names of a user and a specialist", map[string]any{"q": name + " Ada krank"}, cancelled},
		{"words that no entry has together", map[string]any{"q": "krank rescheduled"}, "[]"},
		{"an action", map[string]any{"personOf": other, "action": "appointment.created"}, created},
	} {
		if got := auditActions(h.do("POST", "/v1/audit/search", test.body, asAdmin).want(200)); got != test.want {
			t.Errorf("the log of %s: got %s, want %s", test.of, got, test.want)
		}
	}
	h.do("POST", "/v1/audit/search", map[string]any{"personOf": id, "appointmentId": id}, asAdmin).want(422)
	h.do("POST", "/v1/audit/search", map[string]any{"cursor": "x"}, asAdmin).want(422)
}

// TestErasureRemovesReasonFromAuditSearch: after an erasure, the log contains no text about the person, and their
// appointments do not lead to other people.
func TestErasureRemovesReasonFromAuditSearch(t *testing.T) {
	h := newHouse(t)
	p := patient(1)
	id := h.do("POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "slotStartDate": h.at(60), "specialistId": "ada", "patient": p,
	}, asAdmin).want(201).text("appointment", "id")
	h.do("POST", "/v1/appointments/"+id+"/cancel", map[string]any{"reason": "flu of " + p["name"].(string)},
		asAdmin).want(200)
	found := func(body map[string]any) int {
		return len(h.do("POST", "/v1/audit/search", body, asAdmin).want(200).body["audit"].([]any))
	}
	if n := found(map[string]any{"q": "flu"}); n != 1 {
		t.Fatalf("before the erasure: got %d entries with the word, want 1", n)
	}
	h.do("POST", "/v1/people/erase", map[string]any{"email": p["email"]}, asAdmin).want(200)
	if n := found(map[string]any{"q": "flu"}); n != 0 {
		t.Errorf("after the erasure: got %d entries with the word, want 0", n)
	}
	if n := found(map[string]any{"personOf": id}); n != 2 {
		t.Errorf("after the erasure: got %d entries about the appointment, want the 2 without its texts", n)
	}
}

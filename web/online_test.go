package web_test

import (
	"fmt"
	"testing"
)

// TestOnlineChangesListWhatPatientsChanged: the list contains bookings, moves and cancellations by patients with the
// freed time, and none of the desk's own changes.
func TestOnlineChangesListWhatPatientsChanged(t *testing.T) {
	h := newHouse(t)
	desk := h.signedIn("jo@clinic.example", "reception", "")
	ada := h.signedIn("ada@clinic.example", "specialist", "ada")
	book := func(n int, specialistID string) *reply {
		return h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{
			"slotStartDate": h.at(60 * n), "specialistId": specialistID, "clientId": client(n), "patient": patient(n),
		}).want(201)
	}
	first, second := book(1, "ada"), book(2, "bea")
	id := func(r *reply) string { return r.text("appointment", "id") }
	moved := h.do("POST", "/v1/appointments/"+id(first)+"/reschedule", map[string]any{"slotStartDate": h.at(300)}, first.managing()).want(200)
	h.do("POST", "/v1/appointments/"+id(first)+"/cancel", nil, moved.managing()).want(200)
	h.do("POST", "/v1/appointments/"+id(second)+"/reschedule", map[string]any{"slotStartDate": h.at(360)}, desk).want(200)
	h.do("POST", "/v1/appointments/"+id(second)+"/cancel", nil, desk).want(200)

	lines := func(by header) string {
		var all []string
		for _, x := range h.do("GET", "/v1/online-changes", nil, by).want(200).body["changes"].([]any) {
			line := x.(map[string]any)
			from, _ := line["from"].(map[string]any)
			all = append(all, fmt.Sprint(line["change"], " ", from["slotStartDate"]))
		}
		return fmt.Sprint(all)
	}
	ofAda := fmt.Sprintf("cancelled %s rescheduled %s", h.at(300), h.at(60))
	if got, want := lines(desk), "["+ofAda+" created <nil> created <nil>]"; got != want {
		t.Errorf("the desk's list: got %s, want %s", got, want)
	}
	if got, want := lines(ada), "["+ofAda+" created <nil>]"; got != want {
		t.Errorf("the specialist's list: got %s, want %s", got, want)
	}
}

// TestOnlineChangesHideColleaguesPatient: if a patient moves to a colleague, the specialist sees that their own time
// became free, but not the patient's data in the colleague's calendar.
func TestOnlineChangesHideColleaguesPatient(t *testing.T) {
	h := newHouse(t)
	ada := h.signedIn("ada@clinic.example", "specialist", "ada")
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	id := booked.text("appointment", "id")
	h.do("POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at(300),
		"specialistId": "bea"}, booked.managing()).want(200)
	h.do("GET", "/v1/appointments/"+id, nil, ada).problem(403, "forbidden")

	answer := h.do("GET", "/v1/online-changes", nil, ada).want(200)
	list := answer.body["changes"].([]any)
	if len(list) != 1 {
		t.Fatalf("got %s, want the move", answer.raw)
	}
	line := list[0].(map[string]any)
	if from := line["from"].(map[string]any); from["slotStartDate"] != h.at(0) || from["specialistId"] != "ada" {
		t.Errorf("the time that became free: got %v", from)
	}
	shown := line["appointment"].(map[string]any)
	if !sameFields(shown["patient"].(map[string]any), map[string]any{"name": ""}) || shown["id"] != id ||
		shown["specialistId"] != "bea" {
		t.Errorf("the colleague's appointment: got %v, want it without the patient", shown)
	}
}

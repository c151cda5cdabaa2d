package web_test

import (
	"strings"
	"testing"
)

// signedIn creates a member of staff and returns the header of a browser with their sign-in.
func (h *house) signedIn(email, role, specialistID string) header {
	h.t.Helper()
	user := map[string]any{"email": email, "name": email, "role": role, "specialistId": specialistID,
		"password": "a few words together"}
	if specialistID == "" {
		delete(user, "specialistId")
	}
	h.do("POST", "/v1/users", user, asAdmin).want(201)
	answer := h.do("POST", "/v1/auth/sign-in", map[string]any{"email": email, "password": user["password"]}).want(200)
	cookie, _, _ := strings.Cut(answer.header.Get("Set-Cookie"), ";")
	return header{"Cookie": cookie}
}

// TestSpecialistSeesColleaguesAsBusy: specialists see their own calendar. Of their colleagues' calendars they see only
// the busy times, without names, types or ids.
func TestSpecialistSeesColleaguesAsBusy(t *testing.T) {
	h := newHouse(t)
	own := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0),
		"specialistId": "ada"}).want(201).get("appointment", "id")
	h.book(2, "surgery", map[string]any{"slotStartDate": h.at(120), "specialistId": "bea"}).want(201)
	gone := h.book(3, "checkup", map[string]any{"slotStartDate": h.at(300),
		"specialistId": "bea"}).want(201).text("appointment", "id")
	h.do("POST", "/v1/appointments/"+gone+"/cancel", nil, asAdmin).want(200)
	ada, desk := h.signedIn("ada@clinic.example", "specialist", "ada"),
		h.signedIn("desk@clinic.example", "reception", "")

	alone := h.do("GET", "/v1/appointments", nil, ada).want(200)
	if list := alone.body["appointments"].([]any); len(list) != 1 || list[0].(map[string]any)["id"] != own ||
		alone.body["busy"] != nil {
		t.Errorf("the specialist's own calendar: got %s, want only the appointment %v", alone.raw, own)
	}
	h.do("GET", "/v1/appointments?specialistId=bea", nil, ada).problem(403, "forbidden")

	all := h.do("GET", "/v1/appointments?colleagues=busy", nil, ada).want(200)
	if list := all.body["appointments"].([]any); len(list) != 1 {
		t.Errorf("with colleagues: got %d appointments, want only the specialist's own", len(list))
	}
	want := map[string]any{"specialistId": "bea", "slotStartDate": h.at(120), "slotEndDate": h.at(180)}
	if busy, _ := all.body["busy"].([]any); len(busy) != 1 || !sameFields(busy[0].(map[string]any), want) {
		t.Errorf("busy times: got %v, want exactly %v", all.body["busy"], want)
	}
	for _, secret := range []string{"patient 2", "patient 3", "surgery"} {
		if strings.Contains(all.raw, secret) {
			t.Errorf("the answer contains a colleague's %q:\n%s", secret, all.raw)
		}
	}
	if list := h.do("GET", "/v1/appointments?specialistId=bea&colleagues=busy", nil,
		ada).want(200).body["appointments"].([]any); len(list) != 0 {
		t.Errorf("a colleague's calendar: got %v, want no appointment", list)
	}
	// The results of a search would reveal the patient of an appointment.
	h.do("GET", "/v1/appointments?colleagues=busy&q=patient", nil, ada).problem(422,
		"validation_failed").field("colleagues")
	h.do("GET", "/v1/appointments?colleagues=all", nil, ada).problem(422, "validation_failed").field("colleagues")

	// The reception sees all appointments anyway.
	if r := h.do("GET", "/v1/appointments?colleagues=busy&status=confirmed", nil,
		desk).want(200); len(r.body["appointments"].([]any)) != 2 || r.body["busy"] != nil {
		t.Errorf("the reception: got %s, want both appointments in full", r.raw)
	}
}

func sameFields(got, want map[string]any) bool {
	if len(got) != len(want) {
		return false
	}
	for name, v := range want {
		if got[name] != v {
			return false
		}
	}
	return true
}

package web_test

import "testing"

// TestAbsenceProposesTimes: the desk plans an absence and records it. The manage link shows the proposed time, and the
// patient uses the link to accept or decline it. The desk's list shows the outcome for each appointment.
func TestAbsenceProposesTimes(t *testing.T) {
	h := newHouse(t)
	var ids []string
	var links []header
	for n := range 4 {
		booked := h.book(n, "checkup", map[string]any{"slotStartDate": h.at(60 * n), "specialistId": "ada"}).want(201)
		ids, links = append(ids, booked.text("appointment", "id")), append(links, booked.managing())
	}
	away := map[string]any{"specialistId": "ada", "start": h.at(-30), "end": h.at(300), "reason": "flu"}
	rows, _ := h.do("POST", "/v1/absences/plan", away, asAdmin).want(200).get("appointments").([]any)
	if len(rows) != 4 {
		t.Fatalf("the plan has %d rows, want 4", len(rows))
	}
	var choices []map[string]any
	for i, by := range []string{"move", "call", "call", "ask"} {
		row := rows[i].(map[string]any)
		times, _ := row["times"].([]any)
		if row["appointment"].(map[string]any)["id"] != ids[i] || len(times) == 0 {
			t.Fatalf("row %d: got %v", i, row)
		}
		best := times[0].(map[string]any)
		choices = append(choices, map[string]any{
			"appointmentId": ids[i], "by": by, "specialistId": best["specialistId"],
			"slotStartDate": best["slotStartDate"],
		})
	}
	away["choices"] = choices
	once := header{"Idempotency-Key": "the-sick-day-of-ada"}
	made := h.do("POST", "/v1/absences", away, asAdmin, once).want(201)
	if again := h.do("POST", "/v1/absences", away, asAdmin, once).want(201); again.raw != made.raw {
		t.Errorf("repeated: got %s, want %s", again.raw, made.raw)
	}
	results := made.get("results").([]any)
	for i, want := range []any{nil, nil, nil, "no_mail"} { // this server sends no email
		if got := results[i].(map[string]any)["reason"]; got != want {
			t.Errorf("result %d: got the reason %v, want %v", i, got, want)
		}
	}
	h.do("GET", "/v1/appointments/"+ids[0], nil, links[0]).problem(401, "unauthorized") // a move invalidates the link
	page := h.do("GET", "/v1/appointments/"+ids[1], nil, links[1]).want(200)
	if page.text("proposal", "slotStartDate") != choices[1]["slotStartDate"] ||
		page.text("proposal", "status") != "open" {
		t.Errorf("the page of a patient: got %s", page.raw)
	}
	moved := h.do("POST", "/v1/appointments/"+ids[1]+"/proposal/accept", nil, links[1]).want(200)
	if moved.text("appointment", "slotStartDate") != choices[1]["slotStartDate"] {
		t.Errorf("accepted: got %s", moved.raw)
	}
	again := h.do("POST", "/v1/appointments/"+ids[1]+"/proposal/accept", nil, asAdmin).want(200)
	if again.text("appointment", "slotStartDate") != choices[1]["slotStartDate"] ||
		again.get("appointment", "version") != moved.get("appointment", "version") {
		t.Errorf("accepted again: got %s, want %s", again.raw, moved.raw)
	}
	h.do("POST", "/v1/appointments/"+ids[2]+"/proposal/accept", nil, links[3]).problem(403, "forbidden")
	h.do("POST", "/v1/appointments/"+ids[2]+"/proposal/decline", nil, links[2]).want(200)
	h.do("POST", "/v1/appointments/"+ids[2]+"/proposal/decline", nil, links[2]).want(200)
	if p := h.do("POST", "/v1/appointments/"+ids[2]+"/proposal/accept", nil, links[2]).problem(410,
		"hold_expired"); p.text("reason") != "declined" {
		t.Errorf("accepted after the decline: got %s", p.raw)
	}
	h.do("POST", "/v1/appointments/"+ids[3]+"/proposal/accept", nil, links[3]).problem(409, "not_bookable")

	id := made.text("id")
	got := h.do("GET", "/v1/absences/"+id, nil, asAdmin).want(200)
	for i, want := range []string{"moved", "accepted", "declined", "call"} {
		if state := got.get("absence", "appointments").([]any)[i].(map[string]any)["state"]; state != want {
			t.Errorf("row %d is %v, want %s", i, state, want)
		}
	}
	if got.get("absence", "answered") != 2.0 || got.get("absence", "toCall") != 2.0 {
		t.Errorf("counts: got %s", got.raw)
	}
	if list, _ := h.do("GET", "/v1/absences", nil, asAdmin).want(200).get("absences").([]any); len(list) != 1 {
		t.Errorf("got %d absences, want 1", len(list))
	}
}

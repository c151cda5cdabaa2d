package web_test

import (
	"testing"

	"holdfast/store"
)

// waiting adds the nth person to the waiting list for checkups at the desk, and returns the id of the entry.
func (h *house) waiting(n int) string {
	h.t.Helper()
	return h.do("POST", "/v1/appointment-types/checkup/waitlist",
		map[string]any{"to": h.day(200), "patient": patient(n)}, asAdmin).want(201).text("waiting", "id")
}

// waitingToken returns the token of the link in the email about an entry.
func (h *house) waitingToken(id string) string {
	h.t.Helper()
	x, err := h.engine.Waitlist.WaitingOf(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.engine.Message.WaitlistToken(&x.WaitlistEntry, nil)
}

// TestWaitingListOnTheWire: the desk adds an entry and offers times, and the patient declines and accepts with the
// link. No other caller sees the entries.
func TestWaitingListOnTheWire(t *testing.T) {
	h := newHouse(t)
	form := map[string]any{"to": h.day(20), "weekdays": []string{"monday"}, "earliest": "09:00", "latest": "12:00",
		"patient": patient(1), "clientId": client(1)}
	if r := h.do("POST", "/v1/appointment-types/checkup/waitlist", form).problem(403,
		"forbidden"); r.text("reason") != "waitlist_closed" {
		t.Errorf("a visitor where the server sends no email: got %s", r.raw)
	}
	h.do("POST", "/v1/appointment-types/checkup/waitlist", map[string]any{"patient": patient(1)}, asAdmin).problem(422,
		"validation_failed")
	delete(form, "clientId")
	made := h.do("POST", "/v1/appointment-types/checkup/waitlist", form, asAdmin, key("join")).want(201)
	if again := h.do("POST", "/v1/appointment-types/checkup/waitlist", form, asAdmin,
		key("join")).want(201); again.raw != made.raw {
		t.Errorf("repeated under its key: got %s, want %s", again.raw, made.raw)
	}
	if made.get("waiting", "patient") != nil {
		t.Errorf("the answer contains the person: %s", made.raw)
	}
	id := made.text("waiting", "id")
	link := header{"Holdfast-Manage": h.waitingToken(id)}
	if r := h.do("POST", "/v1/waitlist/managed/accept", nil, link).problem(409,
		"not_bookable"); r.text("reason") != "not_offered" {
		t.Errorf("taking nothing: got %s", r.raw)
	}
	offered := h.do("POST", "/v1/waitlist/"+id+"/offer", map[string]any{"slotStartDate": h.at(0)}, asAdmin).want(200)
	if offered.text("offer", "status") != "open" {
		t.Errorf("offered: got %s", offered.raw)
	}
	h.hold(5, "checkup", h.at(0), map[string]any{"specialistId": offered.text("offer", "specialistId")}).problem(409,
		"slot_held")
	if r := h.do("POST", "/v1/waitlist/"+id+"/offer", map[string]any{"slotStartDate": h.at(30)}, asAdmin).problem(409,
		"not_bookable"); r.text("reason") != "offered" {
		t.Errorf("a second offer: got %s", r.raw)
	}
	h.do("POST", "/v1/waitlist/managed/decline", nil, link).want(200)
	h.do("POST", "/v1/waitlist/managed/decline", nil, link).want(200) // a second click
	if r := h.do("POST", "/v1/waitlist/managed/accept", nil, link).problem(410,
		"hold_expired"); r.text("reason") != "declined" {
		t.Errorf("accepting a declined offer: got %s", r.raw)
	}
	taken := h.do("POST", "/v1/waitlist/"+id+"/offer", map[string]any{"slotStartDate": h.at(60), "specialistId": "bea"},
		asAdmin).want(200)
	x, err := h.engine.Waitlist.WaitingOf(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ofOffer := header{"Holdfast-Manage": h.engine.Message.WaitlistToken(&x.WaitlistEntry, x.Offer())}
	booked := h.do("POST", "/v1/waitlist/managed/accept", nil, ofOffer, key("take")).want(200)
	if booked.text("appointment", "id") != taken.text("offer", "id") ||
		booked.text("appointment", "specialistId") != "bea" {
		t.Errorf("taken: got %s", booked.raw)
	}
	h.do("GET", "/v1/appointments/managed", nil, ofOffer).want(200) // the same link manages the appointment
	lists := h.do("GET", "/v1/waitlist", nil, asAdmin).want(200)
	over := lists.get("ended").([]any)
	if len(lists.get("waiting").([]any)) != 0 || len(over) != 1 ||
		over[0].(map[string]any)["status"] != string(store.WaitlistBooked) ||
		len(over[0].(map[string]any)["offers"].([]any)) != 2 {
		t.Errorf("the lists: got %s, want one entry that booked with its second offer", lists.raw)
	}
	h.do("GET", "/v1/waitlist/managed", nil, header{"Holdfast-Manage": link["Holdfast-Manage"][:40] +
		"AAAA" + link["Holdfast-Manage"][44:]}).problem(401, "unauthorized")
}

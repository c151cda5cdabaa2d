package web_test

import (
	"testing"

	"holdfast/store"
	"holdfast/web"
)

// TestPublicBookingsOverLimitAreRefused: without a mail server, patients cannot confirm requests. So a booking over the
// limit is refused, and the response states when the client can try again.
func TestPublicBookingsOverLimitAreRefused(t *testing.T) {
	h := newHouse(t, func(o *web.Options) { o.RateLimit = true })
	book := func(n int, headers ...header) *reply {
		who := patient(n)
		delete(who, "phone")
		return h.do("POST", "/v1/appointment-types/checkup/book",
			map[string]any{"clientId": client(n), "slotStartDate": h.at(30 * n), "patient": who}, headers...)
	}
	for n := range 10 {
		book(n).want(201)
	}
	r := book(10).problem(429, "rate_limited")
	if r.text("reason") != "public_bookings" || r.header.Get("Retry-After") == "" ||
		r.get("retryAfterSeconds").(float64) < 3500 {
		t.Errorf("over the limit: got %s (Retry-After %q), want the reason public_bookings and almost an hour", r.raw,
			r.header.Get("Retry-After"))
	}
	book(11, asAdmin).want(201) // a program with a key does not count as the public
	h.do("PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"perNetwork": 11}}, asAdmin).want(200)
	book(12).want(201)
	book(13).problem(429, "rate_limited")
	h.do("PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"perPhone": -1, "confirmMinutes": 1}},
		asAdmin).problem(422, "validation_failed")
}

// TestBookingRequestOnTheWire: a booking becomes a request, the desk sees the request, and the link in the email
// confirms it.
func TestBookingRequestOnTheWire(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": true}}, asAdmin).want(200)
	body := map[string]any{"clientId": client(1), "slotStartDate": h.at(0), "specialistId": "ada",
		"patient": patient(1)}
	asked := h.do("POST", "/v1/appointment-types/checkup/book", body, key("ask")).want(202)
	id := asked.text("request", "id")
	if again := h.do("POST", "/v1/appointment-types/checkup/book", body, key("ask")).want(202); again.raw != asked.raw {
		t.Errorf("repeated under its key: got %s, want %s", again.raw, asked.raw)
	}
	if asked.get("appointment") != nil || asked.get("request", "manageUrl") != nil ||
		asked.get("request", "patient") != nil {
		t.Errorf("the requester gets %s; only the email may contain the link", asked.raw)
	}
	h.do("GET", "/v1/appointments/"+id, nil, asAdmin).problem(404, "not_found")
	list := h.do("GET", "/v1/requests", nil, asAdmin).want(200).get("requests").([]any)
	if len(list) != 1 || list[0].(map[string]any)["patient"].(map[string]any)["name"] != "Patient 1" {
		t.Errorf("the desk gets %v, want one request with its patient", list)
	}
	link := header{"Holdfast-Manage": h.requestLink(id)}
	h.do("GET", "/v1/appointments/managed", nil, link).problem(401, "unauthorized")
	h.do("GET", "/v1/requests/managed", nil, link).want(200)
	confirmed := h.do("POST", "/v1/requests/managed/confirm", nil, link, key("yes")).want(200)
	if confirmed.text("appointment", "id") != id || confirmed.text("appointment", "status") != "confirmed" {
		t.Errorf("confirmed: got %s", confirmed.raw)
	}
	h.do("POST", "/v1/requests/managed/confirm", nil, link).want(200) // the link is opened a second time
	h.do("GET", "/v1/appointments/managed", nil, link).want(200)

	declined := h.asked("ada", client(2), h.at(30))
	h.do("POST", "/v1/requests/"+declined+"/decline", nil, asAdmin).want(200)
	h.do("POST", "/v1/requests/"+declined+"/decline", nil, asAdmin).want(200)
	if r := h.do("POST", "/v1/requests/"+declined+"/confirm", nil, asAdmin).problem(410,
		"hold_expired"); r.text("reason") != "declined" {
		t.Errorf("confirming a declined request: got %s", r.raw)
	}
}

// asked books at a clinic where every booking must be confirmed, and returns the id of the request.
func (h *house) asked(specialistID, client, start string) string {
	h.t.Helper()
	settings := func(confirm bool) {
		h.do("PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": confirm}},
			asAdmin).want(200)
	}
	settings(true)
	defer settings(false)
	return h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{
		"slotStartDate": start, "specialistId": specialistID, "clientId": client, "patient": patient(1),
	}).want(202).text("request", "id")
}

// requestLink returns the token in the email of a request.
func (h *house) requestLink(id string) string {
	h.t.Helper()
	r, err := h.engine.Request.Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.engine.Booking.ManageToken(&store.Appointment{ID: r.ID, SlotEnd: r.SlotEnd, CreatedAt: r.CreatedAt})
}

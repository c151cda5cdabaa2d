package web_test

import (
	"strings"
	"testing"
	"time"
)

// bookNow books an appointment for patient n at the desk that starts in half an hour. It returns the appointment's path
// and its link.
func (h *house) bookNow(n int) (path string, link header) {
	h.t.Helper()
	start := time.Now().UTC().Truncate(time.Minute).Add(time.Duration(30*n) * time.Minute)
	a := h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": start.Format(time.RFC3339), "ignoreHours": true, "patient": patient(n)}, asAdmin).want(201)
	return "/v1/appointments/" + a.text("appointment", "id"), a.managing()
}

// TestLinkReportsArrival: the link of an appointment reports the arrival of its patient, once, if the clinic allows it.
// No other link does.
func TestLinkReportsArrival(t *testing.T) {
	h := newHouse(t)
	path, link := h.bookNow(1)
	if r := h.do("POST", path+"/arrive", nil, link).problem(403, "forbidden"); r.text("reason") != "arrival_off" {
		t.Errorf("by default: %s", r.raw)
	}
	h.do("PATCH", "/v1/settings", map[string]any{"onlineArrival": true}, asAdmin).want(200)

	later := h.book(2, "checkup", map[string]any{"slotStartDate": h.at(120)}).want(201)
	r := h.do("POST", "/v1/appointments/managed/arrive", nil, later.managing()).problem(409, "not_bookable")
	if r.text("reason") != "arrival_too_early" || r.text("until") != h.at(60) || r.header.Get("Retry-After") == "" {
		t.Errorf("two days before: %s", r.raw)
	}
	h.do("POST", path+"/arrive", nil, later.managing()).problem(403, "forbidden")
	h.do("POST", path+"/arrive", nil).problem(401, "unauthorized")
	if got := h.do("GET", path, nil, link).want(200).text("appointment", "attendance"); got != "expected" {
		t.Errorf("after the refusals: %s", got)
	}

	came := h.do("POST", "/v1/appointments/managed/arrive", nil, link, key("here")).want(200)
	if came.text("appointment", "attendance") != "arrived" || came.header.Get("Etag") != `"2"` {
		t.Errorf("got %s", came.raw)
	}
	again := h.do("POST", "/v1/appointments/managed/arrive", nil, link, key("here")).want(200)
	if again.raw != came.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same request again: %s", again.raw)
	}
	if r := h.do("POST", path+"/arrive", nil, link).want(200); r.header.Get("Etag") != `"2"` {
		t.Errorf("another request: %s", r.raw)
	}
	if h.do("GET", path, nil, asAdmin).want(200).text("appointment", "arrivedAt") == "" {
		t.Error("the desk sees no time of arrival")
	}
	audit := h.do("GET", "/v1/audit?action=appointment.attendance", nil, asAdmin).want(200).get("audit").([]any)
	if len(audit) != 1 || audit[0].(map[string]any)["actor"] != "manage" {
		t.Errorf("the audit log has %v, want one entry of the link", audit)
	}

	h.do("POST", path+"/attendance", map[string]any{"attendance": "in_progress"}, asAdmin).want(200)
	if r := h.do("POST", path+"/arrive", nil, link).problem(409,
		"not_bookable"); r.text("reason") != "in_progress" {
		t.Errorf("in progress: %s", r.raw)
	}
	h.do("POST", path+"/cancel", nil, asAdmin).want(200)
	if r := h.do("POST", path+"/arrive", nil, link).problem(409, "not_bookable"); r.text("reason") != "cancelled" {
		t.Errorf("cancelled: %s", r.raw)
	}
}

// TestRequestLinkReportsNoArrival: the link of a booking request that is not approved reports no arrival.
func TestRequestLinkReportsNoArrival(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": true},
		"onlineArrival": true}, asAdmin).want(200)
	asked := h.do("POST", "/v1/appointment-types/checkup/book", map[string]any{"clientId": client(1),
		"slotStartDate": h.at(0), "specialistId": "ada", "patient": patient(1)}).want(202)
	id := asked.text("request", "id")
	link := header{"Holdfast-Manage": h.requestLink(id)}
	h.do("POST", "/v1/appointments/managed/arrive", nil, link).problem(401, "unauthorized")
	h.do("POST", "/v1/appointments/"+id+"/arrive", nil, link).problem(401, "unauthorized")
	h.do("POST", "/v1/requests/managed/confirm", nil, link).want(200)
	r := h.do("POST", "/v1/appointments/managed/arrive", nil, link).problem(409, "not_bookable")
	if r.text("reason") != "arrival_too_early" {
		t.Errorf("after the confirmation: %s", r.raw)
	}
}

// TestVisitLinkReportsArrival: the link of one person reports the arrival of the family, and the response contains only
// that person.
func TestVisitLinkReportsArrival(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/settings", map[string]any{"onlineArrival": true}, asAdmin).want(200)
	start := time.Now().UTC().Truncate(time.Minute).Add(30 * time.Minute)
	made := h.do("POST", "/v1/visits", map[string]any{"slotStartDate": start.Format(time.RFC3339),
		"specialistId": "ada", "ignoreHours": true, "contact": map[string]any{"phone": "030 12345"},
		"people": []any{map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"}}}, asAdmin).want(201)
	url := made.get("appointments").([]any)[1].(map[string]any)["manageUrl"].(string)
	link := header{"Holdfast-Manage": url[strings.Index(url, "#")+1:]}
	came := h.do("POST", "/v1/appointments/managed/arrive", nil, link, key("here")).want(200)
	if came.text("appointment", "attendance") != "arrived" || came.text("appointment", "patient", "name") != "Mia Vogt" {
		t.Errorf("got %s", came.raw)
	}
	again := h.do("POST", "/v1/appointments/managed/arrive", nil, link, key("here")).want(200)
	if again.raw != came.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same request again: %s", again.raw)
	}
	for _, x := range made.get("appointments").([]any) {
		path := "/v1/appointments/" + x.(map[string]any)["id"].(string)
		if a := h.do("GET", path, nil, asAdmin).want(200); a.text("appointment", "attendance") != "arrived" ||
			a.header.Get("Etag") != `"2"` {
			t.Errorf("got %s", a.raw)
		}
	}
}

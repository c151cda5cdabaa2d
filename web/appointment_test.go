package web_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// These tests check booking, and every kind of change to an appointment.

func TestBookingAnswerOmitsPatient(t *testing.T) {
	h := newHouseAt(t, "https://book.example.org")
	hold := h.hold(1, "checkup", h.at(0)).want(201)
	r := h.book(1, "checkup", map[string]any{"holdId": hold.text("holdId")}).want(201)
	for field, want := range map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "slotEndDate": h.at(30),
		"status": "confirmed", "attendance": "expected", "source": "web", "seat": 0.0, "overbook": false,
		"upstreamState": "none", "version": 1.0,
	} {
		if got := r.get("appointment", field); got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
	if got := r.text("appointment", "manageUrl"); !strings.HasPrefix(got, "https://book.example.org/manage#") {
		t.Errorf("the manage link is %q", got)
	}
	if r.get("appointment", "patient") != nil || strings.Contains(r.raw, "Patient 1") {
		t.Errorf("a public answer contains the person: %s", r.raw)
	}
}

func TestCallersBookAndRefuseAlike(t *testing.T) {
	h := newHouse(t)
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).problem(409, "slot_taken")
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201) // with bea
	h.book(3, "checkup", map[string]any{"slotStartDate": h.at(0)}).problem(409, "slot_taken")

	// Another client holds the time.
	held := h.hold(4, "checkup", h.at(60), map[string]any{"specialistId": "ada"}).want(201).text("holdId")
	h.book(5, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).problem(409, "slot_held")
	h.book(5, "checkup", map[string]any{"holdId": held}).problem(403, "not_owner")
	// An expired or released hold can still be booked if the time is free.
	h.do("DELETE", "/v1/holds", map[string]any{"holdId": held, "clientId": client(4)}).want(200)
	h.book(4, "checkup", map[string]any{"holdId": held}).want(201)
	// A hold that never existed, in a request without a time and in one with a time.
	h.book(6, "checkup", map[string]any{"holdId": "never"}).problem(410, "hold_expired")
	h.book(6, "checkup", map[string]any{"holdId": "never", "slotStartDate": h.at(120)}).want(201)
	// A hold for a time other than the one in the request.
	other := h.hold(7, "checkup", h.at(180)).want(201).text("holdId")
	h.book(7, "checkup", map[string]any{"holdId": other, "slotStartDate": h.at(210)}).problem(422,
		"validation_failed").field("slotStartDate")
	h.book(7, "surgery", map[string]any{"holdId": other}).problem(422, "validation_failed").field("holdId")
	// A group session has three seats with each specialist. One more booking is refused.
	for n := range 3 {
		r := h.book(20+n, "class", map[string]any{"slotStartDate": h.at(600), "specialistId": "ada"}).want(201)
		if got := r.get("appointment", "seat"); got != float64(n) {
			t.Errorf("got the seat %v, want %d", got, n)
		}
	}
	h.book(24, "class", map[string]any{"slotStartDate": h.at(600), "specialistId": "ada"}).problem(409, "slot_taken")
	h.book(24, "checkup", map[string]any{"slotStartDate": h.at(630), "specialistId": "ada"}).problem(409, "slot_taken")
}

func TestBookRefusesInvalidRequests(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		name   string
		change map[string]any
		status int
		code   string
		field  string
	}{
		{"no time", map[string]any{"slotStartDate": nil}, 422, "validation_failed", "slotStartDate"},
		{"no client", map[string]any{"clientId": nil}, 422, "validation_failed", "clientId"},
		{"no patient", map[string]any{"patient": nil}, 422, "validation_failed", "patient.name"},
		{"a patient without a name", map[string]any{"patient": map[string]any{"name": "  "}}, 422, "validation_failed",
			"patient.name"},
		{"a long name", map[string]any{"patient": map[string]any{"name": strings.Repeat("n", 201)}}, 422,
			"validation_failed", "patient.name"},
		{"a name with a control character", map[string]any{"patient": map[string]any{"name": "A\x00B"}}, 422,
			"validation_failed", "patient.name"},
		{"an invalid address", map[string]any{"patient": map[string]any{"name": "A", "email": "not-an-address"}}, 422, "validation_failed", "patient.email"},
		{"two addresses in one", map[string]any{"patient": map[string]any{"name": "A", "email": "a@b.c\r\nBcc: d@e.f"}},
			422, "validation_failed", "patient.email"},
		{"a telephone that is none", map[string]any{"patient": map[string]any{"name": "A", "phone": "call me"}}, 422,
			"validation_failed", "patient.phone"},
		{"a birth date that does not exist",
			map[string]any{"patient": map[string]any{"name": "A", "birthDate": "1980-02-30"}}, 422, "validation_failed",
			"patient.birthDate"},
		{"a birth date to come", map[string]any{"patient": map[string]any{"name": "A", "birthDate": "2190-01-01"}}, 422,
			"validation_failed", "patient.birthDate"},
		{"a hold with a slash", map[string]any{"holdId": "a/b"}, 422, "validation_failed", "holdId"},
		{"between two slots", map[string]any{"slotStartDate": h.at(7)}, 409, "not_bookable", ""},
		{"a specialist who does not serve it", map[string]any{"specialistId": "nobody"}, 422, "validation_failed", "specialistId"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			body := map[string]any{"slotStartDate": h.at(0)}
			for k, v := range c.change {
				body[k] = v
			}
			r := h.book(1, "checkup", body).problem(c.status, c.code)
			if c.field != "" {
				r.field(c.field)
			}
			if strings.Contains(r.raw, "Bcc") || strings.Contains(r.raw, "call me") {
				t.Errorf("the refusal repeats the input: %s", r.raw)
			}
		})
	}
	h.t = t
	h.book(1, "nobody", map[string]any{"slotStartDate": h.at(0)}).problem(404, "not_found")
}

func TestCooldownStartsAtSuccessAndEndsAtCancel(t *testing.T) {
	h := newHouse(t)
	h.book(1, "cooling", map[string]any{"slotStartDate": h.at(7)}).problem(409, "not_bookable")
	booked := h.book(1, "cooling", map[string]any{"slotStartDate": h.at(0)}).want(201)
	r := h.book(1, "cooling", map[string]any{"slotStartDate": h.at(60)}).problem(429, "cooldown_active")
	if r.get("until") == nil || r.header.Get("Retry-After") == "" {
		t.Errorf("the refusal has no expiry: %s", r.raw)
	}
	for _, r := range []*reply{r, h.hold(1, "cooling", h.at(60)).problem(429, "cooldown_active")} {
		if r.text("appointmentId") != booked.text("appointment", "id") ||
			r.text("slotStartDate") != booked.text("appointment", "slotStartDate") {
			t.Errorf("the refusal does not name the conflicting appointment: %s", r.raw)
		}
	}
	h.book(2, "cooling", map[string]any{"slotStartDate": h.at(60)}).want(201) // another client
	// A program with a key books for many clients.
	api := h.book(1, "cooling", map[string]any{"slotStartDate": h.at(90)}, asAdmin).want(201)
	if got := api.text("appointment", "source"); got != "api" {
		t.Errorf("a program's booking has the source %s, want api", got)
	}
	h.do("POST", "/v1/appointments/"+booked.text("appointment", "id")+"/cancel", nil, booked.managing()).want(200)
	h.book(1, "cooling", map[string]any{"slotStartDate": h.at(120)}).want(201)
}

func TestManageLinkOpensOneAppointment(t *testing.T) {
	h := newHouse(t)
	mine := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	other := h.book(2, "checkup", map[string]any{"slotStartDate": h.at(60)}).want(201)
	id, link := mine.text("appointment", "id"), mine.managing()

	for _, path := range []string{"/v1/appointments/" + id, "/v1/appointments/managed"} {
		r := h.do("GET", path, nil, link).want(200)
		if r.text("appointment", "patient", "name") != "Patient 1" || r.text("appointment", "id") != id {
			t.Errorf("%s: got %s", path, r.raw)
		}
		if got := r.header.Get("Etag"); !strings.HasPrefix(got, `"1.`) {
			t.Errorf("the ETag is %s, want version 1 and a hash", got)
		}
	}
	path := "/v1/appointments/" + other.text("appointment", "id")
	h.do("GET", path, nil, link).problem(403, "forbidden")
	h.do("POST", path+"/cancel", nil, link).problem(403, "forbidden")
	h.do("POST", "/v1/appointments/"+id+"/attendance", map[string]any{"attendance": "arrived"}, link).problem(401,
		"unauthorized")
	h.do("GET", "/v1/appointments", nil, link).problem(401, "unauthorized")

	r := h.do("GET", "/v1/appointments/"+id, nil).problem(401, "unauthorized")
	if r.header.Get("Www-Authenticate") == "" {
		t.Error("a 401 without WWW-Authenticate")
	}
	h.do("GET", "/v1/appointments/"+id, nil, header{"Authorization": "Bearer hfk_nobody"}).problem(401, "unauthorized")
	token := link["Holdfast-Manage"]
	for _, forged := range []string{"x", token[:len(token)-1], token + "A", strings.ToUpper(token), "\t" + token[1:]} {
		h.do("GET", "/v1/appointments/managed", nil, header{"Holdfast-Manage": forged}).problem(401, "unauthorized")
	}
	// The token is accepted in the query for a calendar and in no other query.
	h.do("GET", "/v1/appointments/managed/ics?token="+token, nil).want(200)
	h.do("GET", "/v1/appointments/managed?token="+token, nil).problem(401, "unauthorized")
	// Reading changes nothing.
	if got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200).text("appointment",
		"status"); got != "confirmed" {
		t.Errorf("the appointment is %s", got)
	}
	h.do("GET", "/v1/appointments/nobody", nil, asAdmin).problem(404, "not_found")
	h.do("GET", "/v1/appointments/managed", nil, asAdmin).problem(404, "not_found")
}

func TestScopes(t *testing.T) {
	h := newHouse(t)
	for _, scope := range []string{"agent", "presence"} {
		key := h.do("POST", "/v1/api-keys", map[string]any{"name": scope, "scope": scope}, asAdmin).want(201)
		bearer := header{"Authorization": "Bearer " + key.text("key")}
		h.do("GET", "/v1/appointments", nil, bearer).problem(403, "forbidden")
		h.do("GET", "/v1/export", nil, bearer).problem(403, "forbidden")
		h.do("GET", "/v1/clinic", nil, bearer).want(200)
		h.do("DELETE", "/v1/api-keys/"+key.text("apiKey", "id"), nil, asAdmin).want(200)
		h.do("GET", "/v1/clinic", nil, bearer).problem(401, "unauthorized")
	}
	// Other authorization schemes are for a proxy, and the server ignores them.
	h.do("GET", "/v1/clinic", nil, header{"Authorization": "Basic eDp5"}).want(200)
}

func TestCancelFreesTime(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	path := "/v1/appointments/" + booked.text("appointment", "id")
	h.do("POST", path+"/cancel", map[string]any{"reason": strings.Repeat("r", 501)}, booked.managing()).problem(422,
		"validation_failed").field("reason")
	r := h.do("POST", path+"/cancel", map[string]any{"reason": "better", "notify": false}, booked.managing()).want(200)
	if r.text("appointment", "status") != "cancelled" || r.text("appointment", "cancelledAt") == "" {
		t.Errorf("got %s", r.raw)
	}
	h.do("POST", path+"/cancel", nil, booked.managing()).want(200) // a repeat changes nothing
	h.do("POST", path+"/attendance", map[string]any{"attendance": "arrived"}, asAdmin).problem(409, "not_bookable")
	h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(60)}, asAdmin).problem(409, "not_bookable")
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
}

func TestRescheduleRotatesLink(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "surgery", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(180), "specialistId": "ada"}).want(201)
	h.book(3, "checkup", map[string]any{"slotStartDate": h.at(180), "specialistId": "bea"}).want(201)
	path, link := "/v1/appointments/managed", booked.managing()

	// A move to a taken time changes nothing.
	h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(180), "specialistId": "ada"},
		link).problem(409, "slot_taken")
	if got := h.do("GET", path, nil, link).want(200).text("appointment", "slotStartDate"); got != h.at(0) {
		t.Errorf("a refused move moved the appointment to %s", got)
	}
	// Move it to a time that overlaps the appointment's current time.
	moved := h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(30)}, link).want(200)
	if moved.text("appointment", "slotStartDate") != h.at(30) || moved.text("appointment", "specialistId") != "ada" {
		t.Errorf("got %s", moved.raw)
	}
	h.do("GET", path, nil, link).problem(401, "unauthorized")
	// Move it to another specialist, with the client's own hold.
	hold := h.hold(1, "surgery", h.at(600), map[string]any{"specialistId": "bea"}).want(201).text("holdId")
	moved = h.do("POST", path+"/reschedule", map[string]any{"holdId": hold, "clientId": client(1)},
		moved.managing()).want(200)
	if moved.text("appointment", "slotStartDate") != h.at(600) || moved.text("appointment", "specialistId") != "bea" {
		t.Errorf("got %s", moved.raw)
	}
	h.do("POST", path+"/reschedule", map[string]any{}, moved.managing()).problem(422,
		"validation_failed").field("slotStartDate")
	h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(0), "ignoreHours": true},
		moved.managing()).problem(403, "forbidden")
	h.do("POST", path+"/reschedule", map[string]any{"slotStartDate": h.at(7)}, moved.managing()).problem(409,
		"not_bookable")
}

func TestIfMatchRefusesStaleVersion(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	path := "/v1/appointments/" + booked.text("appointment", "id")
	arrived := h.do("POST", path+"/attendance", map[string]any{"attendance": "arrived"}, asAdmin,
		header{"If-Match": `"1"`}).want(200)
	if arrived.text("appointment", "attendance") != "arrived" || arrived.header.Get("Etag") != `"2"` {
		t.Errorf("got %s with %s", arrived.raw, arrived.header.Get("Etag"))
	}
	for _, action := range []string{"/attendance", "/cancel", "/reschedule"} {
		body := map[string]map[string]any{"/attendance": {"attendance": "no_show"}, "/cancel": {},
			"/reschedule": {"slotStartDate": h.at(60)}}[action]
		h.do("POST", path+action, body, asAdmin, header{"If-Match": `"1"`}).problem(412, "version_mismatch")
		for _, bad := range []string{"2", `"two"`, `W/"2"`, `"-1"`, `"`} {
			h.do("POST", path+action, body, asAdmin, header{"If-Match": bad}).problem(422,
				"validation_failed").field("If-Match")
		}
	}
	h.do("POST", path+"/attendance", map[string]any{"attendance": "late"}, asAdmin).problem(422,
		"validation_failed").field("attendance")
	h.do("POST", path+"/attendance", map[string]any{"attendance": "expected"}, asAdmin,
		header{"If-Match": "*"}).want(200)
}

func TestDeskOverbooksWithReason(t *testing.T) {
	h := newHouse(t)
	body := func(change map[string]any) map[string]any {
		all := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "specialistId": "ada",
			"patient": patient(1)}
		for k, v := range change {
			all[k] = v
		}
		return all
	}
	h.do("POST", "/v1/appointments", body(nil)).problem(401, "unauthorized")
	r := h.do("POST", "/v1/appointments", body(nil), asAdmin).want(201)
	if r.text("appointment", "source") != "staff" || r.text("appointment", "patient", "name") != "Patient 1" {
		t.Errorf("got %s", r.raw)
	}
	h.do("POST", "/v1/appointments", body(nil), asAdmin).problem(409, "slot_taken")
	h.do("POST", "/v1/appointments", body(map[string]any{"overbook": map[string]any{"reason": ""}}),
		asAdmin).problem(422, "validation_failed").field("overbook.reason")
	h.do("POST", "/v1/appointments", body(map[string]any{"overbook": map[string]any{"reason": " \t"}}),
		asAdmin).problem(422, "validation_failed").field("overbook.reason")
	over := h.do("POST", "/v1/appointments", body(map[string]any{"overbook": map[string]any{"reason": " in pain "}}),
		asAdmin).want(201)
	if over.get("appointment", "overbook") != true || over.text("appointment", "overbookReason") != "in pain" {
		t.Errorf("got %s", over.raw)
	}
	h.do("POST", "/v1/appointments", body(map[string]any{"slotStartDate": h.at(37)}), asAdmin).problem(409,
		"not_bookable")
	h.do("POST", "/v1/appointments", body(map[string]any{"slotStartDate": h.at(37), "ignoreHours": true}),
		asAdmin).want(201)
}

// TestDeskBooksOverHold: the desk may book over a visitor's hold, and the visitor is notified. If the desk accepts any
// specialist, no hold is displaced while another specialist is free.
func TestDeskBooksOverHold(t *testing.T) {
	h := newHouse(t)
	book := func(minutes int, change map[string]any) *reply {
		body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(minutes), "patient": patient(1)}
		maps.Copy(body, change)
		return h.do("POST", "/v1/appointments", body, asAdmin)
	}
	held := h.hold(2, "checkup", h.at(120), map[string]any{"specialistId": "ada"}).want(201)
	keep := func() *reply {
		return h.do("PATCH", "/v1/holds", map[string]any{"holdId": held.text("holdId"), "clientId": client(2)})
	}
	book(120, map[string]any{"specialistId": "ada", "displace": false}).problem(409, "slot_held")
	if r := book(120, nil).want(201); r.text("appointment", "specialistId") != "bea" {
		t.Errorf("with two specialists, one of them held, the desk got %s", r.raw)
	}
	keep().want(200)
	book(120, nil).problem(409, "slot_held") // bea is booked, and ada is still held
	keep().want(200)
	book(120, map[string]any{"specialistId": "ada"}).want(201)
	keep().problem(410, "hold_expired")
}

func TestAppointmentsArePaged(t *testing.T) {
	h := newHouse(t)
	for n := range 5 {
		h.book(n, "checkup", map[string]any{"slotStartDate": h.at(60 * n),
			"specialistId": []string{"ada", "bea"}[n%2]}).want(201)
	}
	list := func(query string) (ids []string, next string) {
		t.Helper()
		r := h.do("GET", "/v1/appointments?"+query, nil, asAdmin).want(200)
		for _, a := range r.body["appointments"].([]any) {
			ids = append(ids, a.(map[string]any)["slotStartDate"].(string))
		}
		next, _ = r.body["nextCursor"].(string)
		return ids, next
	}
	all, next := list("limit=2")
	for next != "" {
		var page []string
		page, next = list("limit=2&cursor=" + next)
		all = append(all, page...)
	}
	want := []string{h.at(0), h.at(60), h.at(120), h.at(180), h.at(240)}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("in pages: got %v, want %v", all, want)
	}
	for query, want := range map[string]int{
		"from=" + h.at(60): 4, "from=" + h.at(60) + "&to=" + h.at(120): 1, "specialistId=bea": 2, "status=confirmed": 5,
		"status=cancelled": 0, "q=patient+3": 1, "q=p4%40example": 1, "from=" + h.day(0) + "&to=" + h.day(2): 5, "to=" +
			h.day(0): 0,
	} {
		if got, _ := list(query); len(got) != want {
			t.Errorf("%s: got %d, want %d", query, len(got), want)
		}
	}
	for query, field := range map[string]string{
		"from=monday": "from", "to=2026-02-30": "to", "status=gone": "status", "limit=0": "limit", "limit=501": "limit",
		"cursor=forged": "cursor", "specialistId=a%2Fb": "specialistId", "from=2026-11-24&to=2026-11-23": "to", "q=" +
			strings.Repeat("x", 201): "q",
	} {
		h.do("GET", "/v1/appointments?"+query, nil, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("GET", "/v1/appointments", nil).problem(401, "unauthorized")
}

func TestCutOffRefusesPatientChange(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	h.do("PUT", "/v1/settings", map[string]any{"changeCutoffHours": 72}, asAdmin).want(200)
	for _, action := range []string{"/cancel", "/reschedule"} {
		r := h.do("POST", "/v1/appointments/managed"+action, map[string]any{"slotStartDate": h.at(60)},
			booked.managing())
		if action == "/cancel" {
			r = h.do("POST", "/v1/appointments/managed"+action, nil, booked.managing())
		}
		if r.problem(403, "forbidden").body["reason"] != "cut_off" {
			t.Errorf("%s: got %s", action, r.raw)
		}
	}
	h.do("POST", "/v1/appointments/"+booked.text("appointment", "id")+"/cancel", nil, asAdmin).want(200)
}

// TestPublicBookingNeedsVisibleName: the desk and emails show a visitor's name, so it must be readable. The desk may
// enter any name.
func TestPublicBookingNeedsVisibleName(t *testing.T) {
	h := newHouse(t)
	for n, name := range []string{"Lena\u202e Vogt", strings.Repeat("Lena ", 20)} {
		body := map[string]any{"slotStartDate": h.at(60 * n), "specialistId": "ada", "clientId": client(n),
			"patient": map[string]any{"name": name}}
		h.do("POST", "/v1/appointment-types/checkup/book", body).problem(422, "validation_failed").field("patient.name")
		body["appointmentTypeId"] = "checkup"
		h.do("POST", "/v1/appointments", body, asAdmin).want(201)
	}
}

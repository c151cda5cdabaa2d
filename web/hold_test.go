package web_test

import (
	"regexp"
	"strings"
	"testing"

	"holdfast/web"
)

// These tests check how a slot is held: the responses, and every refusal.

func TestHoldAnswerHasTimes(t *testing.T) {
	h := newHouse(t)
	r := h.hold(1, "checkup", h.at(0)).want(201)
	for field, want := range map[string]string{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "slotEndDate": h.at(30),
	} {
		if got := r.body[field]; got != want {
			t.Errorf("%s: got %v, want %s", field, got, want)
		}
	}
	milli := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	for _, field := range []string{"holdExpiresAt", "maxExpiresAt"} {
		if got := r.text(field); !milli.MatchString(got) {
			t.Errorf("%s: got %q, want milliseconds and Z", field, got)
		}
	}
	if got, _ := r.body["ttlMs"].(float64); got < 29000 || got > 30000 {
		t.Errorf("ttlMs: got %v, want about 30000", got)
	}
	if strings.Contains(r.raw, client(1)) {
		t.Error("the answer contains the client's secret")
	}
}

func TestInstantAcceptsAnyOffset(t *testing.T) {
	h := newHouse(t)
	local := h.start.In(zone(t, "America/New_York")).Format("2006-01-02T15:04:05-07:00")
	if got := h.hold(1, "checkup", local).want(201).text("slotStartDate"); got != h.at(0) {
		t.Errorf("got %s, want %s", got, h.at(0))
	}
}

func TestPooledHoldsUseAllSpecialists(t *testing.T) {
	h := newHouse(t)
	if got := h.hold(1, "checkup", h.at(0)).want(201).text("specialistId"); got != "ada" {
		t.Errorf("the first client got %s, want ada, who has the higher priority", got)
	}
	if got := h.hold(2, "checkup", h.at(0)).want(201).text("specialistId"); got != "bea" {
		t.Errorf("the second got %s, want bea", got)
	}
	r := h.hold(3, "checkup", h.at(0)).problem(409, "slot_held")
	if r.header.Get("Retry-After") == "" || r.get("retryAfterSeconds") == nil || r.get("until") == nil {
		t.Errorf("the refusal has no expiry: %s", r.raw)
	}
	// The client can try again at the time in until, so it must not be before the expiry.
	expiry := h.hold(2, "checkup", h.at(0)).want(201).text("holdExpiresAt")
	r = h.hold(3, "checkup", h.at(0), map[string]any{"specialistId": "bea"}).problem(409, "slot_held")
	if r.text("until") != expiry {
		t.Errorf("the hold expires at %s, the refusal says %s", expiry, r.text("until"))
	}
	// The same time is also held for another type.
	h.hold(3, "surgery", h.at(0)).problem(409, "slot_held")
}

func TestHoldRefusesInvalidRequests(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		name   string
		change map[string]any
		status int
		code   string
		field  string // in errors; "reason=…" for the reason
	}{
		{"no type", map[string]any{"appointmentTypeId": ""}, 422, "validation_failed", "appointmentTypeId"},
		{"a type with a slash", map[string]any{"appointmentTypeId": "a/b"}, 422, "validation_failed",
			"appointmentTypeId"},
		{"a type of 65 characters", map[string]any{"appointmentTypeId": strings.Repeat("a", 65)}, 422,
			"validation_failed", "appointmentTypeId"},
		{"an unknown type", map[string]any{"appointmentTypeId": "nobody"}, 404, "not_found", ""},
		{"no start", map[string]any{"slotStartDate": ""}, 422, "validation_failed", "slotStartDate"},
		{"a start without an offset", map[string]any{"slotStartDate": "2026-11-23T09:00:00"}, 422, "validation_failed",
			"slotStartDate"},
		{"an offset of 24 hours", map[string]any{"slotStartDate": "2026-11-23T09:00:00+24:00"}, 422,
			"validation_failed", "slotStartDate"},
		{"an offset of 60 minutes", map[string]any{"slotStartDate": "2026-11-23T09:00:00+01:60"}, 422,
			"validation_failed", "slotStartDate"},
		{"an hour of one digit", map[string]any{"slotStartDate": "2026-11-23T9:00:00Z"}, 422, "validation_failed",
			"slotStartDate"},
		{"a fraction after a comma", map[string]any{"slotStartDate": "2026-11-23T09:00:00,5Z"}, 422,
			"validation_failed", "slotStartDate"},
		{"a date that does not exist", map[string]any{"slotStartDate": "2026-02-30T09:00:00Z"}, 422,
			"validation_failed", "slotStartDate"},
		{"an hour that does not exist", map[string]any{"slotStartDate": "2026-11-23T25:00:00Z"}, 422,
			"validation_failed", "slotStartDate"},
		{"the year 9999", map[string]any{"slotStartDate": "9999-11-23T09:00:00Z"}, 422, "validation_failed",
			"slotStartDate"},
		{"no client", map[string]any{"clientId": ""}, 422, "validation_failed", "clientId"},
		{"a client of 15 characters", map[string]any{"clientId": strings.Repeat("c", 15)}, 422, "validation_failed",
			"clientId"},
		{"a client of 129 characters", map[string]any{"clientId": strings.Repeat("c", 129)}, 422, "validation_failed",
			"clientId"},
		{"a client with a space", map[string]any{"clientId": "client secret 0001"}, 422, "validation_failed",
			"clientId"},
		{"a ttl of 0", map[string]any{"ttlSeconds": 0}, 422, "validation_failed", "ttlSeconds"},
		{"a ttl below 0", map[string]any{"ttlSeconds": -5}, 422, "validation_failed", "ttlSeconds"},
		{"a ttl of 601", map[string]any{"ttlSeconds": 601}, 422, "validation_failed", "ttlSeconds"},
		{"a ttl that would overflow", map[string]any{"ttlSeconds": 9223372036854775807}, 422, "validation_failed",
			"ttlSeconds"},
		{"a specialist with a slash", map[string]any{"specialistId": "a/b"}, 422, "validation_failed", "specialistId"},
		{"a specialist who does not serve it", map[string]any{"specialistId": "nobody"}, 422, "validation_failed", "specialistId"},
		{"the past", map[string]any{"slotStartDate": "2020-11-23T09:00:00Z"}, 409, "not_bookable", "reason=too_soon"},
		{"past the horizon", map[string]any{"slotStartDate": h.at(61 * 1440)}, 409, "not_bookable", "reason=too_far"},
		{"between two slots", map[string]any{"slotStartDate": h.at(7)}, 409, "not_bookable", "reason=not_a_slot_start"},
		{"displacing without a key", map[string]any{"displace": true}, 403, "forbidden", ""},
		{"ignoring the hours without a key", map[string]any{"ignoreHours": true}, 403, "forbidden", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			r := h.hold(1, "checkup", h.at(0), c.change).problem(c.status, c.code)
			if reason, ok := strings.CutPrefix(c.field, "reason="); ok {
				if r.body["reason"] != reason {
					t.Errorf("got the reason %v, want %s", r.body["reason"], reason)
				}
			} else if c.field != "" {
				r.field(c.field)
			}
		})
	}
}

// TestHoldReplacesOwnHold: a client changes to a time that overlaps its hold. If another client has the rest of that
// time, the client keeps its hold. A client cannot end the hold of another one.
func TestHoldReplacesOwnHold(t *testing.T) {
	h := newHouse(t, limited(web.Limits{HoldsPerAddress: 3, HoldsPerDay: 3}))
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"slotStepMinutes": 15}, asAdmin).want(200)
	ada := func(more map[string]any) map[string]any {
		more["specialistId"] = "ada"
		return more
	}
	old := h.hold(1, "checkup", h.at(0), ada(map[string]any{})).want(201).text("holdId")
	rest := h.hold(2, "checkup", h.at(30), ada(map[string]any{})).want(201).text("holdId")
	extend := map[string]any{"holdId": old, "clientId": client(1)}
	h.hold(1, "checkup", h.at(15), ada(map[string]any{"instead": old})).problem(409, "slot_held")
	h.do("PATCH", "/v1/holds", extend).want(200)
	h.hold(2, "checkup", h.at(120), ada(map[string]any{"instead": old})).problem(403, "not_owner")
	h.do("PATCH", "/v1/holds", extend).want(200)

	h.do("DELETE", "/v1/holds", map[string]any{"holdId": rest, "clientId": client(2)}).want(200)
	replaced := h.hold(1, "checkup", h.at(15), ada(map[string]any{"instead": old})).want(201).text("holdId")
	h.do("PATCH", "/v1/holds", extend).problem(410, "hold_expired")

	// The limits count the new hold in place of the old one.
	h.hold(2, "checkup", h.at(60), ada(map[string]any{})).want(201)
	h.hold(3, "checkup", h.at(90), ada(map[string]any{})).want(201)
	h.hold(4, "checkup", h.at(120), ada(map[string]any{})).problem(429, "rate_limited")
	h.hold(1, "checkup", h.at(120), ada(map[string]any{"instead": replaced})).want(201)
}

func TestHoldIsExtendedAndReleased(t *testing.T) {
	h := newHouse(t)
	held := h.hold(1, "checkup", h.at(0)).want(201)
	id := held.text("holdId")

	kept := h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(1), "ttlSeconds": 300}).want(200)
	if kept.body["ok"] != true || kept.text("holdExpiresAt") <= held.text("holdExpiresAt") {
		t.Errorf("the hold was released: %s", kept.raw)
	}
	h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(2)}).problem(403, "not_owner")
	h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(1), "ttlSeconds": 601}).problem(422,
		"validation_failed").field("ttlSeconds")
	h.do("PATCH", "/v1/holds", map[string]any{"holdId": "a b", "clientId": client(1)}).problem(422,
		"validation_failed").field("holdId")
	for range 10 {
		h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(1), "restart": true}).want(200)
	}
	h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(1), "restart": true}).problem(429,
		"quota_exceeded")

	h.do("DELETE", "/v1/holds", map[string]any{"holdId": id, "clientId": client(2)}).problem(403, "not_owner")
	for _, released := range []bool{true, false} {
		r := h.do("DELETE", "/v1/holds?holdId="+id+"&clientId="+client(1), nil).want(200)
		if r.body["ok"] != true || r.body["released"] != released {
			t.Errorf("got %s, want released %t", r.raw, released)
		}
	}
	gone := h.do("PATCH", "/v1/holds", map[string]any{"holdId": id, "clientId": client(1)}).problem(410, "hold_expired")
	if gone.body["ok"] != false {
		t.Errorf("extending an expired hold returned ok %v, want false", gone.body["ok"])
	}
}

func TestBeaconReleasesHold(t *testing.T) {
	h := newHouse(t)
	for _, contentType := range []string{"text/plain;charset=UTF-8", "application/json"} {
		id := h.hold(1, "checkup", h.at(0)).want(201).text("holdId")
		r := h.do("POST", "/v1/holds/release", `{"holdId":"`+id+`","clientId":"`+client(1)+`"}`,
			header{"Content-Type": contentType}).want(200)
		if r.body["released"] != true {
			t.Errorf("%s: got %s", contentType, r.raw)
		}
	}
	h.do("POST", "/v1/holds/release", "", header{"Content-Type": "text/plain"}).problem(400, "malformed_body")
}

func TestClientHeader(t *testing.T) {
	h := newHouse(t)
	body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0)}
	id := h.do("POST", "/v1/holds", body, header{"Holdfast-Client": client(1)}).want(201).text("holdId")
	body["clientId"] = client(1)
	if again := h.do("POST", "/v1/holds", body,
		header{"Holdfast-Client": client(1)}).want(201).text("holdId"); again != id {
		t.Errorf("the same client got another hold: %s, then %s", id, again)
	}
	h.do("POST", "/v1/holds", body, header{"Holdfast-Client": client(2)}).problem(422,
		"validation_failed").field("clientId")
	h.do("DELETE", "/v1/holds?holdId="+id, nil, header{"Holdfast-Client": client(1)}).want(200)
}

func TestQuota(t *testing.T) {
	h := newHouse(t)
	for i := range 3 {
		h.hold(1, "checkup", h.at(30*i)).want(201)
	}
	h.hold(1, "checkup", h.at(90)).problem(429, "quota_exceeded")
	mine := h.do("GET", "/v1/holds", nil, header{"Holdfast-Client": client(1)}).want(200)
	if n := len(mine.body["holds"].([]any)); n != 3 {
		t.Errorf("the client's list has %d holds, want its 3", n)
	}
}

func TestHoldIsVisibleToOwnerAndDesk(t *testing.T) {
	h := newHouse(t)
	h.hold(1, "checkup", h.at(0)).want(201)
	h.hold(2, "checkup", h.at(0)).want(201)
	for _, c := range []struct {
		path   string
		header header
		want   int
	}{
		{"/v1/holds?clientId=" + client(1), nil, 1},
		{"/v1/holds?clientId=" + client(3), nil, 0},
		{"/v1/holds", asAdmin, 2},
		{"/v1/holds?specialistId=bea", asAdmin, 1},
	} {
		r := h.do("GET", c.path, nil, c.header).want(200)
		if got := len(r.body["holds"].([]any)); got != c.want {
			t.Errorf("%s: got %d holds, want %d", c.path, got, c.want)
		}
		if strings.Contains(r.raw, "client-secret") {
			t.Errorf("%s contains a client's secret", c.path)
		}
	}
	h.do("GET", "/v1/holds", nil).problem(422, "validation_failed").field("clientId")
}

func TestDeskDisplacesHold(t *testing.T) {
	h := newHouse(t)
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
	body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "specialistId": "ada",
		"clientId": client(9)}
	h.do("POST", "/v1/holds", body, asAdmin).problem(409, "slot_held")
	body["displace"] = true
	h.do("POST", "/v1/holds", body, asAdmin).want(201)
}

// TestRescheduleIgnoresCooldown: the cooldown limits new bookings. A client that moves an appointment can hold the
// new time.
func TestRescheduleIgnoresCooldown(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"cooldownMinutes": 60}, asAdmin).want(200)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	wanted := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(60), "clientId": client(1)}
	h.do("POST", "/v1/holds", wanted).problem(429, "cooldown_active")
	h.do("POST", "/v1/holds", wanted, header{"Holdfast-Manage": "v1.forged"}).problem(401, "unauthorized")
	held := h.do("POST", "/v1/holds", wanted, booked.managing()).want(201)
	// The link works only for the type of its appointment, and does not allow a new booking.
	h.do("PATCH", "/v1/appointment-types/surgery", map[string]any{"cooldownMinutes": 60}, asAdmin).want(200)
	h.book(1, "checkup", map[string]any{"holdId": held.text("holdId")}).problem(429, "cooldown_active")
	move := map[string]any{"slotStartDate": h.at(60), "holdId": held.text("holdId"), "clientId": client(7)}
	h.do("POST", "/v1/appointments/managed/reschedule", move, booked.managing()).problem(403, "not_owner")
	delete(move, "clientId") // without a clientId, the server uses the client of the booking
	moved := h.do("POST", "/v1/appointments/managed/reschedule", move, booked.managing()).want(200)
	if got := moved.text("appointment", "slotStartDate"); got != h.at(60) {
		t.Errorf("moved to %s, want %s", got, h.at(60))
	}
	// A cancelled appointment cannot be moved.
	h.do("POST", "/v1/appointments/managed/cancel", nil, moved.managing()).want(200)
	surgery := h.book(2, "surgery", map[string]any{"slotStartDate": h.at(120)}).want(201)
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "surgery", "slotStartDate": h.at(240),
		"clientId": client(2)}, moved.managing()).problem(429, "cooldown_active")
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "surgery", "slotStartDate": h.at(240),
		"clientId": client(2)}, surgery.managing()).want(201)
}

// TestMoveListsTimesOverOwnTime: with the link of an appointment, the list of times has those that overlap the
// appointment's own time, as the hold and the move accept them. Other lists do not change.
func TestMoveListsTimesOverOwnTime(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "surgery", map[string]any{"slotStartDate": h.at(120), "specialistId": "ada"}).want(201)
	link := booked.managing()
	later := h.book(2, "surgery", map[string]any{"slotStartDate": h.at(360), "specialistId": "ada"}).want(201)
	other := later.managing()
	isListed := func(kind string, headers ...header) bool {
		t.Helper()
		path := "/v1/appointment-types/" + kind + "/timeslots?specialistId=ada&from=" + h.at(0)[:10]
		return strings.Contains(h.do("GET", path, nil, headers...).want(200).raw, `"start":"`+h.at(150))
	}
	for _, x := range []struct {
		name, kind string
		headers    []header
		want       bool
	}{
		{"without a link", "surgery", nil, false},
		{"with another appointment's link", "surgery", []header{other}, false},
		{"with its link", "surgery", []header{link}, true},
		{"with its link, of another type", "checkup", []header{link}, false},
		{"without a link again", "surgery", nil, false}, // the list for the link is not cached
	} {
		if got := isListed(x.kind, x.headers...); got != x.want {
			t.Errorf("%s: the time in the appointment's own time is listed: %t, want %t", x.name, got, x.want)
		}
	}
	h.do("GET", "/v1/appointment-types/surgery/timeslots", nil, header{"Holdfast-Manage": "v1.forged"}).problem(401,
		"unauthorized")
	move := map[string]any{"slotStartDate": h.at(150), "specialistId": "ada"}
	h.do("POST", "/v1/appointments/managed/reschedule", move, link).want(200)
}

package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// day returns the house's local date n days later.
func (h *house) day(n int) string { return h.start.AddDate(0, 0, n).Format(time.DateOnly) }

// slots returns the slots of a type on the day of start, in the form for client n, by start.
func (h *house) slots(n int, appointmentType, query string) map[string]map[string]any {
	h.t.Helper()
	path := "/v1/appointment-types/" + appointmentType + "/timeslots?from=" + h.day(0) + "&to=" + h.day(1) + query
	r := h.do("GET", path, nil, header{"Holdfast-Client": client(n)}).want(200)
	found := make(map[string]map[string]any)
	for _, s := range r.body["slots"].([]any) {
		slot := s.(map[string]any)
		found[slot["start"].(string)] = slot
	}
	return found
}

func TestTimeslotsCountFreeAndHeld(t *testing.T) {
	h := newHouse(t)
	all := h.slots(1, "checkup", "")
	if len(all) != 48 {
		t.Fatalf("got %d slots of a whole day, want 48", len(all))
	}
	expect := func(n int, query, at string, available, held float64, own bool, who ...string) {
		t.Helper()
		s := h.slots(n, "checkup", query)[at]
		if s == nil {
			t.Fatalf("%s is not listed", at)
		}
		if s["available"] != available || s["held"] != held || s["ownHold"] != own ||
			fmt.Sprint(s["specialistIds"]) != fmt.Sprint(who) {
			t.Errorf("client %d gets %v, want available %v, held %v, own %v, %v", n, s, available, held, own, who)
		}
	}
	expect(1, "", h.at(0), 2, 0, false, "ada", "bea")
	held := h.hold(1, "checkup", h.at(0)).want(201)
	expect(1, "", h.at(0), 2, 0, true, "ada", "bea")
	expect(2, "", h.at(0), 1, 1, false, "bea")
	expect(2, "", h.at(30), 2, 0, false, "ada", "bea") // the next slot is unchanged
	expect(2, "&specialistId=ada", h.at(0), 0, 1, false)
	h.do("DELETE", "/v1/holds", map[string]any{"holdId": held.text("holdId"), "clientId": client(1)}).want(200)
	expect(2, "", h.at(0), 2, 0, false, "ada", "bea")

	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	expect(2, "", h.at(0), 1, 0, false, "bea")
	if s := h.slots(2, "checkup", "&specialistId=ada")[h.at(0)]; s != nil {
		t.Errorf("a booked slot is listed: %v", s)
	}
}

// TestCachedJSONEqualsJSON: a response that comes partly or wholly from cached bytes equals the output of
// encoding/json.
func TestCachedJSONEqualsJSON(t *testing.T) {
	h := newHouse(t)
	path := "/v1/appointment-types/checkup/timeslots?from=" + h.day(0) + "&to=" + h.day(3)
	for step := range 6 {
		var ordered []string
		r := h.do("GET", path, nil).want(200)
		if !json.Valid([]byte(r.raw)) {
			t.Fatalf("step %d is not JSON: %s", step, r.raw)
		}
		for _, s := range r.body["slots"].([]any) {
			ordered = append(ordered, s.(map[string]any)["start"].(string))
		}
		if len(ordered) != 3*48 {
			t.Fatalf("step %d lists %d slots, want 144", step, len(ordered))
		}
		for i := 1; i < len(ordered); i++ {
			if ordered[i-1] >= ordered[i] {
				t.Fatalf("step %d: %s comes before %s", step, ordered[i-1], ordered[i])
			}
		}
		// Holds at both ends, in the middle, and adjacent ones.
		midnight, _ := time.Parse(time.DateOnly, h.day(0))
		for i, minutes := range [][]int{{0}, {60, 90}, {3*1440 - 30}, {700, 720}, {30}, {}}[step] {
			at := midnight.Add(time.Duration(minutes/30*30) * time.Minute).Format(time.RFC3339)
			h.hold(10*step+i, "checkup", at).want(201)
		}
	}
}

func TestBookingBumpsGeneration(t *testing.T) {
	h := newHouse(t)
	path := "/v1/appointment-types/checkup/timeslots"
	before := h.do("GET", path, nil).want(200)
	h.hold(1, "checkup", h.at(0)).want(201)
	if held := h.do("GET", path, nil).want(200); held.body["generation"] != before.body["generation"] {
		t.Error("a hold changed the generation")
	}
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	if booked := h.do("GET", path, nil).want(200); booked.body["generation"] == before.body["generation"] {
		t.Error("a booking did not change the generation")
	}
}

func TestTimeslotsRefuseInvalidRequests(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		path   string
		status int
		code   string
		field  string
	}{
		{"checkup/timeslots?from=2026-02-30", 422, "validation_failed", "from"},
		{"checkup/timeslots?from=tomorrow", 422, "validation_failed", "from"},
		{"checkup/timeslots?from=2026-2-3", 422, "validation_failed", "from"},
		{"checkup/timeslots?from=2026-11-23T00:00:00Z", 422, "validation_failed", "from"},
		{"checkup/timeslots?from=0001-01-01", 422, "validation_failed", "from"},
		{"checkup/timeslots?to=2026-13-01", 422, "validation_failed", "to"},
		{"checkup/timeslots?from=2026-11-23&to=2026-11-23", 422, "validation_failed", "to"},
		{"checkup/timeslots?from=2026-11-23&to=2026-11-22", 422, "validation_failed", "to"},
		{"checkup/timeslots?from=2026-11-23&to=2027-01-25", 422, "validation_failed", "to"}, // 63 days
		{"checkup/timeslots?specialistId=a%2Fb", 422, "validation_failed", "specialistId"},
		{"checkup/timeslots?specialistId=nobody", 422, "validation_failed", "specialistId"},
		{"checkup/timeslots?clientId=short", 422, "validation_failed", "clientId"},
		{"checkup/timeslots?from=%zz", 422, "validation_failed", "query"},
		{"nobody/timeslots", 404, "not_found", ""},
		{"nobody/next-available", 404, "not_found", ""},
		{"checkup/next-available?after=yesterday", 422, "validation_failed", "after"},
		{"checkup/next-available?specialistId=nobody", 422, "validation_failed", "specialistId"},
		{"nobody/explain?slotStartDate=2026-11-23T09:00:00Z", 404, "not_found", ""},
		{"checkup/explain", 422, "validation_failed", "slotStartDate"},
		{"checkup/explain?slotStartDate=9:00", 422, "validation_failed", "slotStartDate"},
	} {
		t.Run(c.path, func(t *testing.T) {
			h.t = t
			r := h.do("GET", "/v1/appointment-types/"+c.path, nil).problem(c.status, c.code)
			if c.field != "" {
				r.field(c.field)
			}
		})
	}
	h.t = t
	h.do("GET", "/v1/appointment-types/checkup/timeslots?from=2026-11-23&to=2027-01-24", nil).want(200) // 62 days
}

func TestNextAvailableSkipsHeldSlots(t *testing.T) {
	h := newHouse(t)
	next := func(after string) string {
		t.Helper()
		return h.do("GET", "/v1/appointment-types/checkup/next-available?specialistId=ada&after="+after,
			nil).want(200).text("slot", "start")
	}
	if got := next(h.at(0)); got != h.at(0) {
		t.Errorf("got %s, want %s", got, h.at(0))
	}
	// A + that a client did not encode arrives as a space.
	if got := next(strings.Replace(h.at(0), "Z", "+00:00", 1)); got != h.at(0) {
		t.Errorf("with an offset: got %s, want %s", got, h.at(0))
	}
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	h.hold(2, "checkup", h.at(30), map[string]any{"specialistId": "ada"}).want(201)
	if got := next(h.at(0)); got != h.at(60) {
		t.Errorf("got %s, want %s, after the booked and the held one", got, h.at(60))
	}
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"active": false}, asAdmin).want(200)
	h.do("GET", "/v1/appointment-types/checkup/next-available", nil).problem(404, "no_slots")
}

func TestExplainGivesReason(t *testing.T) {
	h := newHouse(t)
	why := func(at string, headers ...header) map[string]string {
		t.Helper()
		r := h.do("GET", "/v1/appointment-types/checkup/explain?slotStartDate="+at, nil, headers...).want(200)
		said := make(map[string]string)
		for _, x := range r.body["specialists"].([]any) {
			x := x.(map[string]any)
			reason, _ := x["reason"].(string)
			if x["bookable"] == true {
				reason = "bookable"
			}
			said[x["specialistId"].(string)] = reason
		}
		return said
	}
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(30), "specialistId": "bea"}).want(201)
	for at, want := range map[string]map[string]string{
		h.at(0):  {"ada": "held", "bea": "bookable"},
		h.at(30): {"ada": "bookable", "bea": "taken"},
		h.at(7):  {"ada": "not_a_slot_start", "bea": "not_a_slot_start"},
	} {
		if got := why(at); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", at, got, want)
		}
	}
	own := header{"Holdfast-Client": client(1)} // the list of slots counts its hold as free too
	for at, got := range map[string]map[string]string{
		"header": why(h.at(0), own), "query": why(h.at(0) + "&clientId=" + client(1)),
	} {
		if got["ada"] != "bookable" {
			t.Errorf("with the client in the %s: got %v, want its own hold not to count", at, got)
		}
	}
}

package web_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// These tests check that requests with the same key have one effect, even if responses are lost.

func key(s string) header { return header{"Idempotency-Key": s} }

func TestIdempotencyKeyReturnsFirstAnswer(t *testing.T) {
	h := newHouse(t)
	first := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, key("one")).want(201)
	if first.header.Get("Idempotency-Replayed") != "" {
		t.Error("a first answer is marked as a repeat")
	}
	again := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, key("one")).want(201)
	if again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %s, want %s again", again.raw, first.raw)
	}
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(60)}, key("one")).problem(422, "idempotency_mismatch")
	h.book(1, "surgery", map[string]any{"slotStartDate": h.at(0)}, key("one")).problem(422, "idempotency_mismatch")
	// The same key from another client is a different key.
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(0)}, key("one")).want(201)
	// The same key on another route is also a different key.
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(120),
		"clientId": client(1)}, key("one")).want(201)
}

// TestRepeatAfterCancelBooksOnce: the slot is free again, so only the key prevents a second booking.
func TestRepeatAfterCancelBooksOnce(t *testing.T) {
	h := newHouse(t)
	request := map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}
	first := h.book(1, "checkup", request, key("k")).want(201)
	h.do("POST", "/v1/appointments/"+first.text("appointment", "id")+"/cancel", map[string]any{}, asAdmin).want(200)
	again := h.book(1, "checkup", request, key("k")).want(201)
	if again.raw != first.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %s, want %s again", again.raw, first.raw)
	}
	// the slot is neither booked nor held
	h.hold(2, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
}

func TestIdempotencyStoresOnlySuccess(t *testing.T) {
	h := newHouse(t)
	held := h.hold(9, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201).text("holdId")
	request := map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}
	h.book(1, "checkup", request, key("k")).problem(409, "slot_held")
	h.do("DELETE", "/v1/holds", map[string]any{"holdId": held, "clientId": client(9)}).want(200)
	h.book(1, "checkup", request, key("k")).want(201)
}

func TestIdempotencyCoversHoldsAndSchedule(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct {
		path    string
		body    map[string]any
		headers []header
	}{
		{"/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1)},
			nil},
		{"/v1/appointment-types", map[string]any{"name": "New"}, []header{asAdmin}},
		{"/v1/specialists", map[string]any{"name": "New"}, []header{asAdmin}},
		{"/v1/specialists/ada/overrides", map[string]any{"date": h.day(9), "closed": true}, []header{asAdmin}},
		{"/v1/specialists/ada/blocks", map[string]any{"start": h.at(900), "end": h.at(930)}, []header{asAdmin}},
		{"/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(600),
			"specialistId": "ada", "patient": patient(1)}, []header{asAdmin}},
	} {
		headers := append(c.headers, key("k"))
		first := h.do("POST", c.path, c.body, headers...).want(201)
		again := h.do("POST", c.path, c.body, headers...).want(201)
		if first.raw != again.raw || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s: got %s, want %s again", c.path, again.raw, first.raw)
		}
	}
	if got := len(h.do("GET", "/v1/specialists", nil, asAdmin).body["specialists"].([]any)); got != 3 {
		t.Errorf("there are %d specialists, want the two and the new one", got)
	}
}

// TestRescheduleRepeatsWithOldLink: the response to a move contains the new link, and the old link stops working. If
// that response is lost, the caller has only the old link for the repeat.
func TestRescheduleRepeatsWithOldLink(t *testing.T) {
	h := newHouse(t)
	link := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201).managing()
	path, body := "/v1/appointments/managed/reschedule", map[string]any{"slotStartDate": h.at(60)}
	first := h.do("POST", path, body, link, key("move")).want(200)
	again := h.do("POST", path, body, link, key("move")).want(200)
	if again.raw != first.raw {
		t.Errorf("got %s, want %s again", again.raw, first.raw)
	}
	h.do("GET", "/v1/appointments/managed", nil, again.managing()).want(200)
	h.do("POST", path, body, link, key("another")).problem(401, "unauthorized")
	h.do("POST", path, body, link).problem(401, "unauthorized")
}

func TestRacersWithOneKeyBookOnce(t *testing.T) {
	h := newHouse(t)
	var racers sync.WaitGroup
	answers := make([]*reply, 24)
	for i := range answers {
		racers.Go(func() {
			answers[i] = h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, key("race"))
		})
	}
	racers.Wait()
	ids := make(map[string]int)
	for _, r := range answers {
		switch r.status {
		case 201:
			ids[r.text("appointment", "id")]++
		case 409:
			r.problem(409, "idempotency_in_flight")
			if r.header.Get("Retry-After") == "" {
				t.Error("the refused request has no Retry-After")
			}
		default:
			t.Errorf("got %d: %s", r.status, r.raw)
		}
	}
	if len(ids) != 1 {
		t.Errorf("one key created %d appointments: %v", len(ids), ids)
	}
	if got := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)},
		key("race")).want(201); ids[got.text("appointment", "id")] == 0 {
		t.Error("the answer afterwards differs")
	}
	if got := len(h.do("GET", "/v1/appointments", nil, asAdmin).body["appointments"].([]any)); got != 1 {
		t.Errorf("there are %d appointments, want 1", got)
	}
}

func TestIdempotencyKeyRefusesInvalidKeys(t *testing.T) {
	h := newHouse(t)
	for _, bad := range []string{strings.Repeat("k", 256), "tab\there", "umlaut-\xc3\xbc"} {
		r := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, key(bad)).problem(422, "validation_failed")
		r.field("Idempotency-Key")
	}
	h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, key(strings.Repeat("k", 255))).want(201)
}

func TestFiftyRacersOneWinner(t *testing.T) {
	h := newHouse(t)
	var racers sync.WaitGroup
	statuses := make([]int, 50)
	for i := range statuses {
		racers.Go(func() {
			r := h.book(100+i, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"})
			statuses[i] = r.status
			if r.status != 201 && r.body["code"] != "slot_taken" && r.body["code"] != "slot_held" {
				t.Errorf("got %s", r.raw)
			}
		})
	}
	racers.Wait()
	count := make(map[int]int)
	for _, s := range statuses {
		count[s]++
	}
	if fmt.Sprint(count) != fmt.Sprint(map[int]int{201: 1, 409: 49}) {
		t.Errorf("got %v, want one 201 and 49 times 409", count)
	}
}

// TestReducedRoleGetsNoStoredAnswer: the reception books in a colleague's calendar, and then becomes a specialist who
// sees only their own calendar. A repeat of the key does not return the booking, and does not book again.
func TestReducedRoleGetsNoStoredAnswer(t *testing.T) {
	h := newHouse(t)
	jo := h.signedIn("jo@clinic.example", "reception", "")
	id := h.do("GET", "/v1/auth/me", nil, jo).want(200).text("user", "id")
	request := map[string]any{"appointmentTypeId": "surgery", "slotStartDate": h.at(120), "specialistId": "bea",
		"patient": patient(1)}
	first := h.do("POST", "/v1/appointments", request, jo, key("k")).want(201)
	if again := h.do("POST", "/v1/appointments", request, jo, key("k")).want(201); again.raw != first.raw {
		t.Errorf("as reception: got %s, want %s again", again.raw, first.raw)
	}
	h.do("PATCH", "/v1/users/"+id, map[string]any{"role": "specialist", "specialistId": "ada"}, asAdmin).want(200)
	cookie, _, _ := strings.Cut(h.do("POST", "/v1/auth/sign-in", map[string]any{"email": "jo@clinic.example",
		"password": "a few words together"}).want(200).header.Get("Set-Cookie"), ";")
	jo = header{"Cookie": cookie}
	h.do("POST", "/v1/appointments", request, jo, key("k")).problem(422, "idempotency_mismatch")

	own := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "specialistId": "ada",
		"patient": patient(2)}
	first = h.do("POST", "/v1/appointments", own, jo, key("own")).want(201)
	if again := h.do("POST", "/v1/appointments", own, jo, key("own")).want(201); again.raw != first.raw {
		t.Errorf("as specialist: got %s, want %s again", again.raw, first.raw)
	}
}

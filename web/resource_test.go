package web_test

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestRoomIsHiddenFromPublic: a room is created and required through the API, and booked together with an appointment.
// The desk sees the room, but patients do not.
func TestRoomIsHiddenFromPublic(t *testing.T) {
	h := newHouse(t)
	h.do("POST", "/v1/specialists", map[string]any{"id": "room-1", "kind": "resource", "name": "Room 1"},
		asAdmin).want(201)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": []any{[]any{"ada"}}}, asAdmin).problem(422,
		"validation_failed").field("needs[0]")
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": []any{[]any{"room-1"}}}, asAdmin).want(200)
	h.do("PATCH", "/v1/specialists/room-1", map[string]any{"kind": ""}, asAdmin).problem(422,
		"validation_failed").field("kind")
	h.do("DELETE", "/v1/specialists/room-1", nil, asAdmin).problem(422, "validation_failed").field("id")

	for _, path := range []string{"/v1/specialists", "/v1/appointment-types", "/v1/specialists/ada"} {
		if list := h.do("GET", path, nil).want(200); strings.Contains(list.raw, "room-1") {
			t.Errorf("the public answer of %s contains a room: %s", path, list.raw)
		}
		if list := h.do("GET", path, nil, asAdmin).want(200); path != "/v1/specialists/ada" &&
			!strings.Contains(list.raw, "room-1") {
			t.Errorf("the desk's answer of %s contains no room: %s", path, list.raw)
		}
	}
	h.do("GET", "/v1/specialists/room-1", nil).problem(404, "not_found")

	person := map[string]any{"name": "Rosa Winter", "phone": "030 1234567"}
	booked := h.do("POST", bookCheckup, map[string]any{"slotStartDate": h.at(0),
		"clientId": client(1), "patient": person}).want(201)
	if strings.Contains(booked.raw, "room-1") {
		t.Errorf("the patient's answer contains the room: %s", booked.raw)
	}
	id := booked.text("appointment", "id")
	if seen := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200); !strings.Contains(seen.raw,
		`"resourceIds":["room-1"]`) {
		t.Errorf("the desk's answer misses the room: %s", seen.raw)
	}
	if of := h.do("GET", "/v1/appointments?specialistId=room-1", nil, asAdmin).want(200); !strings.Contains(of.raw,
		id) {
		t.Errorf("the room's appointments: %s", of.raw)
	}
	// All other specialists are free, but no other room is.
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0),
		"clientId": client(2)}).problem(409, "slot_taken")
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "room-1",
		"slotStartDate": h.at(60), "patient": person}, asAdmin).problem(422, "validation_failed")

	exported := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	if !strings.Contains(exported.raw, `"kind":"resource"`) || !strings.Contains(exported.raw, `"needs":[["room-1"]]`) {
		t.Errorf("the clinic file has no rooms: %s", exported.raw)
	}
}

// TestStreamReportsSharedRoom: two types share a room, with different specialists. When the room is held or released
// for one type, a page that lists the other type gets an event that makes it reload the list. An event about the hold
// alone would not be enough, because the page does not show the specialist of that hold.
func TestStreamReportsSharedRoom(t *testing.T) {
	h := newHouse(t)
	h.do("POST", "/v1/specialists", map[string]any{"id": "room-1", "kind": "resource", "name": "Room 1"},
		asAdmin).want(201)
	needs := []any{[]any{"room-1"}}
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"needs": needs,
		"specialists": []any{map[string]any{"specialistId": "ada"}}}, asAdmin).want(200)
	h.do("POST", "/v1/appointment-types", map[string]any{"id": "peel",
		"name": "Peel", "needs": needs, "specialists": []any{map[string]any{"specialistId": "bea"}}}, asAdmin).want(201)
	answer, err := http.Get(h.server.URL + "/v1/holds/stream?appointmentTypeId=peel")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for read := bufio.NewScanner(answer.Body); read.Scan(); {
			lines <- read.Text()
		}
	}()
	hear := func(what, word string) {
		t.Helper()
		late := time.After(time.Minute)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					t.Fatalf("%s: the stream ended", what)
				}
				if strings.Contains(line, `"type":"hold"`) {
					t.Errorf("%s: the stream has a hold of a specialist that it must not contain: %s", what, line)
				}
				if strings.Contains(line, word) {
					return
				}
			case <-late:
				t.Fatalf("%s: no event arrived", what)
			}
		}
	}
	hear("opened", `"connected"`)
	held := h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).want(201)
	hear("held", `"type":"availability","specialistId":"ada"`)
	h.do("POST", "/v1/holds/release", map[string]any{"holdId": held.text("holdId"), "clientId": client(1)})
	hear("given back", `"type":"availability","specialistId":"ada"`)
}

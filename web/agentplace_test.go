package web_test

import (
	"strings"
	"testing"
	"time"
)

// TestAgentsNameThePlace: in a clinic with two places, an agent gets the place of each slot and the address of the
// place that it booked. It can ask for the slots at one place.
func TestAgentsNameThePlace(t *testing.T) {
	h := twoPlaces(t)
	h.do("PATCH", "/v1/settings", map[string]any{"agentTexts": map[string]any{"language": "de", "address": "Pier 7",
		"directions": "Tram 3"}}, asAdmin).want(200)
	key := h.key("agent")
	ask := map[string]any{"appointmentTypeId": "checkup", "from": h.start.Format(time.DateOnly), "count": 50}
	h.do("POST", "/v1/agent/slots", with(ask, "place", "west"), key).problem(422, "validation_failed").field("place")
	for place, want := range map[string]struct{ name, address string }{
		"north": {"Nord", "Nord, Hill 1"}, "south": {"South", "South, Quay 2"},
	} {
		slots := h.do("POST", "/v1/agent/slots", with(ask, "place", place), key).want(200)
		slots.conforms("POST", "/v1/agent/slots")
		list := slots.get("slots").([]any)
		for _, x := range list {
			at, _ := x.(map[string]any)["place"].(map[string]any)
			if at["id"] != place || at["name"] != want.name {
				t.Fatalf("with place %s, a slot is at %v", place, at)
			}
		}
		if !strings.Contains(slots.raw, "the name of the place") {
			t.Errorf("the steps do not contain the place: %s", slots.raw)
		}
		booked := h.do("POST", "/v1/agent/appointments", with(h.identified(key, "call "+place), "bookingToken",
			list[0].(map[string]any)["bookingToken"]), key).want(200)
		if !strings.Contains(booked.raw, `say: \"`+want.address+`\"`) || strings.Contains(booked.raw, "Pier 7") ||
			strings.Contains(booked.raw, "Tram 3") || !strings.Contains(booked.raw, "Clinic, "+want.name+" ist") {
			t.Errorf("booked in the %s: %s", place, booked.raw)
		}
	}

	s := assistant(t, h)
	if types, text, _ := tool(t, s, "find_slots", nil); !strings.Contains(text,
		`"places":[{"address":"Nord, Hill 1","id":"north","name":"Nord"}`) {
		t.Errorf("find_slots returns no places: %v", types)
	}
	offers := map[string]any{}
	for _, place := range []string{"north", "south"} {
		found, text, _ := tool(t, s, "find_slots", with(ask, "place", place))
		slot := found["slots"].([]any)[3].(map[string]any)
		if at, _ := slot["place"].(map[string]any); at["id"] != place {
			t.Fatalf("find_slots with place %s: %s", place, text)
		}
		offers[place] = slot["bookingToken"]
	}
	booked, text, _ := tool(t, s, "book", map[string]any{"bookingToken": offers["south"], "firstName": "Lena",
		"lastName": "Vogt", "phone": "030 1234567"})
	if booked["address"] != "South, Quay 2" || booked["directions"] != nil {
		t.Errorf("book in the south: %s", text)
	}
	moved, text, _ := tool(t, s, "reschedule", map[string]any{"bookingToken": offers["north"],
		"manageToken": booked["manageToken"]})
	if message, _ := moved["message"].(string); moved["address"] != "Nord, Hill 1" ||
		!strings.HasSuffix(message, "an diesem Standort: Nord.") {
		t.Errorf("moved to the north: %s", text)
	}
}

// TestAgentsGiveNoAddressOfRemoteAppointment: an agent gives no address, and no place, for a video appointment.
func TestAgentsGiveNoAddressOfRemoteAppointment(t *testing.T) {
	h := twoPlaces(t)
	h.do("PATCH", "/v1/settings", map[string]any{"agentTexts": map[string]any{"address": "Pier 7",
		"directions": "Tram 3"}}, asAdmin).want(200)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"remote": true}, asAdmin).want(200)
	key := h.key("agent")
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup"}, key).want(200)
	slot := slots.get("slots").([]any)[0].(map[string]any)
	if slot["place"] != nil {
		t.Errorf("a slot of a video appointment is at %v", slot["place"])
	}
	booked := h.do("POST", "/v1/agent/appointments", with(h.identified(key, "call"), "bookingToken",
		slot["bookingToken"]), key).want(200)
	for _, word := range []string{"address", "Pier 7", "Tram 3", "Hill", "Quay", "North", "South"} {
		if strings.Contains(booked.raw, word) {
			t.Errorf("the answer about a video appointment contains %q: %s", word, booked.raw)
		}
	}
}

package web_test

import (
	"strings"
	"testing"
)

// TestBlocksOfOneDayAreRemovedSeparately: two blocks on one day have their own ids and reasons, and removing one does
// not affect the other.
func TestBlocksOfOneDayAreRemovedSeparately(t *testing.T) {
	h := newHouse(t)
	// from midnight, so that all blocks are on one date
	at := func(minutes int) string { return h.at(minutes - 60*h.start.Hour()) }
	path := "/v1/specialists/ada/blocks"
	before := len(h.slots(1, "checkup", "&specialistId=ada"))
	block := func(from, to int, reason string) string {
		made := h.do("POST", path, map[string]any{"start": at(from), "end": at(to), "reason": reason},
			asAdmin).want(201)
		want := map[string]any{"id": made.text("block", "id"), "specialistId": "ada", "start": at(from), "end": at(to),
			"reason": reason}
		if got := made.get("block").(map[string]any); !sameFields(got, want) {
			t.Errorf("made: got %v, want %v", got, want)
		}
		return made.text("block", "id")
	}
	meeting, dentist := block(0, 60, "Meeting"), block(120, 150, "Dentist")
	refused := func(what string, minute int) {
		t.Helper()
		for _, path := range []string{"/v1/holds", "/v1/appointment-types/checkup/book"} {
			body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": at(minute), "specialistId": "ada",
				"clientId": client(2), "patient": patient(2)}
			delete(body, map[string]string{"/v1/holds": "patient"}[path])
			if path != "/v1/holds" {
				delete(body, "appointmentTypeId")
			}
			if got := h.do("POST", path, body).problem(409, "not_bookable").text("reason"); got != "override_closed" {
				t.Errorf("%s: %s is refused with %s, want override_closed", what, path, got)
			}
		}
	}
	if got := len(h.slots(1, "checkup", "&specialistId=ada")); got != before-3 {
		t.Errorf("with both: %d slots are listed, want %d", got, before-3)
	}
	refused("in the first", 30)
	refused("in the second", 120)
	if list := h.do("GET", path, nil, asAdmin).want(200).body["blocks"].([]any); len(list) != 2 ||
		list[0].(map[string]any)["reason"] != "Meeting" || list[1].(map[string]any)["reason"] != "Dentist" {
		t.Errorf("listed: got %v, want both by start", list)
	}

	h.do("DELETE", "/v1/blocks/"+meeting, nil, asAdmin).want(200)
	h.do("DELETE", "/v1/blocks/"+meeting, nil, asAdmin).problem(404, "not_found")
	if got := len(h.slots(1, "checkup", "&specialistId=ada")); got != before-1 {
		t.Errorf("with one: %d slots are listed, want %d", got, before-1)
	}
	refused("in the one that is left", 120)
	if list := h.do("GET", path, nil, asAdmin).want(200).body["blocks"].([]any); len(list) != 1 ||
		list[0].(map[string]any)["id"] != dentist {
		t.Errorf("left: got %v, want the second", list)
	}

	for field, body := range map[string]map[string]any{
		"start": {"end": at(0)}, "end": {"start": at(0), "end": at(0)},
		"reason": {"start": at(0), "end": at(30), "reason": strings.Repeat("r", 501)},
	} {
		h.do("POST", path, body, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("POST", path, map[string]any{"start": "tomorrow", "end": at(30)}, asAdmin).problem(422,
		"validation_failed").field("start")
	h.do("POST", "/v1/specialists/nobody/blocks", map[string]any{"start": at(0), "end": at(30)}, asAdmin).problem(404, "not_found")
}

// TestColleaguesBlockReasonIsHidden: specialists block their own time. They see when colleagues are away, but not
// why.
func TestColleaguesBlockReasonIsHidden(t *testing.T) {
	h := newHouse(t)
	ada := h.signedIn("ada@clinic.example", "specialist", "ada")
	of := map[string]string{}
	for _, who := range []string{"ada", "bea"} {
		made := h.do("POST", "/v1/specialists/"+who+"/blocks",
			map[string]any{"start": h.at(0), "end": h.at(30), "reason": "Private matter"}, asAdmin).want(201)
		of[who] = made.text("block", "id")
		h.do("POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": h.day(9),
			"closed": true, "reason": "Private matter"}, asAdmin).want(201)
	}
	for who, want := range map[string]any{"ada": "Private matter", "bea": nil} {
		list := h.do("GET", "/v1/specialists/"+who+"/blocks", nil, ada).want(200).body["blocks"].([]any)
		if len(list) != 1 || list[0].(map[string]any)["start"] != h.at(0) ||
			list[0].(map[string]any)["reason"] != want {
			t.Errorf("%s's blocks: ada gets %v, want one with the reason %v", who, list, want)
		}
		days := h.do("GET", "/v1/specialists/"+who+"/overrides", nil, ada).want(200).body["overrides"].([]any)
		if len(days) != 1 || days[0].(map[string]any)["reason"] != want {
			t.Errorf("%s's days: ada gets %v, want one with the reason %v", who, days, want)
		}
	}
	h.do("DELETE", "/v1/blocks/"+of["bea"], nil, ada).problem(403, "forbidden")
	h.do("POST", "/v1/specialists/bea/blocks", map[string]any{"start": h.at(60), "end": h.at(90)}, ada).problem(403,
		"forbidden")
	h.do("DELETE", "/v1/blocks/"+of["ada"], nil, ada).want(200)
}

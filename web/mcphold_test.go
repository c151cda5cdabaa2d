package web_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/engine"
	"holdfast/engine/message"
	"holdfast/engine/notice"
)

// mcpSlots lists slots of a type for the tests of MCP and returns their tokens and starts.
func mcpSlots(t *testing.T, h *house, call func(string, map[string]any) map[string]any, in map[string]any) (tokens,
	starts []string) {
	t.Helper()
	found := call("find_slots", with(in, "from", h.start.Format(time.DateOnly), "count", 50))
	list, _ := found["slots"].([]any)
	for _, x := range list {
		slot := x.(map[string]any)
		tokens = append(tokens, slot["bookingToken"].(string))
		starts = append(starts, slot["slotStartDate"].(string))
	}
	return tokens, starts
}

// succeeding returns a function that calls a tool and fails the test if the tool returns an error.
func succeeding(t *testing.T, s *mcp.ClientSession) func(name string, in map[string]any) map[string]any {
	return func(name string, in map[string]any) map[string]any {
		t.Helper()
		out, text, failed := tool(t, s, name, in)
		if failed {
			t.Fatalf("%s: %s", name, text)
		}
		return out
	}
}

// wantHeld checks which starts are held.
func (h *house) wantHeld(what string, want ...string) {
	h.t.Helper()
	var got []string
	list, err := h.engine.Booking.Holds(h.t.Context())
	for _, x := range list {
		got = append(got, x.SlotStart.Format(time.RFC3339))
	}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		h.t.Errorf("%s: held are %v, %v; want %v", what, got, err, want)
	}
}

// TestMCPCallerChangesTheirMind: a hold of another time replaces the hold of the same conversation, even if the two
// times overlap. A booking of another time ends it. A refused hold and a refused booking leave it.
func TestMCPCallerChangesTheirMind(t *testing.T) {
	p := newRuleProgram(t)
	h := newHouseOf(t, engine.Options{Notices: message.Transport{
		Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true}),
	}})
	s := assistant(t, h)
	call := succeeding(t, s)
	tokens, starts := mcpSlots(t, h, call, map[string]any{"appointmentTypeId": "surgery"})
	hold := func(i int, session string) {
		t.Helper()
		call("hold_slot", map[string]any{"bookingToken": tokens[i], "sessionId": session})
	}
	for i, want := range starts[:6] { // surgeries are an hour long and start every 30 minutes
		hold(i, "call-1")
		h.wantHeld("after another hold", want)
	}
	hold(5, "call-1")
	h.wantHeld("after the same hold again", starts[5])
	hold(12, "call-2")
	if out, text, failed := tool(t, s, "hold_slot", map[string]any{"bookingToken": tokens[12],
		"sessionId": "call-1"}); !failed {
		t.Errorf("the time of another conversation was held: %v %s", out, text)
	}
	h.wantHeld("after a refused hold", starts[5], starts[12])

	book := map[string]any{"bookingToken": tokens[4], "sessionId": "call-1", "firstName": "Lena", "lastName": "Vogt",
		"phone": "030 1234567"}
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{"url": p.URL, "timeoutMillis": 2000}},
		asAdmin).want(200)
	p.says(200, `{"decision": "refuse", "reason": "Call us."}`)
	if out := call("book", book); out["status"] != "refused" {
		t.Fatalf("the rule refuses, but book returns %v", out)
	}
	h.wantHeld("after a refused booking", starts[5], starts[12])
	p.says(200, `{"decision": "allow"}`)
	if out := call("book", book); out["status"] != "confirmed" {
		t.Errorf("a booking of a time that overlaps the conversation's hold: %v", out)
	}
	h.wantHeld("after the booking", starts[12])
	// The time of the booking cannot be held again, and the refusal does not say that another patient has it.
	_, text, failed := tool(t, s, "hold_slot", map[string]any{"bookingToken": tokens[4], "sessionId": "call-1"})
	if !failed || !strings.Contains(text, "already booked") {
		t.Errorf("a hold of the time that the conversation booked returns %s", text)
	}
}

// TestMCPMovesToOverlappingTime: an appointment can be moved to a time that overlaps its own. With the manageToken,
// find_slots lists these times but not the time that the appointment has, and hold_slot holds them.
func TestMCPMovesToOverlappingTime(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/appointment-types/surgery", map[string]any{"specialists": []any{
		map[string]any{"specialistId": "ada", "priority": 1}}}, asAdmin).want(200)
	call := succeeding(t, assistant(t, h))
	surgery := map[string]any{"appointmentTypeId": "surgery"}
	tokens, starts := mcpSlots(t, h, call, surgery)
	book := func(i int, session string) map[string]any {
		t.Helper()
		return call("book", map[string]any{"bookingToken": tokens[i], "firstName": "Lena", "lastName": "Vogt",
			"phone": "030 1234567", "sessionId": session})
	}
	has := func(list []string, start string) bool { return slices.Contains(list, start) }
	first := book(4, "call-1")
	moved := call("reschedule", map[string]any{"manageToken": first["manageToken"], "bookingToken": tokens[5]})
	if moved["slotStartDate"] != starts[5] {
		t.Errorf("moved to %v, want %s", moved["slotStartDate"], starts[5])
	}
	if _, found := mcpSlots(t, h, call, surgery); has(found, starts[4]) || has(found, starts[6]) {
		t.Errorf("without the manageToken: %v", found)
	}
	surgery["manageToken"] = moved["manageToken"]
	again, found := mcpSlots(t, h, call, surgery)
	if !has(found, starts[4]) || has(found, starts[5]) || !has(found, starts[6]) {
		t.Errorf("with the manageToken: %v; want %s and %s, without %s", found, starts[4], starts[6], starts[5])
	}
	token := again[slices.Index(found, starts[6])]
	call("hold_slot", map[string]any{"bookingToken": token, "sessionId": "call-1", "manageToken": moved["manageToken"]})
	moved = call("reschedule", map[string]any{"manageToken": moved["manageToken"], "bookingToken": token,
		"sessionId": "call-1"})
	if moved["slotStartDate"] != starts[6] {
		t.Errorf("moved to %v, want %s", moved["slotStartDate"], starts[6])
	}
	h.wantHeld("after the moves")
}

// TestMCPErrorsCanBeSaid: the result of a failed tool contains a sentence for the caller in the language of the
// clinic's agents. The code and the detail are in other fields. The names of the types are in the same language.
func TestMCPErrorsCanBeSaid(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/settings", map[string]any{"agentTexts": map[string]any{"language": "de"}}, asAdmin).want(200)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"texts": map[string]any{
		"de": map[string]any{"name": "Kontrolle"}}}, asAdmin).want(200)
	s := assistant(t, h)
	call := succeeding(t, s)
	if types := call("find_slots", nil)["appointmentTypes"].([]any); types[0].(map[string]any)["name"] != "Kontrolle" {
		t.Errorf("the first type is %v", types[0])
	}
	tokens, _ := mcpSlots(t, h, call, map[string]any{"appointmentTypeId": "checkup"})
	call("hold_slot", map[string]any{"bookingToken": tokens[0], "sessionId": "call-1"})
	booked := call("book", map[string]any{"bookingToken": tokens[4], "firstName": "Lena", "lastName": "Vogt",
		"phone": "030 1234567"})
	call("cancel", map[string]any{"manageToken": booked["manageToken"]})
	other := call("book", map[string]any{"bookingToken": tokens[12], "firstName": "Lena", "lastName": "Vogt",
		"phone": "030 1234567"})
	surgery, _ := mcpSlots(t, h, call, map[string]any{"appointmentTypeId": "surgery"})
	const noChange = "Diesen Termin kann ich leider nicht für Sie ändern. Ich verbinde Sie mit der Praxis."
	inVisit := map[string]any{"manageToken": h.family(h.at(180))[0].link["Holdfast-Manage"]}
	for _, c := range []struct {
		tool, code, message, part string
		in                        map[string]any
	}{
		{"find_slots", "validation_failed", "Einen Moment, bitte.", "31",
			map[string]any{"appointmentTypeId": "checkup", "days": 40}},
		{"hold_slot", "slot_held", "Leider ist diese Zeit nicht mehr frei. Ich sehe nach, was es sonst gibt.",
			"holding", map[string]any{"bookingToken": tokens[0], "sessionId": "call-2"}},
		{"reschedule", "not_bookable", noChange, "",
			map[string]any{"bookingToken": tokens[8], "manageToken": booked["manageToken"]}},
		{"cancel", "forbidden", noChange, "group visit", inVisit},
		{"reschedule", "forbidden", noChange, "group visit", with(inVisit, "bookingToken", tokens[8])},
		{"reschedule", "validation_failed", "Einen Moment, bitte.", `"field":"bookingToken"`,
			map[string]any{"bookingToken": surgery[len(surgery)-1], "manageToken": other["manageToken"]}},
	} {
		_, text, failed := tool(t, s, c.tool, c.in)
		var out map[string]any
		if err := json.Unmarshal([]byte(text), &out); err != nil || !failed {
			t.Fatalf("%s: %q, %v; want an object", c.tool, text, err)
		}
		if out["code"] != c.code || out["message"] != c.message || !strings.Contains(text, c.part) {
			t.Errorf("%s: got %s, want %s and %q", c.tool, text, c.code, c.message)
		}
	}
}

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/enginetest"
)

// inTwoDays returns a date that is entirely in the future in every time zone.
func inTwoDays() string { return enginetest.Noon(time.UTC, 2).Format(time.DateOnly) }

// TestMCPOnStandardInput: an assistant initializes, lists the tools and finds times, one message per
// line.
func TestMCPOnStandardInput(t *testing.T) {
	t.Parallel()
	dir, day := filepath.Join(t.TempDir(), "data"), inTwoDays()
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	must(t, "import", "--data", dir, file)
	if got := command(t, nil, "{}", "mcp", "--data", dir); got.code != 1 ||
		!strings.Contains(got.stderr, "holdfast serve") {
		t.Errorf("without a server: got %+v, want an error with the command that starts one", got)
	}
	started(t, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	said := command(t, nil, strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"find_slots","arguments":{"appointmentTypeId":"checkup","from":"` + day + `","count":2}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"find_slots","arguments":{"appointmentTypeId":"nobody"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"no/such/method"}`,
		`{"jsonrpc":"2.0","method":"no/such/notification"}`, `this is no JSON`,
		`{"jsonrpc":"2.0","id":6,"method":"ping"}`,
	}, "\n")+"\n", "mcp", "--data", dir)
	if said.code != 0 || said.stderr != "" {
		t.Fatalf("got %+v", said)
	}
	answers := map[float64]map[string]any{}
	for line := range strings.Lines(said.stdout) {
		var a map[string]any
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatalf("%v in the line %q", err, line)
		}
		id, _ := a["id"].(float64) // null for a request that could not be read
		answers[id] = a
	}
	if len(answers) != 7 {
		t.Fatalf("got %d answers, want seven: %s", len(answers), said.stdout)
	}
	text := func(id float64) string {
		b, _ := json.Marshal(answers[id]["result"])
		return string(b)
	}
	contains(t, "initialize", text(1), `"name":"holdfast"`, "instructions")
	contains(t, "tools/list", text(2), "find_slots", "hold_slot", "book", "booking_status", "reschedule", "cancel")
	contains(t, "find_slots", text(3), "bookingToken", day+"T", "spoken")
	contains(t, "find_slots of nothing", text(4), `"isError":true`)
	for id, want := range map[float64]float64{5: -32601, 0: -32700} {
		if e, _ := answers[id]["error"].(map[string]any); e["code"] != want || e["message"] == "" {
			t.Errorf("message %v: got %v, want the error %v of JSON-RPC", id, answers[id], want)
		}
	}
}

package stream

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"holdfast/holds"
)

// constants returns the values of the string constants of one type in a Go file.
func constants(t *testing.T, file, of string) (values []string) {
	t.Helper()
	syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(syntax, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == of {
			for _, v := range spec.Values {
				text, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, text)
			}
		}
		return true
	})
	if len(values) < 3 {
		t.Fatalf("%s has %d constants of %s", file, len(values), of)
	}
	return values
}

// TestFramesAreDescribed checks every frame that a stream can send, in the owner's form and in the form for all other
// readers. The description of the API must contain the frame with exactly these fields. The test fails for a new kind
// of event or a new reason until it is described.
func TestFramesAreDescribed(t *testing.T) {
	raw, err := os.ReadFile("../../docs/api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	schema := doc.Components.Schemas["StreamFrame"].Value
	said := make(map[string]bool)
	check := func(what string, frame []byte) {
		t.Helper()
		_, data, _ := strings.Cut(string(frame), "data: ")
		var body map[string]any
		if err := json.Unmarshal([]byte(data), &body); err != nil {
			t.Fatalf("%s: %v in %s", what, err, frame)
		}
		kind, _ := body["type"].(string)
		said[kind] = true
		if err := schema.VisitJSON(body); err != nil {
			t.Errorf("%s differs from its description: %v\n%s", what, err, data)
		}
	}
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	span := holds.Span{AppointmentTypeID: "checkup", SpecialistID: "ada", Seat: 1, SlotStart: at,
		SlotEnd: at.Add(30 * time.Minute), BusyStart: at, BusyEnd: at.Add(time.Hour)}
	const client = holds.ClientID("a-browser-tab-0123456789")
	for _, kind := range constants(t, "../../holds/event.go", "EventKind") {
		if holds.EventKind(kind) == holds.EventStream {
			continue // for the hubs only
		}
		for _, reason := range constants(t, "../../holds/event.go", "Reason") {
			ev := holds.Event{
				Kind: holds.EventKind(kind), Seq: 7, At: at, HoldID: "hold-1", Span: span, ExpiresAt: at,
				Reason: holds.Reason(reason), AppointmentID: "appointment-1", Version: 2, Generation: 3,
				SessionID: "session-1",
			}
			for _, owner := range []holds.ClientID{"", client} {
				check(kind, appendEvent(nil, "epoch1", &ev, owner))
			}
		}
	}
	check("a session without a specialist", appendData(nil, &holds.Event{Kind: holds.EventSession, SessionID: "session-1", Reason: "requested", ExpiresAt: at}, ""))
	check("init", appendInit(nil, "connection-1", time.Minute, "epoch1"))
	check("connected", appendConnected(nil, 9))
	check("ping", []byte(pingFrame))
	check("a live hold", appendHold(nil, &holds.Hold{ID: "hold-1", Span: span, ExpiresAt: at}, client))
	check("a selection", appendLook(nil, &holds.Selection{Span: span}, ""))
	for _, reason := range constants(t, "frame.go", "endReason") {
		// never sent, because the client has disconnected
		if reason != string(endClientAbort) && reason != string(endClientCancel) {
			check("end", appendEnd(nil, endReason(reason), "connection-1"))
		}
	}
	for _, frame := range schema.OneOf {
		for _, kind := range frame.Value.Properties["type"].Value.Enum {
			if !said[kind.(string)] {
				t.Errorf("the frame %s is described, but never sent", kind)
			}
		}
	}
}

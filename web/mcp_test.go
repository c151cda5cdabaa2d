package web_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdfast/engine/account"
	"holdfast/store"
)

// bearer adds a key to every request.
type bearer struct{ key string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return http.DefaultTransport.RoundTrip(r)
}

// assistant returns an MCP client, like the one in the host program of a language model.
func assistant(t *testing.T, h *house) *mcp.ClientSession {
	t.Helper()
	ctx := context.Background()
	_, key, err := h.engine.Account.CreateAPIKey(ctx, "system",
		account.NewAPIKey{Name: "assistant", Scope: store.ScopeAgent})
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: h.server.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer{key}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// tool calls a tool and decodes its response. failed reports whether the tool returned an error.
func tool(t *testing.T, s *mcp.ClientSession, name string,
	in map[string]any) (out map[string]any, text string, failed bool) {
	t.Helper()
	answer, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, c := range answer.Content {
		if x, ok := c.(*mcp.TextContent); ok {
			text += x.Text
		}
	}
	if strings.Contains(text, "..") {
		t.Errorf("%s says %q, with two full stops", name, text)
	}
	raw, _ := json.Marshal(answer.StructuredContent)
	_ = json.Unmarshal(raw, &out)
	return out, text, answer.IsError
}

func TestMCPBooksMovesAndCancels(t *testing.T) {
	h := newHouse(t)
	s := assistant(t, h)
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list.Tools {
		names = append(names, x.Name)
	}
	if got := strings.Join(names, " "); got != "book booking_status cancel find_slots hold_slot reschedule" {
		t.Errorf("the tools are %s", got)
	}

	types, _, _ := tool(t, s, "find_slots", nil)
	if n := len(types["appointmentTypes"].([]any)); n != 4 {
		t.Errorf("find_slots lists %d types, want 4", n)
	}
	found, _, _ := tool(t, s, "find_slots", map[string]any{"appointmentTypeId": "checkup",
		"from": h.start.Format("2006-01-02")})
	slots := found["slots"].([]any)
	offer := func(i int) string { return slots[i].(map[string]any)["bookingToken"].(string) }

	held, _, failed := tool(t, s, "hold_slot", map[string]any{"bookingToken": offer(0), "sessionId": "call-1"})
	if failed || held["holdId"] == "" {
		t.Fatalf("hold_slot: %v", held)
	}
	if _, text, failed := tool(t, s, "hold_slot", map[string]any{"bookingToken": offer(0),
		"sessionId": "call-2"}); !failed || !strings.Contains(text, "slot_held") {
		t.Errorf("another session's hold: %q, want slot_held", text)
	}
	book := map[string]any{"bookingToken": offer(0), "firstName": "Lena", "lastName": "Vogt", "phone": "030 1234567",
		"sessionId": "call-1"}
	booked, text, failed := tool(t, s, "book", book)
	if failed || booked["status"] != "confirmed" || booked["manageToken"] == "" {
		t.Fatalf("book: %v %s", booked, text)
	}
	if message, _ := booked["message"].(string); strings.Contains(message, "GUID") ||
		!strings.Contains(message, booked["spoken"].(string)) {
		t.Errorf("book returns %q, want the sentence for the caller with %q", message, booked["spoken"])
	}
	other := map[string]any{"bookingToken": offer(0), "firstName": "Per", "lastName": "Lind", "phone": "030 7654321"}
	if refused, _, _ := tool(t, s, "book", other); refused["status"] != "refused" {
		t.Errorf("a used token for another patient: %v, want an error", refused)
	}
	tampered := offer(1)[:20] + "x" + offer(1)[21:]
	if tampered == offer(1) {
		tampered = offer(1)[:20] + "y" + offer(1)[21:]
	}
	if _, text, failed := tool(t, s, "hold_slot", map[string]any{"bookingToken": tampered,
		"sessionId": "call-1"}); !failed || !strings.Contains(text, "bookingToken") {
		t.Errorf("a miscopied token: %q, want an error that names it", text)
	}

	moved, text, failed := tool(t, s, "reschedule", map[string]any{"manageToken": booked["manageToken"],
		"bookingToken": offer(2)})
	if failed || moved["slotStartDate"] != slots[2].(map[string]any)["slotStartDate"] {
		t.Fatalf("reschedule: %v %s", moved, text)
	}
	// An assistant that did not receive the response repeats the call, and gets the same response with the new token.
	again, text, failed := tool(t, s, "reschedule", map[string]any{"manageToken": booked["manageToken"],
		"bookingToken": offer(2)})
	if failed || !maps.Equal(again, moved) {
		t.Errorf("the repeated move: got %v %s, want the answer of the first: %v", again, text, moved)
	}
	// Every tool refuses the token from before the move, with the message for a patient's old link.
	rest := h.do("GET", "/v1/appointments/"+booked["appointmentId"].(string), nil,
		header{"Holdfast-Manage": booked["manageToken"].(string)}).problem(401, "unauthorized")
	for _, name := range []string{"booking_status", "reschedule", "cancel"} {
		in := map[string]any{"manageToken": booked["manageToken"]}
		if name == "reschedule" {
			in["bookingToken"] = offer(3)
		}
		if _, text, failed := tool(t, s, name, in); !failed ||
			!strings.Contains(text, `"unauthorized","detail":"`+rest.text("detail")) {
			t.Errorf("%s with the token from before the move: %q, want the answer of REST: %q", name, text,
				rest.text("detail"))
		}
	}
	for range 2 {
		if gone, _, _ := tool(t, s, "cancel", map[string]any{"manageToken": moved["manageToken"],
			"reason": "better now"}); gone["status"] != "cancelled" {
			t.Errorf("cancel: %v", gone)
		}
	}
	if status, _, _ := tool(t, s, "booking_status",
		map[string]any{"manageToken": moved["manageToken"]}); status["status"] != "cancelled" {
		t.Errorf("booking_status: %v, want cancelled", status)
	}
}

// TestMCPDescribesArguments: a model receives the clinic's name, time zone and date, and the allowed values of each
// field. The server refuses other values.
func TestMCPDescribesArguments(t *testing.T) {
	h := newHouse(t)
	s := assistant(t, h)
	clinic, today := h.engine.Clinic.Schedule().Clinic.Name,
		time.Now().In(h.engine.Clinic.Zone()).Format("Monday, 2006-01-02")
	for _, want := range []string{clinic, h.engine.Clinic.Zone().String(), today} {
		if got := s.InitializeResult().Instructions; !strings.Contains(got, want) {
			t.Errorf("the instructions do not contain %q: %s", want, got)
		}
	}
	if types, _, _ := tool(t, s, "find_slots", nil); types["clinic"] != clinic || types["today"] != today ||
		types["timezone"] != h.engine.Clinic.Zone().String() {
		t.Errorf("find_slots returns %v", types)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]map[string]any{}
	for _, x := range list.Tools {
		raw, _ := json.Marshal(x.InputSchema)
		var schema struct {
			Properties map[string]any `json:"properties"`
		}
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatal(err)
		}
		schemas[x.Name] = schema.Properties
		for field, p := range schema.Properties {
			bounded := false
			for _, bound := range []string{"enum", "minimum", "maxLength", "pattern"} {
				bounded = bounded || p.(map[string]any)[bound] != nil
			}
			if !bounded {
				t.Errorf("%s.%s has neither an enumeration nor limits: %v", x.Name, field, p)
			}
		}
	}
	find := schemas["find_slots"]
	if got := find["appointmentTypeId"].(map[string]any)["enum"]; len(got.([]any)) != 4 {
		t.Errorf("the enumeration of appointmentTypeId is %v, want the four active types", got)
	}
	// The message of a booking for a child contains this placeholder, in every language.
	child, _ := schemas["book"]["childName"].(map[string]any)
	if said, _ := child["description"].(string); !strings.Contains(said, "{childName}") {
		t.Errorf("childName: %v, want what to do with {childName} in the message", child)
	}
	if got := find["days"].(map[string]any); got["minimum"] != 1.0 || got["maximum"] != 31.0 {
		t.Errorf("days: %v, want 1 to 31", got)
	}
	for field, value := range map[string]any{"days": 32, "count": 0, "partOfDay": "evening", "from": "tomorrow", "appointmentTypeId": "nobody"} {
		in := map[string]any{"appointmentTypeId": "checkup"}
		in[field] = value
		answer, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "find_slots", Arguments: in})
		if err == nil && !answer.IsError {
			t.Errorf("find_slots with %s = %v succeeded", field, value)
		}
	}
}

func TestMCPNeedsAnAgentKey(t *testing.T) {
	h := newHouse(t)
	for key, want := range map[string]int{"": 401, "hfk_nonsense": 401} {
		r, _ := http.NewRequest("POST", h.server.URL+"/mcp", strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		if key != "" {
			r.Header.Set("Authorization", "Bearer "+key)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with key %q: %d, want %d", key, answer.StatusCode, want)
		}
	}
}

// TestMCPSpeaksOneLanguage: a conversation uses one language. The responses of every booking tool are in the language
// of the clinic's agents.
func TestMCPSpeaksOneLanguage(t *testing.T) {
	for language, words := range map[string]map[string]string{
		"en": {"booked": "You are booked", "moved": "Your appointment was moved", "cancelled": "was cancelled"},
		"de": {"booked": "ist gebucht", "moved": "wurde verschoben", "cancelled": "wurde abgesagt"},
		"es": {"booked": "está reservada", "moved": "se ha cambiado", "cancelled": "se ha cancelado"},
	} {
		t.Run(language, func(t *testing.T) {
			h := newHouse(t)
			h.do("PATCH", "/v1/settings", map[string]any{"agentTexts": map[string]any{"language": language}},
				asAdmin).want(200)
			s := assistant(t, h)
			found, _, _ := tool(t, s, "find_slots", map[string]any{"appointmentTypeId": "checkup", "count": 3})
			offer := func(i int) any { return found["slots"].([]any)[i].(map[string]any)["bookingToken"] }
			check := func(name, of string, in map[string]any) any {
				t.Helper()
				out, text, failed := tool(t, s, name, in)
				message, _ := out["message"].(string)
				if spoken, _ := out["spoken"].(string); failed || !strings.Contains(message, words[of]) ||
					spoken == "" || !strings.Contains(message, spoken) {
					t.Fatalf("%s returns %q (%s), want %q with the time", name, message, text, words[of])
				}
				return out["manageToken"]
			}
			token := check("book", "booked", map[string]any{"bookingToken": offer(0),
				"firstName": "Lena", "lastName": "Vogt", "phone": "030 1234567", "sessionId": "call-1"})
			check("booking_status", "booked", map[string]any{"manageToken": token})
			token = check("reschedule", "moved", map[string]any{"manageToken": token, "bookingToken": offer(2)})
			check("cancel", "cancelled", map[string]any{"manageToken": token})
			check("booking_status", "cancelled", map[string]any{"manageToken": token})
		})
	}
}

package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// TestAgentRoutesIgnoreUnknownFields: a language model adds extra fields. The response names them, and they have no
// effect, even if one differs from a known field only in case. Other routes refuse them.
func TestAgentRoutesIgnoreUnknownFields(t *testing.T) {
	h := newHouse(t)
	key := h.key("agent")
	patient := `"firstName":"Jane","lastName":"Roe","FIRSTNAME":"Mallory","reasoning":{"why":["because","\"}"]},"a<b":null,"sessionId":"call"`
	r := h.do("POST", "/v1/agent/patients", "{"+patient+"}", key).want(200)
	want := []string{
		`The field "FIRSTNAME" is unknown and was ignored.`,
		`The field "reasoning" is unknown and was ignored.`,
		`The field "a<b" is unknown and was ignored.`,
	}
	warned := func(r *reply) (list []string) {
		all, _ := r.get("warnings").([]any)
		for _, w := range all {
			list = append(list, w.(string))
		}
		return list
	}
	if got := warned(r); !slices.Equal(got, want) {
		t.Errorf("the warnings are %q, want %q", got, want)
	}
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup",
		"from": h.start.Format(time.DateOnly), "surprise": 1}, key).want(200)
	if len(warned(slots)) != 1 {
		t.Errorf("slots: %s", slots.raw)
	}
	token := slots.get("slots").([]any)[0].(map[string]any)["bookingToken"]
	body := map[string]any{"patientGUID": r.text("patientGUID"), "bookingAuthToken": r.text("bookingAuthToken"),
		"bookingToken": token, "confidence": 0.9}
	once := header{"Idempotency-Key": "once"}
	first := h.do("POST", "/v1/agent/appointments", body, key, once).want(200)
	again := h.do("POST", "/v1/agent/appointments", body, key, once).want(200)
	if len(warned(first)) != 1 || first.raw != again.raw {
		t.Errorf("booked: %s\nrepeated: %s", first.raw, again.raw)
	}
	list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{})
	if err != nil || len(list) != 1 || list[0].Patient.Name != "Jane Roe" {
		t.Errorf("booked %+v, %v; want Jane Roe", list, err)
	}
	if r := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup"},
		key).want(200); r.get("warnings") != nil {
		t.Errorf("a body without unknown fields: %s", r.raw)
	}
	// Other errors are refused as usual, and the response includes the warnings.
	bad := h.do("POST", "/v1/agent/slots", `{"surprise":1,"appointmentTypeId":"checkup","days":"many"}`,
		key).problem(422, "validation_failed")
	bad.field("days")
	if len(warned(bad)) != 1 {
		t.Errorf("refused: %s", bad.raw)
	}
	h.do("POST", "/v1/agent/slots", `{"from":"2026-01-01","from":"2026-01-02"}`, key).problem(400, "malformed_body")
	many := make([]string, 100)
	for i := range many {
		many[i] = fmt.Sprintf(`"word%d":1`, i)
	}
	if r := h.do("POST", "/v1/agent/patients", `{`+patient+`,`+strings.Join(many, ",")+`}`,
		key).want(200); len(warned(r)) != 20 {
		t.Errorf("%d warnings, want at most 20", len(warned(r)))
	}
	h.do("POST", "/v1/holds", `{"surprise":1}`).problem(400, "malformed_body")
}

// TestAgentAnswersHaveGuidance: successful responses contain guidance, and so do refusals that occur before the body is
// parsed.
func TestAgentAnswersHaveGuidance(t *testing.T) {
	h := newHouse(t)
	key := h.key("agent")
	plain := header{"Content-Type": "text/plain"}
	for _, c := range []struct {
		name, method, path string
		body               any
		with               []header
		status             int
		errorType, state   string // state: the error_type of the guidance
	}{
		{"no JSON", "POST", "/v1/agent/appointments", "{", []header{key}, 400, "MALFORMED_BODY", "invalid_request"},
		{"empty", "POST", "/v1/agent/slots", "", []header{key}, 400, "MALFORMED_BODY", "invalid_request"},
		{"a list", "POST", "/v1/agent/patients", "[]", []header{key}, 400, "MALFORMED_BODY", "invalid_request"},
		{"a wrong kind", "POST", "/v1/agent/patients", `{"firstName":7}`, []header{key}, 422, "VALIDATION_FAILED",
			"invalid_request"},
		{"not declared as JSON", "POST", "/v1/agent/patients", "{}", []header{key, plain}, 415,
			"UNSUPPORTED_MEDIA_TYPE", "invalid_request"},
		{"too large", "POST", "/v1/agent/patients", strings.Repeat(" ", 65<<10) + "{}", []header{key}, 413,
			"PAYLOAD_TOO_LARGE", "invalid_request"},
		{"no key", "POST", "/v1/agent/slots", "{}", nil, 401, "UNAUTHORIZED", "not_allowed"},
		{"a key of another scope", "POST", "/v1/agent/slots", "{}", []header{h.key("presence")}, 403, "FORBIDDEN",
			"not_allowed"},
		{"no such route", "POST", "/v1/agent/nothing", "{}", []header{key}, 404, "NOT_FOUND", "invalid_request"},
		{"another method", "GET", "/v1/agent/slots", nil, []header{key}, 405, "METHOD_NOT_ALLOWED", "invalid_request"},
		{"no such operation", "GET", "/v1/agent/operations/op-1-unknown", nil, []header{key}, 404, "NOT_FOUND",
			"operation_not_found"},
		{"no token", "POST", "/v1/agent/appointments", "{}", []header{key}, 401, "BOOKING_AUTH_MISSING",
			"booking_auth_failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.t = t
			r := h.do(c.method, c.path, c.body, c.with...)
			if r.status != c.status || r.get("success") != false || r.text("error_type") != c.errorType ||
				r.text("llm_guidance", "error_type") != c.state ||
				r.text("llm_guidance", "voice_response") == "" || r.get("llm_guidance", "recovery_steps") == nil {
				t.Errorf("got %d %s, want %d, %s and guidance for %s", r.status, r.raw, c.status, c.errorType, c.state)
			}
		})
	}
	h.t = t
	if r := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup"},
		key).want(200); r.get("success") != true || r.get("error_type") != nil {
		t.Errorf("slots: %s", r.raw)
	}
}

// TestAgentNeedsPatient: the request names no patient, and the response lists the data to ask for.
func TestAgentNeedsPatient(t *testing.T) {
	h := newHouse(t)
	key := h.key("agent")
	jane := map[string]any{"firstName": "Jane", "lastName": "Canaroe", "birthDate": "1980-03-31",
		"phone": "030 5550199"}
	first := h.do("POST", "/v1/agent/patients", jane, key).want(200)
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup",
		"from": h.start.Format(time.DateOnly)}, key).want(200)
	h.do("POST", "/v1/agent/appointments", map[string]any{
		"patientGUID": first.text("patientGUID"), "bookingAuthToken": first.text("bookingAuthToken"),
		"bookingToken": slots.get("slots").([]any)[0].(map[string]any)["bookingToken"],
	}, key).want(200)
	guid := map[string]any{"patientGUID": first.text("patientGUID"), "birthDate": "03/31/1980"}
	if again := h.do("POST", "/v1/agent/patients", guid,
		h.key("agent")).want(200); again.text("patientGUID") != first.text("patientGUID") {
		t.Errorf("by GUID and date of birth: %s", again.raw)
	}
	for _, c := range []struct {
		body              map[string]any
		status            int
		errorType, action string
	}{
		{with(guid, "birthDate", "1980-03-30"), 404, "PATIENT_NOT_FOUND", "ask_for_name_birth_date_and_phone"},
		{map[string]any{"firstName": "Jane", "lastName": "Canaroe", "phone": "0305550199"}, 409, "PATIENT_AMBIGUOUS",
			"ask_for_birth_date"},
	} {
		r := h.do("POST", "/v1/agent/patients", c.body, key)
		if r.status != c.status || r.get("success") != false || r.text("error_type") != c.errorType ||
			r.text("llm_guidance", "action_required") != c.action || strings.Contains(r.raw, "Canaroe") {
			t.Errorf("got %d %s, want %d, %s and %s, and no name", r.status, r.raw, c.status, c.errorType, c.action)
		}
	}
	r := h.do("POST", "/v1/agent/patients", map[string]any{"patientGUID": first.text("patientGUID")}, key).problem(422,
		"validation_failed")
	r.field("birthDate")
}

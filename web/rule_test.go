package web_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/message"
	"holdfast/engine/notice"
)

// ruleProgram is the program of a clinic's booking rule. It returns the responses that the test sets, and records the
// calls.
type ruleProgram struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	answer string
	calls  []*http.Request
	bodies []string
}

func newRuleProgram(t *testing.T) *ruleProgram {
	p := &ruleProgram{status: http.StatusOK}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		p.calls, p.bodies = append(p.calls, r), append(p.bodies, string(body))
		status, answer := p.status, p.answer
		p.mu.Unlock()
		if answer == "hang" {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *ruleProgram) says(status int, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.answer = status, answer
}

// heard returns the number of calls so far, and the request and the body of the last call.
func (p *ruleProgram) heard() (n int, last *http.Request, body string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n = len(p.calls); n == 0 {
		return 0, nil, ""
	}
	return n, p.calls[n-1], p.bodies[n-1]
}

// ruledHouse returns a house whose booking rule calls the returned program. The timeout is 2 s unless rule sets
// another.
func ruledHouse(t *testing.T, rule map[string]any) (*house, *ruleProgram) {
	p := newRuleProgram(t)
	h := newHouseOf(t, engine.Options{Notices: message.Transport{Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true})}})
	settings := map[string]any{"url": p.URL, "timeoutMillis": 2000}
	maps.Copy(settings, rule)
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": settings}, asAdmin).want(200)
	return h, p
}

// booking returns the body of the nth patient's booking, 30 minutes after the previous patient's.
func (h *house) booking(n int) map[string]any {
	return map[string]any{"clientId": client(n), "slotStartDate": h.at(30 * n), "specialistId": "ada", "patient": patient(n)}
}

// TestBookingRuleAllows: the program gets one signed call before a patient's booking, without the patient's data unless
// the clinic chooses to send it. Bookings by staff and by programs with an admin key make no call, and neither do
// repeated requests.
func TestBookingRuleAllows(t *testing.T) {
	secret := notice.NewWebhookSecret()
	h, p := ruledHouse(t, map[string]any{"secret": secret})
	p.says(200, `{"decision": "allow"}`)
	first := h.do("POST", bookCheckup, h.booking(0), key("first")).want(201)
	n, call, body := p.heard()
	if n != 1 {
		t.Fatalf("got %d calls, want 1", n)
	}
	var sent struct {
		Type string
		Data struct {
			AppointmentTypeID, SpecialistID, SlotStartDate, Source string
			Patient                                                map[string]string
		}
	}
	if err := json.Unmarshal([]byte(body), &sent); err != nil {
		t.Fatal(err)
	}
	if d := sent.Data; sent.Type != "booking.check" || d.AppointmentTypeID != "checkup" || d.SpecialistID != "ada" || d.SlotStartDate != h.at(0) ||
		d.Source != "web" || d.Patient != nil {
		t.Errorf("the call is %s", body)
	}
	at, _ := strconv.ParseInt(call.Header.Get("webhook-timestamp"), 10, 64)
	if want, err := notice.Sign(secret, call.Header.Get("webhook-id"), time.Unix(at, 0), []byte(body)); err != nil || call.Header.Get("webhook-signature") != want {
		t.Errorf("signed %q, want %q, %v", call.Header.Get("webhook-signature"), want, err)
	}
	if again := h.do("POST", bookCheckup, h.booking(0), key("first")).want(201); again.raw != first.raw {
		t.Errorf("repeated: got %s, want %s", again.raw, first.raw)
	}
	h.do("POST", bookCheckup, h.booking(1), asAdmin).want(201)
	h.do("POST", "/v1/appointments", with(h.booking(2), "appointmentTypeId", "checkup"), h.signedIn("desk@clinic.example", "reception", "")).want(201)
	if n, _, _ := p.heard(); n != 1 {
		t.Errorf("a repeat, a program and the desk caused %d calls, want none", n-1)
	}
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{"sendPatient": true}}, asAdmin).want(200)
	h.do("POST", bookCheckup, h.booking(3)).want(201)
	if _, _, body := p.heard(); !strings.Contains(body, `"patient":{"name":"Patient 3"`) {
		t.Errorf("with the patient, the call is %s", body)
	}
	h.do("POST", bookCheckup, with(h.booking(4), "patient", map[string]any{})).problem(422, "validation_failed")
	if n, _, _ := p.heard(); n != 2 {
		t.Errorf("an invalid booking caused %d calls, want none", n-2)
	}
}

// TestBookingRuleIgnoresRepeats: a repeated request gets the first response without another call, even if another
// specialist is still free at that time and the program would now decide differently.
func TestBookingRuleIgnoresRepeats(t *testing.T) {
	for first, status := range map[string]int{"allow": 201, "approve": 202} {
		t.Run(first, func(t *testing.T) {
			h, p := ruledHouse(t, map[string]any{})
			body := h.booking(0)
			delete(body, "specialistId")
			p.says(200, `{"decision": "`+first+`"}`)
			answer := h.do("POST", bookCheckup, body, key("once")).want(status)
			for _, again := range []string{"allow", "approve", "refuse"} {
				p.says(200, `{"decision": "`+again+`", "reason": "You already have an appointment."}`)
				if r := h.do("POST", bookCheckup, body, key("once")).want(status); r.raw != answer.raw {
					t.Errorf("repeated with %s: got %s, want %s", again, r.raw, answer.raw)
				}
			}
			if n, _, _ := p.heard(); n != 1 {
				t.Errorf("the program got %d calls, want 1", n)
			}
		})
	}
}

// TestBookingRuleRefuses: the patient reads the program's reason, the client keeps its hold, and the refusal is counted.
func TestBookingRuleRefuses(t *testing.T) {
	h, p := ruledHouse(t, map[string]any{})
	p.says(200, `{"decision": "refuse", "reason": " Please bring a referral. "}`)
	held := h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "clientId": client(0)}).want(201)
	body := with(h.booking(0), "holdId", held.text("holdId"))
	refused := h.do("POST", bookCheckup, body, key("once")).problem(409, "not_bookable")
	if refused.text("reason") != "clinic_rule" || refused.text("detail") != "Please bring a referral." {
		t.Errorf("got %s", refused.raw)
	}
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "clientId": client(1)}).problem(409, "slot_held")
	p.says(200, `{"decision": "allow"}`)
	h.do("POST", bookCheckup, body, key("once")).want(201)
	p.says(200, `{"decision": "refuse", "reason": "No."}`)
	h.do("POST", bookCheckup, h.booking(1)).problem(409, "not_bookable")
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(30), "clientId": client(2)}).want(201)
	rule := h.do("GET", "/v1/settings/booking-rule", nil, asAdmin).want(200)
	if rule.get("bookingRule", "calls", "refused") != 2.0 || rule.get("bookingRule", "calls", "allowed") != 1.0 || rule.get("bookingRule", "lastFailure") != nil {
		t.Errorf("the counts are %s", rule.raw)
	}
	metrics := h.do("GET", "/metrics", nil, asAdmin).want(200).raw
	for _, line := range []string{`holdfast_booking_rule_total{outcome="refused"} 2`, `holdfast_refusals_total{act="book",reason="clinic_rule"} 2`} {
		if !strings.Contains(metrics, line) {
			t.Errorf("the metrics have no %s", line)
		}
	}
}

// TestBookingRuleAsksForApproval: the booking becomes a request that only the desk can confirm, with and without a
// hold.
func TestBookingRuleAsksForApproval(t *testing.T) {
	h, p := ruledHouse(t, map[string]any{})
	p.says(200, `{"decision": "approve"}`)
	asked := h.do("POST", bookCheckup, h.booking(0)).want(202)
	if asked.get("request", "approval") != true {
		t.Errorf("got %s, want a request for approval", asked.raw)
	}
	if n, _, _ := p.heard(); n != 1 {
		t.Errorf("the program got %d calls, want 1", n)
	}
	h.do("POST", bookCheckup, with(h.booking(1), "slotStartDate", h.at(0))).problem(409, "slot_held")
	if a := h.do("POST", "/v1/requests/"+asked.text("request", "id")+"/confirm", nil, asAdmin).want(200); a.text("appointment", "status") != "confirmed" {
		t.Errorf("got %s", a.raw)
	}
	held := h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(60), "clientId": client(2)}).want(201)
	h.do("POST", bookCheckup, with(h.booking(2), "holdId", held.text("holdId"))).want(202)

	h.do("PATCH", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": true}}, asAdmin).want(200)
	if r := h.do("POST", bookCheckup, h.booking(3)).want(202); r.get("request", "approval") != true {
		t.Errorf("where patients confirm by email: got %s, want a request for approval", r.raw)
	}
	p.says(200, `{"decision": "refuse", "reason": "No."}`)
	h.do("POST", bookCheckup, h.booking(4)).problem(409, "not_bookable")
}

// TestBookingRuleFails: without a valid response in time, the rule's onFailure applies, and the failure is visible.
func TestBookingRuleFails(t *testing.T) {
	for name, tt := range map[string]struct {
		status         int
		answer, detail string
	}{
		"no answer in time":       {200, "hang", "no answer within 200ms"},
		"no program":              {200, "down", "could not be reached"},
		"an error":                {500, `{"decision": "allow"}`, "500"},
		"no JSON":                 {200, "yes", "not JSON"},
		"an unknown decision":     {200, `{"decision": "maybe"}`, "decision"},
		"a refusal without words": {200, `{"decision": "refuse"}`, "reason"},
		"too many words":          {200, `{"decision": "refuse", "reason": "` + strings.Repeat("a", 301) + `"}`, "300"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 2000 // enough for the program's response on a busy machine
			if tt.answer == "hang" {
				timeout = 200
			}
			h, p := ruledHouse(t, map[string]any{"timeoutMillis": timeout})
			p.says(tt.status, tt.answer)
			if tt.answer == "down" {
				p.Close()
			}
			h.do("POST", bookCheckup, h.booking(0)).want(201)
			h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{"onFailure": "refuse"}}, asAdmin).want(200)
			r := h.do("POST", bookCheckup, h.booking(1)).problem(409, "not_bookable")
			if r.text("reason") != "clinic_rule_unavailable" || r.header.Get("Retry-After") == "" {
				t.Errorf("got %s", r.raw)
			}
			rule := h.do("GET", "/v1/settings/booking-rule", nil, asAdmin).want(200)
			if rule.get("bookingRule", "calls", "failed") != 2.0 || !strings.Contains(rule.text("bookingRule", "lastFailure", "detail"), tt.detail) {
				t.Errorf("got %s, want two failures with %q", rule.raw, tt.detail)
			}
			tried := h.do("POST", "/v1/settings/booking-rule/test", map[string]any{"url": p.URL, "timeoutMillis": timeout}, asAdmin).want(200)
			if tried.text("decision") != "failed" || !strings.Contains(tried.text("detail"), tt.detail) {
				t.Errorf("the test: got %s", tried.raw)
			}
		})
	}
}

// TestBookingRuleRefusesPrivateAddress: unless the server allows it, a rule cannot reach this machine or its network,
// either by an address or by a name that resolves to one.
func TestBookingRuleRefusesPrivateAddress(t *testing.T) {
	p := newRuleProgram(t)
	p.says(200, `{"decision": "allow"}`)
	h := newHouseOf(t, engine.Options{Notices: message.Transport{Hooks: notice.NewHooks(notice.HookOptions{})}})
	byName := "https://localhost" + strings.TrimPrefix(p.URL, "http://127.0.0.1") // no program listens for TLS
	for _, address := range []string{p.URL, byName} {
		tried := h.do("POST", "/v1/settings/booking-rule/test", map[string]any{"url": address, "timeoutMillis": 2000}, asAdmin).want(200)
		if tried.text("decision") != "failed" || !strings.Contains(tried.text("detail"), "private address") {
			t.Errorf("%s: got %s, want an error for a private address", address, tried.raw)
		}
	}
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{"url": p.URL, "onFailure": "refuse"}}, asAdmin).want(200)
	if r := h.do("POST", bookCheckup, h.booking(0)).problem(409, "not_bookable"); r.text("reason") != "clinic_rule_unavailable" {
		t.Errorf("got %s", r.raw)
	}
	if n, _, _ := p.heard(); n != 0 {
		t.Errorf("the program got %d calls, want none", n)
	}
}

// TestBookingRuleIsValidated: the fields of a rule have limits, a new rule gets a secret, and a test needs no saved
// rule.
func TestBookingRuleIsValidated(t *testing.T) {
	h, p := ruledHouse(t, map[string]any{})
	p.says(200, `{"decision": "refuse", "reason": "Test."}`)
	saved := h.do("GET", "/v1/settings", nil, asAdmin).want(200)
	if secret := saved.text("settings", "bookingRule", "secret"); !notice.ValidWebhookSecret(secret) {
		t.Errorf("the secret of a new rule is %q", secret)
	}
	for field, value := range map[string]any{"url": "ftp://example.org", "timeoutMillis": 100, "onFailure": "ignore", "secret": "short"} {
		h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{field: value}}, asAdmin).problem(422, "validation_failed").field("bookingRule." + field)
	}
	for _, open := range []string{"http://rules.example.org/booking", "http://203.0.113.7/", "https://", "//127.0.0.1", "http://127.0.0.1 /"} {
		h.do("POST", "/v1/settings/booking-rule/test", map[string]any{"url": open}, asAdmin).problem(422, "validation_failed").field("url")
	}
	if r := h.do("POST", "/v1/settings/booking-rule/test", map[string]any{"url": p.URL}, asAdmin).want(200); r.text("decision") != "refuse" || r.text("reason") != "Test." || r.get("durationMillis") == nil {
		t.Errorf("the test: got %s", r.raw)
	}
	h.do("POST", "/v1/settings/booking-rule/test", map[string]any{}, asAdmin).problem(422, "validation_failed").field("url")
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": nil}, asAdmin).want(200)
	h.do("POST", bookCheckup, h.booking(0)).want(201)
}

// TestBookingRuleAppliesToAgents: if the rule does not allow a booking, the response makes the agent hand the caller
// over to a person.
func TestBookingRuleAppliesToAgents(t *testing.T) {
	p := newRuleProgram(t)
	h, fake := newPractice(t, func(o *engine.Options) { o.Notices.Hooks = notice.NewHooks(notice.HookOptions{AllowPrivate: true}) })
	h.do("PATCH", "/v1/settings", map[string]any{"bookingRule": map[string]any{"url": p.URL, "timeoutMillis": 2000}}, asAdmin).want(200)
	key := h.key("agent")
	who := h.identified(key, "call-1")
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeGUID": upstreamType, "from": h.start.Format("1/2/2006"), "count": "3"}, key).want(200)
	first := slots.get("slots").([]any)[0].(map[string]any)
	book := with(who, "bookingToken", first["bookingToken"])
	for _, answer := range []string{`{"decision": "refuse", "reason": "New patients call us."}`, `{"decision": "approve"}`} {
		p.says(200, answer)
		r := h.do("POST", "/v1/agent/appointments", book, key)
		if r.text("error_type") != "BOOKING_NOT_ACCEPTED" || r.text("llm_guidance", "action_required") != "hand_over_to_person" {
			t.Errorf("%s: got %d %s", answer, r.status, r.raw)
		}
	}
	if n := len(fake.Appointments()); n != 0 {
		t.Errorf("%d appointments were written upstream, want none", n)
	}
	p.says(200, `{"decision": "allow"}`)
	h.do("POST", "/v1/agent/appointments", book, key).want(200)
	p.says(200, `{"decision": "refuse", "reason": "No."}`)
	h.do("POST", "/v1/agent/appointments", book, key).want(200) // the first response again
}

package web_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
	"holdfast/web"
)

const (
	upstreamView   = "11111111-2222-4333-8444-555555555555"
	upstreamColumn = "66666666-7777-4888-8999-000000000000"
	upstreamType   = "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff"
)

// newPractice is like newHouse, but with a practice-management system and short timeouts. The system has ada and
// "checkup".
func newPractice(t testing.TB, change ...func(*engine.Options)) (*house, *upstreamtest.Server) {
	t.Helper()
	ctx := context.Background()
	db, queue := enginetest.Database(t), enginetest.Queue(t)
	live := enginetest.Holds(t, db)
	h := &house{t: t, log: new(lockedBuffer), start: enginetest.Noon(time.UTC, 2)}
	logger := slog.New(slog.NewJSONHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	fake := upstreamtest.New(upstreamtest.Options{Columns: []upstreamtest.Column{{
		ScheduleViewGUID: upstreamView, ScheduleColumnGUID: upstreamColumn, ToHour: 24,
		Weekdays: []time.Weekday{0, 1, 2, 3, 4, 5, 6},
	}}})
	pacer := upstream.NewPacer(time.Millisecond)
	client, err := upstream.New(upstream.Options{
		URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret", Pacer: pacer,
		HTTP: fake.Client(),
	})
	if err != nil {
		t.Fatal(err)
	}
	o := engine.Options{
		Store: db, Holds: live, Queue: queue, AdminKey: adminKey, Logger: logger, Upstream: client, Pacer: pacer,
		Outbound: outbound.Limits{Backoff: 100 * time.Millisecond, Quarantine: 50 * time.Millisecond, MaxAttempts: 2},
		Practice: practice.Limits{RetryDelay: 10 * time.Millisecond},
	}
	for _, c := range change {
		c(&o)
	}
	if h.engine, err = engine.New(ctx, o); err != nil {
		t.Fatal(err)
	}
	file := clinicFile()
	file.Specialists[0].Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: upstreamView,
		ScheduleColumnGUID: upstreamColumn}
	file.AppointmentTypes[0].Upstream = &clinic.UpstreamType{AppointmentTypeGUID: upstreamType}
	if _, err := h.engine.Clinic.Import(ctx, "system", file); err != nil {
		t.Fatal(err)
	}
	if h.web, err = web.New(h.engine, web.Options{Logger: logger, Version: "test"}); err != nil {
		t.Fatal(err)
	}
	h.server = httptest.NewServer(h.web.Handler())
	t.Cleanup(h.server.Close)
	enginetest.Run(t, h.engine.Run, h.web.Run)
	return h, fake
}

// identified identifies an agent's caller and returns the body of a booking with the patient and the token.
func (h *house) identified(key header, call string) map[string]any {
	h.t.Helper()
	r := h.do("POST", "/v1/agent/patients", map[string]any{
		"firstName": "Jane", "lastName": "Canaroe", "birthDate": "1980-03-31", "phone": "030 5550199",
		"email": "canary@example.org", "uui": call, "sessionId": call,
	}, key).want(200)
	return map[string]any{"patientGUID": r.text("patientGUID"), "bookingAuthToken": r.text("bookingAuthToken")}
}

func with(body map[string]any, more ...any) map[string]any {
	body = maps.Clone(body)
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

func fieldsOf(r *reply, path ...string) []string {
	m, _ := r.get(path...).(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// TestAgentAnswersOnTheWire checks the four responses field by field against the wire format.
func TestAgentAnswersOnTheWire(t *testing.T) {
	h, fake := newPractice(t, func(o *engine.Options) { o.DebugReplies = true })
	key := h.key("agent")
	who := h.identified(key, "call-1")
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeGUID": upstreamType,
		"from": h.start.Format("1/2/2006"), "count": "3"}, key).want(200)
	list := slots.get("slots").([]any)
	if len(list) != 3 {
		t.Fatalf("got %d slots, want 3\n%s", len(list), slots.raw)
	}
	first := list[0].(map[string]any)
	if first["scheduleColumnGUID"] != upstreamColumn || first["appointmentTypeGUID"] != upstreamType ||
		first["minutes"] != 30.0 {
		t.Errorf("the slot is %v", first)
	}

	confirmed := h.do("POST", "/v1/agent/appointments", with(who,
		"bookingToken", first["bookingToken"], "childName", "Mia", "note", "DOB: 02/03/2015"), key).want(200)
	if got, want := fieldsOf(confirmed), []string{"_debug",
		"appointmentGUID", "llm_guidance", "message", "noteAdded", "success"}; !slices.Equal(got, want) {
		t.Errorf("confirmed has %v, want %v", got, want)
	}
	if got, want := fieldsOf(confirmed, "llm_guidance"), []string{"action_required",
		"chain_of_action", "current_state", "voice_response"}; !slices.Equal(got, want) {
		t.Errorf("its guidance has %v, want %v", got, want)
	}
	for _, name := range []string{"cloud9_result", "cloud9_status", "attempts", "retried", "spacing_wait_ms",
		"note_result", "timestamp"} {
		if confirmed.get("_debug", name) == nil {
			t.Errorf("its _debug has no %s\n%s", name, confirmed.raw)
		}
	}
	if confirmed.get("noteAdded") != true || confirmed.text("llm_guidance", "current_state") != "CONFIRMATION" ||
		!strings.Contains(confirmed.text("llm_guidance", "voice_response"), first["spoken"].(string)+".") ||
		strings.Contains(confirmed.text("llm_guidance", "voice_response"), "Mia") {
		t.Errorf("confirmed: %s", confirmed.raw)
	}

	slot := with(who, "startTime", list[1].(map[string]any)["startTime"], "scheduleViewGUID", upstreamView,
		"scheduleColumnGUID", strings.ToUpper(upstreamColumn),
		"appointmentTypeGUID", upstreamType, "minutes", 30)
	rejected := h.do("POST", "/v1/agent/appointments", with(slot, "bookingAuthToken", "x.y"), key)
	if rejected.status != 401 || rejected.text("error_type") != "BOOKING_AUTH_SIGNATURE_INVALID" ||
		rejected.text("llm_guidance", "error_type") != "booking_auth_failed" {
		t.Errorf("rejected: %d %s", rejected.status, rejected.raw)
	}
	if got, want := fieldsOf(rejected, "llm_guidance"), []string{"CRITICAL",
		"error_type", "recovery_steps", "voice_response"}; !slices.Equal(got, want) {
		t.Errorf("its guidance has %v, want %v", got, want)
	}
	if got, want := fieldsOf(rejected, "_debug"), []string{"error_type",
		"received_patientGUID", "timestamp"}; !slices.Equal(got, want) {
		t.Errorf("its _debug has %v, want %v", got, want)
	}

	fake.Outcomes(upstreamtest.RateLimited, upstreamtest.RateLimited)
	queued := h.do("POST", "/v1/agent/appointments", slot, key)
	if queued.status != 202 || queued.get("success") != false || queued.get("queued") != true ||
		queued.text("error_type") != "RATE_LIMITED_QUEUED" {
		t.Fatalf("queued: %d %s", queued.status, queued.raw)
	}
	if got, want := fieldsOf(queued, "llm_guidance"), []string{"action_required",
		"chain_of_action", "current_state", "never_do", "next_state", "voice_response"}; !slices.Equal(got, want) {
		t.Errorf("its guidance has %v, want %v", got, want)
	}
	if got, want := fieldsOf(queued, "_debug"), []string{"error_type",
		"last_error", "sync_attempts", "timestamp"}; !slices.Equal(got, want) {
		t.Errorf("its _debug has %v, want %v", got, want)
	}
	operation := queued.text("operationId")
	if !strings.HasPrefix(operation, "op-") {
		t.Errorf("the operation is %q", operation)
	}
	h.eventually("delivered", func() bool {
		return h.do("GET", "/v1/agent/operations/"+operation, nil, key).want(200).text("status") == "completed"
	})
	if done := h.do("GET", "/v1/agent/operations/"+operation, nil, key).want(200); done.text("appointmentGUID") == "" {
		t.Errorf("delivered without a GUID: %s", done.raw)
	}

	fake.Outcomes(upstreamtest.SlotTaken)
	refused := h.do("POST", "/v1/agent/appointments", with(slot, "startTime", list[2].(map[string]any)["startTime"]),
		key)
	if refused.status != 409 || refused.text("error_type") != "SLOT_UNAVAILABLE" ||
		len(refused.get("alternatives").([]any)) != 3 {
		t.Errorf("refused: %d %s", refused.status, refused.raw)
	}

	invalid := h.do("POST", "/v1/agent/appointments", with(who, "startTime", "tomorrow", "minutes", "many"),
		key).problem(422, "validation_failed")
	invalid.field("minutes")
	if invalid.text("error_type") != "VALIDATION_FAILED" || invalid.get("llm_guidance", "recovery_steps") == nil {
		t.Errorf("invalid: %s", invalid.raw)
	}
	h.do("POST", "/v1/agent/appointments", slot).problem(401, "unauthorized")
	h.do("POST", "/v1/agent/appointments", slot, h.key("presence")).problem(403, "forbidden")
	h.do("GET", "/v1/agent/operations/op-1-unknown", nil, key).problem(404, "not_found")
	for _, canary := range []string{"Canaroe", "canary@", "5550199", "Mia"} {
		if strings.Contains(h.log.String(), canary) {
			t.Errorf("the log contains %q", canary)
		}
	}
}

// TestAgentAnswersWithoutDebug: without --debug-replies there is no _debug, and error_type is at the top level.
func TestAgentAnswersWithoutDebug(t *testing.T) {
	h, _ := newPractice(t)
	key := h.key("agent")
	r := h.do("POST", "/v1/agent/appointments", map[string]any{"patientGUID": "3f2504e0-4f89-41d3-9a0c-000000000001"},
		key)
	if r.status != 401 || r.text("error_type") != "BOOKING_AUTH_MISSING" || r.get("_debug") != nil {
		t.Errorf("got %d %s", r.status, r.raw)
	}
}

// TestRepeatReturnsFirstOutcome: a repeat gets the outcome of the first call. It is not "queued" if the first failed,
// and not "busy" if the upstream outcome is unknown.
func TestRepeatReturnsFirstOutcome(t *testing.T) {
	h, fake := newPractice(t, func(o *engine.Options) { o.Outbound.Quarantine = time.Hour })
	key := h.key("agent")
	ask := func(minutes int) func() *reply {
		who := h.identified(key, "call "+strconv.Itoa(minutes))
		at := upstream.FormatTime(h.start.Add(time.Duration(minutes)*time.Minute), time.UTC)
		return func() *reply {
			return h.do("POST", "/v1/agent/appointments", with(who,
				"startTime", at, "scheduleColumnGUID", upstreamColumn, "appointmentTypeGUID", upstreamType), key)
		}
	}
	said := func(r *reply, status int, errorType, state string) {
		t.Helper()
		if r.status != status || r.text("error_type") != errorType ||
			r.text("llm_guidance", "current_state") != state ||
			(r.get("queued") != nil) != (status == 202) || (r.get("operationId") != nil) != (status == 202) {
			t.Errorf("got %d %s, want %d, %s and %s", r.status, r.raw, status, errorType, state)
		}
	}

	fake.Outcomes(slices.Repeat([]upstreamtest.Outcome{upstreamtest.RateLimited}, 4)...)
	book := ask(0)
	first := book()
	said(first, 202, "RATE_LIMITED_QUEUED", "BOOKING_QUEUED")
	h.eventually("given up after two", func() bool {
		return h.do("GET", "/v1/queue-status", nil, asAdmin).want(200).get("failed") == 1.0
	})
	said(book(), 409, "BOOKING_FAILED", "BOOKING_FAILED")
	operation := "/v1/agent/operations/" + first.text("operationId")
	if r := h.do("GET", operation, nil, key).want(200); r.text("status") != "failed" ||
		r.text("llm_guidance", "current_state") != "BOOKING_FAILED" {
		t.Errorf("the operation is %s", r.raw)
	}
	h.do("DELETE", "/v1/queue/"+first.text("operationId"), nil, asAdmin).want(200)
	said(book(), 409, "BOOKING_FAILED", "BOOKING_FAILED")
	gone := h.do("GET", operation, nil, key).problem(404, "not_found")
	if gone.get("success") != false || gone.text("error_type") != "NOT_FOUND" ||
		gone.text("llm_guidance", "voice_response") == "" {
		t.Errorf("a missing operation is %s", gone.raw)
	}

	fake.Outcomes(upstreamtest.LostNotApplied)
	book = ask(60)
	first = book()
	said(first, 202, "OUTCOME_UNKNOWN_QUEUED", "BOOKING_QUEUED")
	again := book()
	said(again, 202, "OUTCOME_UNKNOWN_QUEUED", "BOOKING_QUEUED")
	if again.text("operationId") != first.text("operationId") {
		t.Errorf("the repeat is %s, want the first operation", again.raw)
	}
}

// TestRepeatAfterFailedMove: the practice-management system has a booking, and a later move of the booking fails.
// Repeating the booking request does not report a failure.
func TestRepeatAfterFailedMove(t *testing.T) {
	h, fake := newPractice(t)
	key := h.key("agent")
	who := h.identified(key, "call")
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeGUID": upstreamType,
		"from": h.start.Format("1/2/2006"), "count": "1"}, key).want(200)
	token := slots.get("slots").([]any)[0].(map[string]any)["bookingToken"]
	book := func() *reply {
		return h.do("POST", "/v1/agent/appointments", with(who, "bookingToken", token), key)
	}
	book().want(200)
	list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{})
	if err != nil || len(list) != 1 {
		t.Fatalf("there are %d appointments, %v", len(list), err)
	}
	fake.Outcomes(slices.Repeat([]upstreamtest.Outcome{upstreamtest.RateLimited}, 4)...)
	h.do("POST", "/v1/appointments/"+list[0].ID+"/reschedule",
		map[string]any{"slotStartDate": h.at(26 * 60), "ignoreHours": true}, asAdmin).want(200)
	h.eventually("the move is given up", func() bool {
		return h.do("GET", "/v1/queue-status", nil, asAdmin).want(200).get("failed") == 1.0
	})
	if r := book(); r.status != 202 || r.text("llm_guidance", "current_state") != "BOOKING_REVIEW" {
		t.Errorf("the repeat got %d %s, want a state that a person must check", r.status, r.raw)
	}
}

// TestQueueOnTheWire: only callers with permission see the queue. Only the front desk sees names and makes decisions.
func TestQueueOnTheWire(t *testing.T) {
	h, fake := newPractice(t)
	key := h.key("agent")
	fake.Outcomes(slices.Repeat([]upstreamtest.Outcome{upstreamtest.RateLimited}, 4)...)
	who := h.identified(key, "call")
	queued := h.do("POST", "/v1/agent/appointments", with(who,
		"startTime", upstream.FormatTime(h.start, time.UTC), "scheduleColumnGUID", upstreamColumn,
		"appointmentTypeGUID", upstreamType, "childName", "Mia Canary"), key)
	if queued.status != 202 {
		t.Fatalf("got %d %s", queued.status, queued.raw)
	}
	id := queued.text("operationId")
	for kind, want := range map[string]float64{"": 1, "?kind=bookings": 1, "?kind=upstream.book": 1,
		"?kind=upstream.cancel": 0, "?kind=mail": 0, "?kind=webhook": 0, "?kind=all": 1} {
		if got := h.do("GET", "/v1/queue-status"+kind, nil, asAdmin).want(200).get("total"); got != want {
			t.Errorf("queue-status%s counts %v, want %v", kind, got, want)
		}
	}
	h.do("GET", "/v1/queue-status?kind=pigeon", nil, asAdmin).problem(422, "validation_failed").field("kind")
	h.do("GET", "/v1/queue-status", nil).problem(401, "unauthorized")
	h.do("GET", "/v1/queue-status", nil, h.key("presence")).problem(403, "forbidden")
	seen := h.do("GET", "/v1/queue-status", nil, key).want(200)
	if strings.Contains(seen.raw, "childName") || strings.Contains(seen.raw, "Canary") || seen.get("total") != 1.0 {
		t.Errorf("an agent gets %s", seen.raw)
	}
	for path, want := range map[string]float64{"": 1, "?kind=all": 1, "?kind=mail": 0, "?status=pending&limit=1": 1} {
		if got := h.do("GET", "/v1/queue-status"+path, nil, key).want(200).get("total"); got != want {
			t.Errorf("the agent that booked gets %v with %q, want %v", got, path, want)
		}
	}
	if other := h.do("GET", "/v1/queue-status?kind=all", nil, h.key("agent")).want(200); other.get("total") != 0.0 ||
		len(other.get("operations").([]any)) != 0 {
		t.Errorf("another agent gets %s, want only its own operations", other.raw)
	}
	h.eventually("given up after two", func() bool {
		return h.do("GET", "/v1/queue-status", nil, asAdmin).want(200).get("failed") == 1.0
	})
	full := h.do("GET", "/v1/queue-status?status=failed", nil, asAdmin).want(200)
	op := full.get("operations").([]any)[0].(map[string]any)
	if op["id"] != id || op["childName"] != "Mia Canary" || op["attempts"] != 2.0 || op["maxAttempts"] != 2.0 ||
		op["kind"] != "upstream.book" ||
		op["startTime"] != upstream.FormatTime(h.start, time.UTC) || op["lastError"] == nil ||
		op["nextRetryAt"] != nil {
		t.Errorf("an admin gets %v", op)
	}
	h.do("POST", "/v1/queue/"+id+"/retry", nil, key).problem(403, "forbidden")
	h.do("POST", "/v1/queue/"+id+"/review", map[string]any{"decision": "exists"}, asAdmin).problem(409,
		"operation_state")
	h.do("POST", "/v1/queue/"+id+"/review", map[string]any{"decision": "perhaps"}, asAdmin).problem(422,
		"validation_failed")
	h.do("POST", "/v1/queue/op-1-unknown/retry", nil, asAdmin).problem(404, "not_found")
	again := h.do("POST", "/v1/queue/"+id+"/retry", nil, asAdmin, header{"Idempotency-Key": "again"}).want(200)
	if again.get("ok") != true || again.text("operation", "id") != id {
		t.Errorf("retried: %s", again.raw)
	}
	h.eventually("delivered", func() bool {
		return h.do("GET", "/v1/queue-status", nil, asAdmin).want(200).get("completed") == 2.0
	}) // the booking and its note
	h.do("POST", "/v1/queue/"+id+"/retry", nil, asAdmin).problem(409, "operation_state")
	if repeat := h.do("POST", "/v1/queue/"+id+"/retry", nil, asAdmin,
		header{"Idempotency-Key": "again"}).want(200); repeat.raw != again.raw {
		t.Errorf("repeated under its key: got %s, want %s again", repeat.raw, again.raw)
	}
	h.do("DELETE", "/v1/queue/"+id, nil, asAdmin).want(200)
	if left := h.do("GET", "/v1/queue-status", nil, asAdmin).want(200); left.get("total") != 1.0 {
		t.Errorf("left: %s", left.raw)
	}
	h.do("DELETE", "/v1/queue/"+id, nil, asAdmin).problem(404, "not_found")
	list, _, err := h.engine.Booking.Appointments(t.Context(), store.AppointmentFilter{})
	if err != nil || len(list) != 1 || list[0].Status != store.Confirmed {
		t.Errorf("the appointment is %+v, %v; want it unchanged", list, err)
	}
}

// TestAgentsWithoutPracticeSystem: a server without a practice-management system serves agents from its own calendar,
// and the status of the queue shows this.
func TestAgentsWithoutPracticeSystem(t *testing.T) {
	h := newHouse(t)
	key := h.key("agent")
	who := h.identified(key, "call")
	slots := h.do("POST", "/v1/agent/slots", map[string]any{"appointmentTypeId": "checkup",
		"from": h.start.Format(time.DateOnly), "partOfDay": "morning"}, key).want(200)
	slot := slots.get("slots").([]any)[0].(map[string]any)
	a := h.do("POST", "/v1/agent/appointments", with(who,
		"startTime", slot["startTime"], "scheduleViewGUID", slot["scheduleViewGUID"],
		"scheduleColumnGUID", slot["scheduleColumnGUID"], "appointmentTypeGUID", slot["appointmentTypeGUID"], "minutes",
		slot["minutes"]), key).want(200)
	if a.text("appointmentGUID") == "" || a.get("_debug") != nil {
		t.Errorf("got %s", a.raw)
	}
	if q := h.do("GET", "/v1/queue-status", nil, asAdmin).want(200); q.get("total") != 0.0 {
		t.Errorf("the queue is %s", q.raw)
	}
}

// eventually fails the test unless ok returns true within a minute, which is enough for a busy machine.
func (h *house) eventually(what string, ok func() bool) {
	h.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Minute); !ok(); <-tick.C {
		if time.Now().After(end) {
			h.t.Fatalf("still not: %s", what)
		}
	}
}

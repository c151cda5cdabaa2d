package web_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// mistakenBody is a request body with a value of the wrong JSON type and, if the operation has other fields that can be
// invalid, other invalid values.
type mistakenBody struct {
	operation string // method and pattern, as in docs/api/openapi.yaml
	path      string // default: the pattern
	body      string // the test replaces $ and names in capitals with values
	want      string // the fields of the errors
	as        string // "" is an admin; or public, owner, agent
}

// mistakenBodies has a row for every operation with a body.
var mistakenBodies = []mistakenBody{
	{"POST /v1/absences", "", `{"specialistId": 5, "start": "x", "end": "x", "reason": "$LONG", "choices": [{"slotStartDate": "x"}]}`,
		"choices[0].slotStartDate end reason specialistId start", ""},
	{"POST /v1/absences/plan", "", `{"specialistId": 5, "start": "x", "end": "x", "reason": "$LONG"}`, "end reason specialistId start", ""},
	{"POST /v1/agent/appointments", "", `{"patientGUID": 5, "minutes": "x", "startTime": {}}`, "minutes patientGUID startTime", "agent"},
	{"POST /v1/agent/patients", "", `{"firstName": 5, "lastName": "", "birthDate": "x"}`, "birthDate firstName lastName", "agent"},
	{"POST /v1/agent/slots", "", `{"appointmentTypeId": "nothing", "from": "x", "days": {}, "count": 0, "partOfDay": 7}`,
		"appointmentTypeId count days from partOfDay", "agent"},
	{"POST /v1/api-keys", "", `{"name": 5, "scope": "x"}`, "name scope", ""},
	{"POST /v1/appointment-types", "", `{"name": 5, "durationMinutes": 30, "capacity": 0, "color": "x"}`, "capacity color name", ""},
	{"PUT /v1/appointment-types/order", "", `{"ids": ["checkup", 5]}`, "ids[1]", ""},
	{"PATCH /v1/appointment-types/{id}", "/v1/appointment-types/checkup", `{"name": 5, "durationMinutes": 0, "id": "x"}`, "durationMinutes id name", ""},
	{"POST /v1/appointment-types/{id}/book", "/v1/appointment-types/checkup/book", `{"clientId": "x", "slotStartDate": "x", "specialistId": 5, "patient": {"name": "", "email": "x"}}`,
		"clientId patient.email patient.name slotStartDate specialistId", "public"},
	{"POST /v1/appointment-types/{id}/find", "/v1/appointment-types/checkup/find", `{"from": 5, "weekdays": ["x"], "earliest": "x", "count": 0}`, "count earliest from weekdays[0]", ""},
	{"POST /v1/appointment-types/{id}/series-plan", "/v1/appointment-types/checkup/series-plan", `{"from": "x", "time": 5, "everyWeeks": 0, "count": -1}`,
		"count everyWeeks from time", ""},
	{"POST /v1/appointment-types/{id}/waitlist", "/v1/appointment-types/checkup/waitlist", `{"clientId": "$CLIENT", "weekdays": 5, "from": "x", "patient": {"name": "", "email": "x"}}`,
		"from patient.email patient.name to weekdays", ""},
	{"POST /v1/appointments", "", `{"appointmentTypeId": "checkup", "slotStartDate": 5, "patient": {"name": ""}, "overbook": {"reason": ""}}`,
		"overbook.reason patient.name slotStartDate", ""},
	{"POST /v1/appointments/search", "", `{"q": 5, "from": "x", "limit": 0}`, "from limit q", ""},
	{"PATCH /v1/appointments/{id}", "/v1/appointments/$ID", `{"patient": {"name": "", "email": 5, "birthDate": "x"}}`, "patient.birthDate patient.email patient.name", ""},
	{"POST /v1/appointments/{id}/attendance", "/v1/appointments/$ID/attendance", `{"attendance": 5}`, "attendance", ""},
	{"POST /v1/appointments/{id}/cancel", "/v1/appointments/$ID/cancel", `{"reason": "$LONG", "notify": 5}`, "notify reason", ""},
	{"POST /v1/appointments/{id}/person-links", "/v1/appointments/$ID/person-links", `{"appointmentId": 5}`, "appointmentId", ""},
	{"POST /v1/appointments/{id}/person-notes", "/v1/appointments/$ID/person-notes", `{"text": 5}`, "text", ""},
	{"POST /v1/appointments/{id}/recall", "/v1/appointments/$ID/recall", `{"date": 5}`, "date", ""},
	{"POST /v1/appointments/{id}/reschedule", "/v1/appointments/$ID/reschedule", `{"slotStartDate": "x", "displace": 5}`, "displace slotStartDate", ""},
	{"POST /v1/appointments/{id}/series/cancel", "/v1/appointments/$ID/series/cancel", `{"reason": "$LONG", "notify": 5}`, "notify reason", ""},
	{"POST /v1/appointments/{id}/series/plan", "/v1/appointments/$ID/series/plan", `{"slotStartDate": "x", "keep": 5}`, "keep slotStartDate", ""},
	{"POST /v1/appointments/{id}/series/reschedule", "/v1/appointments/$ID/series/reschedule", `{"slotStartDate": "x", "keep": 5}`,
		"keep slotStartDate", ""},
	{"POST /v1/appointments/{id}/visit/cancel", "/v1/appointments/$ID/visit/cancel", `{"reason": "$LONG", "notify": 5, "only": 5}`, "notify only reason", ""},
	{"POST /v1/appointments/{id}/visit/reschedule", "/v1/appointments/$ID/visit/reschedule", `{"slotStartDate": "x", "displace": 5, "holdId": 5}`,
		"displace holdId slotStartDate", ""},
	{"POST /v1/requests/{id}/confirm", "/v1/requests/$ID/confirm", `{"slotStartDate": 5}`, "slotStartDate", ""},
	{"POST /v1/requests/{id}/propose", "/v1/requests/$ID/propose", `{"slotStartDate": "x", "specialistId": 5}`, "slotStartDate specialistId", ""},
	{"POST /v1/appointments/{id}/waitlist", "/v1/appointments/$ID/waitlist", `{"weekdays": 5, "from": "x"}`, "from weekdays", ""},
	{"POST /v1/auth/openid/code", "", `{"code": 5}`, "code", "public"},
	{"POST /v1/auth/password", "", `{"current": 5, "new": "short"}`, "current new", "owner"},
	{"POST /v1/auth/sign-in", "", `{"email": 5, "password": 5}`, "email password", "public"},
	{"DELETE /v1/auth/totp", "", `{"password": 5, "code": 5}`, "code password", "owner"},
	{"PUT /v1/auth/totp", "", `{"password": 5, "secret": "?"}`, "password secret", "owner"},
	{"POST /v1/blocks", "", `{"specialistIds": ["unknown"], "spans": [{"from": 5, "to": "x"}]}`, "spans[0].from spans[0].to specialistIds[0]", ""},
	{"POST /v1/blocks/holidays", "", `{"ics": 5}`, "ics", ""},
	{"POST /v1/blocks/plan", "", `{"specialistIds": ["unknown"], "spans": [{"from": 5, "to": "x"}]}`, "spans[0].from spans[0].to specialistIds[0]", ""},
	{"PUT /v1/clinic", "", `{"name": 5, "timezone": "x", "contact": {"email": "x"}}`, "contact.email name timezone", ""},
	{"POST /v1/downtime-kit/check", "", `{"rows": [{"appointmentTypeId": 5, "specialistId": "?", "slotStartDate": "x"}]}`,
		"rows[0].appointmentTypeId rows[0].slotStartDate rows[0].specialistId", ""},
	{"PATCH /v1/holds", "", `{"clientId": "x", "holdId": 5, "ttlSeconds": 0}`, "clientId holdId ttlSeconds", "public"},
	{"DELETE /v1/holds", "", `{"clientId": "x", "holdId": 5}`, "clientId holdId", "public"},
	{"POST /v1/holds", "", `{"clientId": "$CLIENT", "appointmentTypeId": "?", "slotStartDate": "x", "place": "x", "ttlSeconds": "x"}`,
		"appointmentTypeId place slotStartDate ttlSeconds", "public"},
	{"POST /v1/holds/release", "", `{"clientId": "x", "holdId": 5}`, "clientId holdId", "public"},
	{"POST /v1/holds/stream-ticket", "", `{"clientId": 5}`, "clientId", "public"},
	{"POST /v1/import", "", `{"appointmentTypes": [{"id": "x", "name": 5, "capacity": -1}]}`, "appointmentTypes[0].capacity appointmentTypes[0].name", ""},
	{"POST /v1/import/appointments", "", `{"csv": "x", "onlyGood": 5}`, "csv onlyGood", ""},
	{"POST /v1/import/appointments-plan", "", `{"csv": 5}`, "csv", ""},
	{"POST /v1/import/plan", "", `{"appointmentTypes": [{"id": "x", "name": 5, "capacity": -1}]}`, "appointmentTypes[0].capacity appointmentTypes[0].name", ""},
	{"POST /v1/people/erase", "", `{"email": "rosa@example.org", "appointmentId": "$ID", "also": 5}`, "also appointmentId", ""},
	{"POST /v1/people/erase-plan", "", `{"appointmentId": 5}`, "appointmentId", ""},
	{"POST /v1/people/search", "", `{"q": 5, "limit": 0}`, "limit q", ""},
	{"POST /v1/audit/search", "", `{"q": 5, "limit": 0}`, "limit q", ""},
	{"POST /v1/queue/{id}/review", "/v1/queue/op/review", `{"decision": 5}`, "decision", ""},
	{"POST /v1/series", "", `{"clientId": "$CLIENT", "appointmentTypeId": 5, "patient": {"name": ""}, "times": [{"slotStartDate": "x"}, {}]}`,
		"appointmentTypeId patient.name times[0].slotStartDate times[1].slotStartDate", ""},
	{"POST /v1/sessions", "", `{"clientId": 5}`, "clientId", "public"},
	{"POST /v1/sessions/{id}/accept", "/v1/sessions/x/accept", `{"specialistId": 5}`, "specialistId", ""},
	{"POST /v1/sessions/{id}/cancel", "/v1/sessions/x/cancel", `{"clientId": 5}`, "clientId", "public"},
	{"POST /v1/sessions/{id}/decline", "/v1/sessions/x/decline", `{"specialistId": 5}`, "specialistId", ""},
	{"POST /v1/sessions/{id}/end", "/v1/sessions/x/end", `{"outcome": 5}`, "outcome", ""},
	{"POST /v1/sessions/{id}/payment", "/v1/sessions/x/payment", `{"pending": 5}`, "pending", ""},
	{"POST /v1/sessions/{id}/reroute", "/v1/sessions/x/reroute", `{"specialistId": 5}`, "specialistId", ""},
	{"PATCH /v1/settings", "", `{"accent": "x", "changeCutoffHours": "x", "webhooks": [{"id": "crm", "url": "x"}]}`, "accent changeCutoffHours webhooks[0].url", ""},
	{"PUT /v1/settings", "", `{"accent": "x", "changeCutoffHours": "x", "webhooks": [{"id": "crm", "url": "x"}]}`, "accent changeCutoffHours webhooks[0].url", ""},
	{"POST /v1/settings/mail-preview", "", `{"language": 5, "notice": "x"}`, "language notice", ""},
	{"PUT /v1/settings/mail-server", "", `{"host": 5, "port": -1, "encryption": "x"}`, "encryption from host port", "owner"},
	{"POST /v1/settings/mail-server/test", "", `{"host": 5, "port": -1, "encryption": "x"}`, "encryption from host port", "owner"},
	{"PUT /v1/settings/openid", "", `{"issuer": 5, "clientId": "", "newRole": "x"}`, "clientId domains issuer name newRole secret", ""},
	{"POST /v1/settings/webhook-test", "", `{"id": 5}`, "id", ""},
	{"POST /v1/settings/booking-rule/test", "", `{"url": 5}`, "url", ""},
	{"PUT /v1/settings/sms-gateway", "", `{"method": "X", "url": 5, "body": "x"}`, "body method url", "owner"},
	{"POST /v1/settings/sms-gateway/test", "", `{"method": "X", "url": 5, "body": "x"}`, "body method url", "owner"},
	{"POST /v1/settings/sms-preview", "", `{"notice": "x", "language": 5}`, "language notice", "owner"},
	{"POST /v1/setup", "", `{"token": "$TOKEN", "owner": {"email": "x", "name": 5, "password": "short"}, "clinic": {"timezone": "x"}, "baseUrl": "x"}`,
		"baseUrl clinic.timezone owner.email owner.name owner.password", "public"},
	{"POST /v1/setup/check", "", `{"token": 5}`, "token", "public"},
	{"POST /v1/slots/deselect", "", `{"clientId": "x", "appointmentTypeId": "?", "slotStartDate": "x", "lock": 5}`, "appointmentTypeId clientId lock slotStartDate", "public"},
	{"POST /v1/slots/select", "", `{"clientId": "x", "appointmentTypeId": "checkup", "slotStartDate": "x", "lock": 5}`, "clientId lock slotStartDate", "public"},
	{"POST /v1/specialists", "", `{"name": 5, "timezone": "x", "maxSessions": -1}`, "maxSessions name timezone", ""},
	{"PATCH /v1/specialists/{id}", "/v1/specialists/ada", `{"name": 5, "timezone": "x", "id": "bea"}`, "id name timezone", ""},
	{"POST /v1/specialists/{id}/blocks", "/v1/specialists/ada/blocks", `{"start": 5, "end": "x", "reason": "$LONG"}`, "end reason start", ""},
	{"PUT /v1/specialists/{id}/busy-calendar", "/v1/specialists/ada/busy-calendar", `{"url": 5}`, "url", ""},
	{"POST /v1/specialists/{id}/calendar-feed", "/v1/specialists/ada/calendar-feed", `{"names": 5}`, "names", ""},
	{"POST /v1/specialists/{id}/overrides", "/v1/specialists/ada/overrides", `{"date": 5, "hours": [{"start": "x", "end": "10:00"}], "reason": "$LONG"}`,
		"date hours[0].start reason", ""},
	{"PUT /v1/specialists/{id}/picture", "/v1/specialists/ada/picture", `{"content": 5}`, "content", ""},
	{"PUT /v1/specialists/{id}/weekly-hours", "/v1/specialists/ada/weekly-hours", `[{"weekday": "x", "start": 5, "end": "10:00"}]`,
		"weeklyHours[0].start weeklyHours[0].weekday", ""},
	{"POST /v1/users", "", `{"email": "x", "name": 5, "role": "x", "password": "short"}`, "email name password role", ""},
	{"PATCH /v1/users/{id}", "/v1/users/$USER", `{"name": 5, "email": "x", "role": "x", "linked": true}`, "email linked name role", ""},
	{"POST /v1/visits", "", `{"clientId": "$CLIENT", "specialistId": "ada", "slotStartDate": "x", "people": [{"appointmentTypeId": "checkup", "name": 5}, {"appointmentTypeId": "checkup", "name": ""}], "contact": {"email": "x"}}`,
		"contact.email people[0].name people[1].name slotStartDate", ""},
	{"POST /v1/visits/hold", "", `{"clientId": "$CLIENT", "specialistId": 5, "slotStartDate": "x", "appointmentTypeIds": []}`,
		"people slotStartDate specialistId", ""},
	{"POST /v1/waitlist/{id}/offer", "/v1/waitlist/x/offer", `{"slotStartDate": "x", "specialistId": 5}`, "slotStartDate specialistId", ""},
}

// TestMistakesAreListedTogether: one response lists all mistakes in a body, even if a value has the wrong form. The
// search for the other mistakes changes nothing.
func TestMistakesAreListedTogether(t *testing.T) {
	doc, err := description()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, x := range mistakenBodies {
		rows[x.operation] = true
	}
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			if name := method + " " + path; o.RequestBody != nil && !rows[name] && path != "/mcp" && !strings.HasPrefix(path, "/fhir/") { // other error formats
				t.Errorf("%s has no row in the table", name)
			}
		}
	}
	h := newHouse(t)
	fresh := newHouse(t) // not set up yet
	token, err := fresh.engine.Account.NewSetupToken(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	id := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201).text("appointment", "id")
	callers := map[string]header{"": asAdmin, "public": nil, "owner": h.signedIn("owner@clinic.example", "owner", ""), "agent": h.key("agent")}
	user := h.do("GET", "/v1/users", nil, asAdmin).want(200).get("users").([]any)[0].(map[string]any)["id"].(string)
	fill := strings.NewReplacer("$CLIENT", client(2), "$ID", id, "$USER", user, "$TOKEN", token, "$LONG", strings.Repeat("x", 5000))
	state := func() string {
		var all strings.Builder
		for _, path := range []string{"/v1/export", "/v1/settings", "/v1/users", "/v1/api-keys", "/v1/audit", "/v1/debug/locks", "/v1/holds?appointmentTypeId=checkup"} {
			all.WriteString(h.do("GET", path, nil, asAdmin).want(200).raw)
		}
		return all.String()
	}
	h.do("GET", "/v1/queue-status", nil, callers["agent"]).want(200) // stores the time of the key's first use
	before := state()
	for _, x := range mistakenBodies {
		t.Run(x.operation, func(t *testing.T) {
			method, path, _ := strings.Cut(x.operation, " ")
			if x.path != "" {
				path = x.path
			}
			at := *h
			if strings.HasPrefix(path, "/v1/setup") {
				at = *fresh
			}
			at.t = t
			answer := at.do(method, fill.Replace(path), fill.Replace(x.body), callers[x.as]).problem(422, "validation_failed")
			list, _ := answer.body["errors"].([]any)
			fields := make(map[string]bool)
			for _, e := range list {
				fields[e.(map[string]any)["field"].(string)] = true
			}
			if got := strings.Join(slices.Sorted(maps.Keys(fields)), " "); got != x.want {
				t.Errorf("got the errors of %s\nwant those of %s\n%s", got, x.want, answer.raw)
			}
			if after := state(); after != before {
				t.Errorf("a refused request changed the server: %s, before %s", after, before)
				before = after
			}
		})
	}
}

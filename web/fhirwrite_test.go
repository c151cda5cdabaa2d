package web_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"
)

// TestFHIRBooksAndCancels books a slot and a start through FHIR, repeats a request, cancels, and checks each response
// against the standard's definitions.
func TestFHIRBooksAndCancels(t *testing.T) {
	t.Parallel()
	h, d := newHouse(t), readDefinitions(t)
	kind := header{"Content-Type": "application/fhir+json"}
	send := func(status int, method, path string, body any, headers ...header) map[string]any {
		t.Helper()
		r := h.do(method, path, body, append([]header{kind}, headers...)...).want(status)
		if got := r.header.Get("Content-Type"); got != "application/fhir+json" {
			t.Errorf("%s %s answers %s", method, path, got)
		}
		return d.resource(t, path, []byte(r.raw))
	}
	slots := send(200, "GET", "/fhir/Slot?service-type=checkup&status=free&_count=1&start=ge"+h.at(0), nil)
	slot := slots["entry"].([]any)[0].(map[string]any)["resource"].(map[string]any)
	asked := map[string]any{"resourceType": "Appointment", "status": "booked",
		"slot": []any{map[string]any{"reference": "Slot/" + slot["id"].(string)}}, "comment": "Wheelchair",
		"contained": []any{map[string]any{"resourceType": "Patient", "id": "p",
			"name":    []any{map[string]any{"use": "official", "family": "Winter", "given": []any{"Rosa", "Ann"}}},
			"telecom": []any{map[string]any{"system": "phone", "value": "030 1234567", "use": "mobile"}}}},
		"participant": []any{map[string]any{"actor": map[string]any{"reference": "#p"}, "status": "accepted"}}}
	changed := func(with map[string]any) map[string]any {
		c := maps.Clone(asked)
		maps.Copy(c, with)
		return c
	}
	send(401, "POST", "/fhir/Appointment", asked)
	once := header{"Idempotency-Key": "a-booking-by-fhir"}
	a := send(201, "POST", "/fhir/Appointment", asked, asAdmin, once)
	id := a["id"].(string)
	if again := send(201, "POST", "/fhir/Appointment", asked, asAdmin, once); again["id"] != id {
		t.Errorf("the repeat returned %v, not %s", again["id"], id)
	}
	got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200)
	if got.text("appointment", "patient", "name") != "Rosa Ann Winter" || got.text("appointment", "patient", "phone") != "030 1234567" ||
		got.text("appointment", "patient", "notes") != "Wheelchair" || got.text("appointment", "slotStartDate") != slot["start"] {
		t.Errorf("booked: %s", got.raw)
	}
	send(409, "POST", "/fhir/Appointment", asked, asAdmin)
	byStart := changed(map[string]any{"slot": []any{}, "start": h.at(60), "end": h.at(90),
		"serviceType": []any{map[string]any{"coding": []any{map[string]any{"code": "checkup"}}}}})
	send(201, "POST", "/fhir/Appointment", byStart, asAdmin)

	for what, with := range map[string]map[string]any{
		"another length":   {"end": h.at(400)},
		"another start":    {"start": h.at(400)},
		"no slot":          {"slot": []any{}, "start": h.at(90)},
		"an unknown slot":  {"slot": []any{map[string]any{"reference": "Slot/none"}}},
		"a proposal":       {"status": "proposed"},
		"no patient":       {"contained": []any{}},
		"no reference":     {"participant": []any{}},
		"another resource": {"resourceType": "Slot"},
	} {
		if o := send(422, "POST", "/fhir/Appointment", changed(with), asAdmin); o["resourceType"] != "OperationOutcome" {
			t.Errorf("%s: %v", what, o)
		}
	}

	send(400, "POST", "/fhir/Appointment", changed(map[string]any{"priority": 3}), asAdmin) // an unknown field

	o := send(422, "POST", "/fhir/Appointment", changed(map[string]any{"status": "proposed", "contained": []any{}, "start": "today"}), asAdmin)
	if found := len(o["issue"].([]any)); found < 4 { // status, contained, participant, start
		t.Errorf("%d of the errors are listed: %v", found, o)
	}

	path := "/fhir/Appointment/" + id
	read := h.do("GET", path, nil, asAdmin).want(200).header.Get("ETag")
	h.do("GET", path, nil, asAdmin, header{"If-None-Match": read}).want(304)
	send(422, "PUT", path, a, asAdmin) // status booked
	a["status"] = "cancelled"
	a["cancelationReason"] = map[string]any{"text": "moved away"}
	send(412, "PUT", path, a, asAdmin, header{"If-Match": `W/"7"`})
	if gone := send(200, "PUT", path, a, asAdmin, header{"If-Match": read}); gone["status"] != "cancelled" {
		t.Errorf("after the cancellation: %v", gone)
	}
	send(200, "PUT", path, a, asAdmin) // a repeat changes nothing
	send(404, "PUT", "/fhir/Appointment/none", map[string]any{"resourceType": "Appointment", "id": "none",
		"status": "cancelled", "participant": []any{}}, asAdmin)
}

// TestFHIRSearchesByFormAndSummarises: POST _search finds what GET finds, and _summary leaves out what the standard
// leaves out.
func TestFHIRSearchesByFormAndSummarises(t *testing.T) {
	t.Parallel()
	h, d := newHouse(t), readDefinitions(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201).text("appointment", "id")
	form := header{"Content-Type": "application/x-www-form-urlencoded"}
	planned := regexp.MustCompile(`"planningHorizon":{[^}]*},?`)
	for _, c := range []struct{ path, parameters string }{
		{"/fhir/Schedule", "service-type=checkup"},
		{"/fhir/Slot", "service-type=checkup&status=free&_count=3"},
		{"/fhir/Appointment", "status=booked"},
	} {
		found := func(method, path string, body any) string {
			t.Helper()
			r := h.do(method, path, body, asAdmin, form).want(200)
			return planned.ReplaceAllString(r.raw, "") // begins now, so it can differ by a second
		}
		want := found("GET", c.path+"?"+c.parameters, nil)
		if got := found("POST", c.path+"/_search", c.parameters); got != want {
			t.Errorf("POST %s/_search:\n%s\nGET:\n%s", c.path, got, want)
		}
		head, tail, _ := strings.Cut(c.parameters, "&")
		if got := found("POST", c.path+"/_search?"+head, tail); got != want {
			t.Errorf("half of the parameters in the URL: POST %s/_search:\n%s\nGET:\n%s", c.path, got, want)
		}
	}
	h.do("POST", "/fhir/Slot/_search", "{}", header{"Content-Type": "application/json"}).want(415)
	h.do("POST", "/fhir/Slot/_search", "%", form).want(400)
	h.do("POST", "/fhir/Appointment/_search", "status=booked", form).want(401)

	for _, kind := range []string{"true", "text"} {
		for _, path := range []string{"/fhir/Schedule?", "/fhir/Slot?service-type=checkup&", "/fhir/Appointment?", "/fhir/Appointment/" + booked + "?"} {
			got := h.do("GET", path+"_summary="+kind, nil, asAdmin).want(200).raw
			d.resource(t, path, []byte(got))
			if !strings.Contains(got, "SUBSETTED") || strings.Contains(got, "1234567") || strings.Contains(got, "minutesDuration") {
				t.Errorf("%s with _summary=%s: %s", path, kind, got)
			}
		}
	}
	count := h.do("GET", "/fhir/Slot?service-type=checkup&_summary=count", nil).want(200)
	if count.get("total").(float64) == 0 || strings.Contains(count.raw, "entry") {
		t.Errorf("a count: %s", count.raw)
	}
	h.do("GET", "/fhir/Appointment?_summary=count", nil, asAdmin).want(422)
	h.do("GET", "/fhir/Slot?service-type=checkup&_summary=short", nil).want(422)
}

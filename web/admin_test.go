package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// These tests check the clinic's settings: what an admin can change, and which settings the public sees.

func TestClinicNeedsAdmin(t *testing.T) {
	h := newHouse(t)
	for _, c := range []struct{ method, path, body string }{
		{"PUT", "/v1/clinic", "{}"}, {"POST", "/v1/import", "{}"}, {"GET", "/v1/export", ""},
		{"POST", "/v1/appointment-types", "{}"}, {"PATCH", "/v1/appointment-types/checkup", "{}"}, {"DELETE", "/v1/appointment-types/checkup", ""},
		{"POST", "/v1/specialists", "{}"}, {"PATCH", "/v1/specialists/ada", "{}"}, {"DELETE", "/v1/specialists/ada", ""},
		{"GET", "/v1/specialists/ada/weekly-hours", ""}, {"PUT", "/v1/specialists/ada/weekly-hours", "[]"},
		{"GET", "/v1/specialists/ada/overrides", ""}, {"POST", "/v1/specialists/ada/overrides", "{}"}, {"DELETE", "/v1/overrides/x", ""},
		{"GET", "/v1/specialists/ada/blocks", ""}, {"POST", "/v1/specialists/ada/blocks", "{}"}, {"DELETE", "/v1/blocks/x", ""},
		{"POST", "/v1/people/erase", "{}"}, {"POST", "/v1/appointments", "{}"}, {"GET", "/v1/appointments", ""},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		h.do(c.method, c.path, body).problem(401, "unauthorized")
		// A caller without permission gets no list of the errors in the body.
		h.do(c.method, c.path, "{").problem(401, "unauthorized")
	}
}

func TestClinic(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/clinic", map[string]any{"timezone": "Europe/Berlin", "contact": map[string]any{"phone": "030 1234"}}, asAdmin).want(200)
	r := h.do("GET", "/v1/clinic", nil).want(200)
	if r.text("clinic", "name") != "Harbour Clinic" || r.text("clinic", "timezone") != "Europe/Berlin" || r.text("clinic", "contact", "phone") != "030 1234" {
		t.Errorf("got %s", r.raw)
	}
	// A response can be sent back unchanged.
	h.do("PUT", "/v1/clinic", r.get("clinic"), asAdmin).want(200)
	for field, body := range map[string]map[string]any{
		"timezone": {"timezone": "Mars/Olympus"}, "name": {"name": " "}, "locale": {"locale": "not a tag"},
		"contact.website": {"contact": map[string]any{"website": "javascript:alert(1)"}}, "contact.email": {"contact": map[string]any{"email": "nobody"}},
	} {
		h.do("PUT", "/v1/clinic", body, asAdmin).problem(422, "validation_failed").field(field)
	}
	for locale, status := range map[string]int{"fr": 422, "english": 422, "de-AT": 200, "ES": 200} {
		h.do("PUT", "/v1/clinic", map[string]any{"locale": locale}, asAdmin).want(status)
	}
}

func TestAppointmentTypes(t *testing.T) {
	h := newHouse(t)
	made := h.do("POST", "/v1/appointment-types", map[string]any{
		"id": "cleaning", "name": "Cleaning", "durationMinutes": 45, "specialists": []map[string]any{{"specialistId": "bea", "priority": 1}},
		"upstream": map[string]any{"appointmentTypeGUID": "11111111-2222-3333-4444-555555555555"},
	}, asAdmin).want(201)
	for field, want := range map[string]any{
		"id": "cleaning", "slotStepMinutes": 45.0, "holdTtlSeconds": 30.0, "maxHoldSeconds": 900.0, "holdQuota": 3.0, "capacity": 1.0, "cooldownMinutes": 1440.0, "active": true,
	} {
		if got := made.get("appointmentType", field); got != want {
			t.Errorf("%s: got %v, want %v", field, got, want)
		}
	}
	public := h.do("GET", "/v1/appointment-types/cleaning", nil).want(200)
	if public.get("appointmentType", "upstream") != nil {
		t.Error("the public answer contains the upstream ids")
	}
	h.do("POST", "/v1/appointment-types", map[string]any{"id": "cleaning", "name": "Cleaning"}, asAdmin).problem(422, "validation_failed").field("id")
	// a response can be sent back
	h.do("PATCH", "/v1/appointment-types/cleaning", public.get("appointmentType"), asAdmin).want(200)
	h.do("PATCH", "/v1/appointment-types/cleaning", map[string]any{"id": "other"}, asAdmin).problem(422, "validation_failed").field("id")
	changed := h.do("PATCH", "/v1/appointment-types/cleaning", map[string]any{"active": false}, asAdmin).want(200)
	if changed.text("appointmentType", "name") != "Cleaning" || changed.get("appointmentType", "active") != false {
		t.Errorf("got %s", changed.raw)
	}
	count := func(headers ...header) int {
		return len(h.do("GET", "/v1/appointment-types", nil, headers...).want(200).body["appointmentTypes"].([]any))
	}
	if public, all := count(), count(asAdmin); public != 4 || all != 5 {
		t.Errorf("the public gets %d types and the admin %d, want 4 and 5", public, all)
	}
	h.do("DELETE", "/v1/appointment-types/cleaning", nil, asAdmin).want(200)
	h.do("DELETE", "/v1/appointment-types/cleaning", nil, asAdmin).problem(404, "not_found")
	h.do("GET", "/v1/appointment-types/cleaning", nil).problem(404, "not_found")
	h.do("PATCH", "/v1/appointment-types/cleaning", map[string]any{}, asAdmin).problem(404, "not_found")

	for field, body := range map[string]map[string]any{
		"name": {"name": ""}, "durationMinutes": {"durationMinutes": 0}, "slotStepMinutes": {"slotStepMinutes": -1}, "capacity": {"capacity": 501},
		"holdTtlSeconds": {"holdTtlSeconds": 8000}, "maxHoldSeconds": {"maxHoldSeconds": 1},
		"horizonDays": {"horizonDays": 0}, "id": {"id": "a/b"},
		"specialists[0].specialistId": {"specialists": []map[string]any{{"specialistId": "nobody"}}},
	} {
		all := map[string]any{"name": "X"}
		for k, v := range body {
			all[k] = v
		}
		refused := h.do("POST", "/v1/appointment-types", all, asAdmin).problem(422, "validation_failed")
		refused.field(field)
		if n := len(refused.body["errors"].([]any)); n != 1 {
			t.Errorf("%v has %d errors, want only that of %s: %s", body, n, field, refused.raw)
		}
	}
}

func TestSpecialists(t *testing.T) {
	h := newHouse(t)
	public := h.do("GET", "/v1/specialists", nil).want(200)
	for _, p := range public.body["specialists"].([]any) {
		if len(p.(map[string]any)) != 2 {
			t.Errorf("the public answer has more than id and name: %v", p)
		}
	}
	if strings.Contains(h.do("GET", "/v1/specialists/ada", nil).want(200).raw, "clinic.example") {
		t.Error("the public answer contains a specialist's email address")
	}
	made := h.do("POST", "/v1/specialists", map[string]any{"id": "cy", "name": "Dr Cy", "timezone": "America/New_York", "maxSessions": 2}, asAdmin).want(201)
	if made.text("specialist", "timezone") != "America/New_York" || made.get("specialist", "active") != true {
		t.Errorf("got %s", made.raw)
	}
	h.do("PATCH", "/v1/specialists/cy", map[string]any{"active": false}, asAdmin).want(200)
	h.do("GET", "/v1/specialists/cy", nil).problem(404, "not_found")
	h.do("GET", "/v1/specialists/cy", nil, asAdmin).want(200)
	for field, body := range map[string]map[string]any{
		"name": {"name": ""}, "timezone": {"timezone": "Nowhere"}, "email": {"email": "x"}, "maxSessions": {"maxSessions": -1}, "id": {"id": "ada"},
	} {
		all := map[string]any{"name": "X"}
		for k, v := range body {
			all[k] = v
		}
		h.do("POST", "/v1/specialists", all, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("DELETE", "/v1/specialists/cy", nil, asAdmin).want(200)
	h.do("GET", "/v1/specialists/cy", nil, asAdmin).problem(404, "not_found")
}

func TestWeeklyHours(t *testing.T) {
	h := newHouse(t)
	path := "/v1/specialists/ada/weekly-hours"
	// A dry run returns the slots and changes nothing.
	nineToTen := []map[string]any{{"weekday": strings.ToLower(h.start.Weekday().String()), "start": "09:00", "end": "10:00"}}
	dry := h.do("PUT", path+"?dryRun=true&appointmentTypeId=checkup&from="+h.day(0)+"&to="+h.day(1), nineToTen, asAdmin).want(200)
	if got := dry.body["slots"].([]any); len(got) != 2 || got[0].(map[string]any)["start"] != h.day(0)+"T09:00:00Z" {
		t.Errorf("the dry run returns %v, want 09:00 and 09:30", got)
	}
	if got := len(h.do("GET", path, nil, asAdmin).want(200).body["weeklyHours"].([]any)); got != 7 {
		t.Errorf("after the dry run there are %d windows, want the same 7", got)
	}
	// A dry run also works for a deactivated specialist and type, so that hours can be prepared before the activation.
	for _, active := range []bool{false, true} {
		h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": active}, asAdmin).want(200)
		h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"active": active}, asAdmin).want(200)
		dry := h.do("PUT", path+"?dryRun=true&appointmentTypeId=checkup&from="+h.day(0)+"&to="+h.day(1), nineToTen, asAdmin).want(200)
		if got := len(dry.body["slots"].([]any)); got != 2 {
			t.Errorf("active %v: the dry run returns %d slots, want 2", active, got)
		}
	}
	h.do("PUT", path, nineToTen, asAdmin).want(200)
	if got := len(h.slots(1, "checkup", "&specialistId=ada")); got != 2 {
		t.Errorf("the next listing has %d slots, want 2", got)
	}
	for field, hours := range map[string]string{
		"weeklyHours[0].weekday": `[{"weekday":"someday","start":"09:00","end":"10:00"}]`,
		"weeklyHours[0].start":   `[{"weekday":"monday","start":"9","end":"10:00"}]`,
		"weeklyHours[0].end":     `[{"weekday":"monday","start":"09:00","end":"24:01"}]`,
		"weeklyHours[0]":         `[{"weekday":"monday","start":"18:00","end":"06:00"}]`,
		"weeklyHours":            `[{"weekday":"monday","start":"09:00","end":"12:00"},{"weekday":"monday","start":"11:00","end":"13:00"}]`,
	} {
		h.do("PUT", path, hours, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("PUT", path, `{}`, asAdmin).problem(400, "malformed_body")
	h.do("PUT", path+"?dryRun=perhaps", `[]`, asAdmin).problem(422, "validation_failed").field("dryRun")
	h.do("PUT", path+"?dryRun=true&from="+h.day(0)+"&to="+h.day(63), `[]`, asAdmin).problem(422, "validation_failed").field("to")
	h.do("PUT", "/v1/specialists/nobody/weekly-hours", `[]`, asAdmin).problem(404, "not_found")
	h.do("GET", "/v1/specialists/nobody/weekly-hours", nil, asAdmin).problem(404, "not_found")
}

func TestOverrideShowsInNextListing(t *testing.T) {
	h := newHouse(t)
	path := "/v1/specialists/ada/overrides"
	if len(h.slots(1, "checkup", "&specialistId=ada")) != 48 {
		t.Fatal("the day is still closed")
	}
	made := h.do("POST", path, map[string]any{"date": h.day(0), "closed": true, "reason": "conference"}, asAdmin).want(201)
	if got := len(h.slots(1, "checkup", "&specialistId=ada")); got != 0 {
		t.Errorf("a closed day lists %d slots", got)
	}
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"}).problem(409, "not_bookable")
	h.do("POST", path, map[string]any{"date": h.day(0), "hours": []map[string]any{{"start": "09:00", "end": "10:00"}}}, asAdmin).want(201)
	if got := len(h.slots(1, "checkup", "&specialistId=ada")); got != 2 {
		t.Errorf("an hour has %d slots, want 2", got)
	}
	list := h.do("GET", path, nil, asAdmin).want(200).body["overrides"].([]any)
	if len(list) != 1 {
		t.Fatalf("the date has %d overrides, want only the last one", len(list))
	}
	id := list[0].(map[string]any)["id"].(string)
	if id == made.text("override", "id") {
		t.Error("the new override has the id of the replaced one")
	}
	h.do("DELETE", "/v1/overrides/"+id, nil, asAdmin).want(200)
	h.do("DELETE", "/v1/overrides/"+id, nil, asAdmin).problem(404, "not_found")
	if len(h.slots(1, "checkup", "&specialistId=ada")) != 48 {
		t.Error("the day is still closed")
	}
	for field, body := range map[string]map[string]any{
		"date": {"date": "2026-02-30", "closed": true}, "hours": {"date": h.day(0)}, "hours[0].start": {"date": h.day(0), "hours": []map[string]any{{"start": "x", "end": "10:00"}}},
		"reason": {"date": h.day(0), "closed": true, "reason": strings.Repeat("r", 501)},
	} {
		h.do("POST", path, body, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("POST", "/v1/specialists/nobody/overrides", map[string]any{"date": h.day(0), "closed": true}, asAdmin).problem(404, "not_found")
}

func TestExportRoundTripsImport(t *testing.T) {
	h := newHouse(t)
	exported := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	for range 2 { // idempotent by id
		r := h.do("POST", "/v1/import", exported.raw, asAdmin).want(200)
		if r.get("imported", "specialists") != 2.0 || r.get("imported", "appointmentTypes") != 4.0 {
			t.Errorf("got %s", r.raw)
		}
	}
	if again := h.do("GET", "/v1/export", nil, asAdmin).want(200); again.raw != exported.raw {
		t.Errorf("an import of the export changed the clinic:\n%s\n%s", exported.raw, again.raw)
	}
	for _, c := range []struct {
		file   string
		status int
		code   string
		says   string
	}{
		{`{"clinic":{"name":"X","timezone":"Mars"}}`, 422, "validation_failed", "clinic.timezone"},
		{`{"clinics":{}}`, 400, "malformed_body", "clinics"},
		{`{"clinic":{"name":"X","timezone":"UTC","settings":{"webhooks":[{"id":"crm","url":"https://crm.example.org/"}]}}}`, 422, "validation_failed", `"clinic.settings.webhooks"`},
		{`{"clinic":{"name":"X","timezone":"UTC","settings":{"bookingRule":{"url":"https://rules.example.org/"}}}}`, 422, "validation_failed", `"clinic.settings.bookingRule"`},
		{`{"specialists":[{"id":"x","name":"X","weekly":[]}]}`, 400, "malformed_body", "specialists[0].weekly"},
		{`{"specialists":[{"id":"x","name":"X","weeklyHours":[{"weekday":"funday","start":"09:00","end":"10:00"}]}]}`, 422, "validation_failed", "specialists[0].weeklyHours[0].weekday"},
		{`{"specialists":[{"id":"x","name":"X","overrides":[{"date":"2026-02-30","closed":true}]}]}`, 422, "validation_failed", "specialists[0].overrides[0].date"},
		{`{"appointmentTypes":[{"id":"x","name":"X","specialists":[{"specialistId":"nobody"}]}]}`, 422, "validation_failed", "appointmentTypes[0].specialists[0].specialistId"},
		{`{"appointmentTypes":[{"id":"x","name":"X"},{"id":"y","durationMinutes":"long","name":"Y"}]}`, 422, "validation_failed", "appointmentTypes[1].durationMinutes"},
		{`{"specialists":[{"id":"x"},{"id":"y","weeklyHours":[{},{"weekday":[5],"start":"09:00"}]}]}`, 422, "validation_failed", "specialists[1].weeklyHours[1].weekday"},
		{`{"specialists":{"id":"x"}}`, 422, "validation_failed", `"specialists"`},
		{`{"specialists":[{"id":"x","weeklyHours":[{"weekday":1}]}]}`, 422, "validation_failed", `weekday","message":"must be a text in quotes"`},
		{`{"specialists":[{"id":"x","weeklyHours":[{"start":9}]}]}`, 422, "validation_failed", `start","message":"must be a text in quotes"`},
		{`{"specialists":[{"id":"x","overrides":[{"date":20261224}]}]}`, 422, "validation_failed", `date","message":"must be a text in quotes"`},
	} {
		r := h.do("POST", "/v1/import", c.file, asAdmin).problem(c.status, c.code)
		if !strings.Contains(r.raw, c.says) {
			t.Errorf("%s: %q is not named in %s", c.file, c.says, r.raw)
		}
	}
	if again := h.do("GET", "/v1/export", nil, asAdmin).want(200); again.raw != exported.raw {
		t.Error("a refused import changed the clinic")
	}
}

// TestImportReplacesEntries: an entry of a file replaces the specialist or type with its id. Only weekly hours,
// overrides and other entries stay if the file does not contain them.
func TestImportReplacesEntries(t *testing.T) {
	h := newHouse(t)
	hours := h.do("GET", "/v1/specialists/ada/weekly-hours", nil, asAdmin).want(200).raw
	h.do("POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.day(9), "closed": true}, asAdmin).want(201)
	overrides := h.do("GET", "/v1/specialists/ada/overrides", nil, asAdmin).want(200).raw
	bea := h.do("GET", "/v1/specialists/bea", nil, asAdmin).want(200).raw
	h.do("POST", "/v1/import", `{"specialists":[{"id":"ada","name":"Dr Ada"}],
		"appointmentTypes":[{"id":"checkup","name":"Check-up"}]}`, asAdmin).want(200)
	ada := h.do("GET", "/v1/specialists/ada", nil, asAdmin).want(200)
	if ada.text("specialist", "email") != "" || ada.get("specialist", "maxSessions") != 1.0 {
		t.Errorf("the entry without email and maxSessions is not the whole specialist: %s", ada.raw)
	}
	checkup := h.do("GET", "/v1/appointment-types/checkup", nil, asAdmin).want(200)
	if list := checkup.get("appointmentType", "specialists").([]any); len(list) != 0 ||
		checkup.get("appointmentType", "cooldownMinutes") != 1440.0 {
		t.Errorf("the entry with a name only is not the whole type: %s", checkup.raw)
	}
	for path, before := range map[string]string{"ada/weekly-hours": hours, "ada/overrides": overrides, "bea": bea} {
		if r := h.do("GET", "/v1/specialists/"+path, nil, asAdmin).want(200); r.raw != before {
			t.Errorf("%s: got %s, want %s", path, r.raw, before)
		}
	}
}

// TestImportKeepsWebhooksAndRule: a clinic file never contains webhooks or the booking rule, so importing a clinic's
// own export keeps the clinic's current ones.
func TestImportKeepsWebhooksAndRule(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/settings", map[string]any{"webhooks": []any{map[string]any{"id": "crm", "url": "https://crm.example.org/"}},
		"bookingRule": map[string]any{"url": "https://rules.example.org/"}}, asAdmin).want(200)
	before := h.do("GET", "/v1/settings", nil, asAdmin).want(200)
	file := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	if strings.Contains(file.raw, "webhooks") || strings.Contains(file.raw, "bookingRule") {
		t.Errorf("the export contains webhooks or the booking rule: %s", file.raw)
	}
	if plan := h.do("POST", "/v1/import/plan", file.raw, asAdmin).want(200); plan.get("import", "clinic") != "same" {
		t.Errorf("the plan for the clinic's own export is %s, want same", plan.raw)
	}
	for range 2 {
		h.do("POST", "/v1/import", file.raw, asAdmin).want(200)
	}
	if after := h.do("GET", "/v1/settings", nil, asAdmin).want(200); after.raw != before.raw {
		t.Errorf("the import changed the settings from %s to %s", before.raw, after.raw)
	}
	other := newHouse(t)
	other.do("POST", "/v1/import", file.raw, asAdmin).want(200)
	if again := other.do("GET", "/v1/export", nil, asAdmin).want(200); again.raw != file.raw {
		t.Errorf("another clinic exports %s after the import of %s", again.raw, file.raw)
	}
}

func TestErasePerson(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}, header{"Idempotency-Key": "key-1"}).want(201)
	id := booked.text("appointment", "id")
	for _, body := range []map[string]any{{}, {"email": "a@b.c", "phone": "123"}, {"phone": "x"}, {"email": "a@b.c", "appointmentId": id}, {"also": []string{id}}, {"everybody": true}} {
		h.do("POST", "/v1/people/erase", body, asAdmin).problem(422, "validation_failed")
	}
	r := h.do("POST", "/v1/people/erase", map[string]any{"email": "P1@Example.org"}, asAdmin).want(200)
	if copies, ok := r.get("remains", "copies").([]any); !ok || len(copies) != 0 {
		t.Errorf("it lists copies that do not exist: %s", r.raw)
	}
	if r.get("erased", "appointments") != 1.0 {
		t.Errorf("got %s", r.raw)
	}
	a := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200)
	if a.text("appointment", "status") != "confirmed" || a.text("appointment", "patient", "name") != "" {
		t.Errorf("got %s", a.raw)
	}
	raw, _ := json.Marshal(a.get("appointment", "patient"))
	if strings.Contains(fmt.Sprint(string(raw)), "example.org") {
		t.Errorf("the person is still in the database: %s", raw)
	}
}

// readDuring runs change while it reads each of the paths again and again, always with success.
func (h *house) readDuring(change func(), paths []string, headers ...header) {
	h.t.Helper()
	done := make(chan struct{})
	var reads sync.WaitGroup
	for _, path := range paths {
		reads.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					h.do("GET", path, nil, headers...).want(200)
				}
			}
		})
	}
	change()
	close(done)
	reads.Wait()
}

// TestListsSurviveDeletion: if a list of types or specialists is read while the last entry is deleted, the request
// still gets a response.
func TestListsSurviveDeletion(t *testing.T) {
	h := newHouse(t)
	h.readDuring(func() {
		for range 100 {
			h.do("POST", "/v1/appointment-types", map[string]any{"id": "zumba", "name": "Zumba"}, asAdmin).want(201)
			h.do("POST", "/v1/specialists", map[string]any{"id": "zoe", "name": "Dr Zoe", "timezone": "UTC"}, asAdmin).want(201)
			h.do("DELETE", "/v1/specialists/zoe", nil, asAdmin).want(200)
			h.do("DELETE", "/v1/appointment-types/zumba", nil, asAdmin).want(200)
		}
	}, []string{"/v1/appointment-types", "/v1/specialists", "/v1/schedule"}, asAdmin)
}

// TestSearchesSurviveDeletion: a search over several types or specialists gets a response even if one of them is
// deleted during the search.
func TestSearchesSurviveDeletion(t *testing.T) {
	h := newHouse(t)
	h.readDuring(func() {
		for range 50 {
			h.do("POST", "/v1/appointment-types", map[string]any{"id": "zumba", "name": "Zumba", "durationMinutes": 30,
				"specialists": []map[string]any{{"specialistId": "ada"}, {"specialistId": "bea"}}}, asAdmin).want(201)
			h.do("DELETE", "/v1/appointment-types/zumba", nil, asAdmin).want(200)
		}
	}, []string{"/v1/slots/poll?date=" + h.start.Format(time.DateOnly), "/fhir/Slot?service-type=zumba"})
}

package web_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// definitions holds the elements of the resources in the responses, taken from the StructureDefinitions of FHIR R4
// (4.0.1; HL7, CC0): for each path the minimum count, the maximum count ("*": any number), and the possible types.
type definitions map[string]struct {
	Min   int
	Max   string
	Types []string
}

// primitives holds the formats of R4's primitive types that occur here.
var primitives = map[string]*regexp.Regexp{
	"id": regexp.MustCompile(`^[A-Za-z0-9\-.]{1,64}$`), "code": regexp.MustCompile(`^[^\s]+(\s[^\s]+)*$`),
	"uri": regexp.MustCompile(`^\S+$`), "url": regexp.MustCompile(`^\S+$`),
	"instant":  regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$`),
	"dateTime": regexp.MustCompile(`^\d{4}(-\d\d(-\d\d(T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?)?)?$`),
	"date":     regexp.MustCompile(`^\d{4}(-\d\d(-\d\d)?)?$`), "string": regexp.MustCompile(`(?s)^.+$`),
	"markdown": regexp.MustCompile(`(?s)^.+$`), "canonical": regexp.MustCompile(`^\S+$`),
	"positiveInt": regexp.MustCompile(`^[1-9]\d*$`), "decimal": regexp.MustCompile(`^-?\d+(\.\d+)?$`),
	"time": regexp.MustCompile(`^\d\d:\d\d:\d\d$`), "unsignedInt": regexp.MustCompile(`^\d+$`),
	"integer": regexp.MustCompile(`^-?\d+$`), "boolean": regexp.MustCompile(`^(true|false)$`),
}

func readDefinitions(t *testing.T) definitions {
	t.Helper()
	raw, err := os.ReadFile("../testdata/fhir/r4.json")
	if err != nil {
		t.Fatal(err)
	}
	var d definitions
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// check lists the errors of a value of type kind at path. It does not check types that are not in the table.
func (d definitions) check(path, kind string, value any) (wrong []string) {
	if form := primitives[kind]; form != nil {
		if text := fmt.Sprint(value); !form.MatchString(text) {
			wrong = append(wrong, fmt.Sprintf("%s: %q is no %s", path, text, kind))
		}
		return wrong
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %v is no %s", path, value, kind)}
	}
	at := kind // the elements of a type are below its name, those of a part of a resource below its path
	if kind == "BackboneElement" || kind == "Element" {
		at = path
	}
	if kind == "Resource" {
		at, _ = fields["resourceType"].(string)
	}
	known := map[string]bool{"resourceType": true}
	found := false
	for element, rule := range d {
		name, ours := strings.CutPrefix(element, at+".")
		if !ours || strings.Contains(name, ".") {
			continue
		}
		found = true
		list := []any{}
		of := rule.Types
		if base, choice := strings.CutSuffix(name, "[x]"); choice {
			for _, one := range rule.Types {
				full := base + strings.ToUpper(one[:1]) + one[1:]
				if v, there := fields[full]; there {
					known[full], list, of = true, []any{v}, []string{one}
				}
			}
		} else if v, there := fields[name]; there {
			known[name], known["_"+name] = true, true
			many, isMany := v.([]any)
			if isMany != (rule.Max != "1") {
				wrong = append(wrong, fmt.Sprintf("%s.%s: a list: %t, at most %s", path, name, isMany, rule.Max))
			}
			if list = many; !isMany {
				list = []any{v}
			}
		}
		if len(list) < rule.Min {
			wrong = append(wrong, fmt.Sprintf("%s.%s is missing", path, name))
		}
		for _, one := range list {
			if len(of) == 0 {
				continue // defined by another element
			}
			below := path + "." + name
			if of[0] == "BackboneElement" || of[0] == "Element" {
				below = element
			}
			wrong = append(wrong, d.check(below, of[0], one)...)
		}
	}
	if !found {
		return wrong
	}
	for name := range fields {
		if !known[name] {
			wrong = append(wrong, fmt.Sprintf("%s.%s is no element of %s", path, name, at))
		}
	}
	return wrong
}

// resource checks a response against the definitions.
func (d definitions) resource(t *testing.T, what string, raw []byte) map[string]any {
	t.Helper()
	var r map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&r); err != nil {
		t.Fatalf("%s: %v\n%s", what, err, raw)
	}
	kind, _ := r["resourceType"].(string)
	if _, known := d[kind+".id"]; !known {
		t.Fatalf("%s: %q is not a defined resource", what, kind)
	}
	for _, wrong := range d.check(kind, kind, r) {
		t.Errorf("%s: %s", what, wrong)
	}
	return r
}

// TestFHIRExamplesAreValid checks that the examples of the FHIR standard are valid according to the definitions, and
// the check finds errors in modified resources.
func TestFHIRExamplesAreValid(t *testing.T) {
	t.Parallel()
	d := readDefinitions(t)
	for _, name := range []string{"appointment-example", "schedule-example", "slot-example", "location-example",
		"operationoutcome-example", "capabilitystatement-example"} {
		raw, err := os.ReadFile("../testdata/fhir/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		d.resource(t, name, raw)
	}
	for what, broken := range map[string]string{
		"without a status": `{"resourceType":"Slot","schedule":{"reference":"Schedule/1"},"start":"2026-11-23T09:00:00Z","end":"2026-11-23T09:30:00Z"}`,
		"an unknown name":  `{"resourceType":"Slot","schedule":{"reference":"Schedule/1"},"status":"free","begin":"x","start":"2026-11-23T09:00:00Z","end":"2026-11-23T09:30:00Z"}`,
		"no zone":          `{"resourceType":"Slot","schedule":{"reference":"Schedule/1"},"status":"free","start":"2026-11-23T09:00:00","end":"2026-11-23T09:30:00Z"}`,
		"no list":          `{"resourceType":"Schedule","actor":{"display":"Ada"}}`,
		"no participant":   `{"resourceType":"Appointment","status":"booked"}`,
		"a status of none": `{"resourceType":"Appointment","status":"booked","participant":[{"actor":{"display":"Ada"}}]}`,
	} {
		var r map[string]any
		if err := json.Unmarshal([]byte(broken), &r); err != nil {
			t.Fatal(err)
		}
		if kind := r["resourceType"].(string); len(d.check(kind, kind, r)) != 1 {
			t.Errorf("%s: got %q, want one issue", what, d.check(kind, kind, r))
		}
	}
}

// TestFHIRFollowsStandard: every response is valid according to the standard's definitions, the pages of a search
// together contain every result once, and errors are OperationOutcomes.
func TestFHIRFollowsStandard(t *testing.T) {
	t.Parallel()
	h, d := newHouse(t), readDefinitions(t)
	ask := func(status int, path string, headers ...header) map[string]any {
		t.Helper()
		r := h.do("GET", path, nil, headers...).want(status)
		if got := r.header.Get("Content-Type"); got != "application/fhir+json" {
			t.Errorf("%s is %s", path, got)
		}
		return d.resource(t, path, []byte(r.raw))
	}
	entries := func(b map[string]any) (all []map[string]any) {
		list, _ := b["entry"].([]any)
		for _, e := range list {
			all = append(all, e.(map[string]any)["resource"].(map[string]any))
		}
		return all
	}
	ask(200, "/fhir/metadata")
	schedules := entries(ask(200, "/fhir/Schedule?_count=200"))
	if len(schedules) < 6 {
		t.Fatalf("%d schedules", len(schedules))
	}
	checkups := entries(ask(200, "/fhir/Schedule?service-type=checkup"))
	if len(checkups) != 2 {
		t.Fatalf("of a check-up: %v", checkups)
	}
	id := checkups[0]["id"].(string)
	ask(200, "/fhir/Schedule/"+id)

	from := "&start=ge" + h.at(0) + "&start=lt" + h.at(4*60)
	path, seen := "/fhir/Slot?schedule=Schedule/"+id+from+"&_count=3", map[string]bool{}
	for pages := 0; path != ""; pages++ {
		b := ask(200, path)
		path = ""
		for _, slot := range entries(b) {
			if seen[slot["id"].(string)] || slot["status"] != "free" {
				t.Errorf("duplicate, or not free: %v", slot)
			}
			seen[slot["id"].(string)] = true
		}
		for _, link := range b["link"].([]any) {
			if link := link.(map[string]any); link["relation"] == "next" {
				path = strings.TrimPrefix(link["url"].(string), h.server.URL)
			}
		}
		if pages > 5 {
			t.Fatal("the last page links to another page")
		}
	}
	if len(seen) != 8 {
		t.Errorf("4 hours have %d slots of 30 minutes, want 8", len(seen))
	}
	first := fmt.Sprintf("%s-%d", id, h.start.Unix())
	status := func(want string) {
		t.Helper()
		if got := ask(200, "/fhir/Slot/"+first)["status"]; got != want {
			t.Errorf("the slot is %v, want %s", got, want)
		}
	}
	status("free")
	h.hold(1, "checkup", h.at(0), map[string]any{"specialistId": "ada"})
	status("busy-tentative")
	if held := entries(ask(200, "/fhir/Slot?schedule="+id+from+"&status=busy-tentative")); len(held) != 1 ||
		held[0]["id"] != first {
		t.Errorf("the held slots are %v", held)
	}
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	status("busy")
	if free := entries(ask(200, "/fhir/Slot?schedule="+id+from)); len(free) != 7 {
		t.Errorf("%d remain", len(free))
	}

	appointment := booked.text("appointment", "id")
	a := ask(200, "/fhir/Appointment/"+appointment, asAdmin)
	if a["status"] != "booked" || !strings.Contains(fmt.Sprint(a["contained"]), "Patient 1") {
		t.Errorf("the appointment is %v", a)
	}
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(30), "specialistId": "ada"}).want(201)
	page := ask(200, "/fhir/Appointment?_count=1&date=ge"+h.start.Format("2006-01-02"), asAdmin)
	if len(entries(page)) != 1 || !strings.Contains(fmt.Sprint(page["link"]), "next") {
		t.Errorf("the first of two: %v", page)
	}
	if none := entries(ask(200, "/fhir/Appointment?status=cancelled", asAdmin)); len(none) != 0 {
		t.Errorf("the cancelled appointments are %v", none)
	}
	h.do("POST", "/v1/appointments/"+appointment+"/cancel", nil, asAdmin).want(200)
	if gone := entries(ask(200, "/fhir/Appointment?status=cancelled", asAdmin)); len(gone) != 1 ||
		gone[0]["id"] != appointment {
		t.Errorf("the cancelled appointments are %v", gone)
	}
	status("free")

	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/fhir/Slot": {422, "invalid"}, "/fhir/Slot?schedule=" + id + "&start=ge2026-13-01": {422, "invalid"},
		"/fhir/Slot?schedule=" + id + "&start=ge2026-11-01&start=le2099-01-01": {422, "invalid"},
		"/fhir/Slot?schedule=" + id + "&patient=1":                             {422, "invalid"},
		"/fhir/Slot?schedule=" + id + "&status=open":                           {422, "invalid"},
		"/fhir/Schedule?_format=xml":                                           {422, "invalid"},
		"/fhir/Schedule/none":                                                  {404, "not-found"},
		"/fhir/Slot/none":                                                      {404, "not-found"}, "/fhir/Slot/" + id +
			"-x": {404, "not-found"}, "/fhir/Slot/" + id + "-01": {404, "not-found"},
		"/fhir/Patient": {404, "not-found"}, "/fhir/Appointment": {401, "login"}, "/fhir/Appointment/" +
			appointment: {401, "login"},
	} {
		o := ask(want.status, path)
		if issue := o["issue"].([]any)[0].(map[string]any); o["resourceType"] != "OperationOutcome" ||
			issue["code"] != want.code {
			t.Errorf("%s: %v", path, o)
		}
	}
	ask(403, "/fhir/Appointment", h.key("agent"))
	if o := ask(404, "/fhir/Appointment/none", asAdmin); o["resourceType"] != "OperationOutcome" {
		t.Errorf("no appointment: %v", o)
	}
}

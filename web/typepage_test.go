package web_test

import (
	"encoding/base64"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestTypePageRoundTrips: the page texts of a type are returned as they were sent, to the desk and in a clinic file.
// The public does not get the link to a video call.
func TestTypePageRoundTrips(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{"typeGroups": []any{
		map[string]any{"id": "first", "name": "First visits", "names": map[string]any{"de": "Erste Besuche"}},
		map[string]any{"id": "later", "name": "Later"},
	}}, asAdmin).want(200)
	page := map[string]any{
		"group": "first", "color": "plum", "price": "from 40 €", "newPatientsOnly": true,
		"cancelText": "Cancel a day before.", "remote": true,
		"videoLink": "https://video.example.org/{appointment}", "approval": true, "approvalHours": 24.0,
		"texts": map[string]any{"de": map[string]any{"name": "Erstgespräch", "description": "Wir lernen uns kennen.",
			"price": "ab 40 €", "cancelText": "Einen Tag vorher."}},
		"questions": []any{
			map[string]any{"id": "why", "kind": "text", "label": "Why do you come?", "required": true},
			map[string]any{"id": "knee", "kind": "choice", "label": "Which knee?", "options": []any{"left", "right"},
				"texts": map[string]any{"de": map[string]any{"label": "Welches Knie?",
					"options": []any{"links", "rechts"}}}},
		},
	}
	h.do("PATCH", "/v1/appointment-types/checkup", page, asAdmin).want(200)
	for who, headers := range map[string][]header{"the desk": {asAdmin}, "the public": nil} {
		got := h.do("GET", "/v1/appointment-types/checkup", nil, headers...).want(200)
		for field, want := range page {
			if who == "the public" && (field == "videoLink" || field == "approvalHours") {
				want = nil
			}
			if x := got.get("appointmentType", field); !reflect.DeepEqual(x, want) {
				t.Errorf("%s reads %s as %v, want %v", who, field, x, want)
			}
		}
	}

	file := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	other := newHouse(t)
	other.do("POST", "/v1/import", file.raw, asAdmin).want(200)
	if again := other.do("GET", "/v1/export", nil, asAdmin).want(200); again.raw != file.raw {
		t.Errorf("another clinic's export is\n%s\nafter the import of\n%s", again.raw, file.raw)
	}
	h.do("PUT", "/v1/settings", map[string]any{}, asAdmin).problem(422, "validation_failed").field("typeGroups")
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"group": "",
		"texts": map[string]any{}, "questions": []any{}}, asAdmin).want(200)
	h.do("PUT", "/v1/settings", map[string]any{}, asAdmin).want(200)
	left := h.do("GET", "/v1/appointment-types/checkup", nil, asAdmin).want(200)
	if left.get("appointmentType", "texts") != nil || left.get("appointmentType", "questions") != nil ||
		left.text("appointmentType", "price") != "from 40 €" {
		t.Errorf("after clearing: %s", left.raw)
	}
}

func TestTypePageIsValidated(t *testing.T) {
	h := newHouse(t)
	question := func(q map[string]any) map[string]any { return map[string]any{"questions": []any{q}} }
	for field, body := range map[string]map[string]any{
		"group": {"group": "nowhere"}, "color": {"color": "#ff0000"}, "price": {"price": strings.Repeat("x", 101)},
		"texts.DE":      {"texts": map[string]any{"DE": map[string]any{}}},
		"texts.de.name": {"texts": map[string]any{"de": map[string]any{"name": strings.Repeat("x", 201)}}},
		"approvalHours": {"approvalHours": 169}, "videoLink": {"remote": true, "videoLink": "javascript:alert(1)"},
		"questions[0].label":   question(map[string]any{"kind": "text"}),
		"questions[0].kind":    question(map[string]any{"kind": "number", "label": "How old?"}),
		"questions[0].options": question(map[string]any{"kind": "choice", "label": "Which?"}),
		"questions[0].options[1]": question(map[string]any{"kind": "choice", "label": "Which?",
			"options": []any{"a", "a"}}),
		"questions[0].id": question(map[string]any{"id": "a b", "kind": "text", "label": "What?"}),
	} {
		h.do("PATCH", "/v1/appointment-types/checkup", body, asAdmin).problem(422, "validation_failed").field(field)
	}
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"videoLink": "https://video.example.org"},
		asAdmin).problem(422, "validation_failed").field("videoLink")
	h.do("PATCH", "/v1/appointment-types/checkup", `{"texts":{"de":{"nmae":"x"}}}`, asAdmin).problem(400,
		"malformed_body")
	made := h.do("PATCH", "/v1/appointment-types/checkup",
		question(map[string]any{"kind": "yesno", "label": "First time?"}), asAdmin).want(200)
	if q := made.get("appointmentType", "questions").([]any)[0].(map[string]any); q["id"] != "q01" {
		t.Errorf("a question without an id: got %v", q)
	}
}

// TestDeskOnlyTypeIsHidden: all routes hide a desk-only type from callers without a key.
func TestDeskOnlyTypeIsHidden(t *testing.T) {
	h := newHouse(t)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"deskOnly": true}, asAdmin).want(200)
	if strings.Contains(h.do("GET", "/v1/appointment-types", nil).want(200).raw, `"checkup"`) ||
		strings.Contains(h.do("GET", "/", nil).want(200).raw, `"id":"checkup"`) {
		t.Error("the public answer contains it")
	}
	h.do("GET", "/v1/appointment-types/checkup", nil).problem(404, "not_found")
	slot := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0), "clientId": client(1)}
	h.do("POST", "/v1/holds", slot).problem(404, "not_found")
	slot["lock"] = true
	h.do("POST", "/v1/slots/select", slot).problem(404, "not_found")
	booking := map[string]any{"slotStartDate": h.at(0), "clientId": client(1),
		"patient": map[string]any{"name": "Rosa Winter"}}
	h.do("POST", "/v1/appointment-types/checkup/book", booking).problem(404, "not_found")
	// Every route that takes the id of a type responds in the same way as for a type that does not exist.
	of := func(id string) map[string]*reply {
		at, path := "slotStartDate="+h.at(0), "/v1/appointment-types/"+id
		body := map[string]any{"appointmentTypeId": id, "slotStartDate": h.at(0), "clientId": client(1)}
		waiting := map[string]any{"clientId": client(1), "patient": map[string]any{"name": "Rosa Winter",
			"email": "rosa@example.org"}}
		return map[string]*reply{
			"type": h.do("GET", path, nil), "timeslots": h.do("GET", path+"/timeslots", nil),
			"family": h.do("GET", path+"/timeslots?people=2", nil),
			"with":   h.do("GET", "/v1/appointment-types/cooling/timeslots?with="+id, nil),
			"next":   h.do("GET", path+"/next-available", nil), "explain": h.do("GET", path+"/explain?"+at, nil),
			"stream": h.do("GET", "/v1/holds/stream?appointmentTypeId="+id, nil),
			"poll":   h.do("GET", "/v1/slots/poll?appointmentTypeId="+id, nil),
			"look":   h.do("POST", "/v1/slots/select", body), "hold": h.do("POST", "/v1/holds", body),
			"wait": h.do("POST", path+"/waitlist", waiting), "book": h.do("POST", path+"/book", booking),
		}
	}
	unknown := of("nowhere")
	for name, got := range of("checkup") {
		if want := unknown[name]; got.status != want.status || got.text("detail") != want.text("detail") {
			t.Errorf("%s: got %d %s\nbut an unknown type: %d %s", name, got.status, got.raw, want.status,
				want.raw)
		}
	}
	h.do("GET", "/v1/appointment-types/checkup/timeslots", nil, asAdmin).want(200)
	booking["appointmentTypeId"] = "checkup"
	made := h.do("POST", "/v1/appointments", booking, asAdmin).want(201)
	// The link to such an appointment can move it.
	_, token, _ := strings.Cut(made.text("appointment", "manageUrl"), "#")
	h.do("GET", "/v1/appointment-types/checkup/timeslots", nil, header{"Holdfast-Manage": token}).want(200)
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(60),
		"clientId": client(2)}, header{"Holdfast-Manage": token}).want(201)
}

// TestNewEntriesComeLast: an entry that is added by hand or by an import comes after the existing ones, which keep
// their positions. If entries were sorted by id, it would come first.
func TestNewEntriesComeLast(t *testing.T) {
	h := newHouse(t)
	ids := func(kind string) (ids []string) {
		exported := h.do("GET", "/v1/export", nil, asAdmin).want(200)
		for _, x := range exported.body[kind].([]any) {
			ids = append(ids, x.(map[string]any)["id"].(string))
		}
		return ids
	}
	types, people := ids("appointmentTypes"), ids("specialists")
	brief := map[string]any{"durationMinutes": 15, "specialists": []any{map[string]any{"specialistId": people[0]}}}
	entry := func(id string, more map[string]any) map[string]any {
		x := map[string]any{"id": id, "name": id}
		maps.Copy(x, more)
		return x
	}
	h.do("POST", "/v1/appointment-types", entry("a-by-hand", brief), asAdmin).want(201)
	h.do("POST", "/v1/specialists", entry("a-by-hand", nil), asAdmin).want(201)
	h.do("POST", "/v1/import", map[string]any{
		"appointmentTypes": []any{entry("a-imported", brief), entry(types[len(types)-1], brief)},
		"specialists":      []any{entry("a-imported", nil), entry(people[len(people)-1], nil)},
	}, asAdmin).want(200)
	for kind, was := range map[string][]string{"appointmentTypes": types, "specialists": people} {
		if got, want := ids(kind), append(was, "a-by-hand", "a-imported"); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", kind, got, want)
		}
	}
}

func TestAppointmentTypesAreOrdered(t *testing.T) {
	h := newHouse(t)
	order := func(r *reply) (ids []string) {
		for _, x := range r.body["appointmentTypes"].([]any) {
			ids = append(ids, x.(map[string]any)["id"].(string))
		}
		return ids
	}
	was := order(h.do("GET", "/v1/appointment-types", nil).want(200))
	last := was[len(was)-1]
	want := append([]string{last}, was[:len(was)-1]...)
	h.do("PUT", "/v1/appointment-types/order", map[string]any{"ids": []string{last}}, asAdmin).want(200)
	if got := order(h.do("GET", "/v1/appointment-types", nil).want(200)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	h.do("PUT", "/v1/appointment-types/order", map[string]any{"ids": []string{"nowhere"}}, asAdmin).problem(422,
		"validation_failed").field("ids[0]")
	h.do("PUT", "/v1/appointment-types/order", map[string]any{"ids": []string{last, last}}, asAdmin).problem(422,
		"validation_failed").field("ids[1]")
	h.do("PUT", "/v1/appointment-types/order", map[string]any{"ids": []string{last}}).problem(401, "unauthorized")
}

// pixel is the smallest PNG.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func TestSpecialistHasPicture(t *testing.T) {
	h := newHouse(t)
	const path = "/v1/specialists/ada/picture"
	h.do("GET", path, nil).problem(404, "not_found")
	h.do("PUT", path, map[string]any{"content": pixel}).problem(401, "unauthorized")
	large := append([]byte("\xff\xd8\xff"), make([]byte, 150<<10)...)
	for name, content := range map[string]string{"no base64": "?",
		"no picture": base64.StdEncoding.EncodeToString([]byte("<svg onload=alert(1)>")),
		"too large":  base64.StdEncoding.EncodeToString(large), "nothing": ""} {
		if got := h.do("PUT", path, map[string]any{"content": content}, asAdmin); got.status != 422 {
			t.Errorf("%s: got %d", name, got.status)
		}
	}
	h.do("PUT", "/v1/specialists/nobody/picture", map[string]any{"content": pixel}, asAdmin).problem(404, "not_found")
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"line": " Children ", "lines": map[string]any{"de": "Kinder"}},
		asAdmin).want(200)
	h.do("PUT", path, map[string]any{"content": pixel}, asAdmin).want(200)

	public := h.do("GET", "/v1/specialists/ada", nil).want(200)
	where := public.text("specialist", "picture")
	if public.text("specialist", "line") != "Children" || public.text("specialist", "lines", "de") != "Kinder" ||
		!strings.HasPrefix(where, path+"?v=") {
		t.Errorf("the public gets %s", public.raw)
	}
	got := h.do("GET", where, nil).want(200)
	if raw, _ := base64.StdEncoding.DecodeString(pixel); got.raw != string(raw) {
		t.Errorf("got %q", got.raw)
	}
	for name, want := range map[string]string{"Content-Type": "image/png", "X-Content-Type-Options": "nosniff",
		"Cache-Control": "public, max-age=31536000, immutable"} {
		if x := got.header.Get(name); x != want {
			t.Errorf("%s: %q, want %q", name, x, want)
		}
	}
	if h.do("GET", where, nil, header{"If-None-Match": got.header.Get("Etag")}).want(304).raw != "" {
		t.Error("a 304 with a body")
	}
	h.do("PATCH", "/v1/specialists/ada", map[string]any{"active": false}, asAdmin).want(200)
	h.do("GET", where, nil).problem(404, "not_found")
	h.do("DELETE", path, nil, asAdmin).want(200)
	h.do("DELETE", path, nil, asAdmin).problem(404, "not_found")
	if h.do("GET", "/v1/specialists/ada", nil, asAdmin).want(200).get("specialist", "picture") != nil {
		t.Error("the picture is still in the answer")
	}
}

package web_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// asking returns a house whose clinic requires consent and asks three questions for the check-up.
func asking(t testing.TB) *house {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{
		"consent": map[string]any{"text": "We keep your data.",
			"texts": map[string]any{"de": "Wir speichern Ihre Daten."}}, "privacyUrl": "https://clinic.example/privacy",
		"imprintUrl": "https://clinic.example/imprint",
	}, asAdmin).want(200)
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"newPatientsOnly": true, "questions": []any{
		map[string]any{"id": "why", "kind": "text", "label": "Why do you come?", "required": true},
		map[string]any{"id": "knee", "kind": "choice", "label": "Which knee?", "options": []any{"left", "right"},
			"texts": map[string]any{"de": map[string]any{"options": []any{"links", "rechts"}}}},
		map[string]any{"id": "well", "kind": "yesno", "label": "Are you well?"},
	}}, asAdmin).want(200)
	return h
}

const bookCheckup = "/v1/appointment-types/checkup/book"

// TestPublicBookingNeedsAnswers: the server refuses a visitor's booking without a required answer, and names the
// field.
func TestPublicBookingNeedsAnswers(t *testing.T) {
	h := asking(t)
	whole := func() map[string]any {
		return map[string]any{
			"slotStartDate": h.at(0), "clientId": client(1),
			"patient": map[string]any{"name": "Rosa Winter", "email": "rosa@example.org"}, "consent": true,
			"newPatient": true, "answers": map[string]any{"why": " My knee. ", "knee": "rechts", "well": "no"},
		}
	}
	for field, change := range map[string]func(map[string]any){
		"consent":      func(b map[string]any) { b["consent"] = false },
		"newPatient":   func(b map[string]any) { delete(b, "newPatient") },
		"answers.why":  func(b map[string]any) { b["answers"] = map[string]any{"why": "  "} },
		"answers.knee": func(b map[string]any) { b["answers"].(map[string]any)["knee"] = "both" },
		"answers.well": func(b map[string]any) { b["answers"].(map[string]any)["well"] = "maybe" },
		"answers.age":  func(b map[string]any) { b["answers"].(map[string]any)["age"] = "7" },
	} {
		body := whole()
		change(body)
		h.do("POST", bookCheckup, body).problem(422, "validation_failed").field(field)
	}
	booked := h.do("POST", bookCheckup, whole()).want(201)
	if booked.get("appointment", "intake") != nil {
		t.Errorf("the public answer contains the answers: %s", booked.raw)
	}
	id := booked.text("appointment", "id")
	got := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200)
	want := []any{
		map[string]any{"questionId": "why", "question": "Why do you come?", "value": "My knee."},
		map[string]any{"questionId": "knee", "question": "Which knee?", "value": "right"},
		map[string]any{"questionId": "well", "question": "Are you well?", "value": "no"},
	}
	if !reflect.DeepEqual(got.get("appointment", "intake", "answers"), want) ||
		got.get("appointment", "intake", "newPatient") != true ||
		got.text("appointment", "intake", "consentedAt") == "" {
		t.Errorf("the desk gets %s", got.raw)
	}
	list := h.do("GET", "/v1/appointments?from="+h.day(0)+"&to="+h.day(1), nil, asAdmin).want(200)
	if !strings.Contains(list.raw, "My knee.") {
		t.Error("the desk's list has no answers")
	}
	// A later change to the label does not change the stored question.
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"questions": []any{}}, asAdmin).want(200)
	h.do("POST", "/v1/people/erase", map[string]any{"email": "rosa@example.org"}, asAdmin).want(200)
	gone := h.do("GET", "/v1/appointments/"+id, nil, asAdmin).want(200)
	if gone.get("appointment", "intake") != nil || strings.Contains(gone.raw, "knee") {
		t.Errorf("after the erasure: %s", gone.raw)
	}
}

// TestDeskMayOmitAnswers: the desk and programs may omit answers. Any answers that they send must be valid.
func TestDeskMayOmitAnswers(t *testing.T) {
	h := asking(t)
	body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": h.at(0),
		"patient": map[string]any{"name": "Rosa Winter"}}
	h.do("POST", "/v1/appointments", body, asAdmin).want(201)
	body["slotStartDate"], body["answers"] = h.at(60), map[string]any{"knee": "both"}
	h.do("POST", "/v1/appointments", body, asAdmin).problem(422, "validation_failed").field("answers.knee")
	body["answers"] = map[string]any{"knee": "left"}
	if got := h.do("POST", "/v1/appointments", body, asAdmin).want(201); !strings.Contains(got.raw, `"value":"left"`) {
		t.Errorf("got %s", got.raw)
	}
	program := map[string]any{"slotStartDate": h.at(120), "patient": map[string]any{"name": "Rosa Winter"}}
	h.do("POST", bookCheckup, program, asAdmin).want(201)
}

// TestRequestKeepsAnswers: a request stores the answers, and they are part of the confirmed appointment.
func TestRequestKeepsAnswers(t *testing.T) {
	h := asking(t)
	settings := h.do("GET", "/v1/settings", nil, asAdmin).want(200).get("settings").(map[string]any)
	settings["publicBookings"] = map[string]any{"confirm": true}
	h.do("PUT", "/v1/settings", settings, asAdmin).want(200)
	asked := h.do("POST", bookCheckup, map[string]any{
		"slotStartDate": h.at(0), "clientId": client(1), "patient": map[string]any{"name": "Rosa Winter"},
		"consent": true, "newPatient": true, "answers": map[string]any{"why": "My knee."},
	}).want(202)
	id := asked.text("request", "id")
	if got := h.do("GET", "/v1/requests", nil, asAdmin).want(200); !strings.Contains(got.raw, "My knee.") ||
		strings.Contains(asked.raw, "My knee.") {
		t.Errorf("the desk gets %s", got.raw)
	}
	booked := h.do("POST", "/v1/requests/"+id+"/confirm", nil, asAdmin).want(200)
	if !strings.Contains(booked.raw, "My knee.") || booked.text("appointment", "intake", "consentedAt") == "" {
		t.Errorf("confirmed: %s", booked.raw)
	}
}

func TestConsentIsChecked(t *testing.T) {
	h := newHouse(t)
	for field, body := range map[string]map[string]any{
		"privacyUrl": {"privacyUrl": "javascript:alert(1)"}, "imprintUrl": {"imprintUrl": "clinic.example"},
		"consent.text":     {"consent": map[string]any{"text": strings.Repeat("x", 2001)}},
		"consent.texts.DE": {"consent": map[string]any{"text": "x", "texts": map[string]any{"DE": "y"}}},
	} {
		h.do("PUT", "/v1/settings", body, asAdmin).problem(422, "validation_failed").field(field)
	}
	page := asking(t).do("GET", "/v1/clinic", nil).want(200)
	if page.text("clinic", "consent", "texts", "de") != "Wir speichern Ihre Daten." ||
		page.text("clinic", "privacyUrl") == "" || page.text("clinic", "imprintUrl") == "" {
		t.Errorf("the public gets %s", page.raw)
	}
	// The largest logo fits into the settings.
	h.do("PUT", "/v1/settings", map[string]any{"logo": "data:image/png;base64,iVBORw0KGgo" +
		strings.Repeat("AAAA", 30_000) + "="}, asAdmin).want(200)
}

// TestDeskCorrectsAnswers: the desk corrects one answer at a time. The answer to a removed question is kept until the
// answer is deleted. The log records that an answer was corrected, but not its text.
func TestDeskCorrectsAnswers(t *testing.T) {
	h := asking(t)
	id := h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
		"slotStartDate": h.at(0), "patient": map[string]any{"name": "Rosa Winter"},
		"answers": map[string]any{"why": "My knee.", "well": "no"}}, asAdmin).want(201).text("appointment", "id")
	path := "/v1/appointments/" + id
	answers := func(r *reply) map[string]any {
		got := map[string]any{}
		list, _ := r.get("appointment", "intake", "answers").([]any)
		for _, a := range list {
			got[a.(map[string]any)["questionId"].(string)] = a.(map[string]any)["value"]
		}
		return got
	}
	steps := []struct {
		name string
		body map[string]any
		want map[string]any
	}{
		{"one more", map[string]any{"knee": "rechts"}, map[string]any{"why": "My knee.",
			"knee": "right", "well": "no"}},
		{"one other", map[string]any{"why": " The hip. "}, map[string]any{"why": "The hip.",
			"knee": "right", "well": "no"}},
		{"one less", map[string]any{"well": ""}, map[string]any{"why": "The hip.", "knee": "right"}},
	}
	for _, s := range steps {
		if got := answers(h.do("PATCH", path, map[string]any{"answers": s.body},
			asAdmin).want(200)); !reflect.DeepEqual(got, s.want) {
			t.Errorf("%s: %v, want %v", s.name, got, s.want)
		}
	}
	for id, value := range map[string]string{"knee": "both", "well": "maybe", "age": "7"} {
		h.do("PATCH", path, map[string]any{"answers": map[string]any{id: value}}, asAdmin).problem(422,
			"validation_failed").field("answers." + id)
	}
	before := h.do("GET", path, nil, asAdmin).get("appointment", "version")
	if got := h.do("PATCH", path, map[string]any{"answers": map[string]any{"why": "The hip."}},
		asAdmin).want(200); got.get("appointment", "version") != before {
		t.Error("the same answer again counts as a change")
	}
	h.do("PATCH", "/v1/appointment-types/checkup",
		map[string]any{"questions": []any{map[string]any{"id": "knee", "kind": "text", "label": "And now?"}}},
		asAdmin).want(200)
	kept := h.do("PATCH", path, map[string]any{"patient": map[string]any{"notes": "x"},
		"answers": map[string]any{"knee": "right"}}, asAdmin).want(200)
	if !reflect.DeepEqual(answers(kept), map[string]any{"why": "The hip.", "knee": "right"}) ||
		!strings.Contains(kept.raw, "Which knee?") {
		t.Errorf("without questions: %s", kept.raw)
	}
	h.do("PATCH", path, map[string]any{"answers": map[string]any{"why": "other"}}, asAdmin).problem(422,
		"validation_failed").field("answers.why")
	if got := answers(h.do("PATCH", path, map[string]any{"answers": map[string]any{"why": ""}},
		asAdmin).want(200)); !reflect.DeepEqual(got, map[string]any{"knee": "right"}) {
		t.Errorf("removed: %v", got)
	}
	log := h.do("GET", "/v1/audit?subject=appointment:"+id, nil, asAdmin).want(200)
	if !strings.Contains(log.raw, "appointment.patient_changed") || strings.Contains(log.raw, "hip") ||
		strings.Contains(log.raw, "knee") {
		t.Errorf("the log: %s", log.raw)
	}
}

// TestSpreadsheetHasAnswers: the spreadsheet exports and imports answers.
func TestSpreadsheetHasAnswers(t *testing.T) {
	h := asking(t)
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at(0), "patient": map[string]any{"name": "Rosa Winter"},
		"answers": map[string]any{"why": "My knee.\nSince May.", "well": "no"}}, asAdmin).want(201)
	out := h.do("GET", "/v1/export/appointments?from="+h.day(0)+"&to="+h.day(2), nil, asAdmin).want(200)
	cell := "\"Why do you come?: My knee.\r\nSince May.\r\nAre you well?: no\""
	if !strings.Contains(out.raw, cell) {
		t.Fatalf("the file: %q", out.raw)
	}
	file := "name,appointmentTypeId,specialistId,start,answers\nPer,checkup,ada," + h.at(60) + "," + cell +
		"\nIda,checkup,ada," + h.at(120) + ",\"Which knee?: both\"\nJan,checkup,ada," + h.at(180) + ",Shoe size: 43\n"
	plan := h.do("POST", "/v1/import/appointments-plan", map[string]any{"csv": file}, asAdmin).want(200)
	rows := plan.get("import", "rows").([]any)
	for i, want := range []string{`outcome:book`, `must be one of the options`, `no_question`} {
		if got := fmt.Sprint(rows[i]); !strings.Contains(got, want) {
			t.Errorf("row %d: %s, want %s", i, got, want)
		}
	}
	h.do("POST", "/v1/import/appointments", map[string]any{"csv": file, "onlyGood": true}, asAdmin).want(200)
	got := h.do("GET", "/v1/appointments?from="+h.at(60)+"&to="+h.at(61), nil, asAdmin).want(200)
	if !strings.Contains(got.raw, `"value":"My knee.\nSince May."`) ||
		!strings.Contains(got.raw, `"question":"Are you well?","value":"no"`) {
		t.Errorf("imported is %s", got.raw)
	}
}

// TestSeriesKeepsAnswers: every appointment of a series contains the answers.
func TestSeriesKeepsAnswers(t *testing.T) {
	h := asking(t)
	made := h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup",
		"times":   []any{map[string]any{"slotStartDate": h.at(0)}, map[string]any{"slotStartDate": h.at(60)}},
		"patient": map[string]any{"name": "Rosa Winter"}, "answers": map[string]any{"knee": "left"}}, asAdmin).want(201)
	if n := strings.Count(made.raw, `"value":"left"`); n != 2 {
		t.Errorf("%d appointments have the answer, want 2: %s", n, made.raw)
	}
	h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup",
		"times":   []any{map[string]any{"slotStartDate": h.at(120)}, map[string]any{"slotStartDate": h.at(180)}},
		"patient": map[string]any{"name": "Rosa Winter"}, "answers": map[string]any{"knee": "both"}},
		asAdmin).problem(422, "validation_failed").field("answers.knee")
}

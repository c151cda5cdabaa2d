package web_test

import (
	"strings"
	"testing"
)

// TestAppointmentsSpreadsheet: importing an export finds that its appointments already exist. A file with invalid rows
// is refused unless the request explicitly skips them.
func TestAppointmentsSpreadsheet(t *testing.T) {
	h := newHouse(t)
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at(0),
		"patient":       map[string]any{"name": "Lena Vogt", "phone": "+49 30 77"}}, asAdmin).want(201)
	day := h.at(0)[:10]
	r := h.do("GET", "/v1/export/appointments?from="+day+"&to=2199-01-01", nil, asAdmin).problem(422,
		"validation_failed")
	if !strings.Contains(r.raw, "at most five years") {
		t.Errorf("a long range: %s", r.raw)
	}
	h.do("GET", "/v1/export/appointments", nil, asAdmin).problem(422, "validation_failed")
	file := h.do("GET", "/v1/export/appointments?from="+day+"&to="+h.start.AddDate(0, 0, 2).Format("2006-01-02"), nil,
		asAdmin).want(200)
	if got := file.header.Get("Content-Type") + " " +
		file.header.Get("Content-Disposition"); got != `text/csv; charset=utf-8 attachment; filename="appointments-`+
		day+`.csv"` {
		t.Errorf("the file is %s", got)
	}
	if !strings.Contains(file.raw, ",Lena Vogt,,'+49 30 77,") {
		t.Errorf("the file: %q", file.raw)
	}
	plan := h.do("POST", "/v1/import/appointments-plan", map[string]any{"csv": file.raw}, asAdmin).want(200)
	if plan.get("import", "there") != 1.0 || plan.get("import", "book") != 0.0 {
		t.Errorf("planned is %s", plan.raw)
	}
	mixed := "name,typ,appointmentTypeId,specialistId,start\nPer,x,checkup,ada," + h.at(0) + "\nPer,x,checkup,ada," +
		h.at(60) + "\n"
	h.do("POST", "/v1/import/appointments", map[string]any{"csv": mixed}, asAdmin).problem(422, "validation_failed")
	done := h.do("POST", "/v1/import/appointments", map[string]any{"csv": mixed, "onlyGood": true}, asAdmin).want(200)
	if done.get("imported", "booked") != 1.0 || done.get("imported", "refused") != 1.0 {
		t.Errorf("imported is %s", done.raw)
	}
	h.do("POST", "/v1/import/appointments", map[string]any{"csv": "x"}, asAdmin).problem(422, "validation_failed")
}

// TestSpreadsheetHasSeparatorOfLanguage: spreadsheets open the exported files in columns, in the language of the
// request and the clinic's country. A request without a language gets commas. The import reads every file.
func TestSpreadsheetHasSeparatorOfLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at(0), "patient": map[string]any{"name": "Lena Vogt", "phone": "+49 30 77"}},
		asAdmin).want(201)
	day := h.at(0)[:10]
	for _, c := range []struct{ locale, query, prefers, separator string }{
		{"de", "", "", ","},
		{"de", "", "*", ","},
		{"de", "", "fr", ","},
		{"de", "de", "", ";"},
		{"en", "de", "en-GB,en;q=0.9", ";"},
		{"en", "", "de-AT,de;q=0.9", ";"},
		{"de-CH", "de", "", ";"},
		{"de", "en", "de", ","},
		{"en", "es", "", ";"},
		{"es-ES", "es", "", ";"},
		{"es-MX", "es", "", ","},
		{"es-MX", "de", "", ";"},
	} {
		h.do("PUT", "/v1/clinic", map[string]any{"name": "Clinic", "timezone": "Europe/Berlin", "locale": c.locale},
			asAdmin).want(200)
		prefers := header{"Accept-Language": c.prefers}
		for _, path := range []string{
			"/v1/export/appointments?from=" + day + "&to=" + h.start.AddDate(0, 0, 2).Format("2006-01-02"),
			"/v1/downtime-kit?format=csv&days=1&from=" + day,
		} {
			if c.query != "" {
				path += "&lang=" + c.query
			}
			text := h.do("GET", path, nil, asAdmin, prefers).want(200).raw
			if head, _, _ := strings.Cut(text, "\r\n"); strings.Count(head, c.separator) < 11 ||
				!strings.Contains(text, c.separator+"Lena Vogt"+c.separator) {
				t.Errorf("%+v: %s", c, text)
			}
			if strings.HasPrefix(path, "/v1/export") {
				h.do("POST", "/v1/import/appointments-plan", map[string]any{"csv": text}, asAdmin).want(200)
			}
		}
		refused := h.do("POST", "/v1/import/appointments-plan?lang="+c.query, map[string]any{
			"csv": "name,typ,appointmentTypeId,specialistId,start\nPer,x,checkup,missing,2030-01-01 09:00\n"},
			asAdmin, prefers).want(200).get("import", "refusedCsv").(string)
		if !strings.HasPrefix(refused, strings.Join([]string{"line", "problem", "name"}, c.separator)) {
			t.Errorf("%+v: the refused rows are %q", c, refused)
		}
		h.do("POST", "/v1/import/appointments-plan", map[string]any{"csv": refused}, asAdmin).want(200)
	}
}

// TestImportDryRunChangesNothing: a dry run reports new, changed and unchanged entries and each error, and stores
// nothing.
func TestImportDryRunChangesNothing(t *testing.T) {
	h := newHouse(t)
	exported := h.do("GET", "/v1/export", nil, asAdmin).want(200)
	same := h.do("POST", "/v1/import/plan", exported.raw, asAdmin).want(200)
	if strings.Contains(same.raw, "new") || strings.Contains(same.raw, "changed") ||
		same.get("import", "clinic") != "same" {
		t.Errorf("the clinic's own file: %s", same.raw)
	}
	changed := strings.Replace(exported.raw, `"id":"ada"`, `"id":"newcomer"`, 1)
	if got := h.do("POST", "/v1/import/plan", changed, asAdmin).want(200); !strings.Contains(got.raw,
		`{"id":"newcomer","name":"Dr ada","change":"new"}`) {
		t.Errorf("a new patient: %s", got.raw)
	}
	bad := h.do("POST", "/v1/import/plan", `{"specialists":[{"id":"x","name":"","timezone":"Moon"}]}`,
		asAdmin).problem(422, "validation_failed")
	if !strings.Contains(bad.raw, "specialists[0].name") || !strings.Contains(bad.raw, "specialists[0].timezone") {
		t.Errorf("the mistakes: %s", bad.raw)
	}
	if after := h.do("GET", "/v1/export", nil, asAdmin).want(200); after.raw != exported.raw {
		t.Error("the plan changed the clinic")
	}
}

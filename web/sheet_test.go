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

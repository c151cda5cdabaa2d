package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
)

// TestDowntimePlanIsComplete: the plan contains names, times, phone numbers, types and notes, as JSON, as a
// self-contained page and as a spreadsheet. User-entered text never becomes markup or a formula, no cache stores the
// plan, and the log records the download.
func TestDowntimePlanIsComplete(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	day := h.at(0)[:10]
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0),
		"patient": map[string]any{"name": "Lena <b>Vogt", "phone": "+49 30 77", "birthDate": "1991-12-01", "notes": "=1+1"}}, asAdmin).want(201)
	h.do("POST", "/v1/specialists/ada/blocks", map[string]any{"start": h.at(60), "end": h.at(120), "reason": "Meeting"}, asAdmin).want(201)

	kit := h.do("GET", "/v1/downtime-kit?days=1&from="+day, nil, asAdmin).want(200)
	if got := kit.header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	sheets := kit.get("kit", "sheets").([]any)
	ada := sheets[0].(map[string]any)
	if len(sheets) != 2 || ada["specialistId"] != "ada" || ada["date"] != day || ada["appointments"] != 1.0 {
		t.Fatalf("got %d sheets, the first %v", len(sheets), ada)
	}
	page := ada["html"].(string)
	for _, want := range []string{"12:00–12:30", "Lena &lt;b&gt;Vogt", "+49 30 77", "born 01/12/1991", "=1+1", "13:00–14:00", "blocked: <bdi>Meeting", "12:30–13:00", "free", `<tr class="blank">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the sheet misses %q:\n%s", want, page)
		}
	}
	german := h.do("GET", "/v1/downtime-kit?lang=de&format=html&days=1&specialistId=ada&from="+day, nil, asAdmin).want(200)
	style := german.raw[strings.Index(german.raw, "<style>")+7 : strings.Index(german.raw, "</style>")]
	sum := sha256.Sum256([]byte(style))
	if policy := german.header.Get("Content-Security-Policy"); !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
		t.Errorf("the policy %s does not allow the page's own style", policy)
	}
	if !strings.Contains(german.raw, `<html lang="de">`) || !strings.Contains(german.raw, "geb. 01.12.1991") || strings.Contains(german.raw, "Dr bea") || strings.Count(german.raw, "<section") != 1 {
		t.Errorf("the German page of one specialist:\n%s", german.raw)
	}
	file := h.do("GET", "/v1/downtime-kit?format=csv&days=1&from="+day, nil, asAdmin).want(200)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file.raw, "\ufeff"))).ReadAll()
	if err != nil || file.header.Get("Content-Disposition") != `attachment; filename="plan-`+day+`.csv"` {
		t.Fatalf("the file: %v, %v", err, file.header)
	}
	booked := 0
	for _, row := range rows {
		if row[4] == "booked" {
			booked++
			if strings.Join(row, "|") != day+"|12:00|12:30|Dr ada|booked|Lena <b>Vogt|1991-12-01|'+49 30 77|checkup|||'=1+1" {
				t.Errorf("the row is %q", row)
			}
		}
	}
	if booked != 1 {
		t.Errorf("%d rows are booked, want 1: %q", booked, rows)
	}
	if got := h.do("GET", "/v1/audit?limit=3", nil, asAdmin).want(200).raw; strings.Count(got, "appointments.downtime_kit") != 3 || strings.Contains(got, "Lena") {
		t.Errorf("the log: %s", got)
	}
	for _, bad := range []string{"days=0", "days=15", "format=pdf", "from=today"} {
		h.do("GET", "/v1/downtime-kit?"+bad, nil, asAdmin).problem(422, "validation_failed")
	}
	h.do("GET", "/v1/downtime-kit?specialistId=nobody", nil, asAdmin).problem(404, "not_found")

	h.do("DELETE", "/v1/specialists/ada", nil, asAdmin).want(200)
	if got := h.do("GET", "/v1/downtime-kit?format=csv&days=1&from="+day, nil, asAdmin).want(200); !strings.Contains(got.raw, "Lena") {
		t.Errorf("a patient of an archived specialist is on no sheet:\n%s", got.raw)
	}
}

// TestDowntimePlanOfSpecialistIsOwn: a specialist's plan contains no data of colleagues.
func TestDowntimePlanOfSpecialistIsOwn(t *testing.T) {
	t.Parallel()
	r := newRoles(t)
	slot := r.slot()
	for _, who := range []string{"ada", "bea"} {
		r.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": who, "slotStartDate": slot,
			"patient": map[string]any{"name": "Of " + who}}, asAdmin).want(201)
	}
	got := r.do("GET", "/v1/downtime-kit", nil, r.callers["own"]).want(200).raw
	if !strings.Contains(got, "Of ada") || strings.Contains(got, "Of bea") {
		t.Errorf("ada's plan: %s", got)
	}
}

// TestPaperBookingsAreChecked: the response lists the conflicts of each row, including those with earlier rows, and
// nothing is written.
func TestPaperBookingsAreChecked(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a := h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(0), "patient": map[string]any{"name": "Lena Vogt"}}, asAdmin).want(201)
	h.do("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(240), "clientId": client(1)}).want(201)
	h.do("POST", "/v1/specialists/ada/blocks", map[string]any{"start": h.at(300), "end": h.at(360)}, asAdmin).want(201)
	row := func(minutes int, kind, who string) map[string]any {
		return map[string]any{"appointmentTypeId": kind, "specialistId": who, "slotStartDate": h.at(minutes)}
	}
	long := -7 * 24 * 60 // a booking on paper is in the past
	r := h.do("POST", "/v1/downtime-kit/check", map[string]any{"rows": []any{
		row(15, "checkup", "ada"), row(30, "checkup", "ada"), row(45, "checkup", "ada"), row(15, "checkup", "bea"), row(240, "checkup", "ada"), row(300, "checkup", "ada"),
		row(long, "checkup", "ada"), row(0, "nothing", "ada"), row(0, "checkup", "nobody"), row(480, "class", "ada"), row(480, "class", "ada"), row(485, "checkup", "ada"),
	}}, asAdmin).want(200)
	want := []string{"taken overlap", "free", "taken overlap 2", "free", "held", "closed override_closed", "free", "refused unknown_type", "refused unknown_specialist", "free", "free", "taken overlap 10"}
	for i, x := range r.body["rows"].([]any) {
		v := x.(map[string]any)
		said := v["outcome"].(string)
		if v["reason"] != nil {
			said += " " + v["reason"].(string)
		}
		if v["row"] != nil {
			said += " " + strconv.Itoa(int(v["row"].(float64)))
		}
		if said != want[i] {
			t.Errorf("row %d: got %q, want %q", i+1, said, want[i])
		}
	}
	first := r.body["rows"].([]any)[0].(map[string]any)["appointments"].([]any)[0].(map[string]any)
	if first["id"] != a.text("appointment", "id") || first["name"] != "Lena Vogt" || first["slotStartDate"] != h.at(0) {
		t.Errorf("the conflict of the first row is %v", first)
	}
	h.do("POST", "/v1/downtime-kit/check", map[string]any{"rows": []any{}}, asAdmin).problem(422, "validation_failed")
	bad := h.do("POST", "/v1/downtime-kit/check", map[string]any{"rows": []any{map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": "soon"}}}, asAdmin).problem(422, "validation_failed")
	if !strings.Contains(bad.raw, "rows[0].slotStartDate") {
		t.Errorf("a row without a time: %s", bad.raw)
	}
}

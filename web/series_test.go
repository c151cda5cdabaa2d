package web_test

import (
	"testing"
	"time"
)

// TestSeriesOverHTTP checks a plan, the booking of its chosen times, a repeat of the request, and the error for a
// taken time.
func TestSeriesOverHTTP(t *testing.T) {
	h := newHouse(t)
	h.book(9, "checkup", map[string]any{"slotStartDate": h.at(7 * 24 * 60), "specialistId": "ada"}).want(201)
	plan := h.do("POST", "/v1/appointment-types/checkup/series-plan", map[string]any{
		"from": h.at(0)[:10], "time": "12:00", "count": 3, "specialistIds": []string{"ada"},
	}, asAdmin).want(200)
	times, _ := plan.get("occurrences").([]any)
	if len(times) != 3 {
		t.Fatalf("got %s", plan.raw)
	}
	second, _ := times[1].(map[string]any)
	if nearest, _ := second["nearest"].([]any); second["reason"] != "taken" || len(nearest) == 0 {
		t.Errorf("got %s", plan.raw)
	}
	body := func(starts ...string) map[string]any {
		var list []any
		for _, s := range starts {
			list = append(list, map[string]any{"slotStartDate": s, "specialistId": "ada"})
		}
		return map[string]any{"appointmentTypeId": "checkup", "patient": patient(1), "times": list}
	}
	refused := h.do("POST", "/v1/series", body(h.at(0), h.at(7*24*60), h.at(14*24*60)), asAdmin).problem(409,
		"slot_taken")
	refused.field("times[1]")
	once := header{"Idempotency-Key": "a-series-of-two"}
	made := h.do("POST", "/v1/series", body(h.at(0), h.at(14*24*60)), asAdmin, once).want(201)
	again := h.do("POST", "/v1/series", body(h.at(0), h.at(14*24*60)), asAdmin, once).want(201)
	if made.text("seriesId") == "" || again.raw != made.raw || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same request again: %s, %s", made.raw, again.raw)
	}
	all, _ := made.get("appointments").([]any)
	first, _ := all[0].(map[string]any)
	path := "/v1/appointments/" + first["id"].(string)
	// The desk moves both appointments a day later. The manage link of the first appointment cannot do that.
	h.do("POST", path+"/series/plan", map[string]any{"slotStartDate": h.at(24 * 60)}, asAdmin).want(200)
	h.do("POST", path+"/series/reschedule", map[string]any{}, asAdmin).problem(422,
		"validation_failed").field("slotStartDate")
	h.do("POST", path+"/series/reschedule", map[string]any{"slotStartDate": h.at(24 * 60)}, asAdmin,
		header{"If-Match": `"7"`}).problem(412, "version_mismatch")
	moved := h.do("POST", path+"/series/reschedule", map[string]any{"slotStartDate": h.at(24 * 60)}, asAdmin,
		header{"If-Match": `"1"`}).want(200)
	if list, _ := moved.get("appointments").([]any); len(list) != 2 ||
		list[1].(map[string]any)["slotStartDate"] != h.at(15*24*60) {
		t.Errorf("got %s", moved.raw)
	}
	h.do("POST", path+"/series/cancel", map[string]any{"reason": "moved away"}, asAdmin).want(200)
	listed := h.do("GET", path+"/series", nil, asAdmin).want(200)
	if list, _ := listed.get("appointments").([]any); len(list) != 2 ||
		list[1].(map[string]any)["status"] != "cancelled" {
		t.Errorf("got %s", listed.raw)
	}
}

// TestDeskUndoesSeries: the desk undoes its change to several appointments. A program cannot, and the error names a
// time that has been taken.
func TestDeskUndoesSeries(t *testing.T) {
	h := newHouse(t)
	reception := h.signedIn("desk@clinic.example", "reception", "")
	times := []any{map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"},
		map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}}
	made := h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup", "patient": patient(1),
		"times": times}, asAdmin).want(201)
	first := made.get("appointments").([]any)[0].(map[string]any)
	path := "/v1/appointments/" + first["id"].(string)
	cancelled := func() { h.do("POST", path+"/series/cancel", map[string]any{"undoable": true}, reception).want(200) }
	cancelled()
	if got := h.do("POST", path+"/series/undo", nil, asAdmin).problem(409,
		"not_bookable"); got.text("reason") != "undo_late" {
		t.Errorf("a program gets %s", got.raw)
	}
	h.do("POST", path+"/series/undo", nil, reception, header{"If-Match": `"1"`}).problem(412, "version_mismatch")
	back := h.do("POST", path+"/series/undo", nil, reception, header{"If-Match": `"2"`}).want(200)
	if list := back.get("appointments").([]any); len(list) != 2 || list[1].(map[string]any)["status"] != "confirmed" {
		t.Errorf("got %s", back.raw)
	}
	h.do("POST", path+"/series/reschedule", map[string]any{"slotStartDate": h.at(30), "undoable": true},
		reception).want(200)
	h.do("POST", path+"/series/undo", nil, reception).want(200)
	// Changes within one millisecond have no order in the audit log, so an undo after both would be refused.
	for undone := time.Now().UnixMilli(); time.Now().UnixMilli() == undone; {
	}
	cancelled()
	h.book(9, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).want(201)
	h.do("POST", path+"/series/undo", nil, reception).problem(409, "slot_taken").field("times[1]")
}

// TestSeriesLinkListsOtherDates: the link of one appointment lists the other dates of the patient's series. It leaves
// out cancelled ones, and those for which the desk has entered other contact details.
func TestSeriesLinkListsOtherDates(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	var times []any
	for day := range 4 {
		times = append(times, map[string]any{"slotStartDate": h.at(day * 24 * 60), "specialistId": "ada"})
	}
	series := linksOf(h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup", "patient": patient(1),
		"times": times}, asAdmin).want(201))
	h.do("POST", series[1].path+"/cancel", map[string]any{}, asAdmin).want(200)
	other := patient(1)
	other["email"] = "another@example.org"
	h.do("PATCH", series[2].path, map[string]any{"patient": other}, asAdmin).want(200)
	managed := h.do("GET", "/v1/appointments/managed", nil, series[0].link).want(200)
	list, _ := managed.get("series").([]any)
	if len(list) != 1 || list[0].(map[string]any)["slotStartDate"] != h.at(3*24*60) {
		t.Errorf("got %s, want only the last date", managed.raw)
	}
	if desk := h.do("GET", series[0].path, nil, asAdmin).want(200); desk.get("series") != nil {
		t.Errorf("without a link: got %s", desk.raw)
	}
}

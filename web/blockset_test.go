package web_test

import "testing"

// TestHolidaysBecomeBlocks: the server reads holidays, and those that the desk chooses become blocks for all
// specialists. The response lists the appointments in conflict.
func TestHolidaysBecomeBlocks(t *testing.T) {
	h := newHouse(t)
	date := h.at(0)[:10]
	compact := date[:4] + date[5:7] + date[8:]
	read := h.do("POST", "/v1/blocks/holidays",
		map[string]any{"ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + compact +
			"\nSUMMARY:Day of \n the sea\nEND:VEVENT\nEND:VCALENDAR"}, asAdmin).want(200)
	days, _ := read.get("days").([]any)
	if len(days) != 1 || days[0].(map[string]any)["title"] != "Day of the sea" ||
		days[0].(map[string]any)["from"] != date {
		t.Fatalf("got %s", read.raw)
	}
	h.do("POST", "/v1/blocks/holidays", map[string]any{"ics": "BEGIN:VCALENDAR\nBEGIN:VEVENT\nRRULE:X"},
		asAdmin).problem(422, "validation_failed").field("ics")
	in := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0),
		"specialistId": "ada"}).want(201).text("appointment", "id")
	form := map[string]any{"spans": days}
	planned := h.do("POST", "/v1/blocks/plan", form, asAdmin).want(200)
	list, _ := planned.get("appointments").([]any)
	if planned.get("count") != float64(len(h.do("GET", "/v1/specialists", nil, asAdmin).get("specialists").([]any))) ||
		len(list) != 1 || list[0].(map[string]any)["id"] != in || list[0].(map[string]any)["told"] != false {
		t.Errorf("the plan is %s", planned.raw)
	}
	made := h.do("POST", "/v1/blocks", form, asAdmin).want(201)
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).problem(409, "not_bookable")
	if list, _ := h.do("GET", "/v1/blocks/"+made.text("block", "id")+"/appointments", nil,
		asAdmin).want(200).get("appointments").([]any); len(list) != 1 {
		t.Errorf("the affected appointments are %v", list)
	}
	h.do("POST", "/v1/appointments/"+in+"/tell", nil, asAdmin).problem(409, "not_bookable")
	h.do("DELETE", "/v1/block-sets/"+made.text("block", "setId"), nil, asAdmin).want(200)
	h.do("DELETE", "/v1/block-sets/"+made.text("block", "setId"), nil, asAdmin).problem(404, "not_found")
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).want(201)
	for field, body := range map[string]map[string]any{
		"spans":             {},
		"spans[0].from":     {"spans": []any{map[string]any{"from": "tomorrow"}}},
		"spans[0].start":    {"spans": []any{map[string]any{"from": date, "start": "nine"}}},
		"spans[0].to":       {"spans": []any{map[string]any{"from": date, "start": "09:00", "end": "08:00"}}},
		"repeat.everyWeeks": {"spans": days, "repeat": map[string]any{"everyWeeks": 0, "until": date}},
	} {
		h.do("POST", "/v1/blocks", body, asAdmin).problem(422, "validation_failed").field(field)
	}
}

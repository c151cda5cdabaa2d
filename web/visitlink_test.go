package web_test

import (
	"strings"
	"testing"
)

// linked is an appointment with the header that contains the token of its manage link.
type linked struct {
	path string
	link header
}

// linksOf returns the appointments of a response about a visit or a series.
func linksOf(r *reply) (list []linked) {
	all, _ := r.get("appointments").([]any)
	for _, x := range all {
		a, _ := x.(map[string]any)
		url, _ := a["manageUrl"].(string)
		list = append(list, linked{"/v1/appointments/" + a["id"].(string),
			header{"Holdfast-Manage": url[strings.Index(url, "#")+1:]}})
	}
	return list
}

// family books a visit for a parent and two children at a start.
func (h *house) family(start string) []linked {
	h.t.Helper()
	return linksOf(h.do("POST", "/v1/visits", map[string]any{"slotStartDate": start, "specialistId": "ada",
		"contact": map[string]any{"email": "vogt@example.org"}, "people": []any{
			map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"},
			map[string]any{"appointmentTypeId": "checkup", "name": "Ben Vogt"}}}, asAdmin).want(201))
}

// TestPatientMovesVisitByLink: with the link of one person, a patient holds and moves the whole visit under the rules
// for patients. The link gives no access to another visit.
func TestPatientMovesVisitByLink(t *testing.T) {
	h := newHouse(t)
	visit, other := h.family(h.at(0)), h.family(h.at(180))
	last, as := visit[2], header{"Holdfast-Client": client(1)}
	managed := "/v1/appointments/managed/visit/reschedule"
	move := func(body map[string]any, headers ...header) *reply {
		return h.do("POST", managed, body, append(headers, as)...)
	}
	move(map[string]any{"slotStartDate": h.at(15)}, last.link).problem(409, "not_bookable") // between two slots
	for _, field := range []string{"displace", "ignoreHours"} {
		move(map[string]any{"slotStartDate": h.at(30), field: true}, last.link).problem(403, "forbidden")
	}
	h.do("POST", visit[0].path+"/visit/reschedule", map[string]any{"slotStartDate": h.at(30)},
		other[0].link).problem(403, "forbidden")
	move(map[string]any{"slotStartDate": h.at(30)}).problem(401, "unauthorized")

	// The hold is for all three people. The visit's own time counts as free, and that of the other visit does not.
	hold := func(start string, more map[string]any) *reply {
		body := map[string]any{"appointmentTypeId": "checkup", "slotStartDate": start, "specialistId": "ada"}
		for name, value := range more {
			body[name] = value
		}
		return h.do("POST", "/v1/holds", body, as, last.link)
	}
	// The lists agree with the hold.
	list := "/v1/appointment-types/checkup/timeslots?specialistId=ada&with=checkup,checkup&from=" + h.at(0)[:10]
	first := "/v1/appointment-types/checkup/next-available?specialistId=ada&with=checkup,checkup&after=" + h.at(30)
	for _, x := range []struct {
		by       header
		isListed bool
		after    string
	}{{last.link, true, h.at(30)}, {as, false, h.at(90)}, {other[0].link, false, h.at(90)}} {
		listed := h.do("GET", list, nil, x.by).want(200).raw
		if got := strings.Contains(listed, `"start":"`+h.at(60)); got != x.isListed {
			t.Errorf("a start in the visit's own time is listed: %t, want %t", got, x.isListed)
		}
		if got := h.do("GET", first, nil, x.by).want(200).text("slot", "start"); got != x.after {
			t.Errorf("the first time after %s is %s, want %s", h.at(30), got, x.after)
		}
	}
	h.do("GET", list, nil, header{"Holdfast-Manage": "no-token"}).problem(401, "unauthorized")
	hold(h.at(120), nil).problem(409, "slot_taken")
	hold(h.at(60), map[string]any{"appointmentTypeId": "class"}).problem(422,
		"validation_failed").field("appointmentTypeId")
	hold(h.at(60), map[string]any{"place": "north"}).problem(422, "validation_failed").field("place")
	held := hold(h.at(60), nil).want(201)
	if held.text("slotEndDate") != h.at(150) {
		t.Errorf("held: %s, want 90 minutes", held.raw)
	}
	body := map[string]any{"slotStartDate": h.at(60), "specialistId": "ada", "holdId": held.text("holdId")}
	h.do("POST", managed, body, last.link, header{"Holdfast-Client": client(2)}).problem(403, "not_owner")
	moved := move(body, last.link).want(200)
	renewed := linksOf(moved)
	if len(renewed) != 3 || renewed[2].path != last.path || !strings.Contains(moved.raw, h.at(120)) ||
		strings.Contains(moved.raw, "Lena") {
		t.Errorf("moved: %s", moved.raw)
	}
	if left, _ := h.do("GET", "/v1/holds", nil, as).want(200).get("holds").([]any); len(left) != 0 {
		t.Errorf("after the move, the client still holds %v", left)
	}
	move(body, last.link).problem(401, "unauthorized") // the link has been replaced
	shown := h.do("GET", last.path, nil, renewed[2].link).want(200)
	if list, _ := shown.get("visit").([]any); len(list) != 3 || shown.get("visitPeople") != 3.0 ||
		list[0].(map[string]any)["slotStartDate"] != h.at(60) {
		t.Errorf("the new link shows %s", shown.raw)
	}

	h.do("PATCH", "/v1/settings", map[string]any{"changeCutoffHours": 72}, asAdmin).want(200)
	if p := move(map[string]any{"slotStartDate": h.at(30)}, other[1].link).problem(403,
		"forbidden"); p.text("reason") != "cut_off" {
		t.Errorf("after the cut-off: %s", p.raw)
	}
}

// TestPatientMovesApprovedVisit: a patient cannot move a visit if the desk must approve the type of one of its people.
func TestPatientMovesApprovedVisit(t *testing.T) {
	h := newHouse(t)
	visit := h.family(h.at(0))
	h.do("PATCH", "/v1/appointment-types/checkup", map[string]any{"approval": true}, asAdmin).want(200)
	if p := h.do("POST", visit[0].path+"/visit/reschedule", map[string]any{"slotStartDate": h.at(120)},
		visit[0].link).problem(403, "forbidden"); p.text("reason") != "asks_desk" {
		t.Errorf("got %s", p.raw)
	}
}

// TestPatientCancelsOnePerson: with the link of any person, a patient cancels the appointment of one person of the
// visit. The others keep their times. The last person left can be moved and cancelled like a single appointment.
func TestPatientCancelsOnePerson(t *testing.T) {
	h := newHouse(t)
	visit, other := h.family(h.at(0)), h.family(h.at(180))
	lena, mia, ben := visit[0], visit[1], visit[2]
	id := func(x linked) string { return x.path[strings.LastIndex(x.path, "/")+1:] }
	cancel := func(only string, link header) *reply {
		return h.do("POST", "/v1/appointments/managed/visit/cancel", map[string]any{"only": only}, link)
	}
	for _, wrong := range []string{id(other[0]), "none"} {
		cancel(wrong, ben.link).problem(422, "validation_failed").field("only")
	}
	h.do("POST", mia.path+"/visit/cancel", map[string]any{"only": id(mia)}, other[0].link).problem(403, "forbidden")
	for range 2 { // the second request changes nothing
		said := cancel(id(mia), ben.link).want(200)
		if list, _ := said.get("appointments").([]any); len(list) != 1 || !strings.Contains(said.raw, id(mia)) ||
			strings.Contains(said.raw, "Mia") {
			t.Errorf("with another person's link: %s", said.raw)
		}
	}
	var at []any
	all, _ := h.do("GET", lena.path+"/visit", nil, asAdmin).want(200).get("appointments").([]any)
	for _, x := range all {
		if a, _ := x.(map[string]any); a["status"] == "confirmed" {
			at = append(at, a["slotStartDate"])
		}
	}
	if len(at) != 2 || at[0] != h.at(0) || at[1] != h.at(60) {
		t.Errorf("the others are at %v, want at their old times", at)
	}
	if said := cancel(id(ben), ben.link).want(200); !strings.Contains(said.raw, "Ben Vogt") {
		t.Errorf("with the person's own link: %s", said.raw)
	}
	moved := h.do("POST", lena.path+"/reschedule", map[string]any{"slotStartDate": h.at(120)}, lena.link).want(200)
	url := moved.text("appointment", "manageUrl")
	h.do("POST", lena.path+"/cancel", nil, header{"Holdfast-Manage": url[strings.Index(url, "#")+1:]}).want(200)

	cancel(id(other[0]), other[1].link).want(200)
	cancel(id(other[2]), other[1].link).want(200)
	h.do("POST", other[1].path+"/cancel", nil, other[1].link).want(200)
}

// TestSeriesDateChangesByItsLink: each date of a series has its own link, which moves or cancels that date alone.
func TestSeriesDateChangesByItsLink(t *testing.T) {
	h := newHouse(t)
	times := []any{}
	for _, minutes := range []int{0, 60, 120} {
		times = append(times, map[string]any{"slotStartDate": h.at(minutes), "specialistId": "ada"})
	}
	dates := linksOf(h.do("POST", "/v1/series", map[string]any{"appointmentTypeId": "checkup", "times": times,
		"patient": map[string]any{"name": "Lena Vogt", "email": "vogt@example.org"}}, asAdmin).want(201))
	h.do("POST", dates[2].path+"/cancel", nil, dates[1].link).problem(403, "forbidden")
	h.do("POST", dates[0].path+"/cancel", nil, dates[0].link).want(200)
	h.do("POST", dates[1].path+"/reschedule", map[string]any{"slotStartDate": h.at(180)}, dates[1].link).want(200)
	h.do("POST", dates[2].path+"/series/cancel", nil, dates[2].link).problem(401, "unauthorized")
	if got := h.do("GET", dates[2].path, nil, dates[2].link).want(200); got.text("appointment",
		"slotStartDate") != h.at(120) || got.text("appointment", "status") != "confirmed" {
		t.Errorf("the third date is %s", got.raw)
	}
}

// TestNextAvailableFindsVisit: the search finds the first start at which all people of a visit fit.
func TestNextAvailableFindsVisit(t *testing.T) {
	h := newHouse(t)
	h.book(9, "checkup", map[string]any{"slotStartDate": h.at(60), "specialistId": "ada"}).want(201)
	path := "/v1/appointment-types/checkup/next-available?specialistId=ada&after=" + h.at(0)
	for query, want := range map[string]string{"": h.at(0), "&with=checkup": h.at(0), "&people=3": h.at(90),
		"&with=checkup,checkup": h.at(90)} {
		if got := h.do("GET", path+query, nil).want(200); got.text("slot", "start") != want {
			t.Errorf("%s: %s, want %s", query, got.raw, want)
		}
	}
	h.do("GET", path+"&people=2&with=checkup", nil).problem(422, "validation_failed").field("with")
	h.do("GET", path+"&people=2&place=north", nil).problem(422, "validation_failed").field("place")
}

// TestNextAvailableCountsOwnTimeAsFree: with the link of an appointment, the search finds the first time that the list
// of times contains, which can be the appointment's own.
func TestNextAvailableCountsOwnTimeAsFree(t *testing.T) {
	h := newHouse(t)
	url := h.book(9, "checkup", map[string]any{"slotStartDate": h.at(30), "specialistId": "ada"}).want(201).text(
		"appointment", "manageUrl")
	link := header{"Holdfast-Manage": url[strings.Index(url, "#")+1:]}
	list := "/v1/appointment-types/checkup/timeslots?specialistId=ada&from=" + h.at(0)[:10]
	first := "/v1/appointment-types/checkup/next-available?specialistId=ada&after=" + h.at(30)
	for _, x := range []struct {
		by       []header
		isListed bool
		after    string
	}{{[]header{link}, true, h.at(30)}, {nil, false, h.at(60)}} {
		listed := h.do("GET", list, nil, x.by...).want(200).raw
		if got := strings.Contains(listed, `"start":"`+h.at(30)); got != x.isListed {
			t.Errorf("the appointment's own time is listed: %t, want %t", got, x.isListed)
		}
		if got := h.do("GET", first, nil, x.by...).want(200).text("slot", "start"); got != x.after {
			t.Errorf("the first time after %s is %s, want %s", h.at(30), got, x.after)
		}
	}
	h.do("GET", first, nil, header{"Holdfast-Manage": "no-token"}).problem(401, "unauthorized")
}

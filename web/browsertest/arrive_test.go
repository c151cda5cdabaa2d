package browsertest

import (
	"strings"
	"testing"
	"time"

	"holdfast/store"
)

// soon books a visit for a mother and a child, or the mother alone, that starts in half an hour. It returns the
// appointments' ids and the path of the last one's link. h.date becomes the date of the visit.
func (h *house) soon(people int) (ids []string, link string) {
	h.t.Helper()
	start := time.Now().UTC().Truncate(time.Minute).Add(30 * time.Minute)
	h.date = start.Format(time.DateOnly)
	var made []any
	if people == 1 {
		made = []any{h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup",
			"specialistId": "ada", "slotStartDate": start.Format(time.RFC3339), "ignoreHours": true,
			"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"}}, asAdmin).get("appointment")}
	} else {
		made = h.must(201, "POST", "/v1/visits", map[string]any{"slotStartDate": start.Format(time.RFC3339),
			"specialistId": "ada", "ignoreHours": true, "contact": map[string]any{"phone": "030 1112233"},
			"people": []any{map[string]any{"appointmentTypeId": "checkup", "name": "Lena Vogt"},
				map[string]any{"appointmentTypeId": "checkup", "name": "Mia Vogt"}}}, asAdmin).get("appointments").([]any)
	}
	for _, a := range made {
		ids = append(ids, a.(map[string]any)["id"].(string))
		link = a.(map[string]any)["manageUrl"].(string)
	}
	return ids, link[strings.Index(link, "/manage"):]
}

// arrival is the button that reports an arrival.
const arrival = ".row .btn.primary.big:not([aria-disabled])"

func (h *house) allowArrivals() {
	h.must(200, "PATCH", "/v1/settings", map[string]any{"onlineArrival": true}, asAdmin)
}

// TestPatientReportsArrival: within the hour before the start, the page of the link has a button that reports the
// arrival. The open board shows it at once. The open page shows when the desk calls the patient in.
func TestPatientReportsArrival(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	ids, link := h.soon(1)
	p := h.tab(t)
	p.open(link)
	p.booked()
	p.there(".calendars") // the parts that load later are there
	if n := p.count(arrival); n != 0 {
		t.Error("the button is there although the setting is off")
	}
	h.allowArrivals()
	desk := h.desk(t, store.RoleReception)
	desk.there(card(ids[0]))
	p.reload()
	p.there(arrival)
	p.says("I have arrived")
	p.accessible("the button for an arrival")
	p.shot("arrive")
	p.click(arrival)
	p.says("You are checked in. Please take a seat. We will call you.")
	p.there(".notice.ok:focus")
	p.accessible("an arrival")
	p.shot("arrived")
	desk.there(card(ids[0]) + ".arrived")
	if a := h.appointmentOf(ids[0]); a["attendance"] != "arrived" {
		t.Errorf("the database has %v", a)
	}
	p.reload()
	p.says("You are checked in.")
	if n := p.count(arrival); n != 0 {
		t.Error("the button is still there after the arrival")
	}
	h.must(200, "POST", "/v1/appointments/"+ids[0]+"/attendance", map[string]any{"attendance": "in_progress"}, asAdmin)
	p.says("Please come in. Your appointment starts now.") // the open page notices
	p.accessible("a call")
	p.shot("arrive-called")
}

// TestArrivalSaysWhyNot: if the desk has changed the attendance since the page was loaded, the page says so. Two days
// before the appointment, the page has no button.
func TestArrivalSaysWhyNot(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.allowArrivals()
	early := h.tab(t)
	early.open(h.stranger("10:00"))
	early.booked()
	early.there(".calendars")
	ids, link := h.soon(1)
	p := h.tab(t)
	p.open(link)
	p.there(arrival)
	h.must(200, "POST", "/v1/appointments/"+ids[0]+"/attendance", map[string]any{"attendance": "no_show"}, asAdmin)
	p.click(arrival)
	p.says("This appointment was marked as missed. Please go to the desk.")
	p.there(arrival)
	h.must(200, "PATCH", "/v1/settings", map[string]any{"onlineArrival": false}, asAdmin)
	p.click(arrival)
	p.says("Please go to the desk and say that you have arrived.")
	if n := early.count(arrival); n != 0 {
		t.Error("the button is there two days before the appointment")
	}
}

// TestVisitArrivesByLink: one link reports the arrival of all people in the visit.
func TestVisitArrivesByLink(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.allowArrivals()
	ids, link := h.soon(2)
	p := h.tab(t)
	p.open(link)
	p.there(arrival)
	p.says("We have arrived")
	p.click(arrival)
	p.says("You are checked in.")
	for _, id := range ids {
		if a := h.appointmentOf(id); a["attendance"] != "arrived" {
			t.Errorf("the database has %v", a)
		}
	}
}

// TestDoorPage: an owner turns arrivals on and gets a QR code for the door. Its page tells patients to open their link,
// and to go to the desk if they have none or if arrivals are off.
func TestDoorPage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	door := h.tab(t)
	door.open("/arrived")
	door.says("Please go to the desk and say that you have arrived.")
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#settings")
	p.there("#cutoff")
	p.run(`[...document.querySelectorAll("label.check")]
		.find(x => /report that they have arrived/.test(x.innerText)).querySelector("input").click()`)
	p.there(".door svg.qr")
	if got, want := ask[string](p, `document.querySelector('#door').value`), h.url+"/arrived"; got != want {
		t.Errorf("the code has the address %s, want %s", got, want)
	}
	p.accessible("the QR code for the door")
	p.shot("door-settings")
	p.run(`document.querySelector('#cutoff').closest('form').requestSubmit()`)
	p.until(`fetch('/v1/settings').then(r => r.json()).then(x => x.settings.onlineArrival === true)`)
	door.reload()
	door.says("Open the link in your confirmation")
	door.says("from 60 minutes before your appointment")
	door.says("You do not have the link? Please go to the desk.")
	door.accessible("the page of the door")
	door.shot("door")
}

package browsertest

import (
	"testing"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestVisitorRequestsAppointment: a visitor requests a video call that needs the desk's approval. The page explains
// that before and after the request, and shows the link after the approval.
func TestVisitorRequestsAppointment(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		x := &f.AppointmentTypes[0]
		x.Approval, x.Remote, x.VideoLink = true, true, "https://video.example.org/{appointment}"
		x.CancelText = "Please cancel a day before."
	})
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	p.says("On request")
	p.says("Video call")
	p.shot("approval-what")
	p.when("")
	p.take(h.at("10:00"))
	p.says("The clinic must confirm this appointment.")
	p.says("Please cancel a day before.")
	p.shot("approval-details")
	p.accessible("details of a request")
	p.confirm()
	p.says("The clinic has received your request")
	p.accessible("asked for approval")
	p.shot("approval-asked")
	list := h.requests()
	if len(list) != 1 || !list[0].Approval {
		t.Fatalf("the requests are %+v, want one that waits for approval", list)
	}
	r := list[0]
	link := "/manage?lang=en#" + h.engine.Booking.ManageToken(&store.Appointment{ID: r.ID, SlotEnd: r.SlotEnd,
		CreatedAt: r.CreatedAt})
	mail := h.tab(t)
	mail.open(link)
	mail.says("not booked yet: the clinic has to confirm it")
	mail.forgive() // the page first requests an appointment, and there is none yet
	if n := ask[int](mail, `document.querySelectorAll('.actions .primary').length`); n != 0 {
		t.Error("the page of the link has a confirm button")
	}
	mail.accessible("the link of a request for approval")
	mail.shot("approval-link")

	desk := h.desk(t, store.RoleReception)
	desk.open("/staff?lang=en#day/" + h.date)
	desk.board()
	desk.until(`document.querySelector('.ghosted')?.innerText.includes('Request: waits for the clinic’s decision')`)
	desk.open("/staff?lang=en#requests")
	desk.says("Waiting for your approval")
	desk.accessible("a request for approval at the desk")
	desk.press("Approve: Lena Vogt")
	desk.says("No requests.")
	mail.leave()
	mail.open(link)
	mail.there(`.ticket a[href="https://video.example.org/` + r.ID + `"]`)
	mail.says("Please cancel a day before.")
	mail.accessible("a booked video call")
	mail.shot("approval-booked")
}

// TestDeskProposesAnotherTime checks that the desk can answer a request with a time that overlaps the requested one. The
// list shows that the request is waiting for the patient. The link shows both times and books the proposed one. While
// that time is closed, the link says so.
func TestDeskProposesAnotherTime(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.AppointmentTypes[0].Approval = true })
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	p.when("")
	p.take(h.at("10:00"))
	p.confirm()
	p.says("The clinic has received your request")
	r := h.requests()[0]
	desk := h.desk(t, store.RoleReception)
	desk.open("/staff?lang=en#requests")
	desk.there(`a[href="#requests"] .flag`)
	desk.press("Propose another time: Lena Vogt")
	desk.there("dialog .nextfree .btn")
	desk.accessible("the dialog of a proposal")
	desk.shot("propose-dialog")
	desk.set("#when-time", "10:15")
	desk.click("dialog [type=submit]:not([aria-disabled])")
	desk.says("Proposed, waiting for the patient.")
	desk.until(`!document.querySelector('a[href="#requests"] .flag')`) // it waits for the patient now
	desk.accessible("a proposed time at the desk")
	desk.shot("propose-list")
	desk.open("/staff?lang=en#day/" + h.date)
	desk.board()
	desk.until(`document.querySelector('.ghosted')?.innerText.
		includes('Request: waits for the patient’s confirmation')`)
	desk.open("/staff?lang=en#requests")
	desk.says("Proposed, waiting for the patient.")

	link := "/manage?lang=en#" + h.engine.Booking.ManageToken(&store.Appointment{ID: r.ID, SlotEnd: r.SlotEnd,
		CreatedAt: r.CreatedAt})
	mail := h.tab(t)
	mail.open(link)
	mail.says("The clinic proposes a different time")
	mail.forgive() // the page first requests an appointment, and there is none yet
	mail.says("You requested")
	mail.accessible("the link of a proposal")
	mail.shot("propose-link")

	closed := h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{"date": h.date, "closed": true},
		asAdmin)
	mail.press("Accept and book")
	mail.says("This time is no longer available.")
	mail.forgive() // the server has refused the booking
	if ask[bool](mail, `document.body.innerText.includes('holding it for you') ||
		Boolean(document.querySelector('.actions .primary'))`) {
		t.Error("the page still offers the closed time")
	}
	mail.accessible("the link of a proposal that was closed")
	mail.shot("propose-closed")
	h.must(200, "DELETE", "/v1/overrides/"+closed.get("override", "id").(string), nil, asAdmin)
	mail.leave()
	mail.open(link)
	mail.press("Accept and book")
	desk.says("No requests.")
	list := h.bookings()
	if len(list) != 1 || list[0]["slotStartDate"] != h.at("10:15") {
		t.Fatalf("booked: %v, want one at 10:15", list)
	}
	mail.booked()
}

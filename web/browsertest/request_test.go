package browsertest

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
	"holdfast/web"
)

// everyBookingConfirmed opens a clinic that has a mail server and requires every booking to be confirmed.
func everyBookingConfirmed(t *testing.T) *house {
	t.Helper()
	mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" + noticetest.MailServer(t, func(string) string {
		return "250 ok"
	})})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t), BaseURL: "http://book.example.org",
		Notices: message.Transport{Mailer: mailer, From: "post@clinic.example"}}, web.Options{})
	h.must(200, "PUT", "/v1/settings", map[string]any{"publicBookings": map[string]any{"confirm": true}}, asAdmin)
	return h
}

// requests returns the open requests.
func (h *house) requests() (all []store.BookingRequest) {
	h.t.Helper()
	all, err := h.engine.Request.List(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// TestVisitorConfirmsByEmail: the page asks the visitor to check their email. The link in the email shows the request,
// and one click confirms it.
func TestVisitorConfirmsByEmail(t *testing.T) {
	t.Parallel()
	h := everyBookingConfirmed(t)
	p := h.tab(t)
	p.when("")
	p.take(h.at("10:00"))
	p.confirm()
	p.says("Check your email")
	p.says("Not booked yet. We have sent a link to lena@example.org.")
	p.accessible("asked for")
	p.shot("book-5-asked")
	list := h.requests()
	if len(list) != 1 || len(h.bookings()) != 0 {
		t.Fatalf("%d requests and %d bookings, want one request", len(list), len(h.bookings()))
	}
	r := list[0]
	link := "/manage?lang=en#" + h.engine.Booking.ManageToken(&store.Appointment{ID: r.ID, SlotEnd: r.SlotEnd,
		CreatedAt: r.CreatedAt})
	mail := h.tab(t)
	mail.open(link)
	mail.says("Your appointment is not booked yet.")
	mail.forgive() // the page first requests an appointment, and there is none yet
	mail.accessible("the link of a request")
	mail.shot("manage-5-request")
	if n := len(h.bookings()); n != 0 {
		t.Errorf("opening the link booked %d appointments", n)
	}
	mail.click(".actions .primary")
	mail.there(".ticket.confirmed")
	if n := len(h.bookings()); n != 1 || len(h.requests()) != 0 {
		t.Errorf("confirmed: %d bookings and %d requests, want one booking", n, len(h.requests()))
	}
}

// TestDeskDecidesRequests: the desk sees in the navigation that requests are waiting, and decides.
func TestDeskDecidesRequests(t *testing.T) {
	t.Parallel()
	h := everyBookingConfirmed(t)
	for i, name := range []string{"Lena Sorge", "Omar Ruiz"} {
		h.must(202, "POST", "/v1/appointment-types/checkup/book", map[string]any{
			"clientId": "a-visitor-of-requests-" + name[:2], "slotStartDate": h.at([]string{"10:00", "11:00"}[i]),
			"patient": map[string]any{"name": name, "email": "visitor@example.org", "phone": "030 1112233"},
		})
	}
	p := h.desk(t, store.RoleReception)
	p.until(`document.querySelector('nav a[href="#requests"]').innerText.includes('2 to confirm')`)
	p.click(`nav a[href="#requests"]`)
	p.says("Lena Sorge")
	p.accessible("requests")
	p.shot("requests-1")
	p.click(`.line:first-child .line-do .btn:not(.quiet)`)
	p.says("The appointment is booked.")
	p.until(`document.querySelectorAll('.lines .line').length === 1`)
	p.click(`.line .line-do .quiet`)
	p.there(`.dialog, dialog`)
	p.accessible("declining a request")
	p.click(`dialog .btn.solid, .dialog .btn.solid`)
	p.says("No requests.")
	if n := len(h.bookings()); n != 1 || len(h.requests()) != 0 {
		t.Errorf("%d bookings and %d requests remain, want one booking", n, len(h.requests()))
	}
}

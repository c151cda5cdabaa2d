package browsertest

import (
	"testing"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/engine/waitlist"
	"holdfast/store"
	"holdfast/web"
)

// mailing opens a clinic with a mail server.
func mailing(t *testing.T, change ...func(*clinic.File)) *house {
	t.Helper()
	mailer, err := notice.NewMailer(notice.MailOptions{URL: "smtp://" + noticetest.MailServer(t, func(string) string {
		return "250 ok"
	})})
	if err != nil {
		t.Fatal(err)
	}
	return newHouseWith(t, engine.Options{Queue: enginetest.Queue(t), BaseURL: "http://book.example.org",
		Notices: message.Transport{Mailer: mailer, From: "post@clinic.example"}}, web.Options{}, change...)
}

// waiting returns the only entry on the waiting list.
func (h *house) waiting() *waitlist.Waiting {
	h.t.Helper()
	live, _, err := h.engine.Waitlist.List(h.t.Context(), 0)
	if err != nil || len(live) != 1 {
		h.t.Fatalf("waiting: got %+v, %v; want one", live, err)
	}
	return &live[0]
}

// TestVisitorAcceptsOffer: a visitor who finds no time joins the waiting list, confirms by email, and accepts a freed
// time with one click.
func TestVisitorAcceptsOffer(t *testing.T) {
	t.Parallel()
	h := mailing(t, func(f *clinic.File) { f.Specialists[0].WeeklyHours = nil })
	p := h.tab(t)
	p.open("/?lang=en&type=class")
	p.says("No times can be booked online in the next 60 days.")
	p.accessible("no time, and a list to wait on")
	p.click(".times .btn")
	p.says("When a time for")
	p.accessible("the form of the waiting list")
	p.shot("waitlist-1-form")
	p.click(".actions .primary")
	p.there(".summary")
	p.fill("#name", "Lena Sorge")
	p.fill("#email", "lena@example.org")
	p.click(".actions .primary")
	p.says("Check your email")
	p.accessible("joined the waiting list")
	x := h.waiting()
	if x.Status != store.WaitlistUnconfirmed || x.Patient.Name != "Lena Sorge" {
		t.Fatalf("asked: got %+v", x)
	}

	mail := h.tab(t)
	mail.open("/manage?lang=en#" + h.engine.Message.WaitlistToken(&x.WaitlistEntry, nil))
	mail.says("Do you want to join the waiting list?")
	mail.forgive() // the page first requests an appointment, and there is none yet
	mail.accessible("the link of an entry")
	mail.shot("waitlist-2-confirm")
	mail.click(".actions .primary")
	mail.says("You are on the list.")

	var hours []map[string]any
	for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		hours = append(hours, map[string]any{"weekday": day, "start": "08:00", "end": "18:00"})
	}
	h.must(200, "PUT", "/v1/specialists/ada/weekly-hours", hours, asAdmin)
	offer := h.offered()
	taking := h.tab(t)
	taking.open("/manage?lang=en#" + h.engine.Message.WaitlistToken(&x.WaitlistEntry, offer))
	taking.says("A time has become free")
	taking.forgive()
	taking.accessible("the link of an offer")
	taking.shot("waitlist-3-offer")
	if n := len(h.bookings()); n != 0 {
		t.Errorf("opening the link booked %d appointments", n)
	}
	taking.click(".actions .primary")
	taking.there(".ticket.confirmed")
	taking.there(".ticket-title") // a booking, not "Your appointment was moved"
	if n := len(h.bookings()); n != 1 {
		t.Errorf("accepted: %d bookings, want one", n)
	}
}

// offered waits for the only open offer.
func (h *house) offered() *store.WaitlistOffer {
	h.t.Helper()
	tab := h.tab(h.t)
	for range 100 {
		open, err := h.db.OpenWaitlistOffers(h.t.Context())
		if err != nil {
			h.t.Fatal(err)
		}
		if len(open) == 1 {
			return &open[0]
		}
		tab.moment()
	}
	h.t.Fatal("the page offers no time")
	return nil
}

// TestDeskReadsThatAnOfferIsOpen: while the desk looks for a time, the server offers one to the same person. The dialog
// says that an offer is open, and not that the time cannot be booked.
func TestDeskReadsThatAnOfferIsOpen(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=en#waitlist")
	p.click(`.office-tools .primary`)
	p.there(`dialog #wl-name`)
	p.fill("#wl-name", "Omar Ruiz")
	p.fill("#wl-phone", "030 1112233")
	p.click(`dialog .primary`)
	p.says("Omar Ruiz")
	p.click(`.line .line-do .btn`)
	p.there(`dialog .found-time:nth-child(1)`)
	h.must(200, "POST", "/v1/waitlist/"+h.waiting().ID+"/offer", map[string]any{"slotStartDate": h.at("10:00"),
		"specialistId": "ada"}, asAdmin)
	p.click(`dialog .found-time`)
	p.says("This person already has an open offer")
}

// TestDeskManagesWaitingList: the desk adds a caller, offers a time by hand, books it for them, and removes an entry.
// The page shows the result of each step.
func TestDeskManagesWaitingList(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.click(`nav a[href="#waitlist"]`)
	p.says("No one is waiting.")
	p.accessible("the waiting list, empty")
	p.click(`.office-tools .primary`)
	p.there(`dialog #wl-name`)
	p.accessible("adding a person")
	p.shot("waitlist-4-add")
	p.fill("#wl-name", "Omar Ruiz")
	p.fill("#wl-phone", "030 1112233")
	p.click(`dialog .primary`)
	p.says("Omar Ruiz")
	p.says("No email: call")
	p.accessible("the waiting list")
	p.click(`.line .line-do .btn`)
	p.there(`dialog .found-time`)
	p.accessible("offering a time")
	p.shot("waitlist-5-offer")
	p.click(`dialog .found-time`)
	p.says("Offered:")
	p.accessible("an offer that is open")
	p.shot("waitlist-6-offered")
	p.click(`.line .line-do .btn:first-child`)
	p.says("The appointment is booked.")
	p.says("No longer waiting")
	if n := len(h.bookings()); n != 1 {
		t.Errorf("booked for a caller: %d bookings, want one", n)
	}
}

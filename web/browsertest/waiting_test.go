package browsertest

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestArrivedNeedsOneClick: one click on the card's icon marks a patient as arrived. The strip above the board then
// shows the patient and the time since their arrival.
func TestArrivedNeedsOneClick(t *testing.T) {
	t.Parallel()
	h, date := houseAt(t, 11)
	email := h.staff(store.RoleReception)
	at := date.String() + "T12:00:00"
	zone := h.engine.Clinic.Zone()
	start, err := time.ParseInLocation("2006-01-02T15:04:05", at, zone)
	if err != nil {
		t.Fatal(err)
	}
	got := h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": start.UTC().Format(time.RFC3339),
		"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"},
	}, asAdmin)
	id, _ := got.get("appointment", "id").(string)
	p := h.tab(t)
	p.size(1280, 800)
	p.open("/staff?lang=en#day/" + date.String())
	p.signIn(email)
	p.there(card(id) + " [data-attend=arrived]")
	p.until(`!document.querySelector('.waiting')`)
	p.click(card(id) + " [data-attend]")
	p.there(card(id) + ".arrived")
	p.there(".waiting button")
	p.says("Waiting: 1")
	p.says("for 0 min")
	p.accessible("a person waits")
	p.shot("staff-waiting")
	if a := h.appointmentOf(id); a["attendance"] != "arrived" || a["arrivedAt"] == nil {
		t.Errorf("the appointment is %v", a)
	}
	p.until(`!document.querySelector('dialog')`)
	// A second click calls the patient in, and the strip disappears.
	p.click(card(id) + " [data-attend]")
	p.there(card(id) + ".in_progress")
	p.until(`!document.querySelector('.waiting')`)
	if a := h.appointmentOf(id); a["arrivedAt"] == nil {
		t.Error("the waiting time is not shown after the patient arrived")
	}
}

// TestBoardMarksOnlineBooking: the board counts online bookings until a user looks at them, including those made while
// the board was closed.
func TestBoardMarksOnlineBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.there(".news")
	p.until(`!document.querySelector('.news .count')`)
	// For a user who opens the board for the first time, no bookings are unseen. This user opened it a minute ago.
	p.run(`localStorage.setItem('holdfast.desk', JSON.stringify({ ...JSON.parse(localStorage.getItem('holdfast.desk')), seen: new Date(Date.now() - 6e4).toISOString().slice(0, 19) + 'Z' }))`)
	p.leave()
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	p.appointment("Walk In", "karim", "09:00")
	book := func(n, clock string) {
		h.must(201, "POST", "/v1/appointment-types/checkup/book", map[string]any{
			"clientId": "a-stranger-0000" + n, "slotStartDate": h.at(clock), "specialistId": "ada",
			"patient": map[string]any{"name": "Online Patient " + n, "phone": "030 222333" + n},
		})
	}
	book("1", "10:00")
	p.until(`document.querySelector('.news .count')?.innerText === '1'`)
	p.leave()
	book("2", "11:00")
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	p.until(`document.querySelector('.news .count')?.innerText === '2'`)
	p.key("!")
	p.there(".newslist button:focus")
	p.until(`document.querySelectorAll('.newslist .unread').length === 2 && /Online Patient 2/.test(document.querySelector('.newslist button').innerText) && !/Walk In/.test(document.querySelector('.newslist').innerText)`)
	p.accessible("what was booked online")
	p.shot("staff-news")
	p.until(`!document.querySelector('.news .count')`)
	p.key(kb.Enter)
	p.closed()
	p.cursor("11:00 Online Patient 2")
	p.key("!")
	p.until(`document.querySelectorAll('.newslist li').length === 2 && !document.querySelector('.newslist .unread')`)
}

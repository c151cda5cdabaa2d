package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestNewsShowOnlineCancellation: when a patient cancels or moves an appointment, the number on the badge increases,
// the sound plays if it is on, and the change appears in the news. The desk offers the freed time to a person on the
// waiting list.
func TestNewsShowOnlineCancellation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.run(`localStorage.setItem('holdfast.desk', JSON.stringify({ ...JSON.parse(localStorage.getItem('holdfast.desk')), seen: new Date(Date.now() - 6e4).toISOString().slice(0, 19) + 'Z' }))`)
	p.leave()
	p.everyDocument(`window.notes = 0; {
		const start = AudioScheduledSourceNode.prototype.start
		AudioScheduledSourceNode.prototype.start = function (at) { window.notes++; start.call(this, at) }
	}`)
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	badge := func(n string) { p.until(`document.querySelector('.news .count')?.innerText === ` + quoted(n)) }
	book := func(n, clock string) (path string, link header) {
		got := h.must(201, "POST", "/v1/appointment-types/checkup/book", map[string]any{
			"clientId": "a-stranger-0000" + n, "slotStartDate": h.at(clock), "specialistId": "ada", "patient": map[string]any{"name": "Online Patient " + n, "phone": "030 222333" + n},
		})
		id, _ := got.get("appointment", "id").(string)
		address, _ := got.get("appointment", "manageUrl").(string)
		_, token, _ := strings.Cut(address, "#")
		return "/v1/appointments/" + id, header{"Holdfast-Manage": token}
	}
	first, link := book("1", "10:00")
	second, other := book("2", "11:00")
	badge("2")
	if n := ask[int](p, `window.notes`); n != 0 {
		t.Errorf("the sound is off, but the page played %d notes", n)
	}

	p.press("Display")
	p.click(`dialog label.check:nth-of-type(2)`)
	p.says("Two short tones")
	p.until(`window.notes === 2`) // turning the sound on plays it once
	p.accessible("the display settings with the sound")
	p.run(`document.querySelector('dialog [aria-label=Close]').click()`)
	p.until(`!document.querySelector('dialog')`)

	h.must(200, "POST", first+"/cancel", map[string]any{}, link)
	badge("3")
	p.until(`window.notes === 4`)
	h.must(200, "POST", second+"/reschedule", map[string]any{"slotStartDate": h.at("14:00")}, other)
	badge("4")

	h.must(201, "POST", "/v1/appointment-types/checkup/waitlist", map[string]any{
		"from": h.date, "to": h.date, "patient": map[string]any{"name": "Wanda Wait", "phone": "030 5556677"},
	}, asAdmin)
	h.must(201, "POST", "/v1/appointment-types/checkup/waitlist", map[string]any{
		"from": h.date, "to": h.date, "earliest": "15:00", "patient": map[string]any{"name": "Late Riser", "phone": "030 5556688"},
	}, asAdmin)
	p.run(`document.querySelector('.board').focus()`)
	p.key("!")
	p.until(`document.querySelectorAll('.newslist li').length === 4`)
	p.says("Previous time: ")
	p.until(`/Cancelled/.test(document.querySelectorAll('.newslist li')[1].innerText)`)
	p.accessible("the news with a cancellation")
	p.shot("staff-news-cancelled")
	p.click(".newslist li:nth-child(2) .news-offer")
	p.says("Wanda Wait")
	p.until(`!/Late Riser/.test(document.querySelector('dialog').innerText)`)
	p.accessible("a gap to offer")
	p.shot("staff-gap")
	p.key(kb.Enter)
	p.says("Offered to Wanda Wait")
	offered := ""
	live, _, err := h.engine.Waitlist.List(t.Context(), 0)
	for _, x := range live {
		for _, o := range x.Offers {
			offered += x.Patient.Name + " " + o.SlotStart.UTC().Format("15:04")
		}
	}
	if err != nil || offered != "Wanda Wait 10:00" {
		t.Errorf("offered: got %q, %v", offered, err)
	}
}

// TestBoardShowsWhyColumnIsClosed: a whole-day block shows its reason in the head and in each part of the column that
// no card covers.
func TestBoardShowsWhyColumnIsClosed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	h.must(201, "POST", "/v1/specialists/ada/blocks", map[string]any{
		"start": h.at("00:00"), "end": h.at("23:45"), "reason": "Sick",
	}, asAdmin)
	p.until(`/1 booked, Sick/.test(document.querySelector('.head').innerText)`)
	p.until(`[...document.querySelectorAll('.closed-why')].filter(x => x.innerText === 'Sick').length === 2`)
	p.accessible("a column that is closed")
	p.shot("staff-closed-why")
}

// TestBookingShowsNotesAndNoShows: a known patient's earlier no-shows and the desk's notes are visible while booking.
func TestBookingShowsNotesAndNoShows(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	h.must(200, "POST", "/v1/appointments/"+id+"/attendance", map[string]any{"attendance": "no_show"}, asAdmin)
	h.must(201, "POST", "/v1/appointments/"+id+"/person-notes", map[string]any{"text": "Needs the ramp"}, asAdmin)
	p.run(`document.querySelector('.board').focus()`)
	p.key("l")
	p.there("#patient-name:focus")
	p.write("ena")
	p.there("#patient-list [role=option]")
	p.key(kb.ArrowDown + kb.Enter)
	p.until(`/1 no-show/.test(document.querySelector('.about')?.innerText)`)
	p.says("Needs the ramp")
	p.accessible("booking for a patient with a note")
	p.shot("staff-about")
	p.write(" Else")
	p.until(`!document.querySelector('.about')`)
}

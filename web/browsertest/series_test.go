package browsertest

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// days returns a start at the given time of day, n days after the house's date.
func (h *house) days(n int, clock string) string {
	at, err := time.Parse(time.RFC3339, h.at(clock))
	if err != nil {
		h.t.Fatal(err)
	}
	return at.AddDate(0, 0, n).Format(time.RFC3339)
}

// TestDeskBooksSeries: one form books six times, every week at nine, with either specialist. It shows each conflict
// next to its time, with the nearest alternatives. One click books the chosen times, and two clicks cancel or move them
// from one appointment on.
func TestDeskBooksSeries(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	taken := func(who string, n int) {
		h.must(201, "POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": who, "slotStartDate": h.days(n, "09:00"), "patient": map[string]any{"name": "Somebody Else"},
		}, asAdmin)
	}
	taken("ada", 7)
	taken("ada", 14)
	taken("karim", 14)
	p.downTo("09:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#patient-name:focus")
	p.set("#patient-phone", "030 1112233")
	p.click("#series")
	p.until(`document.querySelectorAll('.occurrences li').length === 6`)
	// With Dr Brandt alone, two of the times are not free.
	p.until(`document.querySelectorAll('.occurrences select').length === 2`)
	p.until(`/^Book 4$/.test(document.querySelector('dialog [type=submit]').innerText)`)
	if !ask[bool](p, `document.querySelector('.occurrences').getBoundingClientRect().top >
		document.querySelector('.series .chips').getBoundingClientRect().top`) {
		t.Error("the times of the series come before the fields that choose them")
	}
	p.accessible("a series with times that are not free")
	p.run(`[...document.querySelectorAll('.series .chips label')].find(l => /Haddad/.test(l.innerText)).click()`)
	p.until(`document.querySelectorAll('.occurrences select').length === 1 && /Book 5/.test(document.querySelector('dialog [type=submit]').innerText)`)
	p.says("1 time is not free")
	p.shot("staff-series")
	p.set(".occurrences select", "0")
	p.until(`/Book 6/.test(document.querySelector('dialog [type=submit]').innerText)`)
	if n := len(h.bookings()); n != 3 {
		t.Errorf("%d appointments before a button was pressed, want 3", n)
	}
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Booked: lena vogt, 6 appointments, starting")
	p.cursor("09:00 lena vogt")
	if n := len(h.bookings()); n != 7 { // the last two are later than the 30 days of bookings
		t.Errorf("%d appointments within a month, want 7", n)
	}
	p.key(kb.Enter)
	p.there("dialog .attendance")
	p.says("1 of 6")
	p.accessible("an appointment of a series")
	p.shot("staff-series-appointment")
	p.run(`document.querySelector('.facts .textlink:not(.sooner, .history *)').click()`)
	p.closed()
	p.until(`location.hash.includes(` + quoted(h.days(7, "09:00")[:10]) + `)`)
	p.cursor("09:00 lena vogt")
	// All later appointments are moved by an hour.
	p.key("m")
	p.there("dialog [name=scope]")
	p.run(`document.querySelectorAll('dialog [name=scope]')[1].click()`)
	p.set("#when-time", "10:00")
	p.until(`document.querySelectorAll('.occurrences li').length === 5 && document.querySelector('dialog [type=submit]').innerText === 'Move 5'`)
	p.accessible("a series that is moved")
	p.shot("staff-series-move")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Moved: lena vogt, 5 appointments")
	p.cursor("10:00 lena vogt")
	p.key(kb.Delete)
	p.there("dialog [name=scope]")
	p.run(`document.querySelectorAll('dialog [name=scope]')[1].click()`)
	p.accessible("a series that is cancelled")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Cancelled: lena vogt, 5 appointments")
	if n := len(h.bookings()); n != 4 {
		t.Errorf("%d appointments remain, want the first and three others", n)
	}
	// One key press undoes all of these changes.
	p.chord(ctrl, "z")
	p.toasted("Undone")
	if n := len(h.bookings()); n != 7 {
		t.Errorf("%d appointments after the undo, want 7", n)
	}
	// All or nothing: the message names the time that has been taken.
	p.cursor("10:00 lena vogt")
	p.key(kb.Delete)
	p.there("dialog [name=scope]")
	p.run(`document.querySelectorAll('dialog [name=scope]')[1].click()`)
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.closed()
	p.toasted("Cancelled: lena vogt, 5 appointments")
	for _, who := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": who, "slotStartDate": h.days(21, "10:00"), "patient": map[string]any{"name": "Somebody Else"},
		}, asAdmin)
	}
	p.chord(ctrl, "z")
	p.toasted("Nothing was undone")
	p.shot("staff-series-undo-gone")
	if n := len(h.bookings()); n != 6 {
		t.Errorf("%d appointments after the refused undo, want 6", n)
	}
}

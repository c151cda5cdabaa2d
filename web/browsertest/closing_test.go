package browsertest

import (
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// TestOwnerClosesClinicInOneForm: one form closes the clinic for several days. It lists the patients with appointments
// on those days, and the user can move the appointments from there. A file of holidays can be imported.
func TestOwnerClosesClinicInOneForm(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	lena := p.appointment("Lena Vogt", "ada", "09:00")
	p.appointment("Per Lind", "karim", "10:00")
	p.open("/staff?lang=en#closed")
	p.says("No blocked times.")
	p.press("Block time")
	p.there("#closing-title:focus")
	p.set("#closing-from", h.date)
	p.set("#closing-to", h.days(4, "09:00")[:10])
	p.set("#closing-title", "Closed for works")
	p.says("2 appointments fall within this period")
	p.accessible("closing for some days")
	p.shot("staff-closing")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.there(".way li:nth-child(2)")
	p.says("2 blocks added") // one for each of the two specialists
	p.accessible("who is in the way")
	p.shot("staff-in-the-way")
	for _, who := range []string{"ada", "karim"} {
		if got := h.call("POST", "/v1/holds", map[string]any{"appointmentTypeId": "checkup",
			"slotStartDate": h.days(3, "11:00"), "specialistId": who,
			"clientId": "a-stranger-00001"}); got.status != 409 || got.get("reason") != "override_closed" {
			t.Errorf("a hold with %s: %d %s", who, got.status, got.raw)
		}
	}
	p.click(".way li:first-child .btn")
	p.there("#when-date")
	p.set("#when-date", h.days(6, "09:00")[:10])
	p.moment()
	p.until(`!document.querySelector('dialog [type=submit]').getAttribute('aria-disabled')`)
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.until(`document.querySelectorAll('.way li').length === 1 && /Per Lind/.test(document.querySelector('.way li').innerText)`)
	if a := h.appointmentOf(lena); a["slotStartDate"] != h.days(6, "09:00") {
		t.Errorf("Lena is at %v", a["slotStartDate"])
	}
	p.press("Close")
	p.until(`!document.querySelector('dialog') && document.querySelectorAll('.lines .line').length === 1`)
	p.says("Everyone")
	// A file of holidays is imported.
	compact := func(n int) string { d := h.days(n, "09:00")[:10]; return d[:4] + d[5:7] + d[8:] }
	upload := func(text string) {
		p.run(`((input, d) => {
			d.items.add(new File([Uint8Array.from(` + quoted(text) + `, c => c.charCodeAt(0))], 'holidays.ics'))
			input.files = d.files
			input.dispatchEvent(new Event('change', { bubbles: true }))
		})(document.querySelector('input[type=file]'), new DataTransfer())`)
	}
	text := "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:" + compact(20) +
		"\r\nSUMMARY:Day of the sea\r\nEND:VEVENT\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:" + compact(30) +
		"\r\nSUMMARY:Night of the sea\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
	upload(text)
	p.there(".occurrences li:nth-child(2)")
	p.says("4 blocks")
	p.accessible("holidays that were read")
	p.shot("staff-holidays")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.until(`!document.querySelector('dialog') && document.querySelectorAll('.lines .line').length === 2`)
	p.says("Day of the sea and Night of the sea")
	p.accessible("blocks and holidays")
	p.shot("staff-closed")
	p.run(`document.querySelectorAll('.line-do .btn.quiet')[1].click()`)
	p.there("dialog .btn.solid")
	p.click("dialog .btn.solid")
	p.until(`!document.querySelector('dialog') && document.querySelectorAll('.lines .line').length === 1`)
	upload("BEGIN:VCALENDAR\nBEGIN:VEVENT\nRRULE:FREQ=YEARLY\n")
	p.says("RRULE is not supported")
	// Older programs do not write UTF-8.
	upload("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + compact(40) +
		"\nSUMMARY:Heilige Drei Könige\nEND:VEVENT\nEND:VCALENDAR\n")
	p.there(".occurrences li")
	p.says("Heilige Drei Könige")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.until(`!document.querySelector('dialog')`)
	// A day that is blocked already is marked in the next import, and not chosen.
	upload("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + compact(40) +
		"\nSUMMARY:Heilige Drei Könige\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:" + compact(50) +
		"\nSUMMARY:Day of the harbour\nEND:VEVENT\nEND:VCALENDAR\n")
	p.until(`(all => all.length === 2 && !all[0].querySelector('input').checked && /Blocked/.test(all[0].innerText) &&
		all[1].querySelector('input').checked && !/Blocked/.test(all[1].innerText))(
		[...document.querySelectorAll('.occurrences li')])`)
	p.accessible("holidays of which one is blocked already")
	p.says("2 blocks")
}

// TestListsShowYear: the blocks, the absences and the found appointments of another year have their year.
func TestListsShowYear(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	year := time.Now().UTC().Year() + 1
	day := func(d int) time.Time { return time.Date(year, 12, d, 0, 0, 0, 0, time.UTC) }
	h.must(201, "POST", "/v1/blocks", map[string]any{"spans": []map[string]any{{
		"from": day(24).Format(time.DateOnly), "to": day(26).Format(time.DateOnly),
		"start": "00:00", "end": "24:00"}}}, asAdmin)
	for _, d := range []int{30, 31} {
		h.must(201, "POST", "/v1/specialists/ada/overrides", map[string]any{
			"date": day(d).Format(time.DateOnly), "closed": true}, asAdmin)
	}
	h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": day(20).Add(9 * time.Hour).Format(time.RFC3339),
		"overbook":      map[string]any{"reason": "far ahead"},
		"patient":       map[string]any{"name": "Lena Vogt", "phone": "030 1112233"}}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.run(`location.hash = '#closed'`)
	p.says(day(24).Format("Mon, 2 Jan 2006") + " to " + day(26).Format("Mon, 2 Jan 2006"))
	p.run(`location.hash = '#overrides/ada'`)
	p.says(day(30).Format("Mon, 2 Jan 2006") + " to " + day(31).Format("Mon, 2 Jan 2006"))
	p.run(`location.hash = '#day/` + h.date + `'`)
	p.there(".busywrap:not(.loading) .board")
	p.run(`document.querySelector('.board').focus()`)
	p.key("/")
	p.there("dialog [type=search]")
	p.fill("dialog [type=search]", "lena")
	p.says(day(20).Format("Mon, 2 Jan 2006"))
	p.key(kb.Enter)
	p.says("09:00 Lena Vogt")
	p.key(kb.Enter)
	p.there("dialog")
	p.says(day(20).Format("Mon, 2 Jan 2006"))
}

// TestPageLeavesFocus: what gets the focus as soon as a page is there keeps it, so that the next key goes there.
func TestPageLeavesFocus(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.run(`location.hash = '#closed'`)
	p.there(".office-tools .btn")
	p.run(`new MutationObserver((_, observer) => {
		const board = document.querySelector('.board')
		if (!board) return
		observer.disconnect()
		board.focus()
	}).observe(document.body, { childList: true, subtree: true }); location.hash = '#day/` + h.date + `'`)
	p.there(".busywrap:not(.loading) .board")
	p.moment()
	p.there(".board:focus")
	p.key("/")
	p.there("dialog [type=search]:focus")
}

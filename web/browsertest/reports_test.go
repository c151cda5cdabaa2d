package browsertest

import (
	"strings"
	"testing"

	"holdfast/store"
)

// TestReportsCountBookings: an owner sees bookings by source, rates and utilisation by week and by month, without
// patients' names, and saves them as a file.
func TestReportsCountBookings(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.appointment("Lena Vogt", "ada", "09:00")
	id := p.appointment("Per Lind", "karim", "10:00")
	h.must(200, "POST", "/v1/appointments/"+id+"/cancel", map[string]any{}, asAdmin)
	p.open("/staff?lang=en#reports")
	p.there(".bars rect")
	p.until(`document.querySelectorAll('.numbers tbody tr').length === 12`)
	p.set("#from", h.date)
	p.set("#to", ask[string](p, `new Date(Date.parse(`+quoted(h.date)+`) + 864e5).toISOString().slice(0, 10)`))
	p.until(`document.querySelectorAll('.numbers tbody tr').length === 1 && /50%/.test(document.querySelector('.numbers').innerText)`)
	p.says("Dr Ada Brandt")
	p.until(`!/Lena|Vogt|Per Lind/.test(document.body.innerText)`)
	p.accessible("the reports by week")
	p.shot("staff-reports")
	p.run(`{
		const keep = URL.createObjectURL
		URL.createObjectURL = blob => { blob.text().then(text => { window.table = text }); return keep.call(URL, blob) }
		HTMLAnchorElement.prototype.click = function () {}
	}`)
	p.press("Save as CSV")
	p.until(`window.table.split('\r\n').length === 2 && /Utilisation of Dr Ada Brandt \(%\)/.test(window.table)`)
	// until the months arrive, the page must not show the weeks as months
	p.run(`{
		const real = window.fetch
		window.fetch = (to, o) => String(to).includes('by=month')
			? new Promise(done => { window.answer = () => done(real(to, o)) }) : real(to, o)
	}`)
	p.set("#by", "month")
	p.until(`window.answer && !document.querySelector('.numbers')`)
	p.run(`window.answer()`)
	p.until(`/^[A-Z][a-z]{2,3} \d{4}$/.test(document.querySelector('.numbers tbody th').innerText)`)
}

// TestReportsWriteNumbersOfLanguage: the numbers of the axis and the tables have the decimal mark of the language.
func TestReportsWriteNumbersOfLanguage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.appointment("Lena Vogt", "ada", "09:00") // half an hour
	p.leave()
	p.open("/staff?lang=de#reports")
	p.there(".bars rect")
	p.set("#from", h.date)
	p.set("#to", ask[string](p, `new Date(Date.parse(`+quoted(h.date)+`) + 864e5).toISOString().slice(0, 10)`))
	p.until(`document.querySelector('.reports ~ .scroll tbody').innerText.includes('0,5')`)
	p.until(`[...document.querySelectorAll('.bars text')].some(x => x.textContent === '0,5')`)
	p.until(`[...document.querySelectorAll('.office table, .office .bars')]
		.every(x => !/\d\.\d(?!\d\d)/.test(x.textContent))`)
	p.run(`{
		const keep = URL.createObjectURL
		URL.createObjectURL = blob => { blob.text().then(text => { window.table = text }); return keep.call(URL, blob) }
		HTMLAnchorElement.prototype.click = function () {}
		const real = window.fetch
		window.fetch = (to, o) => !String(to).includes('by=month') ? real(to, o) : real(to, o).then(x => x.json())
			.then(x => Response.json({ ...x, periods: x.periods.map(p => ({ ...p, leadHours: 36 })) }))
	}`)
	p.set("#by", "month")
	p.until(`[...document.querySelectorAll('.numbers td')].some(x => x.textContent === '1,5')`)
	p.press("Als CSV speichern")
	p.until(`window.table`)
	if table := ask[string](p, `window.table`); !strings.Contains(table, `;"1,5";`) ||
		!strings.HasPrefix(table, `"Von";"Vor dem";`) {
		t.Errorf("the German file is %s", table)
	}
}

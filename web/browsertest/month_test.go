package browsertest

import (
	"testing"

	"holdfast/store"
)

// TestMonthShowsDays: the month shows what is booked and free on each day, and why a day is closed. It is updated while
// it is visible. One click opens a day.
func TestMonthShowsDays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1440, 900)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.open("/staff?lang=en#month/" + h.date)
	p.until(`!document.querySelector('.months.loading')`)
	cell := `document.querySelector('.months a[href="#day/` + h.date + `"]')`
	p.until(cell + `.innerText.includes('1 booked') && ` + cell + `.innerText.includes('19.5 h free')`)
	p.accessible("a month")
	p.shot("month")
	h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "longer", "specialistId": "karim",
		"slotStartDate": h.at("12:00"), "patient": map[string]any{"name": "Per Lind", "phone": "030 1112234"}}, asAdmin)
	p.until(cell + `.innerText.includes('2 booked')`) // from the stream
	p.set(".pick select", "karim")
	p.until(cell + `.innerText.includes('1 booked') && ` + cell + `.innerText.includes('9 h free')`)
	for _, who := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": h.date, "closed": true, "reason": "Fair"}, asAdmin)
	}
	p.until(cell + `.innerText.includes('1 booked') && ` + cell + `.innerText.includes('Fair')`)
	p.size(390, 844)
	p.accessible("a month on a phone")
	p.shot("month-phone")
	p.click(`.months a[href="#day/` + h.date + `"]`)
	p.until(`location.hash === '#day/` + h.date + `'`)
	p.there(".board")
}

// TestTodayInMonthIsAccessible: the number of today is legible in each kind of cell: open, closed, and in the grid of
// another month.
func TestTodayInMonthIsAccessible(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	today := `document.querySelector('.months [aria-current]')`
	p.open("/staff?lang=en#month")
	p.until(today + ` && !document.querySelector('.months.loading')`)
	for _, class := range []string{"", "shut", "past", "other", "full"} {
		p.run(today + `.closest('td').className = '` + class + `'`)
		p.accessible("today in a cell of the kind '" + class + "'")
	}
}

// TestClosedDayStaysInMonthGrid: the cell of a closed day has its place in the row, below its weekday.
func TestClosedDayStaysInMonthGrid(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, who := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{
			"date": h.date, "closed": true, "reason": "Fair"}, asAdmin)
	}
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=en#month/" + h.date)
	p.until(`!document.querySelector('.months.loading')`)
	p.until(`document.querySelector('.months a[href="#day/` + h.date + `"]').innerText.includes('Fair')`)
	if off := ask[float64](p, `Math.max(...[...document.querySelectorAll('.months td')].map(d => {
		const head = d.closest('table').querySelectorAll('th')[d.cellIndex].getBoundingClientRect()
		const cell = d.getBoundingClientRect()
		return Math.max(Math.abs(head.left - cell.left), Math.abs(head.right - cell.right))
	}))`); off > 1 {
		t.Errorf("a day is %v pixels outside the column of its weekday", off)
	}
	p.shot("month-closed")
}

// TestWeekComparesPeople: the weeks of two people are side by side, day by day. The next week shows the same two
// people.
func TestWeekComparesPeople(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.size(1440, 900)
	id := p.appointment("Lena Vogt", "karim", "09:00")
	p.open("/staff?lang=en#week/" + h.date + "/ada")
	p.there("#week-with")
	p.set("#week-with", "karim")
	p.there(card(id))
	p.until(`document.querySelectorAll('[data-col]').length >= 14 && !document.querySelector('.busywrap.loading')`)
	p.accessible("the weeks of two people")
	p.shot("week-people")
	p.click(`.pair .btn:last-child`)
	p.until(`location.hash.endsWith('ada%2Ckarim') && !document.querySelector('.busywrap.loading') && document.querySelectorAll('[data-col]').length >= 14`)
	p.set("#week-with", "karim")
	p.until(`location.hash.endsWith('/ada')`)
}

package browsertest

import (
	"strings"
	"testing"
	"time"
)

// after returns the instant at a time of day, the given number of days after the house's date.
func (h *house) after(days int, clock string) string {
	at, _ := time.Parse(time.DateOnly, h.date)
	return at.AddDate(0, 0, days).Format(time.DateOnly) + "T" + clock + ":00Z"
}

// TestDaysAreSideBySide: on a wide screen, the chosen day and the next four days are side by side. The times of all of
// them are live, and each can be chosen and held.
func TestDaysAreSideBySide(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.size(1440, 900)
	p.when("")
	p.until(`document.querySelectorAll('.next-day').length === 4`)
	p.until(`(([a, ...rest]) => rest.every(x => Math.abs(x.top - a.top) < 30 && x.left > a.left))(
		[...document.querySelectorAll('.times, .next-day')].map(x => x.getBoundingClientRect()))`)
	next := h.after(1, "09:00")
	p.shows(next, "free")
	h.holdAll("another-client-0001", next)
	p.shows(next, "held")
	p.accessible("days side by side")
	p.snap("compare-1440")

	p.choose(h.after(2, "10:30"))
	if day := ask[string](p, `document.querySelector('.day input:checked').value`); day != h.date {
		t.Errorf("choosing a time of another day changed the day to %s", day)
	}
	p.click(".bar button")
	p.held()
	p.confirm()
	p.booked()
	if got := h.one(t)["slotStartDate"]; got != h.after(2, "10:30") {
		t.Errorf("booked %v", got)
	}
	lists := 0
	asked, _ := p.requests()
	for _, request := range asked {
		if strings.HasSuffix(request, "/timeslots") {
			lists++
		}
	}
	if lists > 5 { // a week, the following week, and the lists that the hold and the booking made stale
		t.Errorf("the page fetched %d lists of times", lists)
	}
}

// TestPhoneShowsFirstTimesOfNextDays: on a phone, the first three times of each of the next days follow the list of
// the chosen day, and a button shows the others.
func TestPhoneShowsFirstTimesOfNextDays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("")
	p.until(`document.querySelectorAll('.next-day').length === 4`)
	first := ask[int](p, `document.querySelectorAll('.next-day:nth-of-type(1) .chip').length`)
	if first != 3 {
		t.Errorf("the next day has %d times, want 3", first)
	}
	p.accessible("next days on a phone")
	p.run(`document.querySelector('.next').scrollIntoView()`)
	p.snap("compare-390")
	p.click(".next-day .textlink")
	p.until(`document.querySelectorAll('.next-day:nth-of-type(1) .chip').length > 10`)
	p.until(`document.activeElement.value === '` + h.after(1, "09:30") + `'`)
	p.take(h.after(1, "16:00"))
	p.confirm()
	p.booked()
	if got := h.one(t)["slotStartDate"]; got != h.after(1, "16:00") {
		t.Errorf("booked %v", got)
	}
}

// TestPhoneShowsFewTimesInOneRow: on a phone, the few times of a next day are in one row, even if they are in several
// parts of the day.
func TestPhoneShowsFewTimesInOneRow(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	for _, who := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": h.after(1, "00:00")[:10],
			"hours": []map[string]any{{"start": "11:30", "end": "12:00"}, {"start": "15:00", "end": "15:30"},
				{"start": "18:30", "end": "19:00"}}}, asAdmin)
	}
	p := h.tab(t)
	p.when("")
	p.until(`document.querySelectorAll('.next-day:nth-of-type(1) .chip').length === 3`)
	p.run(`document.querySelector('.next').scrollIntoView()`)
	p.snap("compare-few-390")
	if rows := ask[int](p, `new Set([...document.querySelectorAll('.next-day:nth-of-type(1) .chip')]
		.map(x => x.getBoundingClientRect().top)).size`); rows != 1 {
		t.Errorf("3 times of the next day are in %d rows", rows)
	}
}

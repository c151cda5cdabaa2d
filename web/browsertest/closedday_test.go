package browsertest

import (
	"testing"
	"time"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// TestClosedDayIsNotFull: the booking page counts the free times of a day, and calls no day full. It does not know
// whether a day without times is booked or closed. In a week of the board, the head of a closed day has the word of its
// column.
func TestClosedDayIsNotFull(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		for i := range f.Specialists {
			hours := f.Specialists[i].WeeklyHours[:0:0]
			for _, w := range f.Specialists[i].WeeklyHours {
				if w.Weekday != store.Weekday(time.Sunday) {
					hours = append(hours, w)
				}
			}
			f.Specialists[i].WeeklyHours = hours
		}
	})
	p := h.tab(t)
	p.open("/?type=checkup&lang=de")
	p.there(`.day input[data-free="0"]`)
	p.until(`document.querySelector('.day input[data-free="0"]').ariaLabel.endsWith(', 0 frei')`)
	p.until(`document.querySelector('.day.empty .count').textContent === '–'`)
	desk := h.desk(t, store.RoleReception)
	desk.run(`location.hash = '#week/` + h.date + `/ada'`)
	desk.there(".week .busywrap:not(.loading) .board")
	desk.until(`[...document.querySelectorAll('.week .head > span')].at(-1).textContent.trim() === 'Closed'`)
}

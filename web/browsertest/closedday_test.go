package browsertest

import (
	"fmt"
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

// TestHeadingsShowYear: the headings of a day, a list and a week in another year have the year. An absence of whole
// days has dates and no times.
func TestHeadingsShowYear(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	day := time.Date(time.Now().UTC().Year()+1, 12, 20, 0, 0, 0, 0, time.UTC)
	booked := h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": day.Add(9 * time.Hour).Format(time.RFC3339), "overbook": map[string]any{"reason": "far ahead"},
		"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"}}, asAdmin)
	h.must(201, "POST", "/v1/absences", map[string]any{"specialistId": "ada", "start": day.Format(time.RFC3339),
		"end":     day.AddDate(0, 0, 2).Format(time.RFC3339),
		"choices": []map[string]any{{"appointmentId": booked.get("appointment", "id"), "by": "call"}}}, asAdmin)
	p := h.desk(t, store.RoleReception)
	p.size(1400, 800)
	for _, view := range []string{"day", "list", "week"} {
		p.run(fmt.Sprintf(`location.hash = '#%s/%s'`, view, day.Format(time.DateOnly)))
		p.until(fmt.Sprintf(`document.querySelector('h1').textContent.includes('December %d')`, day.Year()))
	}
	p.run(`location.hash = '#away'`)
	p.says(day.Format("Mon, 2 Jan 2006") + " to " + day.AddDate(0, 0, 1).Format("Mon, 2 Jan 2006"))
}

// TestHeadOfNarrowColumnIsReadable: in a narrow column, next to the card of an appointment, the button for an absence
// does not cover the text of the head.
func TestHeadOfNarrowColumnIsReadable(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) {
		for i := range 6 {
			x := f.Specialists[0]
			x.ID, x.Name = fmt.Sprintf("s%d", i), fmt.Sprintf("Dr Vera Beispiel %d", i)
			f.Specialists = append(f.Specialists, x)
		}
	})
	got := h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at("12:00"), "patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"}}, asAdmin)
	id, _ := got.get("appointment", "id").(string)
	email := h.staff(store.RoleReception)
	p := h.tab(t)
	p.size(1600, 900)
	p.open("/staff?lang=de#day/" + h.date)
	p.signIn(email)
	p.click(card(id))
	p.there(".head.with-away")
	p.snap("narrow-head")
	p.until(`[...document.querySelectorAll('.head.with-away')].every(head => {
		const text = head.querySelector(':scope > span'),
			icon = head.querySelector('.away-open')
		return getComputedStyle(text).overflowX === 'hidden' &&
			text.getBoundingClientRect().right <= icon.getBoundingClientRect().left + 1
	})`)
}

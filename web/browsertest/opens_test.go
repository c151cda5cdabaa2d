package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/store"
)

// houseAt returns a house in a time zone where it is now the given hour, and the date there. The next hour may begin
// during the test.
func houseAt(t testing.TB, hour int) (*house, store.Date) {
	t.Helper()
	east := (hour-time.Now().UTC().Hour()+36)%24 - 12
	name := "Etc/GMT"
	if east != 0 {
		name = fmt.Sprintf("Etc/GMT%+d", -east) // POSIX counts westward
	}
	h := newHouse(t, func(f *clinic.File) {
		f.Clinic.Timezone = name
		for i := range f.Specialists {
			f.Specialists[i].Timezone = name
		}
	})
	zone, err := availability.LoadZone(name)
	if err != nil {
		t.Fatal(err)
	}
	return h, store.DateOf(time.Now().In(zone))
}

// boardFilled is a script that reports whether the column fills the board, if the column is long enough, with at most
// half of the last hour's label below it. The cursor must also be visible.
const boardFilled = `(board => {
	const b = board.getBoundingClientRect(), col = document.querySelector('.col'), c = col.getBoundingClientRect(), at = document.querySelector('.cursor').getBoundingClientRect()
	return board.scrollHeight <= Math.max(board.clientHeight, col.offsetHeight + 20) && c.top <= b.top + 1 && c.bottom >= Math.min(b.bottom, b.top + col.offsetHeight) - 20 && at.top >= b.top && at.bottom <= b.bottom
})(document.querySelector('.board'))`

// TestPhoneBoardOpensOnWorkingHours: on a phone, the board opens at working hours, at any time of day. The same applies
// to the next day.
func TestPhoneBoardOpensOnWorkingHours(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		hour  int
		today string // the position of the cursor
		line  bool   // the line of the current time is visible
	}{
		{"in the evening", 22, "17:45, Dr Ada Brandt, free", false},
		{"before work", 4, "08:00, Dr Ada Brandt, free", false},
		{"at work", 11, "Dr Ada Brandt, free", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, date := houseAt(t, c.hour)
			email := h.staff(store.RoleReception)
			p := h.tab(t)
			p.open("/staff?lang=en#day")
			p.signIn(email)
			p.cursor(c.today)
			p.until(boardFilled)
			if got := ask[bool](p, `(n => Boolean(n) && (r => (b => r.top >= b.top && r.bottom <= b.bottom)(document.querySelector('.board').getBoundingClientRect()))(n.getBoundingClientRect()))(document.querySelector('.now'))`); got != c.line {
				t.Errorf("the line of the current time is visible: %v, want %v", got, c.line)
			}
			p.shot("staff-phone-" + strings.ReplaceAll(c.name, " ", "-"))
			p.key(".")
			p.until(`location.hash.includes(` + quoted(date.AddDays(1).String()) + `)`)
			p.cursor("08:00, Dr Ada Brandt, free")
			p.until(boardFilled)
			p.shot("staff-phone-" + strings.ReplaceAll(c.name, " ", "-") + "-next-day")
		})
	}
}

// TestNextDayKeepsHour: an hour that the user has chosen stays visible on the next day if it is a working hour there. A
// day without hours opens at its first appointment anyway.
func TestNextDayKeepsHour(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	day := func(n int) string {
		at, err := time.Parse(time.DateOnly, h.date)
		if err != nil {
			t.Fatal(err)
		}
		return at.AddDate(0, 0, n).Format(time.DateOnly)
	}
	h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": day(2) + "T15:00:00Z",
		"patient": map[string]any{"name": "Lena Vogt", "phone": "030 1112233"},
	}, asAdmin)
	short := []map[string]any{{"start": "08:00", "end": "12:00"}}
	for _, who := range []string{"ada", "karim"} {
		h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": day(2), "closed": true},
			asAdmin)
		h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": day(3), "hours": short},
			asAdmin)
	}
	email := h.staff(store.RoleReception)
	p := h.tab(t)
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	p.cursor("08:00, Dr Ada Brandt, free")
	for range 6 {
		p.key(kb.PageDown)
	}
	p.cursor("14:00, Dr Ada Brandt, free")
	for n, want := range []string{"14:00, Dr Ada Brandt, free", "15:00 Lena Vogt", "08:00, Dr Ada Brandt, free"} {
		p.key(".")
		p.until(`location.hash.includes(` + quoted(day(n+1)) + `)`)
		p.cursor(want)
		p.until(boardFilled)
	}
}

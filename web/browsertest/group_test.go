package browsertest

import (
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// joins books a person into the group session with three seats at 10:00, as another desk would.
func (h *house) joins(name string) (id string) {
	h.t.Helper()
	got := h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "class", "specialistId": "ada", "slotStartDate": h.at("10:00"),
		"patient": map[string]any{"name": name, "phone": "030 1112233"},
	}, asAdmin)
	id, _ = got.get("appointment", "id").(string)
	return id
}

// seats waits until there is one group card that shows this number of people.
func (p *tab) seats(says string) {
	p.t.Helper()
	p.until(`document.querySelectorAll('.appt:not(.ghosted)').length === 1 && document.querySelector('.appt.group .seats')?.innerText === ` + quoted(says))
}

// TestGroupSessionIsOneCard: the people in a group session share one card, which shows their number and the number of
// seats, and is updated when another client books.
func TestGroupSessionIsOneCard(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	h.joins("Lena Vogt")
	p.seats("1/3")
	h.joins("Per Lind")
	p.seats("2/3")
	p.until(`/Lena Vogt, Per Lind/.test(document.querySelector('.appt.group').innerText)`)
	p.downTo("10:00 Breathing class 2/3, Lena Vogt, Per Lind")
	p.accessible("a board with a group")
	h.joins("Mira Sand")
	p.seats("3/3")
	p.cursor("10:00 Breathing class 3/3, Full")
	p.shot("group-1-board")

	// The group as a whole can be neither moved nor marked, and a message explains that.
	p.key("m")
	p.toasted("A group cannot be changed as a whole")
	p.click(".toast .btn")
	p.until(`!document.querySelector('.toast')`)
	x, y := p.place(".appt.group")
	for _, step := range []struct {
		kind mouse
		down float64
	}{{mouseDown, 0}, {mouseMove, 20}, {mouseMove, 90}, {mouseUp, 90}} {
		p.mouse(step.kind, x, y+step.down)
	}
	p.toasted("A group cannot be changed as a whole")

	p.open("/staff?lang=en#list/" + h.date)
	p.there(".tbl tr.group")
	if n := p.count(".tbl tbody tr"); n != 4 {
		t.Errorf("the list has %d lines, want the group and its three people", n)
	}
	p.accessible("a list with a group")
	p.shot("group-2-list")
	p.open("/staff?lang=en#week/" + h.date)
	p.seats("3/3")
}

// TestRosterListsGroup: the roster lists the people in a group. Each person can be opened, marked, moved and removed
// individually, and a person can be added.
func TestRosterListsGroup(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	lena, per := h.joins("Lena Vogt"), h.joins("Per Lind")
	p.seats("2/3")
	p.downTo("10:00 Breathing class 2/3")
	p.key(kb.Enter)
	p.says("2 of 3")
	p.until(`document.activeElement.innerText === 'Lena Vogt'`)

	// One key or one click marks a person.
	p.key("2")
	p.says("Lena Vogt: Arrived")
	p.accessible("a roster")
	p.shot("group-3-roster")
	p.key(kb.ArrowDown)
	p.until(`document.activeElement.innerText === 'Per Lind'`)
	p.click(`[data-head="` + per + `"] .does .btn:nth-child(2)`)
	p.says("Per Lind: No-show") // the change can be undone for ten seconds
	if got := []any{h.appointmentOf(lena)["attendance"], h.appointmentOf(per)["attendance"]}; got[0] != "arrived" ||
		got[1] != "no_show" {
		t.Errorf("the attendance is %v, want arrived and no_show", got)
	}
	p.key("u")
	p.says("Undone")
	if got := h.appointmentOf(per)["attendance"]; got != "expected" {
		t.Errorf("after the undo it is %v, want expected", got)
	}

	// One person is opened, and Escape returns to the roster.
	p.run(`document.querySelector('[data-head] button').focus()`)
	p.key(kb.Enter)
	p.there("dialog .attendance")
	p.key(kb.Escape)
	p.there("dialog .roster")
	p.until(`document.activeElement.innerText === 'Lena Vogt'`)

	// One person is removed, and restored.
	p.key(kb.Delete)
	p.there("#cancel-reason:focus")
	p.key(kb.Enter)
	p.there("dialog .roster")
	p.says("1 of 3")
	p.click(".said .btn")
	p.says("2 of 3")
	if got := h.appointmentOf(lena)["status"]; got != "confirmed" {
		t.Errorf("after the undo it is %v, want confirmed", got)
	}

	// One more person is added, at the same time and with the same type.
	p.click(".roster .actions .primary")
	p.there("#patient-name:focus")
	p.key("mira sand")
	p.set("#patient-phone", "030 4445566")
	p.there(".holding.held")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.there("dialog .roster")
	p.says("3 of 3")
	p.key(kb.Escape)
	p.closed()
	p.seats("3/3")
	p.cursor("10:00 Breathing class 3/3")

	// One of them moves to another time.
	p.key(kb.Enter)
	p.there("dialog .roster")
	p.key("m")
	p.set("#when-time", "12:00")
	p.there(".dialog [type=submit]:not([aria-disabled])")
	p.run(`document.querySelector('dialog form').requestSubmit()`)
	p.says("2 of 3")
	if got := h.appointmentOf(lena)["slotStartDate"]; got != h.at("12:00") {
		t.Errorf("moved to %v, want 12:00", got)
	}
}

// TestFullGroupHasWaitingList: a full group has a waiting list for its own time.
func TestFullGroupHasWaitingList(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			email := h.staff(store.RoleReception)
			p := h.tab(t)
			p.size(1280, 800)
			p.open("/staff?lang=" + lang + "#day/" + h.date)
			p.signIn(email)
			for _, name := range []string{"Lena Vogt", "Per Lind", "Mira Sand"} {
				h.joins(name)
			}
			p.seats("3/3")
			p.run(`document.querySelector('.appt.group').click()`)
			p.there(".roster .actions .primary")
			p.click(".roster .actions .primary")
			p.there("#wait-name:focus")
			p.run(`document.querySelector('dialog form').requestSubmit()`)
			p.there("#wait-name-error")
			p.forgive() // the server refused the form, because fields are missing
			p.accessible("a waiting list's form, not filled in")
			p.fill("#wait-name", "Omar Ruiz")
			p.fill("#wait-phone", "030 7778899")
			p.run(`document.querySelector('dialog form').requestSubmit()`)
			p.there(".roster .waiters li")
			p.says("Omar Ruiz")
			p.accessible("a full group")
			p.shot("group-4-full-" + lang)
			x := h.waiting()
			if got := x.Wish.SlotStart.UTC().Format("2006-01-02T15:04:05Z"); got != h.at("10:00") ||
				x.AppointmentTypeID != "class" || x.Patient.Name != "Omar Ruiz" {
				t.Errorf("waiting: %+v, want Omar Ruiz for the class at 10:00", x)
			}
			p.key(kb.Escape)
			p.closed()
		})
	}
}

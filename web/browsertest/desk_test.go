package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// closed waits until no dialog is open and the board has the focus again.
func (p *tab) closed() {
	p.t.Helper()
	p.until(`!document.querySelector('dialog') && document.activeElement.classList.contains('board')`)
}

// cursor waits until the cursor's sentence contains the given words.
func (p *tab) cursor(words string) {
	p.t.Helper()
	p.until(`document.querySelector('.cursorline').innerText.includes(` + quoted(words) + `)`)
}

// downTo presses the down arrow until the cursor's sentence contains the given words.
func (p *tab) downTo(words string) {
	p.t.Helper()
	for range 60 {
		if strings.Contains(p.text(".cursorline"), words) {
			return
		}
		p.key(kb.ArrowDown)
		p.moment()
	}
	p.t.Fatalf("the cursor does not reach %q, but %q", words, p.text(".cursorline"))
}

// onScreen is a script that reports whether the focused element is visible: in the window, and not covered.
const onScreen = `(e => {
	const r = e.getBoundingClientRect(), x = Math.min(Math.max(r.x + r.width / 2, 0), innerWidth - 1), y = Math.min(Math.max(r.y + Math.min(r.height, 40) / 2, 0), innerHeight - 1)
	const top = document.elementFromPoint(x, y)
	return r.width > 0 && r.bottom > 0 && r.top < innerHeight && r.right > 0 && r.left < innerWidth && Boolean(top) && (e.contains(top) || top.contains(e) || e.closest('label')?.contains(top))
})(document.activeElement)`

// TestDeskDayByKeyboard works a whole day at the desk, from signing in to signing out, without a mouse.
func TestDeskDayByKeyboard(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	email := h.staff(store.RoleReception)
	p := h.tab(t)
	p.size(1280, 800)
	p.open("/staff?lang=en#day/" + h.date)
	p.there("#sign-email:focus")
	p.write(email)
	p.key(kb.Tab)
	p.write(password)
	p.key(kb.Enter)
	p.there(".live[data-link=live]")
	p.until(`document.activeElement.classList.contains('board')`) // no click is needed before work begins

	// A new patient calls: name, phone, Enter.
	p.cursor("08:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#patient-name:focus")
	p.until(`document.querySelector('#patient-name').value === 'lena vogt'`)
	p.tabTo(`document.activeElement.id === 'patient-phone'`)
	p.key("030 5556677")
	p.there(".holding.held")
	p.key(kb.Enter)
	p.closed()
	p.cursor("08:00 lena vogt") // the cursor is on the new appointment
	id := fmt.Sprint(h.one(t)["id"])

	// The patient arrives, and is called in.
	p.key("2")
	p.there(".appt.arrived")
	p.key("3")
	p.there(".appt.in_progress")
	// The menu works as well: the first letter selects the entry.
	p.chord(shift, kb.Enter)
	p.there("[role=menu] :focus")
	p.key("c")
	p.until(`document.activeElement.innerText.startsWith('Completed')`)
	p.key(kb.Enter)
	p.there(".appt.completed")
	p.closed()

	// The appointment is moved to 10:30.
	p.key("m")
	p.there("#when-time:focus")
	p.key("1030")
	p.says("Move lena vogt to 10:30")
	p.key(kb.Enter)
	p.closed()
	p.cursor("10:30 lena vogt")
	if a := h.appointmentOf(id); a["slotStartDate"] != h.at("10:30") || a["attendance"] != "completed" {
		t.Errorf("after the move, the appointment is %v", a)
	}

	// A time is blocked for a meeting, and opened again.
	p.key(kb.ArrowRight)
	p.cursor("Dr Karim Haddad")
	p.chord(shift, kb.ArrowDown+kb.ArrowDown+kb.ArrowDown)
	p.cursor("11:30")
	p.key(kb.Enter)
	p.there("[role=menu] :focus")
	p.key("b")
	for !ask[bool](p, `document.activeElement.innerText.startsWith('Block')`) {
		p.key("b")
	}
	p.key(kb.Enter)
	p.there("#block-reason:focus")
	p.key("team meeting")
	p.key(kb.Enter)
	p.closed()
	p.until(`[...document.querySelectorAll('[data-col=karim] .closed-why')].some(c => /team meeting|Blocked/i.test(c.innerText))`)
	p.chord(shift, kb.Enter)
	p.there("[role=menu] :focus")
	p.key("r")
	p.until(`document.activeElement.innerText.startsWith('Remove the block from 10:30')`)
	p.key(kb.Enter)
	p.there("dialog .btn.primary:focus")
	p.key(kb.Enter)
	p.closed()
	p.until(`![...document.querySelectorAll('[data-col=karim] .closed-why')].some(c => /team meeting|Blocked/i.test(c.innerText))`)

	// A patient in pain is overbooked at Lena's time.
	p.key(kb.ArrowLeft)
	p.key(kb.Home)
	p.downTo("08:15")
	p.key("per lind")
	p.there("#patient-name:focus")
	p.tabTo(`document.activeElement.id === 'patient-phone'`)
	p.key("030 1112233")
	p.tabTo(`document.activeElement.id === 'when-time'`)
	p.key("1030")
	p.says("Dr Ada Brandt has an appointment with lena vogt at 10:30.")
	p.tabTo(`document.activeElement.matches('.notice button')`)
	p.key(kb.Enter)
	p.there("#overbook-reason:focus")
	p.key("toothache")
	p.key(kb.Enter)
	p.closed()
	p.there(".appt.over")

	// The menu explains why a time is not free.
	p.key(kb.Home)
	p.chord(shift, kb.Enter)
	p.there("[role=menu] :focus")
	p.key("w")
	p.until(`document.activeElement.innerText.startsWith('Why')`)
	p.key(kb.Enter)
	p.there(".answers li")
	p.key(kb.Escape)
	p.closed()

	// The user opens the next day, then finds a patient by name and cancels the appointment.
	p.key(".")
	p.until(`!location.hash.includes(` + quoted(h.date) + `)`)
	p.there(".busywrap:not(.loading) .board")
	p.key("/")
	p.there("dialog [type=search]:focus")
	p.key("per")
	p.there("#found-0[aria-selected=true]")
	p.key(kb.Enter)
	p.until(`location.hash.includes(` + quoted(h.date) + `)`)
	p.closed()
	p.cursor("10:30 per lind")
	p.key(kb.Delete)
	p.there("#cancel-reason:focus")
	p.key("feels better")
	p.key(kb.Enter)
	p.closed()
	p.until(`!document.querySelector('.appt.over')`)
	h.one(t)

	p.key("?")
	p.there("dialog kbd")
	p.key(kb.Escape)
	p.closed()

	// The user opens the queue page, and signs out.
	p.tabTo(`document.activeElement.getAttribute('href') === '#queue'`)
	p.key(kb.Enter)
	p.there("h1:focus")
	p.says("No messages are waiting.")
	p.tabTo(`document.activeElement.matches('.side .me > button')`)
	if !ask[bool](p, onScreen) {
		t.Error("the focus is not visible")
	}
	p.key(kb.Enter)
	p.there("#sign-email:focus")
}

// TestConsoleAt400Percent: at 400 %, a screen of 1280 by 1024 points has 320 by 256 points. Every page must fit, and
// the day's work must be possible.
func TestConsoleAt400Percent(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	email := h.staff(store.RoleOwner)
	p := h.tab(t)
	p.size(320, 256)
	p.open("/staff?lang=de#day/" + h.date)
	p.there("#sign-email")
	fits := func(name string) {
		t.Helper()
		if wide := ask[int](p, `document.documentElement.scrollWidth`); wide > 320 {
			t.Errorf("%s is %d points wide on a screen of 320", name, wide)
		}
		// Content is lost if a part of a dialog or page cuts it off and does not scroll.
		cut := ask[[]string](p, `[...document.querySelectorAll('main *, dialog *')].filter(e => {
			const r = e.getBoundingClientRect()
			if (!r.width || !e.matches('button, a, input:not([type=radio]):not([type=checkbox]), select, textarea, h1, h2') || e.closest('.sr, .scroll, .board, .filters, .index, [hidden], [aria-hidden=true]')) return false
			return getComputedStyle(e).visibility !== 'hidden' && (r.left < -1 || r.right > innerWidth + 1)
		}).map(e => e.outerHTML.slice(0, 120))`)
		for _, e := range cut {
			t.Errorf("%s: the side is cut off: %s", name, e)
		}
	}
	fits("signing in")
	p.signIn(email)
	fits("the day")
	p.shot("narrow-day")
	p.visit("de", office, func(s state) {
		fits(s.name)
		p.shot("narrow-" + strings.ReplaceAll(s.name, " ", "-"))
	})
	for _, page := range []string{"list/" + h.date, "week/" + h.date} {
		p.open("/staff?lang=de#" + page)
		p.there("main h1")
		p.moment()
		fits(page)
	}
	// Every step of a booking also fits.
	p.open("/staff?lang=de#day/" + h.date)
	p.board()
	p.run(`document.querySelector('.tools .btn.primary').focus()`)
	p.key(kb.Enter)
	p.there("#patient-name:focus")
	p.key("mia sand")
	p.tabTo(`document.activeElement.id === 'patient-phone'`)
	p.key("030 5556677")
	p.tabTo(`document.activeElement.id === 'when-date'`)
	p.set("#when-date", h.date)
	p.set("#when-time", "16:30")
	fits("booking")
	p.there(".holding.held")
	p.tabTo(`document.activeElement.type === 'submit'`)
	p.until(onScreen)
	p.shot("narrow-booking")
	p.key(kb.Enter)
	p.until(`!document.querySelector('dialog')`)
	if raw := fmt.Sprint(h.bookings()); !strings.Contains(raw, h.at("16:30")) {
		t.Errorf("the booking is missing: %s", raw)
	}
}

// TestConsoleInReducedMotionAndForcedColours: a reader who wants reduced motion sees none. A reader who replaces the
// colours recognizes the states by borders and words.
func TestConsoleInReducedMotionAndForcedColours(t *testing.T) {
	t.Parallel()
	h := furnished(t)
	p := h.desk(t, store.RoleOwner)
	p.there(".ghosted")
	moving := `document.getAnimations().filter(a => a.playState === 'running' && a.effect.getComputedTiming().duration > 1).map(a => (a.animationName || a.transitionProperty) + ' ' + a.effect.target.className)`
	still := func(where string) {
		t.Helper()
		if got := ask[[]string](p, moving); len(got) > 0 {
			t.Errorf("%s moves although the reader prefers reduced motion: %v", where, got)
		}
	}
	still("the board")
	p.key("x")
	p.there("#patient-name:focus")
	still("a dialog")
	p.key(kb.Escape)
	p.closed()

	p.ownColours()
	bordered := func(selectors ...string) {
		t.Helper()
		for _, s := range selectors {
			if got := ask[string](p, `(e => e ? (c => c.borderTopStyle + ' ' + c.outlineStyle)(getComputedStyle(e)) : 'not there')(document.querySelector(`+quoted(s)+`))`); got == "not there" || got == "none none" {
				t.Errorf("with forced colours, %s has the border %s", s, got)
			}
		}
	}
	bordered(".appt", ".appt.ghosted", ".cursor", ".btn", ".seg a[aria-current]")
	p.open("/staff?lang=en#sessions")
	p.there(".lines.inner .line:nth-child(2)")
	bordered(".plate", ".state", ".btn")
	p.open("/staff?lang=en#queue")
	p.there(".total[aria-pressed=true]")
	p.there(".state")
	bordered(".total[aria-pressed=true]", ".state")
}

package browsertest

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// finger turns touch input on. Touch input stays enabled, so no other test gets the tab's window.
func (p *tab) finger() {
	p.t.Helper()
	p.changed = true
	p.do(command(emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: true,
		MaxTouchPoints: 1}))
}

func (p *tab) touch(kind input.DispatchTouchEventType, x, y float64) {
	p.t.Helper()
	points := []*input.TouchPoint{{X: x, Y: y}}
	if kind == input.DispatchTouchEventTypeTouchEnd {
		points = []*input.TouchPoint{}
	}
	p.do(command(input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}))
}

// place returns the middle of an element, once it has stopped moving.
func (p *tab) place(selector string) (x, y float64) {
	p.t.Helper()
	p.until(`(async () => {
		const middle = () => { const r = document.querySelector(` + quoted(selector) + `).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] }
		const was = middle()
		for (let n = 0; n < 6; n++) await new Promise(requestAnimationFrame)
		return String(middle()) === String(was) && (window.touchAt = was)
	})()`)
	xy := ask[[]float64](p, "window.touchAt")
	return xy[0], xy[1]
}

// tap touches and releases an element.
func (p *tab) tap(selector string) {
	p.t.Helper()
	x, y := p.place(selector)
	p.touch(input.DispatchTouchEventTypeTouchStart, x, y)
	p.touch(input.DispatchTouchEventTypeTouchEnd, x, y)
}

// tapUntilClick taps an element until the element receives the click. On a busy machine a tap can take so long that the
// browser treats it as a long press, which causes no click, and the element can move away before the finger is lifted.
func (p *tab) tapUntilClick(selector string) {
	p.t.Helper()
	p.run(`window.clicked = false, addEventListener('click', e => {
		window.clicked ||= Boolean(document.querySelector(` + quoted(selector) + `)?.contains(e.target))
	}, true)`)
	for began := time.Now(); time.Since(began) < patience; {
		p.tap(selector)
		if ask[bool](p, `new Promise(done => {
			let looks = 0
			const look = () => window.clicked ? done(true) : ++looks === 50 ? done(false) : setTimeout(look, 100)
			look()
		})`) {
			return
		}
	}
	p.t.Fatalf("a tap on %s causes no click", selector)
}

// stroke puts a finger down in the middle of an element, moves it immediately, stops and lifts it. A finger that is
// lifted while it moves keeps the page scrolling, and the next tap would only stop that.
func (p *tab) stroke(selector string, dx, dy float64) {
	p.t.Helper()
	x, y := p.place(selector)
	p.touch(input.DispatchTouchEventTypeTouchStart, x, y)
	for step := 1.0; step <= 8; step++ {
		p.touch(input.DispatchTouchEventTypeTouchMove, x+dx*step/8, y+dy*step/8)
	}
	p.moment()
	p.touch(input.DispatchTouchEventTypeTouchEnd, x+dx, y+dy)
}

// TestDeskByTouch: a finger that rests on a card drags it, one that moves immediately scrolls the board, and a tap
// opens the card. The card's Move dialog has the same result as the drag.
func TestDeskByTouch(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.finger()
	dragged, moved := p.appointment("Lena Vogt", "ada", "10:00"), p.appointment("Per Lind", "ada", "11:00")

	// On a busy machine, the first move can come so late that the page treats the finger as resting.
	for began := time.Now(); ; {
		p.run(`document.querySelector('.board').scrollTop = 0`)
		p.stroke(card(dragged), 0, -100)
		if ask[bool](p, `new Promise(done => {
			let looks = 0
			const look = () => document.querySelector('.board').scrollTop > 50 ? done(true)
				: ++looks === 20 ? done(false) : setTimeout(look, 100)
			look()
		})`) {
			break
		}
		if time.Since(began) > patience {
			t.Fatal("an immediate swipe does not scroll the board")
		}
		p.reload()
		p.there(card(dragged))
	}
	if n := p.count(".lifted, .drop, dialog"); n != 0 {
		t.Error("a swipe that scrolls the board also moves a card or opens a dialog")
	}

	// away from the edges, where a dragged card scrolls the board
	p.run(`document.querySelector('.board').scrollTop = 0`)
	x, y := p.place(card(dragged))
	to, _ := p.place("[data-col=karim]")
	p.touch(input.DispatchTouchEventTypeTouchStart, x, y)
	p.there(".lifted")
	rolled := ask[float64](p, `document.querySelector('.board').scrollTop`)
	for _, at := range []float64{(x + to) / 2, to} {
		p.touch(input.DispatchTouchEventTypeTouchMove, at, y)
	}
	p.there("[data-col=karim] .drop")
	p.touch(input.DispatchTouchEventTypeTouchEnd, to, y)
	p.there("dialog .ask")
	if a := h.appointmentOf(dragged); a["specialistId"] != "ada" {
		t.Errorf("a drop moved the appointment without asking: %v", a)
	}
	// the stroke may leave an offset of a pixel; an edge scrolls by eight pixels at a time
	if got := ask[float64](p, `document.querySelector('.board').scrollTop`); math.Abs(got-rolled) >= 8 {
		t.Errorf("dragging the card scrolled the board from %v to %v", rolled, got)
	}
	p.tapUntilClick("dialog [type=submit]:not([aria-disabled])")
	p.until(`!document.querySelector('dialog')`)
	p.there(`[data-col=karim] ` + card(dragged))

	p.run(`window.clicks = [], addEventListener('click', e => clicks.push(e.target.className), true)`)
	p.tap(card(moved))
	p.says("at the desk") // the last text that appears in the dialog
	p.moment()
	if got := ask[[]string](p, "clicks"); len(got) > 0 {
		t.Errorf("a tap on a card also clicks an element of the dialog that it opens: %q", got)
	}
	p.tapUntilClick("dialog .actions .btn")
	p.there("#when-who")
	p.set("#when-who", "karim")
	p.there("dialog .ask .icon")
	p.tapUntilClick("dialog [type=submit]:not([aria-disabled])")
	p.until(`!document.querySelector('dialog')`)
	p.there(`[data-col=karim] ` + card(moved))
	a, b := h.appointmentOf(dragged), h.appointmentOf(moved)
	if a["slotStartDate"] != h.at("10:00") || b["slotStartDate"] != h.at("11:00") {
		t.Errorf("the appointments are at %v and %v, want their own times with the other specialist", a["slotStartDate"],
			b["slotStartDate"])
	}
	for _, field := range []string{"specialistId", "status", "version", "attendance", "source"} {
		if fmt.Sprint(a[field]) != fmt.Sprint(b[field]) {
			t.Errorf("%s is %v after a drag and %v after the dialog", field, a[field], b[field])
		}
	}
}

// TestSwipeShowsNextColumn: a phone has room for one column. A swipe shows the next one in the reading direction of
// the language.
func TestSwipeShowsNextColumn(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { // with only two columns, the next column would also be the previous one
		third := f.Specialists[1]
		third.ID, third.Name = "mia", "Dr Mia Sand"
		f.Specialists = append(f.Specialists, third)
	})
	email := h.staff(store.RoleReception)
	p := h.tab(t)
	p.finger()
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	for _, c := range []struct {
		lang    string
		forward float64
	}{{"en", -150}, {"ar-XB", 150}} {
		p.open("/staff?lang=" + c.lang + "#day/" + h.date)
		p.board()
		p.there("[data-col=ada]")
		p.stroke(".col", 0, c.forward/2)
		p.stroke(".col", c.forward, 0)
		p.there("[data-col=karim]")
		if n := p.count("dialog"); n != 0 {
			t.Error("a horizontal swipe opens a dialog")
		}
		p.stroke(".col", -c.forward, 0)
		p.there("[data-col=ada]")
	}
}

// TestSwipeShowsNextDays: a swipe shows the days that do not fit on a phone, and does not choose any of them.
func TestSwipeShowsNextDays(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.finger()
	p.when("")
	shown := ask[string](p, `document.querySelector('.day input:checked').value`)
	const last = `.day:last-child`
	inside := `(r => r.left >= 0 && r.right <= innerWidth)(document.querySelector('` + last +
		`').getBoundingClientRect())`
	if ask[bool](p, inside) {
		t.Fatal("all days fit on this screen, and the test proves nothing")
	}
	p.stroke(".day:nth-child(3)", -180, 0)
	p.stroke(".day:nth-child(5)", -180, 0)
	p.until(inside)
	if got := ask[string](p, `document.querySelector('.day input:checked').value`); got != shown {
		t.Errorf("scrolling the days selected %s instead of %s", got, shown)
	}
	p.tap(last)
	p.there(last + " input:checked")
	p.there(".chip")
}

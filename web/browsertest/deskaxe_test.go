package browsertest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/store"
)

// dialog opens a dialog, checks its accessibility, and closes it.
func (p *tab) dialog(name string, open func(), there string) {
	p.t.Helper()
	open()
	p.there(there)
	p.accessible(name)
	p.shot("desk-" + strings.ReplaceAll(name, " ", "-") + "-" + ask[string](p, "document.documentElement.lang"))
	p.key(kb.Escape)
	p.until(`!document.querySelector('dialog')`)
	p.run(`document.querySelector('.board').focus()`)
}

// menu opens the menu at the cursor and clicks the entry with the given icon.
func (p *tab) menu(icon string) {
	p.t.Helper()
	p.chord(shift, kb.Enter)
	p.there("[role=menu] :focus")
	path := iconPath(p.t, icon)
	p.until(`(() => {
		const entry = [...document.querySelectorAll('[role=menu] button')].find(b => b.querySelector('path')?.getAttribute('d') === ` + quoted(path) + `)
		return entry && (entry.click(), true)
	})()`)
}

// iconPath returns the SVG path of the icon with the given name.
func iconPath(t testing.TB, icon string) string {
	t.Helper()
	for _, file := range []string{"../ui/lib/icons.js", "../ui/lib/deskicons.js", "../ui/staff/owner.js"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`(?m)^  ` + icon + `:\s+'([^']+)'`).FindSubmatch(source); m != nil {
			return string(m[1])
		}
	}
	t.Fatalf("the icon %q is missing", icon)
	return ""
}

// TestDeskIsAccessible checks each view of the desk and each of its dialogs, in each language.
func TestDeskIsAccessible(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			email := h.staff(store.RoleReception)
			p := h.tab(t)
			p.size(1280, 800)
			p.open("/staff?lang=" + lang + "#day/" + h.date)
			p.there("#sign-email")
			p.accessible("signing in")
			p.shot("desk-signing-in-" + lang)
			p.signIn(email)
			id := p.appointment("Lena Vogt", "ada", "09:00")
			p.appointment("Per Lind", "karim", "09:30")
			h.hold("a-stranger-00001", "ada", h.at("10:00"), 300)
			p.there(".ghosted")
			p.accessible("the day board")
			p.shot("desk-board-" + lang)
			p.chord(shift, kb.Enter)
			p.there("[role=menu]")
			p.accessible("the menu of a free time")
			p.key(kb.Escape)
			p.chord(shift, kb.ArrowDown+kb.ArrowDown)
			p.dialog("a stretch of time blocked", func() { p.menu("stop") }, "#block-reason:focus")
			p.key(kb.Escape)
			p.dialog("why a time is not free", func() { p.menu("help") }, ".answers li")
			p.dialog("booking", func() { p.key("x") }, "#patient-name:focus")
			p.dialog("booking several times", func() {
				p.key("x")
				p.click("#series")
			}, ".occurrences li:nth-child(6)")
			p.dialog("overbooking", func() {
				p.key("x")
				p.there("#patient-name:focus")
				p.set("#when-time", "09:00")
				p.there("dialog .notice")
				p.accessible("a time that is taken")
				p.click("dialog .notice .btn")
			}, "#overbook-reason:focus")
			p.dialog("searching", func() {
				p.key("/")
				p.there("dialog [type=search]:focus")
				p.key("lena")
			}, "#found-0")
			p.dialog("the next free time", func() { p.key("+") }, ".found-time")
			p.dialog("nothing was booked online", func() { p.key("!") }, "dialog .muted")
			p.dialog("the keys", func() { p.key("?") }, "dialog kbd")
			p.dialog("the view", func() { p.click(".tools button[title]:nth-last-of-type(2)") }, "dialog [role=switch]")
			p.dialog("an appointment", func() {
				p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
			}, "dialog .actions")
			p.dialog("moving", func() {
				p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
				p.click("dialog .actions .btn")
			}, "#when-time")
			p.dialog("correcting an appointment", func() {
				p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
				p.click("dialog .actions .btn:nth-of-type(2)")
			}, "#correct-type")
			p.run(`document.querySelector('.board').focus()`)
			p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
			p.there("dialog .attendance")
			p.key(kb.Escape)
			p.closed()
			p.key("2")
			p.there(".toast.undo")
			p.accessible("a change that can be taken back")
			p.shot("desk-undo-" + lang)
			p.dialog("cancelling", func() {
				p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
				p.click("dialog .actions .danger")
			}, "#cancel-reason")
			h.hold("a-stranger-00001", "ada", h.at("10:00"), 300) // again: the first hold may have expired
			p.open("/staff?lang=" + lang + "#list/" + h.date)
			p.there(".tbl tbody tr:nth-child(3)")
			p.accessible("the day as a list")
			p.shot("desk-list-" + lang)
			p.open("/staff?lang=" + lang + "#week/" + h.date)
			p.there(".page-week .board, .board")
			p.until(`!document.querySelector('.busywrap.loading')`) // content that is still loading is faint
			p.accessible("the week")
			p.shot("desk-week-" + lang)
			// The sign-in expires during work, and a dialog asks for the password.
			p.forget()
			p.run(`document.querySelector('.board').focus()`)
			p.key("/")
			p.there("dialog [type=search]:focus")
			p.key("lena")
			p.there("dialog #sign-password")
			p.accessible("signing in again")
			p.shot("desk-again-" + lang)
		})
	}
}

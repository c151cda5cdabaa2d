package browsertest

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/cli/clitest"
)

// axe is axe-core by Deque Systems from npm. Its license, the Mozilla Public License 2.0, is in the same folder.
//
//go:embed testdata/axe-core/axe.min.js
var axe []byte

// axePath is the path where a house serves axe.
const axePath = "/axe.min.js"

// axe loads axe-core into the page. A server that runs as a separate program does not serve it, so the tab evaluates
// it.
func (p *tab) axe() {
	p.t.Helper()
	if p.h.engine == nil {
		p.run(`'axe' in window || (0, eval)(` + quoted(string(axe)) + `)`)
		return
	}
	p.until(`'axe' in window || new Promise(done => document.head.append(Object.assign(document.createElement('script'), { src: '` + axePath + `', onload: () => done(true) })))`)
}

// violation describes how a page violates a WCAG 2.2 rule of level A or AA.
type violation struct {
	ID    string   `json:"id"`
	Nodes []string `json:"nodes"`
}

const (
	everyRule = `runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }`
	// color-contrast is by far the slowest rule, and colours do not depend on the language
	wordsRules = everyRule + `, rules: { 'color-contrast': { enabled: false } }`
	colourRule = `runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] }`
)

// accessible checks that the page in its current state fits the screen and follows WCAG 2.2 AA. It checks every rule in
// the light theme. In .ci/run, it also checks the colour rules in the dark theme, which changes only colours. The pages
// have the same colours in each language, so it checks colours only in English. In Firefox, it checks only the colours,
// in both themes, because the other rules do not depend on the browser. In WebKit, which cannot change the theme for a
// test, it checks no rule. In `make test`, it checks the rules only in
// tests with Accessible in their names, because axe takes a third of the processor time of the others.
func (p *tab) accessible(state string) {
	p.t.Helper()
	p.until(`document.readyState === 'complete'`)
	p.fits(state)
	if !clitest.IsLong() && !strings.Contains(p.t.Name(), "Accessible") || aboutWebKit(p.t) {
		return
	}
	p.axe()
	looks := []struct{ theme, rules string }{{"light", wordsRules}}
	switch {
	case aboutFirefox(p.t):
		looks = []struct{ theme, rules string }{{"dark", colourRule}, {"light", colourRule}}
	case ask[string](p, "document.documentElement.lang") == "en":
		looks[0].rules = everyRule
		if clitest.IsLong() { // changing the theme is a third of the cost
			looks = append([]struct{ theme, rules string }{{"dark", colourRule}}, looks...)
		}
	}
	for _, look := range looks {
		p.theme(look.theme)
		for _, v := range p.violations(look.rules) {
			p.t.Errorf("%s, %s: %s\n\t%s", state, look.theme, v.ID, strings.Join(v.Nodes, "\n\t"))
		}
	}
}

// fits checks that the page is no wider than the screen, and has no empty space to scroll to. A page may load its
// styles after its first content, so fits waits up to 5 s before it reports a failure.
func (p *tab) fits(state string) {
	p.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; p.moment() {
		wide := ask[int](p, "document.documentElement.scrollWidth - innerWidth")
		// There is nothing below the page itself, so a page that fits has no scrollbar.
		long := ask[float64](p, `document.documentElement.scrollHeight - Math.max(innerHeight,
			Math.ceil((document.querySelector('#app') || document.body).getBoundingClientRect().bottom + scrollY))`)
		if wide <= 0 && long <= 0 {
			return
		}
		if time.Now().Before(deadline) {
			continue
		}
		if wide > 0 {
			p.t.Errorf("%s is %d points wider than the screen", state, wide)
		}
		if long > 0 {
			p.t.Errorf("%s: the page scrolls %v pixels beyond its end", state, long)
		}
		return
	}
}

func (p *tab) violations(rules string) []violation {
	p.t.Helper()
	return ask[[]violation](p, `axe.run(document, { `+rules+`, resultTypes: ['violations'], preload: false }).then(r =>
		r.violations.map(v => ({ id: v.id, nodes: v.nodes.map(n => n.html.slice(0, 200) + ' ' + (n.any[0]?.message || n.all[0]?.message || '')) })))`)
}

var languages = []string{"en", "de", "es", "ar-XB"} // the last one is written from right to left

// languagesOf returns the languages that a test checks its pages in: all of them in .ci/run. `make test` leaves out
// German and Spanish, and Firefox checks only the last one, with the longest words and written from right to left.
func languagesOf(t *testing.T) []string {
	switch {
	case aboutFirefox(t), aboutWebKit(t):
		return languages[3:]
	case !clitest.IsLong():
		return []string{languages[0], languages[3]}
	}
	return languages
}

// TestPatientPagesAreAccessible checks every state of the booking page and of the page of a booked appointment, in
// the languages of languagesOf.
func TestPatientPagesAreAccessible(t *testing.T) {
	t.Parallel()
	for _, lang := range languagesOf(t) {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.must(200, "PUT", "/v1/settings", map[string]any{"requiredFields": []string{"birthDate"},
				"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
			p := h.tab(t)
			if lang != "en" {
				p.size(320, 800) // the longest words, and those written from right to left, on the narrowest screen
			}
			see := func(state string) {
				t.Helper()
				p.accessible(state)
				if picture := "patient-" + strings.ReplaceAll(state, " ", "-") + "-" + lang; lang == "en" {
					p.look(picture)
				} else {
					p.shot(picture)
				}
			}
			p.open("/?lang=" + lang)
			p.click(".card input[value=checkup]")
			p.there(".who")
			see("choosing what")
			p.click(".bar button")
			p.live()
			p.day(h.date)
			h.holdAll("a-stranger-00001", h.at("09:00"))
			h.must(200, "POST", "/v1/slots/select", map[string]any{"clientId": "a-stranger-00002",
				"appointmentTypeId": "checkup", "slotStartDate": h.at("10:00")})
			p.shows(h.at("09:00"), "held")
			for _, specialist := range []string{"ada", "karim"} {
				h.must(201, "POST", "/v1/appointments", map[string]any{
					"appointmentTypeId": "checkup", "specialistId": specialist, "slotStartDate": h.at("11:00"),
					"patient": map[string]any{"name": "Walk In", "phone": "030 5555555"},
				}, asAdmin)
			}
			p.shows(h.at("11:00"), "taken")
			p.choose(h.at("14:00"))
			see("choosing a time")
			p.click(".bar button")
			p.held()
			see("giving details")
			p.click(".details [type=submit]")
			p.there(".summary:focus")
			see("details with mistakes")
			assigned := "ada"
			h.must(201, "POST", "/v1/appointments", map[string]any{
				"appointmentTypeId": "checkup", "specialistId": assigned, "slotStartDate": h.at("14:00"),
				"displace": true, "patient": map[string]any{"name": "Walk In", "phone": "030 5555555"},
			}, asAdmin)
			p.there(".notice.danger .btn")
			see("a time that was lost")
			p.click(".notice.danger .btn")
			p.held()
			p.fill("#name", "Lena Vogt")
			p.fill("#email", "lena@example.org")
			for part, value := range map[string]string{"day": "31", "month": "3", "year": "1980"} {
				p.fill(".date-"+part+" input", value)
			}
			p.click(".details [type=submit]")
			p.booked()
			see("a booked appointment")
			p.click(".btn.danger")
			p.there("#reason")
			see("cancelling")
			p.click(".actions .textlink")
			p.click(".row + .row .btn")
			p.live()
			see("choosing another time")
			p.day(h.date)
			p.choose(h.at("16:00"))
			p.click(".bar button")
			p.there(".move")
			see("confirming another time")
			p.open("/manage?lang=" + lang + "#nonsense")
			p.there(".notice.danger")
			see("a dead link")
			p.open("/embed?type=class&lang=" + lang)
			p.live()
			see("the page in a frame")
		})
	}
}

// TestAxeFindsInaccessiblePage proves that the check itself can fail.
func TestAxeFindsInaccessiblePage(t *testing.T) {
	t.Parallel()
	p := newHouse(t).tab(t)
	p.open("/?lang=en")
	p.there(".card")
	p.axe()
	p.run(`document.querySelector('main').append(document.createElement('button'), Object.assign(document.createElement('input'), { type: 'text' }))`)
	if got := fmt.Sprint(p.violations(everyRule)); !strings.Contains(got, "button-name") ||
		!strings.Contains(got, "label") {
		t.Errorf("a button and a field without names: got %s", got)
	}
}

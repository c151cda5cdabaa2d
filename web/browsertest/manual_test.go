package browsertest

import (
	"strings"
	"testing"

	"holdfast/cli/clitest"
)

// TestManualIsAccessible checks one page of each kind in the manual in a wide window, and one on a phone. Only the long
// run checks all kinds, because the two pages of the reference contain nearly every element of the others.
func TestManualIsAccessible(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	paths := []string{"/docs/api", "/docs/api/holds"}
	if clitest.IsLong() {
		paths = append(paths, "/docs", "/docs/backup", "/docs/errors")
	}
	for _, path := range paths {
		p.open(path)
		p.there("main h1")
		p.accessible(path)
	}
	p.size(320, 800)
	p.open("/docs/api/holds")
	p.there("main h1")
	p.accessible("/docs/api/holds on a phone")
}

// TestReferenceFindsAndTriesOperation: the search shows the operations that contain a word, and the form sends a
// request.
func TestReferenceFindsAndTriesOperation(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/docs#getClinic") // the address of the reference in earlier versions
	p.until(`location.pathname === '/docs/api' && !document.querySelector('.find').hidden`)
	p.fill("#find", "weekly hours")
	p.until(`document.querySelectorAll('.operations tbody tr:not([hidden])').length < 20 && !document.getElementById('putWeeklyHours').hidden`)
	p.open("/docs/api/clinic")
	p.until(`!!document.querySelector('#getClinic') && !!document.querySelector('.try summary')`)
	p.run(`[...document.querySelectorAll('article')].find(a => a.querySelector('#getClinic')).querySelector('.try details').open = true`)
	p.until(`!!document.querySelector('.try form button')`)
	p.click(".try form button")
	p.until(`document.querySelector('.try form').textContent.includes('Response: 200')`)
	if shown := ask[string](p, `document.querySelector('.try form pre').textContent`); !strings.Contains(shown,
		`"clinic"`) {
		t.Errorf("the form shows %s", shown)
	}
}

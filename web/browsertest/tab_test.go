package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// tab is one tab, 390 points wide like a phone unless a test makes it wider.
type tab struct {
	t    testing.TB
	h    *house
	ctx  context.Context
	host string // of the server

	driver driver

	also    []string // other hosts that it may call; set this before the tab opens them
	changed bool     // its window cannot be reused for another test

	mu         sync.Mutex
	complaints []string
	asked      []string // the requests of its pages, by method and path
	received   float64  // bytes on the wire of all complete responses to these requests
}

// tab opens a tab with its own profile, in the browser under test.
func (h *house) tab(t testing.TB) *tab {
	t.Helper()
	if aboutFirefox(t) {
		return h.firefoxTab(t)
	}
	if aboutWebKit(t) {
		return h.webkitTab(t)
	}
	w := chromium.window(t)
	var p *tab
	p = h.watch(t, w.ctx, func() {
		if t.Failed() || p.changed {
			w.close()
		} else {
			chromium.giveBack(w)
		}
	})
	return p.slowed()
}

// everyDocument runs a script before the scripts of any page that the tab opens. The script stays in the window, so no
// other test can get that window.
func (p *tab) everyDocument(script string) {
	p.t.Helper()
	p.changed = true
	p.step(func(ctx context.Context) error { return p.driver.everyDocument(ctx, script) })
}

// newTab returns a tab of the house without a browser.
func (h *house) newTab(t testing.TB) *tab {
	t.Helper()
	home, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	return &tab{t: t, h: h, host: home.Host}
}

// watched reports forbidden behaviour of the page to the tab's test until the test ends. look ends the watch, and done
// is called afterwards.
func (p *tab) watched(look, done func()) *tab {
	p.t.Helper()
	p.t.Cleanup(func() {
		if p.t.Failed() {
			p.evidence()
		}
		look()
		for _, c := range p.forgive() {
			p.t.Errorf("the page must not: %s", c)
		}
		done()
	})
	p.size(390, 844)
	p.theme("light")
	return p
}

// requested handles every request of the tab.
func (p *tab) requested(method, address string) {
	to, err := url.Parse(address)
	if err != nil || (to.Host != p.host && !slices.Contains(p.also, to.Host) &&
		(to.Scheme == "http" || to.Scheme == "https" || to.Scheme == "ws" || to.Scheme == "wss")) {
		p.complain("speak to " + address)
	}
	if err == nil && to.Host == p.host {
		p.mu.Lock()
		p.asked = append(p.asked, method+" "+to.Path)
		p.mu.Unlock()
	}
}

// receives adds the size of a response to p.received.
func (p *tab) receives(bytes float64) {
	p.mu.Lock()
	p.received += bytes
	p.mu.Unlock()
}

func (p *tab) complain(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complaints = append(p.complaints, what)
}

// forgive deletes the complaints so far, and returns them.
func (p *tab) forgive() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.complaints
	p.complaints = nil
	return was
}

// misbehaves waits until the watch detects a violation, and deletes the complaints.
func (p *tab) misbehaves(how string) {
	p.t.Helper()
	var said []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); p.moment() {
		said = append(said, p.forgive()...)
		if strings.Contains(strings.Join(said, "\n"), how) {
			return
		}
	}
	p.t.Errorf("%s did not appear, only %q", how, said)
}

// moment waits 50 ms, so that the page can finish what it is doing.
func (p *tab) moment() {
	p.t.Helper()
	p.until("new Promise(done => setTimeout(() => done(true), 50))")
}

// step runs one step in the browser.
func (p *tab) step(do func(ctx context.Context) error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := do(ctx); errors.Is(err, errUnsupported) {
		p.t.Skip("SKIPPED: ", err)
	} else if err != nil {
		p.t.Fatalf("the browser: %v", err)
	}
}

// nothing is the result type of a script that returns no value.
type nothing struct{}

var errNothing = errors.New("the script comes to nothing")

// evaluate runs JavaScript in the page and waits for its promise.
func evaluate[T any](p *tab, script string) (answer T, err error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	raw, err := p.driver.evaluate(ctx, script)
	if _, isNothing := any(answer).(nothing); err != nil || isNothing {
		return answer, err
	}
	if raw == nil || string(raw) == "null" {
		switch reflect.TypeFor[T]().Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
			return answer, nil
		}
		return answer, errNothing
	}
	err = json.Unmarshal(raw, &answer)
	return answer, err
}

// ask does the same as evaluate, and fails the test if there is an error.
func ask[T any](p *tab, script string) T {
	p.t.Helper()
	v, err := evaluate[T](p, script)
	if err != nil {
		p.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// run does the same as ask, for a script without a result.
func (p *tab) run(script string) {
	p.t.Helper()
	ask[nothing](p, script+"\n;void 0")
}

// until waits until a condition of the page holds. The page itself checks the condition, first every 25 ms, and less
// often during a long wait, because reading the text of a page forces a layout. If the tab opens another page in the
// meantime, that page checks the condition.
func (p *tab) until(condition string) {
	p.t.Helper()
	script := `new Promise(done => {
		const end = Date.now() + 2000
		let pause = 20
		const look = async () => {
			let is = false
			try { is = Boolean(await (` + condition + `)) } catch {}
			is || Date.now() > end ? done(is) : setTimeout(look, pause = Math.min(pause * 1.25, 200))
		}
		look()
	})`
	deadline := time.Now().Add(patience)
	for {
		is, err := evaluate[bool](p, script)
		if is {
			return
		}
		if time.Now().After(deadline) || p.ctx.Err() != nil {
			text, _ := evaluate[string](p,
				`location.href.replace(/#.*/, '#…') + '\n' + document.body.innerText.slice(0, 1500)`)
			p.t.Fatalf("timeout while waiting for %s (%v) on\n%s", condition, err, text)
		}
	}
}

// there waits until an element exists.
func (p *tab) there(selector string) {
	p.t.Helper()
	p.until("document.querySelector(" + quoted(selector) + ")")
}

// says waits until the page shows the given text.
func (p *tab) says(text string) {
	p.t.Helper()
	p.until("document.body.innerText.replace(/\\s+/g, ' ').includes(" + quoted(text) + ")")
}

// text returns the visible text of an element, with single spaces.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return ask[string](p, "(document.querySelector("+quoted(selector)+
		")?.innerText || '').replace(/\\s+/g, ' ').trim()")
}

// count returns the number of matching elements.
func (p *tab) count(selector string) int {
	p.t.Helper()
	return ask[int](p, "document.querySelectorAll("+quoted(selector)+").length")
}

// open goes to a path on the server.
func (p *tab) open(path string) {
	p.t.Helper()
	if !strings.Contains(path, "://") {
		path = "http://" + p.host + path
	}
	p.step(func(ctx context.Context) error { return p.driver.open(ctx, path) })
}

// leave goes to an empty page.
func (p *tab) leave() {
	p.t.Helper()
	p.open("about:blank?://")
}

func (p *tab) reload() {
	p.t.Helper()
	p.step(p.driver.reload)
}

// shot writes pictures of the page in both themes if HOLDFAST_SHOTS is set.
func (p *tab) shot(name string) {
	p.t.Helper()
	if os.Getenv("HOLDFAST_SHOTS") == "" {
		return
	}
	for _, theme := range []string{"light", "dark"} {
		p.theme(theme)
		p.snap(name + "-" + theme)
	}
	p.theme("light")
}

// snap does the same as shot, but only with the current colours of the page.
func (p *tab) snap(name string) {
	p.t.Helper()
	if folder := os.Getenv("HOLDFAST_SHOTS"); folder != "" {
		if aboutFirefox(p.t) {
			name = "firefox-" + name
		}
		p.picture(filepath.Join(folder, name+".png"))
	}
}

// look does the same as shot, on a phone's screen and on a desk's.
func (p *tab) look(name string) {
	p.t.Helper()
	if os.Getenv("HOLDFAST_SHOTS") == "" {
		return
	}
	p.shot(name)
	p.size(1280, 860)
	p.shot(name + "-wide")
	p.size(390, 844)
}

func (p *tab) picture(file string) {
	png, err := p.driver.picture(p.ctx)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		p.t.Logf("no picture: %v", err)
	}
}

// evidence writes a picture of the page if its test has failed.
func (p *tab) evidence() {
	file := filepath.Join(p.t.ArtifactDir(), fmt.Sprintf("%p.png", p))
	p.picture(file)
	p.t.Logf("the page when the test failed: %s", file)
}

func quoted(s string) string { return strconv.Quote(s) }

package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// site starts a website at its own origin that embeds the booking page, and returns its address.
func site(t *testing.T, h *house) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path != "/" {
			rw.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(rw, `<!doctype html><html lang="en"><title>Praxis</title><link rel="icon" href="data:,"><h1>Praxis</h1>
			<script src="%s/embed.js" data-type="checkup" data-lang="en"></script>`, h.url)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// siteOfPages serves a document at the path /praxis of an address that also serves the pages, so that a test can look
// into the frame. It returns the address.
func siteOfPages(t *testing.T, h *house, document string) string {
	t.Helper()
	to, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	pages := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/praxis" {
			pages.ServeHTTP(rw, r)
			return
		}
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(rw, document)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestEmbeddedPageBooks(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := site(t, h)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{home}}, asAdmin)
	// Late in the day, few times would be left, and the page would be too short for the test.
	for _, who := range []string{"ada", "karim"} {
		for _, day := range []string{h.days(-2, "09:00"), h.days(-1, "09:00")} {
			h.must(201, "POST", "/v1/specialists/"+who+"/overrides", map[string]any{"date": day[:10], "closed": true},
				asAdmin)
		}
	}
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(home, "http://")}
	p.open(home)
	p.there("iframe[title]")
	// The frame is as high as its content.
	height := `document.querySelector('iframe').getBoundingClientRect().height`
	p.until(height + ` > 700`)
	p.shot("embed")
	// Only the frame sets its height. This listener runs after that of embed.js, so it reads the change that the
	// message caused before the page in the frame can send its own height.
	p.run(`window.addEventListener('message', e => { if (e.data.height === 3333) window.after = ` + height + ` })
		window.postMessage({ holdfast: 'height', height: 3333 }, '*')`)
	p.until(`window.after > 0`)
	if got := ask[float64](p, `window.after`); got == 3333 {
		t.Errorf("a message from the site itself set the height of the frame to %v, want it ignored", got)
	}
}

// TestBookingElementReportsBooking shows the booking page in an element that a script inserts, and books in it. The
// element reports its height and the booking. If its attributes change, it shows the page in that language and for that
// place, and the frame's title is in the language. If the element is removed, the frame is also removed.
func TestBookingElementReportsBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := siteOfPages(t, h, `<!doctype html><html lang="en"><title>Praxis</title><link rel="icon" href="data:,"><body><h1>Praxis</h1>
			<script src="/embed.js" data-element></script>`)
	h.must(200, "PATCH", "/v1/settings", map[string]any{"embedOrigins": []string{home}}, asAdmin)
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(home, "http://")}
	p.open(home + "/praxis")
	p.there("h1")
	p.run(`window.events = []
		window.e = document.createElement('holdfast-booking')
		e.setAttribute('type', 'checkup')
		for (const type of ['height', 'booked']) e.addEventListener(type, ({ detail }) => { if (type === 'booked' || detail > 0) events.push(type) })
		document.body.append(e)`)
	p.until(`events.includes('height')`)
	p.until(`(window.inside = document.querySelector('iframe')?.contentDocument)?.querySelector('.day input[value="` +
		h.date + `"]')`)
	p.run(`inside.querySelector('.day input[value="` + h.date + `"]').click()`)
	p.until(`inside.querySelector('.chip[data-status=free][data-start="` + h.at("09:00") + `"]')`)
	p.run(`inside.querySelector('.chip[data-start="` + h.at("09:00") + `"] input').click()`)
	p.until(`inside.querySelector('.bar button')`)
	p.run(`inside.querySelector('.bar button').click()`)
	p.until(`inside.querySelector('.details #name')`)
	for id, text := range map[string]string{"name": "Lena Vogt", "email": "lena@example.org"} {
		p.run(fmt.Sprintf(`inside.getElementById(%q).focus(); inside.execCommand('insertText', false, %q)`, id, text))
		p.until(fmt.Sprintf(`inside.getElementById(%q).value === %q`, id, text))
	}
	if got := ask[float64](p, `events.filter(x => x === 'booked').length`); got != 0 {
		t.Errorf("the element reports a booking before it exists")
	}
	p.run(`inside.querySelector('.details [type=submit]').click()`)
	p.until(`events.includes('booked')`)
	h.one(t)
	p.run(`e.setAttribute('lang', 'de'); e.setAttribute('place', 'north')`)
	p.until(`e.children.length === 1 && e.firstChild.src.includes('lang=de')`)
	if src := ask[string](p, `e.firstChild.src`); !strings.Contains(src, "place=north") {
		t.Errorf("the frame of a place shows %s", src)
	}
	p.until(`e.firstChild.title.startsWith('Zeit wählen')`)
	p.run(`e.remove()`)
	p.until(`e.children.length === 0`)
}

// TestUnlistedSiteCannotEmbed: a site that is not listed in the settings cannot show the page.
func TestUnlistedSiteCannotEmbed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := site(t, h)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
	p := h.tab(t)
	p.also = []string{strings.TrimPrefix(home, "http://")}
	p.open(home)
	p.there("iframe")
	p.misbehaves("frame-ancestors https://praxis.example")
	p.forgive()
	if got := h.must(200, "GET", "/", nil).raw; strings.Contains(got, "frame-ancestors *") {
		t.Error("any website can embed the whole page")
	}
}

// TestEmbeddedPageBooksWithoutStorage: a frame may have no storage at all. Its page can still book. The page of the
// appointment opens in another tab, because the frame cannot store the appointment.
func TestEmbeddedPageBooksWithoutStorage(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
	p := h.tab(t)
	p.everyDocument(`
		for (const name of ['sessionStorage', 'localStorage']) Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError') } })`)
	p.open("/embed?type=checkup&lang=en")
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.says("You're booked.")
	p.look("embed-2-booked")
	h.one(t)
	if got := ask[string](p, `document.querySelector('a.btn[href^="/manage"]').target`); got != "_blank" {
		t.Errorf("the appointment's page opens in %q, want a new tab", got)
	}
}

// TestEmbeddedPageShowsBookButton: the frame is as high as its page, so the end of the page can be far below the
// visible part. The button for the chosen time is visible anyway, on a phone and on a wide screen, and follows when
// the site is scrolled.
func TestEmbeddedPageShowsBookButton(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	home := siteOfPages(t, h, `<!doctype html><html lang="en"><title>Praxis</title><link rel="icon" href="data:,"><meta name="viewport" content="width=device-width"><body style="margin:0"><h1>Praxis</h1>
			<script src="/embed.js" data-type="checkup" data-lang="en"></script><p style="height:900px">Below it</p>`)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{home}}, asAdmin)
	for _, size := range [][2]int64{{320, 600}, {1200, 800}} {
		p := h.tab(t)
		p.also = []string{strings.TrimPrefix(home, "http://")}
		p.size(size[0], size[1])
		p.open(home + "/praxis")
		p.until(`(window.inside = document.querySelector('iframe')?.contentDocument)?.querySelector('.day input[value="` + h.date + `"]')`)
		p.run(`inside.querySelector('.day input[value="` + h.date + `"]').click()`)
		p.until(`inside.querySelector('.chip[data-status=free][data-start="` + h.at("09:00") + `"]')`)
		// The frame must be higher than the window, or the test proves nothing.
		p.until(fmt.Sprintf(`document.querySelector('iframe').getBoundingClientRect().height > %d`, size[1]))
		p.run(`inside.querySelector('.chip[data-start="` + h.at("09:00") + `"] input').click()`)
		p.until(`inside.querySelector('.bar button')`)
		// If the frame begins far down, its visible part has no room for the bar, so the site is scrolled to it.
		for _, down := range []string{"0", "120", "1e5"} {
			p.run(`scrollTo(0, ` + down +
				` === 1e5 ? document.querySelector('iframe').getBoundingClientRect().bottom + scrollY - innerHeight : ` + down + `)`)
			p.until(`(() => {
				const frame = document.querySelector('iframe').getBoundingClientRect(), button = inside.querySelector('.bar button').getBoundingClientRect()
				return frame.top + button.top >= 0 && frame.top + button.bottom <= innerHeight + 1
			})()`)
		}
		// A message from the site to its frames must not move the bar.
		inPlace := `(() => {
			const bar = inside.defaultView.getComputedStyle(inside.querySelector('.bar'))
			const below = document.querySelector('iframe').getBoundingClientRect().bottom - innerHeight
			return Math.abs(parseFloat(bar.bottom) - Math.max(0, Math.round(below))) <= 1
		})()`
		p.until(inPlace)
		p.run(`window.heard = false; inside.defaultView.addEventListener('message', () => requestAnimationFrame(() => { window.heard = true }), { once: true })
			document.querySelector('iframe').contentWindow.postMessage('consent given', '*')`)
		p.until(`heard`)
		p.until(inPlace)
		p.run(`scrollTo(0, 0)`)
		p.moment()
		p.shot(fmt.Sprintf("embed-button-%d", size[0]))
	}
}

package browsertest

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/store"
)

// These tests check the texts that a patient reads when a problem occurs, and that each text offers a next step. The
// texts for a lost and a displaced time, the warning and a broken link are tested with their features.

// reads waits until a notice on the page matches.
func (p *tab) reads(pattern string) {
	p.t.Helper()
	re := regexp.MustCompile("^" + pattern + "$")
	p.there(".notice")
	var got string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); p.moment() {
		if got = p.text(".notice"); re.MatchString(got) {
			return
		}
	}
	p.t.Fatalf("the notice is %q, want %s", got, re)
}

// answers makes the page's next requests to paths that end in path fail. times is the number of requests. They do not
// reach the server. They get an API error code that a server without load does not return.
func (p *tab) answers(path, status, code, retryAfter, times string) {
	p.t.Helper()
	p.run(`(() => {
		const real = window.fetch
		let times = ` + times + `
		window.fetch = (to, o) => o.method === 'POST' && to.endsWith(` + quoted(path) + `) && times-- > 0
			? Promise.resolve(new Response(JSON.stringify({ code: ` + quoted(code) + `, status: ` + status + ` }), { status: ` + status + `, headers: { 'Retry-After': ` + quoted(retryAfter) + ` } }))
			: real(to, o)
	})()`)
}

// TestExpiredHoldIsClaimedAgain: a patient who returns after the hold has expired gets a new hold if the time is still
// free.
func TestExpiredHoldIsClaimedAgain(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.take(h.at("10:00"))
	p.fill("#name", "Lena Vogt")
	p.run(`(() => {
		const real = performance.now.bind(performance)
		performance.now = () => real() + 901 * 1000
	})()`)
	p.reads(`10:00 is no longer held\. Your details are saved\. Hold this time again`)
	p.accessible("an expired hold")
	p.look("book-9-lapsed")
	p.click(".notice .btn")
	p.held()
	p.reads(`We are holding this time for you again\.`)
	if name := ask[string](p, "document.querySelector('#name').value"); name != "Lena Vogt" {
		t.Errorf("the entered text changed to %q", name)
	}
}

// closed removes the working hours of some weekdays.
func closed(is func(store.Weekday) bool) func(*clinic.File) {
	return func(f *clinic.File) {
		for i := range f.Specialists {
			var open []clinic.HoursEntry
			for _, e := range f.Specialists[i].WeeklyHours {
				if !is(e.Weekday) {
					open = append(open, e)
				}
			}
			f.Specialists[i].WeeklyHours = open
		}
	}
}

func TestEmptyDayOffersFirstFreeDay(t *testing.T) {
	t.Parallel()
	day := store.Weekday(enginetest.Noon(time.UTC, 2).Weekday())
	h := newHouse(t, closed(func(d store.Weekday) bool { return d == day }))
	p := h.tab(t)
	p.open("/?lang=en&type=checkup")
	p.live()
	p.click(`.day input[value="` + h.date + `"]`)
	p.reads(`No times on \w{3} \d+ \w+\. First free time: .+`)
	p.look("book-10-empty-day")
	p.click(".notice .btn")
	p.there(".chip")
}

func TestClinicWithoutTimesShowsPhone(t *testing.T) {
	t.Parallel()
	h := newHouse(t, closed(func(store.Weekday) bool { return true }))
	p := h.tab(t)
	p.open("/?lang=en&type=checkup")
	p.reads(`No times can be booked online in the next 60 days\. Call 030 1234567 or check again later\. Times that become free appear here immediately\.`)
	p.accessible("no times at all")
	p.look("book-11-none")
}

func TestCooldownIsExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(f *clinic.File) { f.AppointmentTypes[0].CooldownMinutes = 3 * 1440 })
	p := h.tab(t)
	p.when("")
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	p.when("")
	p.choose(h.at("11:00"))
	p.click(".bar button")
	p.reads(`You have already booked Check-up: \w{3},? \d{1,2} \w+( \d{4})?, 10:00\. ` +
		`Change that appointment, or book again from \w{3} \d\d:\d\d\. Show that appointment`)
	p.accessible("a cooldown")
	p.look("book-12-cooldown")
	p.click(".notice .btn")
	p.booked()
	h.one(t)
}

func TestHoldQuotaIsExplained(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	client := ask[string](p, `JSON.parse(sessionStorage.getItem('holdfast.client'))`)
	for _, clock := range []string{"08:00", "09:00", "10:00"} {
		h.hold(client, "ada", h.at(clock), 300)
	}
	p.choose(h.at("12:00"))
	p.click(".bar button")
	p.reads(`You are holding 3 times\. Release one: .*08:00 .*09:00 .*10:00`)
	p.look("book-13-quota")
	p.click(".notice .btn")
	p.held()
	if n := h.must(200, "GET", "/v1/debug/locks", nil, asAdmin).get("count"); n != 3.0 {
		t.Errorf("%v times are held, want 3: one released and one claimed", n)
	}
}

func TestPageRetriesRateLimitedRequest(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	p.choose(h.at("10:00"))
	p.answers("/v1/holds", "429", "rate_limited", "3", "1")
	p.click(".bar button")
	p.reads(`Too many requests from this network\. We will try again in [0-3] s\.`)
	p.held()
}

// TestPageRetriesWhenServerCannotSave: the server is temporarily unable to write. The page shows that, retries
// automatically, and books once.
func TestPageRetriesWhenServerCannotSave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ status, code string }{{"503", "storage_unavailable"}, {"507", "storage_full"}} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			p := h.tab(t)
			p.when("&specialist=ada")
			p.take(h.at("10:00"))
			p.answers("/book", c.status, c.code, "2", "2")
			p.confirm()
			p.reads(`The clinic's system can't save right now\. Your time is still held; we are trying again\.`)
			p.booked()
			h.one(t)
		})
	}
}

// TestReplacedPageResumes: another page is opened with the same client secret. The first page shows that it has paused,
// and can be resumed.
func TestReplacedPageResumes(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("&specialist=ada")
	client := ask[string](p, `JSON.parse(sessionStorage.getItem('holdfast.client'))`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other, err := http.NewRequestWithContext(ctx, "GET", h.url+"/v1/holds/stream?appointmentTypeId=checkup&clientId="+
		client, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(other)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p.there(".live[data-link=replaced]")
	p.reads(`This page is open in another tab\. Use it here`)
	p.accessible("a page that was replaced")
	p.click(".notice .btn")
	p.there(".live[data-link=live]")
	p.until("!document.querySelector('.notice')")
	h.hold("a-stranger-00001", "ada", h.at("10:00"), 300)
	p.shows(h.at("10:00"), "held")
}

// TestPageWithoutJavaScriptShowsPhone: without scripts each page has a notice at its top, and the patient's pages
// show the phone number.
func TestPageWithoutJavaScriptShowsPhone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.must(200, "PUT", "/v1/settings", map[string]any{"embedOrigins": []string{"https://praxis.example"}}, asAdmin)
	p := h.tab(t)
	p.changed = true
	p.do(command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}))
	for path, want := range map[string]string{
		"/": "Call 030 1234567.", "/manage": "Call 030 1234567.", "/embed": "Call 030 1234567.",
		"/staff": "The desk needs JavaScript.", "/setup": "Setup needs JavaScript.",
	} {
		p.open(path + "?lang=en")
		// No timer of the page runs, so the test polls it.
		seen := `[...document.querySelectorAll('.noscript')].filter(e => e.getBoundingClientRect().bottom < innerHeight).map(e => e.innerText).join(' ')`
		var got string
		for deadline := time.Now().Add(patience); time.Now().Before(deadline) && !strings.Contains(got, want); {
			got = ask[string](p, `location.pathname === `+quoted(path)+` ? `+seen+` : ''`)
		}
		if !strings.Contains(got, want) || !strings.Contains(got, "braucht JavaScript") ||
			!strings.Contains(got, "necesita JavaScript") {
			t.Errorf("without scripts, the top of %s is %q, want %q in three languages", path, got, want)
		}
		p.shot("noscript-" + strings.Trim(path, "/"))
	}
}

package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// when opens the times of the type checkup on the house's date, and waits until they are live.
func (p *tab) when(query string) {
	p.t.Helper()
	p.open("/?lang=en&type=checkup" + query)
	p.live()
	p.day(p.h.date)
}

// live waits until the stream is connected.
func (p *tab) live() {
	p.t.Helper()
	p.there(".live[data-link=live]")
	p.there(".chip")
}

// day chooses a day in the row of days.
func (p *tab) day(date string) {
	p.t.Helper()
	p.click(`.day input[value="` + date + `"]`)
	p.there(`.chip[data-start^="` + date + `"]`)
}

// chip returns the selector of a time.
func chip(start string) string { return `.chip[data-start="` + start + `"]` }

// shows waits until a time has a status: free, held, taken or mine.
func (p *tab) shows(start, status string) {
	p.t.Helper()
	p.there(chip(start) + `[data-status="` + status + `"]`)
}

// choose selects a time.
func (p *tab) choose(start string) {
	p.t.Helper()
	p.click(chip(start) + " input")
	p.there(chip(start) + " input:checked")
}

// take chooses a time and claims it.
func (p *tab) take(start string) {
	p.t.Helper()
	p.choose(start)
	p.click(".bar button")
	p.held()
}

func (p *tab) held() {
	p.t.Helper()
	p.there(".hold[data-phase=held]")
}

// confirm fills the form in and submits it.
func (p *tab) confirm() {
	p.t.Helper()
	p.fill("#name", "Lena Vogt")
	p.fill("#email", "lena@example.org")
	p.click(".details [type=submit]")
}

// booked waits for the page of the booked appointment.
func (p *tab) booked() {
	p.t.Helper()
	p.there(".ticket")
}

// one returns the only confirmed appointment.
func (h *house) one(t testing.TB) map[string]any {
	t.Helper()
	list := h.bookings()
	if len(list) != 1 {
		t.Fatalf("there are %d confirmed appointments, want 1: %v", len(list), list)
	}
	return list[0]
}

func TestPatientBooksFirstAvailable(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.click(".card input[value=checkup]")
	p.there(".who")
	p.look("book-1-what")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.look("book-3-details")
	p.run(`for (const [name, value] of [['name', 'Lena Vogt'], ['email', 'lena@example.org']]) { // like a password manager
		const field = document.querySelector('[name=' + name + ']')
		field.value = value
		field.dispatchEvent(new Event('input', { bubbles: true }))
	}`)
	p.submit()
	p.booked()
	p.says("You're booked.")
	p.look("book-4-booked")

	a := h.one(t)
	patient, _ := a["patient"].(map[string]any)
	if a["slotStartDate"] != h.at("10:00") || a["source"] != "web" || patient["name"] != "Lena Vogt" ||
		patient["email"] != "lena@example.org" {
		t.Errorf("the database has %v", a)
	}
	if a["specialistId"] != "ada" {
		t.Errorf("the booked specialist is %v, want the one with the highest priority", a["specialistId"])
	}

	file := ask[string](p, `fetch(document.querySelector('a[download]').href).then(r => r.text())`)
	event := calendarFile(t, file)
	wire := strings.NewReplacer("-", "", ":", "").Replace
	if got, want := event["DTSTART"], wire(h.at("10:00")); got != want {
		t.Errorf("the calendar file starts at %s, want %s\n%s", got, want, file)
	}
	if got, want := event["DTEND"], wire(h.at("10:30")); got != want {
		t.Errorf("the calendar file ends at %s, want %s\n%s", got, want, file)
	}
	if event["UID"] == "" || !strings.Contains(event["SUMMARY"], "Check-up") {
		t.Errorf("the event in the calendar file has no name\n%s", file)
	}

	// The page of the appointment survives a reload.
	p.reload()
	p.booked()
	p.says("Dr Ada Brandt")
}

// TestBackAndForwardAfterBooking: Back leads from the booked appointment to the times, and Forward back to the
// appointment.
func TestBackAndForwardAfterBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.click(".card input[value=checkup]")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	for range 2 {
		p.run(`history.back()`)
		p.live()
		p.run(`history.forward()`)
		p.booked()
		p.says("Check-up")
		p.there(".ticket + .row")
	}
	h.one(t)
}

// TestBackAtOnceAfterBooking: a patient who goes back while the page still draws the booked appointment sees the times.
func TestBackAtOnceAfterBooking(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.click(".card input[value=checkup]")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.there("#name")
	p.run(`new MutationObserver((_, watch) => {
		if (!document.querySelector('.ticket')) return
		watch.disconnect()
		history.back()
	}).observe(document.body, { childList: true, subtree: true })
	addEventListener('submit', () => { window.requestAnimationFrame = () => 0 }) // nothing is drawn from then on`)
	p.confirm()
	p.live()
	h.one(t)
}

// calendarFile parses the properties of the only event of an iCalendar file (RFC 5545), with folded lines joined.
func calendarFile(t testing.TB, file string) map[string]string {
	t.Helper()
	if !strings.HasPrefix(file, "BEGIN:VCALENDAR\r\n") || !strings.HasSuffix(file, "END:VCALENDAR\r\n") {
		t.Fatalf("this is not a calendar file:\n%q", file)
	}
	event := make(map[string]string)
	for line := range strings.SplitSeq(strings.ReplaceAll(file, "\r\n ", ""), "\r\n") {
		name, value, _ := strings.Cut(line, ":")
		name, _, _ = strings.Cut(name, ";")
		event[name] = value
	}
	return event
}

func TestPatientBooksNamedSpecialist(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.click(".card input[value=longer]")
	p.click(".who input[value=karim]")
	p.click(".bar button")
	p.live()
	p.day(h.date)
	p.take(h.at("11:00"))
	p.says("Dr Karim Haddad")
	p.confirm()
	p.booked()
	if a := h.one(t); a["specialistId"] != "karim" || a["appointmentTypeId"] != "longer" ||
		a["slotEndDate"] != h.at("12:00") {
		t.Errorf("the database has %v", a)
	}
}

// TestIncompleteFormNamesMissingFields: a list names the missing fields and takes the focus, and nothing is sent.
func TestIncompleteFormNamesMissingFields(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.when("")
	p.take(h.at("10:00"))
	p.click(".details [type=submit]")
	p.there(".summary:focus")
	if got := p.text(".summary ul"); got != "Enter your full name Enter an email address or a phone number" {
		t.Errorf("the summary is %q", got)
	}
	p.click(".summary li:nth-child(2) a")
	p.there("#email:focus")
	if list := h.bookings(); len(list) > 0 {
		t.Errorf("an incomplete form booked %v", list)
	}
}

func TestPatientBooksByKeyboard(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.open("/?lang=en")
	p.there(".card")
	p.tabTo(`document.activeElement.name === 'type'`)
	p.key(" ")
	p.there(".bar button")
	p.key(kb.Enter)
	p.live()
	p.there("h1:focus")
	p.tabTo(`document.activeElement.name === 'day'`)
	p.key(kb.ArrowRight)
	p.there(`.day:nth-child(2) input:checked:focus, .day:nth-child(3) input:checked:focus`)
	p.until(`document.querySelector('.chip').dataset.start.startsWith(document.querySelector('.day input:checked').value)`)
	p.tabTo(`document.activeElement.name === 'time'`)
	p.key(" ")
	p.there(".chip input:checked:focus")
	p.key(kb.ArrowRight)
	p.there(".chip:nth-child(2) input:checked:focus")
	if n := h.call("GET", "/v1/debug/locks", nil, asAdmin).get("count"); n != 0.0 {
		t.Errorf("arrow keys claimed %v holds; only the button claims a time", n)
	}
	p.key(kb.Enter)
	p.held()
	p.tabTo(`document.activeElement.id === 'name'`)
	p.key("Per Lind")
	p.tabTo(`document.activeElement.id === 'phone'`)
	p.key("030 7654321")
	p.key(kb.Enter)
	p.booked()
	p.there("h1:focus")
	if patient, _ := h.one(t)["patient"].(map[string]any); patient["name"] != "Per Lind" ||
		patient["phone"] != "030 7654321" {
		t.Errorf("the database has %v", patient)
	}
}

// tabTo presses Tab until a condition holds.
func (p *tab) tabTo(condition string) {
	p.t.Helper()
	for range 25 {
		if ask[bool](p, condition) {
			return
		}
		p.key(kb.Tab)
	}
	p.t.Fatalf("pressing Tab 25 times does not reach %s, but %s", condition,
		ask[string](p, `document.activeElement.outerHTML.slice(0, 200)`))
}

// TestPatientBooksAt400Percent: at 400 %, a screen that is 1280 points wide has a width of 320 points. Nothing may be
// cut off or scroll sideways.
func TestPatientBooksAt400Percent(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	p.size(320, 256)
	fits := func(step string) {
		t.Helper()
		if wide := ask[int](p, `document.documentElement.scrollWidth`); wide > 320 {
			t.Errorf("%s is %d points wide on a screen of 320", step, wide)
		}
	}
	p.when("")
	fits("the times")
	p.take(h.at("10:00"))
	fits("the details")
	p.confirm()
	p.booked()
	fits("the appointment")
	h.one(t)
}

// TestPatientBooksOverPlainHTTP: on a clinic's local network, a page without TLS is not a secure context. The browser
// then offers it no clipboard, no random UUIDs and no locks.
func TestPatientBooksOverPlainHTTP(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.tab(t)
	_, port, _ := strings.Cut(p.host, ":")
	p.host = fmt.Sprintf("%s:%s", lanName, port)
	p.when("")
	if ask[bool](p, "isSecureContext") {
		t.Fatal("this is a secure context, and the test proves nothing")
	}
	p.take(h.at("10:00"))
	p.confirm()
	p.booked()
	h.one(t)
	p.click(".copy .btn")
	p.until("document.activeElement.id === 'link' && document.activeElement.selectionEnd > 20")
}

package browsertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/account"
	"holdfast/store"
)

const password = "a few words together"

// staff creates a user with the given role and returns their email address. For the specialist role, the user is linked
// to Dr Brandt.
func (h *house) staff(role store.Role) (email string) {
	h.t.Helper()
	who := account.NewUser{Email: string(role) + "@clinic.example", Name: "Jo " + string(role), Role: role,
		Password: password}
	if role == store.RoleSpecialist {
		who.SpecialistID = "ada"
	}
	if _, err := h.engine.Account.CreateUser(h.t.Context(), "system", who); err != nil {
		h.t.Fatal(err)
	}
	return who.Email
}

// desk opens the day board of the house's date, signed in with a role.
func (h *house) desk(t testing.TB, role store.Role) *tab {
	t.Helper()
	email := h.staff(role)
	p := h.tab(t)
	p.size(1280, 800)
	p.open("/staff?lang=en#day/" + h.date)
	p.signIn(email)
	return p
}

func (p *tab) signIn(email string) {
	p.t.Helper()
	p.there("#sign-email")
	p.fill("#sign-email", email)
	p.fill("#sign-password", password)
	if !p.h.opensPlans {
		p.run(oneRound)
	}
	p.key(kb.Enter)
	p.board()
}

// oneRound makes the document derive the key of the downtime plans with one round. The usual 600,000 rounds would take
// a twentieth of the processor time of the tests. No other document can open such a plan, so a test that opens plans
// sets house.opensPlans.
const oneRound = `if (crypto.subtle) {
	const derive = crypto.subtle.deriveKey
	crypto.subtle.deriveKey = ({ iterations, ...how }, ...rest) =>
		derive.call(crypto.subtle, iterations ? { ...how, iterations: 1 } : how, ...rest)
}`

// board waits until the day is shown and live, and focuses the board.
func (p *tab) board() {
	p.t.Helper()
	p.there(".busywrap:not(.loading) .board")
	p.there(".live[data-link=live]")
	p.run(`document.querySelector('.board').focus()`)
}

// appointment books a patient at the desk. It returns the id once the board shows the appointment.
func (p *tab) appointment(name, specialist, clock string) (id string) {
	p.t.Helper()
	got := p.h.must(201, "POST", "/v1/appointments", map[string]any{
		"appointmentTypeId": "checkup", "specialistId": specialist, "slotStartDate": p.h.at(clock),
		"patient": map[string]any{"name": name, "phone": "030 1112233"},
	}, asAdmin)
	id, _ = got.get("appointment", "id").(string)
	p.there(card(id))
	return id
}

func card(id string) string { return `.appt[data-id="` + id + `"]` }

// appointmentOf returns the current state of an appointment from the API.
func (h *house) appointmentOf(id string) map[string]any {
	h.t.Helper()
	a, _ := h.must(200, "GET", "/v1/appointments/"+id, nil, asAdmin).get("appointment").(map[string]any)
	return a
}

// set sets the value of a date or time field or a select, as its picker does. A select gets it once it has that option.
func (p *tab) set(selector, value string) {
	p.t.Helper()
	p.until(`(e => e.tagName !== 'SELECT' || [...e.options].some(o => o.value === ` + quoted(value) +
		`))(document.querySelector(` + quoted(selector) + `))`)
	p.run(`(e => { e.value = ` + quoted(value) +
		`; e.dispatchEvent(new Event(e.tagName === 'SELECT' ? 'change' : 'input', { bubbles: true })) })(document.querySelector(` + quoted(selector) + `))`)
}

// TestReceptionBooksWithSevenKeys: a known patient calls. Typing letters on a free cell begins a booking with that
// name.
func TestReceptionBooksWithSevenKeys(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "karim", "15:00")
	p.until(`/^08:00/.test(document.querySelector('.cursor span')?.innerText)`)

	keys := 0
	press := func(key string) {
		t.Helper()
		p.key(key)
		keys++
	}
	press("l")
	p.there("#patient-name:focus")
	press("e")
	p.there("#patient-list:not([hidden]) li")
	press(kb.ArrowDown)
	p.there("#person-0[aria-selected=true]")
	p.shot("staff-2-book")
	press(kb.Enter)
	p.until(`document.querySelector('#patient-phone').value === '030 1112233'`)
	p.there(".holding.held") // now no client can take the time online
	press(kb.Enter)
	p.until(`!document.querySelector('dialog') && [...document.querySelectorAll('.appt')].filter(x => /Lena Vogt/.test(x.innerText)).length === 2`)
	if keys > 7 {
		t.Errorf("the booking needed %d keys, want at most 7", keys)
	}
	t.Logf("a known patient is booked with %d keys", keys)
	for _, a := range h.bookings() {
		if a["slotStartDate"] == h.at("08:00") && a["specialistId"] == "ada" && a["source"] == "staff" {
			return
		}
	}
	t.Errorf("the database has %v", h.bookings())
}

// TestDragEqualsMoveDialog: a drag asks for confirmation before it moves, and has the same result as the Move dialog.
func TestDragEqualsMoveDialog(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	dragged, moved := p.appointment("Lena Vogt", "ada", "09:00"), p.appointment("Per Lind", "ada", "10:00")
	p.drag(card(dragged), `[data-col=karim]`, 0)
	p.there("dialog .ask")
	if a := h.appointmentOf(dragged); a["slotStartDate"] != h.at("09:00") || a["specialistId"] != "ada" {
		t.Errorf("a drop moved the appointment without asking: %v", a)
	}
	p.shot("staff-3-move")
	p.key(kb.Enter)
	p.until(`!document.querySelector('dialog')`)
	p.there(`[data-col=karim] ` + card(dragged))

	p.until(`(document.querySelector('.board').focus(), true)`)
	p.run(`document.querySelector(` + quoted(card(moved)) + `).click()`)
	p.there("dialog")
	p.key(kb.Escape)
	p.until(`!document.querySelector('dialog') && document.activeElement.classList.contains('board')`)
	p.key("m")
	p.there("#when-time:focus")
	p.set("#when-who", "karim")
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
	p.there(`[data-col=karim] ` + card(moved))

	a, b := h.appointmentOf(dragged), h.appointmentOf(moved)
	if a["slotStartDate"] != h.at("09:00") || b["slotStartDate"] != h.at("10:00") {
		t.Errorf("the appointments are at %v and %v, want their own times with the other specialist", a["slotStartDate"],
			b["slotStartDate"])
	}
	for _, field := range []string{"specialistId", "status", "version", "attendance", "source", "overbook",
		"upstreamState"} {
		if fmt.Sprint(a[field]) != fmt.Sprint(b[field]) {
			t.Errorf("%s is %v after a drag and %v after the dialog", field, a[field], b[field])
		}
	}
	if a["specialistId"] != "karim" {
		t.Errorf("the specialist is %v, want karim", a["specialistId"])
	}
}

// drag moves a card with the mouse into a column, by down points further down.
func (p *tab) drag(from, into string, down float64) {
	p.t.Helper()
	middle := func(selector string) []float64 {
		return ask[[]float64](p, `(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(`+
			quoted(selector)+`).getBoundingClientRect())`)
	}
	a, b := middle(from), middle(into)
	p.mouse(mouseDown, a[0], a[1])
	p.mouse(mouseMove, a[0]+8, a[1]+8)
	p.mouse(mouseMove, b[0], a[1]+down)
	p.there(".drop")
	p.mouse(mouseUp, b[0], a[1]+down)
}

// TestDeskRefusesStaleChange: another user was faster. A change that is based on an old state is refused, and the page
// shows the new state.
func TestDeskRefusesStaleChange(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	id := p.appointment("Lena Vogt", "ada", "09:00")
	p.run(`document.querySelector(` + quoted(card(id)) + `).click()`)
	p.there("dialog .actions")
	p.click("dialog .actions .btn")
	p.set("#when-time", "11:00")
	p.there("dialog .ask")
	h.must(200, "POST", "/v1/appointments/"+id+"/reschedule", map[string]any{"slotStartDate": h.at("13:00")}, asAdmin)
	p.click("dialog [type=submit]")
	p.says("Someone else changed this entry a moment ago.")
	if a := h.appointmentOf(id); a["slotStartDate"] != h.at("13:00") {
		t.Errorf("a stale change succeeded: %v", a)
	}
	p.click("dialog .notice.warn .btn")
	p.says("13:00")
}

// TestOverbookNeedsReason: overbooking needs a reason, which the audit log records. A specialist cannot overbook,
// either on the page or through the API.
func TestOverbookNeedsReason(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	p.appointment("Lena Vogt", "ada", "09:00")
	p.key("p")
	p.there("#patient-name:focus")
	p.key("er Lind")
	p.set("#when-time", "09:00")
	p.says("Dr Ada Brandt has an appointment with Lena Vogt at 09:00.")
	p.click("dialog .notice .btn")
	p.there("#overbook-reason:focus")
	p.click("dialog [type=submit]")
	p.says("Enter a reason")
	if n := len(h.bookings()); n != 1 {
		t.Errorf("overbooking without a reason changed 1 appointment to %d", n)
	}
	p.fill("#overbook-reason", "Toothache since Friday")
	p.click("dialog [type=submit]")
	p.until(`!document.querySelector('dialog')`)
	p.there(".appt.over")
	p.shot("staff-4-overbooked")
	p.until(`!document.querySelector('.ghosted')`) // the dialog's hold on the earlier time is released
	log := h.must(200, "GET", "/v1/audit", nil, asAdmin)
	if !strings.Contains(log.raw, "Toothache since Friday") {
		t.Errorf("the reason is not in the log\n%s", log.raw)
	}

	own := h.desk(t, store.RoleSpecialist)
	own.key("p")
	own.there("#patient-name:focus")
	own.key("er Lind")
	own.set("#when-time", "09:00")
	own.there("dialog .notice")
	if n := own.count("dialog .notice .btn"); n != 0 {
		t.Error("a specialist can choose to overbook")
	}
	status := ask[int](own, `fetch('/v1/appointments', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({
		appointmentTypeId: 'checkup', specialistId: 'ada', slotStartDate: `+quoted(h.at("09:00"))+`, patient: { name: 'Per Lind', phone: '030 1112233' }, overbook: { reason: 'because' } }) }).then(r => r.status)`)
	if status != 403 {
		t.Errorf("a specialist's request to overbook: %d, want 403", status)
	}
}

// TestBoardShowsHoldInProgress: the board shows a patient's hold as a ghost without a name, until the hold ends.
func TestBoardShowsHoldInProgress(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleReception)
	taken := time.Now()
	hold := h.hold("a-stranger-00001", "ada", h.at("09:00"), 300)
	p.there("[data-col=ada] .ghosted")
	t.Logf("from the patient's claim to the ghost: at most %v", time.Since(taken))
	p.says("Being booked online")
	p.shot("staff-1-board")
	h.must(200, "DELETE", "/v1/holds", map[string]any{"holdId": hold.get("holdId"), "clientId": "a-stranger-00001"})
	p.until(`!document.querySelector('.ghosted')`)

	h.hold("a-stranger-00001", "ada", h.at("09:00"), 2)
	p.there(".ghosted")
	p.until(`!document.querySelector('.ghosted')`) // automatically, when the hold expires

	// The board shows an online booking immediately, and the desk's notes appear next to the patient's name.
	h.stranger("10:00")
	p.until(`/Lena Vogt/.test(document.querySelector('[data-col=ada]').innerText)`)
	p.until(`document.querySelector('.cursor')`)
	p.key(kb.PageDown + kb.PageDown)
	p.there(".cursor.on")
	p.key("2")
	p.there(".appt.arrived")
	p.there(".toast") // the toast appears once the change is saved
	if a := h.one(t); a["attendance"] != "arrived" {
		t.Errorf("the attendance in the database is %v", a["attendance"])
	}
}

package browsertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/presence"
	"holdfast/store"
	"holdfast/web"
)

// oneSession lets each specialist have one session at a time.
func oneSession(f *clinic.File) {
	for i := range f.Specialists {
		f.Specialists[i].MaxSessions = 1
	}
}

// asks requests a session as a patient and returns its id.
func (h *house) asks(client string) (id string) {
	h.t.Helper()
	id, _ = h.must(201, "POST", "/v1/sessions", map[string]any{"clientId": client}).get("session", "id").(string)
	return id
}

func (h *house) session(id, client string) map[string]any {
	h.t.Helper()
	x, _ := h.must(200, "GET", "/v1/sessions/"+id, nil,
		header{"Holdfast-Client": client}).get("session").(map[string]any)
	return x
}

// sessions opens the Sessions page, signed in with a role, and waits until it is live.
func (h *house) sessions(t testing.TB, role store.Role) *tab {
	t.Helper()
	p := h.desk(t, role)
	p.click(`nav a[href="#sessions"]`)
	p.there(`.office .plate`)
	p.there(`.live[data-link=live]`)
	return p
}

// TestSpecialistAcceptsSession: a specialist goes online with their own switch, sees the waiting patients, and serves
// one from acceptance to the end.
func TestSpecialistAcceptsSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	p := h.sessions(t, store.RoleSpecialist)
	p.says("You are offline")
	p.click(`[role=switch][aria-checked=false]`)
	p.there(`[role=switch][aria-checked=true]`)
	p.says("0/1 sessions")
	p.until(`/last seen \d+ s ago/.test(document.body.innerText)`)

	id := h.asks("a-patient-at-home-1")
	p.says("expires in")
	p.accessible("a request")
	p.until(`[...document.querySelectorAll('[aria-live=assertive]')].some(x => x.innerText.includes('1 patient is waiting'))`)
	p.shot("sessions-1-request")
	p.click(`.line-do .btn.primary`)
	p.says("Talking")
	p.says("1/1 sessions")
	if x := h.session(id, "a-patient-at-home-1"); x["status"] != "active" || x["specialistId"] != "ada" {
		t.Errorf("the session is %v, want ada as its specialist", x)
	}
	p.until(`(b => b && (b.id = 'payment'))([...document.querySelectorAll('.line-do .btn')].find(b => b.innerText === 'Payment pending'))`)
	p.click(`#payment`)
	p.until(`[...document.querySelectorAll('.line-do .btn')].some(b => b.innerText === 'Mark as paid')`)
	p.says("1/1 sessions") // a session with a pending payment still counts
	if x := h.session(id, "a-patient-at-home-1"); x["status"] != "pending_payment" {
		t.Errorf("the session is %v, want pending payment", x["status"])
	}
	p.shot("sessions-2-payment")
	p.until(`(b => b && (b.id = 'end'))([...document.querySelectorAll('.line-do .btn')].find(b => b.innerText === 'End'))`)
	p.click(`#end`)
	p.there("dialog #outcome:focus")
	p.accessible("ending a session")
	p.key("advice given")
	p.click("dialog [type=submit]")
	p.says("The session has ended.")
	p.says("0/1 sessions")
	p.says("No session at the moment.")
	if x := h.session(id, "a-patient-at-home-1"); x["status"] != "ended" || x["outcome"] != nil {
		t.Errorf("its client gets %v, want the end without the outcome", x)
	}
	if x, err := h.engine.Presence.Session(t.Context(), id); err != nil || x.Outcome != "advice given" {
		t.Errorf("the session ended with %q, %v; want its outcome", x.Outcome, err)
	}
}

// TestSessionsPageListsNoRooms: rooms and devices have no sessions.
func TestSessionsPageListsNoRooms(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession, withRoom)
	p := h.sessions(t, store.RoleOwner)
	p.says("Dr Ada Brandt")
	p.until(`!document.querySelector('.office').innerText.includes('Room One')`)
}

// TestFirstAcceptWinsSession: if two specialists accept the same request, one of them gets it, and the other sees who
// was first. The reception reassigns it.
func TestFirstAcceptWinsSession(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	p := h.sessions(t, store.RoleSpecialist)
	p.click(`[role=switch]`)
	p.there(`[role=switch][aria-checked=true]`)
	h.must(200, "POST", "/v1/specialists/karim/online", nil, asAdmin)
	id := h.asks("a-patient-at-home-1")
	p.there(`.line-do .btn.primary`)
	// The other specialist accepts just before the page can show it.
	p.run(`(async () => {
		const own = window.fetch
		window.fetch = async (...asked) => {
			if (String(asked[0]).endsWith('/accept') || asked[0].url?.endsWith('/accept')) {
				window.fetch = own
				await new Promise(done => { window.goOn = done })
			}
			return own(...asked)
		}
	})()`)
	p.click(`.line-do .btn.primary`)
	p.until(`window.goOn`)
	h.must(200, "POST", "/v1/sessions/"+id+"/accept", map[string]any{"specialistId": "karim"}, asAdmin)
	p.run(`goOn()`)
	p.says("Dr Karim Haddad has already taken this request.")
	p.shot("sessions-3-first")

	r := h.sessions(t, store.RoleReception)
	r.says("Talking")
	r.until(`(b => b && (b.id = 'reroute'))([...document.querySelectorAll('.line-do .btn')].find(b => b.innerText === 'Transfer'))`)
	r.shot("sessions-4-reception")
	r.click(`#reroute`)
	r.says("Dr Ada Brandt is taking over.")
	if x := h.session(id, "a-patient-at-home-1"); x["specialistId"] != "ada" || x["status"] != "active" {
		t.Errorf("the session is %v, want ada as its specialist", x)
	}
	p.says("1/1 sessions") // the other page receives the event

	// The reception assigns a waiting patient to a free specialist, and sets specialists online and offline.
	h.asks("a-patient-at-home-2")
	r.until(`[...document.querySelectorAll('.line-do .btn.primary')].some(b => b.innerText === 'Assign' && (b.id = 'give'))`)
	r.click(`#give`)
	r.until(`document.querySelectorAll('.state.info').length === 2`)
	r.until(`[...document.querySelectorAll('.line')].find(l => l.innerText.includes('Dr Karim Haddad') && l.innerText.includes('1/1 sessions'))`)
	r.click(`[aria-label="Set offline: Dr Karim Haddad"]`)
	r.there(`[aria-label="Set online: Dr Karim Haddad"]`)
}

// TestPresencePageReconnects: if a specialist went offline because of missed heartbeats, the specialist's own page
// brings them back online and shows a message. This works on any page of the console. A specialist whom a person set
// offline stays offline.
func TestPresencePageReconnects(t *testing.T) {
	t.Parallel()
	quick := engine.Options{Presence: presence.Options{StaleAfter: 2 * time.Second, Sweep: 200 * time.Millisecond}}
	h := newHouseWith(t, quick, web.Options{}, oneSession)
	p := h.sessions(t, store.RoleSpecialist)
	p.click(`[role=switch][aria-checked=false]`)
	p.there(`[role=switch][aria-checked=true]`)
	p.says("You were offline for a moment. You are online again.") // from the stream
	p.there(`[role=switch][aria-checked=true]`)

	p.click(`nav a[href="#day"]`)
	p.until(`!document.body.innerText.includes('You were offline for a moment')`)
	h.presence("ada", "auto_offline")
	// this simulates a laptop that wakes up; the heartbeat gets a 409
	p.run(`document.dispatchEvent(new Event('visibilitychange'))`)
	p.says("You were offline for a moment. You are online again.")

	h.must(200, "POST", "/v1/specialists/ada/offline", nil, asAdmin)
	p.run(`performance.clearResourceTimings(); document.dispatchEvent(new Event('visibilitychange'))`)
	p.until(`performance.getEntriesByType('resource').some(r => r.name.endsWith('/v1/specialists/ada/presence') && r.responseEnd)`)
	p.click(`nav a[href="#sessions"]`)
	p.there(`[role=switch][aria-checked=false]`)
	h.presence("ada", "offline")
}

// TestPresencePageShowsLastWeek: next to a specialist's name, the reception sees when the specialist was online last
// week: the hours of each day, and the end of each period.
func TestPresencePageShowsLastWeek(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	monday := time.Now().UTC().Truncate(24 * time.Hour)
	for monday = monday.AddDate(0, 0, -7); monday.Weekday() != time.Monday; {
		monday = monday.AddDate(0, 0, -1)
	}
	err := h.db.Write(t.Context(), func(tx store.Tx) error {
		for _, l := range []struct {
			day, hour, minute int
			change            string
		}{{0, 9, 0, "online"}, {0, 12, 5, "offline"}, {0, 13, 0, "online"}, {0, 15, 0, "auto_offline"},
			{2, 22, 0, "online"}, {3, 1, 30, "deactivated"}} {
			at := monday.AddDate(0, 0, l.day).Add(time.Duration(l.hour)*time.Hour + time.Duration(l.minute)*time.Minute)
			if err := tx.AppendPresence(t.Context(), store.PresenceChange{At: at,
				SpecialistID: "ada", Change: l.change}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	p := h.sessions(t, store.RoleReception)
	p.click(`[aria-label="Online times: Dr Ada Brandt"]`)
	p.says("Online times")
	p.there(".online .line")
	p.click(`[aria-label="Previous week"]`)
	p.until(`document.querySelectorAll('.online .line').length === 7 && document.querySelector('.online .line').innerText.includes('09:00')`)
	var got []string
	for _, line := range ask[[]string](p,
		`[...document.querySelectorAll('.online .line')].map(l => [...l.querySelectorAll('li')].map(x => x.innerText.trim()).join(', ') + ' = ' + l.querySelector('.hours-sum').innerText)`) {
		got = append(got, strings.ReplaceAll(line, "\u00a0", " "))
	}
	want := []string{
		"09:00 to 12:05, 13:00 to 15:00 (connection lost) = 5 h 05 min", " = Not online", "22:00 to 24:00 = 2 h 00 min",
		"00:00 to 01:30 (deactivated by the clinic) = 1 h 30 min", " = Not online", " = Not online", " = Not online",
	}
	if !slices.Equal(got, want) {
		t.Errorf("last week:\n got %q\nwant %q", got, want)
	}
	p.says("8 h 35 min in total")
	p.shot("sessions-5-online-times")
	s := h.sessions(t, store.RoleSpecialist)
	s.there(`[aria-label="Online times: Dr Ada Brandt"]`)
	s.until(`!document.querySelector('[aria-label="Online times: Dr Karim Haddad"]')`) // not a colleague's times
}

// presence waits until this is the last change of a specialist's presence.
func (h *house) presence(id, change string) {
	h.t.Helper()
	var last any
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if last = h.must(200, "GET", "/v1/specialists/"+id+"/presence", nil, asAdmin).get("presence",
			"lastChange"); last == change {
			return
		}
	}
	h.t.Errorf("the last change of %s is %v, want %s", id, last, change)
}

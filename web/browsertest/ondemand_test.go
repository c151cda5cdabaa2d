package browsertest

import (
	"testing"

	"holdfast/store"
)

// opensSessions turns the setting on and sets one specialist online.
func (h *house) opensSessions() {
	h.t.Helper()
	h.must(200, "PATCH", "/v1/settings", map[string]any{"onDemand": true}, asAdmin)
	h.must(200, "POST", "/v1/specialists/ada/online", nil, asAdmin)
}

// requested returns the id of the only waiting session.
func (h *house) requested() string {
	h.t.Helper()
	list, err := h.db.Sessions(h.t.Context(), store.SessionFilter{Statuses: []store.SessionStatus{store.SessionRequested}})
	if err != nil || len(list) != 1 {
		h.t.Fatalf("got %+v, %v; want one open session request", list, err)
	}
	return list[0].ID
}

// TestPatientAsksSpecialistWhoIsOnline: the page offers a session, and the desk sees who is asking and why. The
// patient's page follows the session from the request to its end, through a reload and a change of specialist.
func TestPatientAsksSpecialistWhoIsOnline(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	h.opensSessions()
	h.must(200, "POST", "/v1/specialists/karim/online", nil, asAdmin)
	p := h.tab(t)
	p.open("/?lang=en&type=checkup")
	p.there(".chip")
	p.there(".btn.online")
	p.accessible("a specialist is online")
	p.size(1440, 900)
	p.shot("ondemand-1-offer-wide")
	p.size(390, 844)
	p.shot("ondemand-1-offer")
	p.click(".btn.online")
	p.says("Talk to a specialist now")
	p.click(".actions .primary")
	p.there(".summary")
	got := ask[string](p, `[...document.querySelectorAll('.summary a')].map(a => a.hash).join(' ')`)
	if got != "#reason #name #phone" {
		t.Errorf("the summary lists %s, want the order of the fields", got)
	}
	p.accessible("the form of a session")
	p.ownArrows()
	p.shot("ondemand-2-form")
	p.fill("#reason", "Rash since yesterday")
	p.fill("#name", "Rosa Lund")
	p.fill("#phone", "030 5550101")
	p.click(".actions .primary")
	p.says("Waiting for a specialist")
	p.there("progress")
	p.accessible("waiting for a specialist")
	p.shot("ondemand-3-waiting")

	desk := h.sessions(t, store.RoleReception)
	desk.says("Rash since yesterday")
	desk.says("030 5550101")
	desk.says("Check-up")
	desk.accessible("a request with its patient")
	desk.shot("ondemand-4-desk")

	p.reload()
	p.says("Waiting for a specialist")
	id := h.requested()
	h.must(200, "POST", "/v1/sessions/"+id+"/accept", map[string]any{"specialistId": "ada"}, asAdmin)
	p.says("Dr Ada Brandt is calling you")
	p.says("030 5550101")
	p.accessible("accepted")
	p.shot("ondemand-5-accepted")
	h.must(200, "POST", "/v1/sessions/"+id+"/reroute", map[string]any{"specialistId": "karim"}, asAdmin)
	p.says("has taken over from Dr Ada Brandt")
	h.must(200, "POST", "/v1/sessions/"+id+"/end", nil, asAdmin)
	p.says("Your conversation has ended")
	p.accessible("the end of a session")
	// on a busy machine, the steps above take longer than a specialist stays online without a heartbeat
	h.must(200, "POST", "/v1/specialists/karim/online", nil, asAdmin)
	p.click(".actions .primary")
	p.there(".btn.online") // the booking page again
}

// TestPatientLearnsThatNoSpecialistCame: the desk declines the request. The patient asks again and cancels.
func TestPatientLearnsThatNoSpecialistCame(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	h.opensSessions()
	p := h.tab(t)
	p.open("/?lang=en")
	p.click(".btn.online")
	ask := func() {
		t.Helper()
		p.fill("#reason", "A question")
		p.fill("#name", "Rosa Lund")
		p.fill("#phone", "030 5550101")
		p.click(".actions .primary")
		p.says("Waiting for a specialist")
	}
	ask()
	desk := h.sessions(t, store.RoleSpecialist)
	desk.there(".line-do .btn.primary")
	desk.press("Decline")
	desk.says("Declined")
	p.says("No specialist is free right now")
	p.accessible("no specialist came")
	p.shot("ondemand-6-missed")
	p.press("Ask again")
	ask()
	p.click(".actions .btn")
	p.says("Your request has been cancelled.")
	p.shot("ondemand-7-cancelled")
	h.must(200, "POST", "/v1/specialists/ada/offline", nil, asAdmin)
	if s, err := h.db.Sessions(t.Context(), store.SessionFilter{}); err != nil || len(s) != 2 ||
		s[0].Status != store.SessionExpired || s[1].Status != store.SessionCancelled || s[1].PatientPhone != "" {
		t.Errorf("got %+v, %v; want one expired and one cancelled session, without their patient", s, err)
	}
}

// TestSessionsStayOffByDefault: without the setting, the page neither offers a session nor requests who is online.
func TestSessionsStayOffByDefault(t *testing.T) {
	t.Parallel()
	h := newHouse(t, oneSession)
	h.must(200, "POST", "/v1/specialists/ada/online", nil, asAdmin)
	p := h.tab(t)
	p.open("/?lang=en&type=checkup")
	p.there(".chip")
	p.there(".live[data-link=live]")
	asked, _ := p.requests()
	for _, request := range asked {
		if request == "GET /v1/presence/snapshot" {
			t.Error("the page requests the availability although the clinic does not offer sessions")
		}
	}
}

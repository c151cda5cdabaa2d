package browsertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"holdfast/engine/booking"
	"holdfast/store"
)

// justHad books an appointment for Lena Vogt that started 30 minutes ago. It returns its id and the path of its link.
func (h *house) justHad() (id, link string) {
	h.t.Helper()
	a := h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at("10:00"), "patient": map[string]any{"name": "Lena Vogt", "email": "lena@example.org"},
	}, asAdmin).get("appointment", "id").(string)
	after, err := h.engine.Booking.ChangeAppointment(context.Background(), a, 0,
		booking.Change{Kind: booking.ChangeUpdated, Actor: "system", Silent: true},
		func(_ store.Tx, a *store.Appointment, now time.Time) (bool, error) {
			start := now.Truncate(time.Minute).Add(-30 * time.Minute)
			a.SlotStart, a.SlotEnd = start, start.Add(30*time.Minute)
			a.BusyStart, a.BusyEnd = a.SlotStart, a.SlotEnd
			return true, nil
		})
	if err != nil {
		h.t.Fatal(err)
	}
	return a, "/manage?lang=en#" + h.engine.Booking.ManageToken(&after)
}

// TestPatientAsksForRecall: after the appointment, the page of its link sets the recall. The desk sees it on the
// person's card and below the waiting list, and withdraws it. Then the patient can ask again.
func TestPatientAsksForRecall(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	id, link := h.justHad()
	p := h.tab(t)
	p.open(link)
	p.says("This appointment is over.")
	if n := p.count("section.recall"); n != 0 {
		t.Error("the page offers a recall although the setting is off")
	}
	h.must(200, "PATCH", "/v1/settings", map[string]any{"onlineRecall": true}, asAdmin)
	p.reload()
	p.there("section.recall")
	p.says("Reminder of your next visit")
	p.accessible("a recall")
	p.shot("recall")
	p.press("In 6 months")
	p.says("We will remind you on")
	p.there(".notice.ok:focus")
	p.accessible("a recall that is set")
	p.shot("recall-set")
	at, _ := time.Parse(time.RFC3339, h.appointmentOf(id)["recallAt"].(string))
	if days := time.Until(at).Hours() / 24; days < 178 || days > 186 {
		t.Errorf("the recall is in %v days, want 6 months", days)
	}

	desk := h.desk(t, store.RoleReception)
	desk.open("/staff?lang=en#waitlist")
	desk.there(".recalls .line")
	desk.says("Lena Vogt")
	desk.says(at.Format("2 Jan")) // the page writes "Sept"
	if at.Year() != time.Now().UTC().Year() {
		desk.says(at.Format(" 2006"))
	}
	desk.accessible("the coming recalls")
	desk.shot("staff-recalls")
	desk.press("Withdraw")
	desk.until(`!document.querySelector(".recalls")`)
	if at, is := h.appointmentOf(id)["recallAt"]; is {
		t.Errorf("after the withdrawal, the recall is at %v", at)
	}
	p.reload()
	p.there("section.recall")
	p.press("In 3 months")
	p.says("We will remind you on")
	p.press("Do not remind me")
	p.there("section.recall")
	if url := ask[string](p, `document.querySelector('.notice a.btn').href`); !strings.Contains(url, "specialist=ada") {
		t.Errorf("the link to book again is %s, want the same specialist", url)
	}
}

// TestRecallFormFitsPane: the form stays inside the pane, also after the console has loaded the styles of its other
// pages.
func TestRecallFormFitsPane(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	p := h.desk(t, store.RoleReception)
	id := h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at("10:00"), "patient": map[string]any{"name": "Lena Vogt", "email": "lena@example.org"},
	}, asAdmin).get("appointment", "id").(string)
	p.run(`location.hash = '#closed'`)
	p.there(".office-tools .btn")
	p.run(`location.hash = '#day/` + h.date + `'`)
	p.click(card(id))
	p.press("Add a recall")
	p.there(".pane .facts form")
	p.until(`(pane => pane.scrollWidth <= pane.clientWidth)(document.querySelector('.pane'))`)
	p.shot("recall-form")
}

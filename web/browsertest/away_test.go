package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"holdfast/store"
)

// TestDeskFindsTimesForAbsentSpecialist: the desk finds new times for the 16 patients of a specialist who is ill, in at
// most eight actions. One patient accepts the proposed time with the link, and another asks for a call. The page and
// the column head show both.
func TestDeskFindsTimesForAbsentSpecialist(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	p := h.desk(t, store.RoleReception)
	var ids []string
	for i := range 16 {
		clock := fmt.Sprintf("%02d:%02d", 9+i/2, 30*(i%2))
		patient := map[string]any{"name": fmt.Sprintf("Patient %c", 'A'+i), "phone": fmt.Sprintf("030 5550%02d", i), "email": fmt.Sprintf("p%d@example.org", i)}
		if i >= 14 {
			delete(patient, "email")
		}
		booked := h.must(201, "POST", "/v1/appointments", map[string]any{
			"appointmentTypeId": "checkup", "specialistId": "ada", "slotStartDate": h.at(clock), "patient": patient,
		}, asAdmin)
		ids = append(ids, booked.get("appointment").(map[string]any)["id"].(string))
		if i >= 4 { // ada's colleague is busy too
			h.must(201, "POST", "/v1/appointments", map[string]any{
				"appointmentTypeId": "checkup", "specialistId": "karim", "slotStartDate": h.at(clock), "patient": map[string]any{"name": "Of Karim", "phone": "030 1"},
			}, asAdmin)
		}
	}
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	p.there(".head .away-open")
	p.accessible("the heads of the board")
	p.shot("away-1-board")

	actions := 0
	act := func(do func()) {
		actions++
		do()
	}
	act(func() { p.click(`.head .away-open[href^="#away/new/ada"]`) })
	p.until(`document.querySelectorAll('.away-rows tbody tr').length === 16`)
	p.says("16 appointments fall within this period")
	p.accessible("the plan of an absence")
	p.shot("away-2-plan")
	act(func() { p.set("#away-reason", "Flu") })
	act(func() { p.set(`tbody tr:nth-child(5) td:last-child select`, "call") })
	p.until(`document.querySelector('form .btn.primary').textContent.trim() === 'Move 4 · Ask 9 · Call 3'`)
	act(func() { p.click("form .btn.primary") })
	p.there(`tr[data-state="moved"]`)
	if actions > 8 {
		t.Errorf("the desk needed %d actions, want at most 8", actions)
	}
	t.Logf("16 patients of an absent specialist: %d actions", actions)
	p.says("4 of 16 answered")
	p.says("3 to call")
	p.toasted("Dr Ada Brandt is away")
	p.accessible("the answers to an absence")
	p.shot("away-3-answers")
	if n := p.count(`tr[data-state="asked"]`); n != 9 {
		t.Errorf("%d patients were asked, want 9", n)
	}

	paper := func(media string) {
		p.do(command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media}))
	}
	paper("print")
	printed := func(rows string) (n int) {
		return ask[int](p, `[...document.querySelectorAll('.away-rows `+rows+`')].filter(e => e.offsetHeight).length`)
	}
	if calls, others := printed("tr.to-call"), printed("tr.answered"); calls != 3 || others != 0 {
		t.Errorf("the paper list has %d patients to call and %d others, want 3 and 0", calls, others)
	}
	p.snap("away-6-paper")
	paper("")
	for _, width := range []int64{390, 820} {
		p.size(width, 844)
		p.shot(fmt.Sprintf("away-3-answers-%d", width))
	}
	p.size(1280, 800)

	link := func(n int) string {
		a, err := h.engine.Booking.Appointment(t.Context(), ids[n])
		if err != nil {
			t.Fatal(err)
		}
		return "/manage?lang=en#" + h.engine.Booking.ManageToken(&a)
	}
	patient := h.tab(t)
	patient.open(link(5))
	patient.says("We have a new time for you")
	patient.accessible("a proposed time")
	patient.shot("away-4-proposal")
	before := h.appointmentOf(ids[5])["slotStartDate"]
	patient.click(".propose .primary")
	patient.says("Your appointment was moved")
	if after := h.appointmentOf(ids[5])["slotStartDate"]; after == before {
		t.Errorf("after the patient accepted, the appointment is still at %v", after)
	}
	patient.open("/livez")
	patient.open(link(6))
	patient.says("We have a new time for you")
	patient.click(".propose .btn:not(.primary)")
	patient.says("We will call you to find another time.")
	patient.accessible("a declined proposal")

	p.there(`tr[data-state="accepted"]`)
	p.there(`tr[data-state="declined"]`)
	p.says("5 of 16 answered")
	p.says("4 to call")
	p.click(`tr[data-state="call"] .btn:not(.quiet)`) // after a call, the desk books the held time
	p.says("6 of 16 answered")
	p.open("/staff?lang=en#day/" + h.date)
	p.there(`.head .away-answered`)
	p.accessible("the head of an absent specialist")
	p.shot("away-5-head")
	if text := p.text(`.head .away-answered`); !strings.Contains(text, "6 of 16") {
		t.Errorf("the column head is %q", text)
	}
}

// TestDeskUndoesAbsence: the button on the toast undoes an absence. All patients get their old times back.
func TestDeskUndoesAbsence(t *testing.T) {
	t.Parallel()
	h := mailing(t)
	p := h.desk(t, store.RoleReception)
	lena := p.appointment("Lena Vogt", "ada", "09:00")
	p.open("/staff?lang=en#day/" + h.date)
	p.board()
	p.click(`.head .away-open[href^="#away/new/ada"]`)
	p.there(".away-rows tbody tr")
	p.there(`form .btn.primary:not([aria-disabled])`)
	p.click("form .btn.primary")
	p.there(`tr[data-state]`)
	p.chord(ctrl, "z")
	p.toasted("Undone")
	p.says("No absences recorded.")
	p.accessible("no absences")
	if a := h.appointmentOf(lena); a["slotStartDate"] != h.at("09:00") || a["specialistId"] != "ada" {
		t.Errorf("after the undo, the appointment is %v", a)
	}
}

package browsertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"holdfast/engine/clinic"
	"holdfast/store"
)

// asking makes the clinic require consent, and makes the check-up ask new patients three questions.
func asking(f *clinic.File) {
	f.Clinic.Settings = &clinic.Settings{
		PrivacyURL: "https://clinic.example/privacy", ImprintURL: "https://clinic.example/imprint",
		Consent: clinic.Consent{Text: "We keep what you type for as long as the law says.",
			Texts: map[string]string{"de": "Wir speichern, was Sie eingeben, so lange wie vorgeschrieben."}},
	}
	t := &f.AppointmentTypes[0]
	t.NewPatientsOnly = true
	t.Questions = []store.Question{
		{ID: "why", Kind: store.AskText, Label: "Why do you come?", Required: true,
			Texts: map[string]store.QuestionText{"de": {Label: "Warum kommen Sie?"}}},
		{ID: "knee", Kind: store.AskChoice, Label: "Which knee?", Options: []string{"left", "right"},
			Texts: map[string]store.QuestionText{"de": {Label: "Welches Knie?", Options: []string{"links", "rechts"}}}},
		{ID: "well", Kind: store.AskYesNo, Label: "Are you well?", Required: true},
	}
}

// TestPatientAnswersQuestions: a patient sees the clinic's questions and which answers are missing, and the page keeps
// the typed text. The desk sees the answers.
func TestPatientAnswersQuestions(t *testing.T) {
	t.Parallel()
	h := newHouse(t, asking)
	p := h.tab(t)
	p.open("/?lang=de&type=checkup")
	p.there(`.foot a[href="https://clinic.example/privacy"]`)
	p.there(`.foot a[href="https://clinic.example/imprint"]`)
	p.live()
	p.day(h.date)
	p.take(h.at("10:00"))
	p.says("Warum kommen Sie?")
	p.confirm()
	p.there(".summary:focus")
	if n := ask[int](p, `document.querySelectorAll('.summary li').length`); n != 4 {
		t.Errorf("the form lists %d errors, want two answers, the new patient and the consent", n)
	}
	p.shot("asks-missing")
	p.accessible("what is missing")
	p.run(`document.getElementById('answers.why').focus()`)
	p.write("My knee.")
	p.click(`input[name="answers.knee"][value=right]`)
	p.click(`input[name="answers.well"][value=no]`)
	p.click("#newPatient")
	p.click("#consent")
	p.shot("asks-answered")
	p.accessible("everything answered")
	p.click(".details [type=submit]")
	p.booked()
	one := h.one(t)
	said, _ := one["intake"].(map[string]any)
	if answers, _ := said["answers"].([]any); len(answers) != 3 || said["newPatient"] != true ||
		said["consentedAt"] == nil {
		t.Errorf("the stored details are %v", said)
	}

	desk := h.desk(t, store.RoleReception)
	desk.open("/staff?lang=en#day/" + h.date)
	desk.board()
	desk.click(`.appt[data-id="` + one["id"].(string) + `"]`)
	desk.there("dialog .facts .told")
	desk.says("Which knee?")
	desk.says("First visit, according to the patient")
	desk.shot("asks-desk")
	desk.accessible("the answers at the desk")
}

// TestDeskAnswersQuestions: the desk answers a type's questions using only the keyboard. The form asks once for a
// required answer but does not insist. The answers are corrected in the same dialog as the rest, and appear on the
// card.
func TestDeskAnswersQuestions(t *testing.T) {
	t.Parallel()
	h := newHouse(t, asking)
	p := h.desk(t, store.RoleReception)
	p.open("/staff?lang=de#day/" + h.date)
	p.board()
	p.key("lena vogt")
	p.there("#patient-name:focus")
	p.there(".holding.held")
	p.says("Warum kommen Sie?")
	p.key(kb.Enter)
	p.there(`[id="answers.why"]:focus`) // the form asks once for the missing answer
	p.shot("asks-desk-missing")
	p.accessible("a question left open")
	p.write("My knee.")
	p.key(kb.Tab)
	p.key("r") // rechts
	p.tabTo(`document.activeElement.type === 'submit'`)
	p.key(kb.Enter)
	p.closed()
	one := h.one(t)
	if got := fmt.Sprint(one["intake"]); !strings.Contains(got, "value:My knee.") ||
		!strings.Contains(got, "value:right") || strings.Contains(got, "questionId:well") {
		t.Fatalf("booked with %s", got)
	}
	p.key("e")
	p.there(`[id="answers.well"]`)
	p.until(`document.getElementById('answers.knee').value === 'right'`)
	p.tabTo(`document.activeElement.id === 'answers.knee'`)
	p.key("l")
	p.tabTo(`document.activeElement.id === 'answers.well'`)
	p.key("n")
	p.shot("asks-desk-correct")
	p.accessible("the answers being corrected")
	p.tabTo(`document.activeElement.type === 'submit'`)
	p.key(kb.Enter)
	p.closed()
	if got := fmt.Sprint(h.one(t)["intake"]); !strings.Contains(got, "value:left") ||
		!strings.Contains(got, "value:no") || !strings.Contains(got, "My knee.") {
		t.Errorf("corrected to %s", got)
	}
	p.key(kb.Enter)
	p.there("dialog .facts .told")
	p.says("My knee.")
}

// TestOwnerEditsQuestions: an owner writes the questions and the consent text.
func TestOwnerEditsQuestions(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.open("/staff?lang=en#types")
	p.press("Edit Longer visit")
	p.press("Questions")
	p.press("Add question")
	p.there(`[id="questions[0].label"]`)
	p.run(`document.getElementById('questions[0].label').focus()`)
	p.write("Which knee?")
	p.run(`(s => { s.value = 'choice'; s.dispatchEvent(new Event('change', { bubbles: true })) })(document.getElementById('questions[0].kind'))`)
	p.there(`[id="questions[0].options"]`)
	p.click("dialog [type=submit]")
	p.there("dialog .summary:focus") // a choice question needs options
	p.run(`document.getElementById('questions[0].options').focus()`)
	p.write("left")
	p.key("\r")
	p.write("right")
	p.shot("questions")
	p.accessible("the questions of a type")
	p.saved()
	got := h.must(200, "GET", "/v1/appointment-types/longer", nil)
	if !strings.Contains(got.raw, `"options":["left","right"]`) || !strings.Contains(got.raw, `"label":"Which knee?"`) {
		t.Errorf("the type is %s", got.raw)
	}
	p.open("/staff?lang=en#settings")
	p.there("#consent")
	p.fill("#privacyUrl", "https://clinic.example/privacy")
	p.fill("#consent", "We keep your data.")
	p.there("#consent-de")
	p.fill("#consent-de", "Wir speichern Ihre Daten.")
	p.run(`document.querySelector('#consent').closest('form').querySelector('[type=submit]').click()`)
	p.says("Saved")
	if got := h.must(200, "GET", "/v1/clinic", nil); got.get("clinic", "consent", "texts",
		"de") != "Wir speichern Ihre Daten." {
		t.Errorf("the clinic is %s", got.raw)
	}
	p.shot("settings-legal")
	p.accessible("privacy and consent")
}

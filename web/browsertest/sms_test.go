package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/notice/noticetest"
	"holdfast/store"
	"holdfast/web"
)

// TestPatientAgreesToTextMessages: if an SMS gateway is set, the form has a checkbox for text messages, and the booking
// contains the patient's choice. Without a gateway, there is no checkbox.
func TestPatientAgreesToTextMessages(t *testing.T) {
	t.Parallel()
	x, err := notice.NewTexter(notice.TexterOptions{Given: &notice.Gateway{Method: "POST", URL: "https://sms.example", Body: "to={to}&text={text}"}})
	if err != nil {
		t.Fatal(err)
	}
	options := engine.Options{Queue: enginetest.Queue(t), Notices: message.Transport{Texter: x}}
	h := newHouseWith(t, options, web.Options{}, func(f *clinic.File) {
		f.AppointmentTypes[0].Questions = []store.Question{{ID: "why", Kind: "text", Label: "What is it about?"}}
	})
	p := h.tab(t)
	p.open("/?lang=en")
	p.when("")
	p.take(h.at("10:00"))
	p.fill("#name", "Lena Vogt")
	order := ask[string](p, `[...document.querySelectorAll('.details :is(input, textarea)')].map(e => e.id).join(' ')`)
	if order != "name email phone sms answers.why" {
		t.Errorf("the fields are %s, want the checkbox next to the phone number", order)
	}
	p.fill("#phone", "030 5550123")
	p.click("#sms")
	p.accessible("the form with text messages")
	p.click(".details [type=submit]")
	p.booked()
	list := h.must(200, "GET", "/v1/appointments?status=confirmed", nil, asAdmin)
	if !strings.Contains(list.raw, `"sms":true`) {
		t.Errorf("the appointment is %s", list.raw)
	}
	none := newHouse(t).tab(t)
	none.open("/?lang=en")
	none.when("")
	none.take(h.at("11:00"))
	none.there("#name")
	none.until(`!document.querySelector('#sms')`)
}

// withGateway opens a clinic that can use gateways on its local network. If url is not empty, it is the chosen gateway.
func withGateway(t *testing.T, url string) *house {
	t.Helper()
	x, err := notice.NewTexter(notice.TexterOptions{AllowPrivate: true})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t), Notices: message.Transport{Texter: x}}, web.Options{})
	if url != "" {
		h.must(200, "PUT", "/v1/settings/sms-gateway", map[string]any{"method": "POST", "url": url,
			"body": "to={to}&text={text}"}, asAdmin)
	}
	return h
}

// TestOwnerSetsUpSMSGateway: an owner chooses a preset, then enters the request for another gateway, sends a test, and
// saves. The page shows the gateway's refusal, and never the secret.
func TestOwnerSetsUpSMSGateway(t *testing.T) {
	t.Parallel()
	g := noticetest.NewGateway(t)
	h := withGateway(t, "")
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.open("/staff?lang=en#settings")
	p.there("#sms-preset")
	p.set("#sms-preset", "twilio")
	p.says("Account SID")
	p.set("#sms-preset", "seven")
	p.until(`!document.querySelector('#sms-user')`)
	p.accessible("a preset for an SMS gateway")
	p.set("#sms-preset", "other")
	p.fill("#sms-url", g.URL+"/send")
	p.fill("#sms-secret", "hush")
	p.set("#sms-headers", "X-Api-Key: {secret}")
	p.click("#sms-try")
	p.says("Enter a number for the test message")
	p.fill("#sms-to", "+49 170 1234567")
	g.Answer(func(noticetest.Text) (int, string) { return 400, "sender not allowed" })
	p.click("#sms-try")
	p.says("The test message was not sent:")
	p.says("sender not allowed")
	p.accessible("a test message that was refused")
	p.run(`document.querySelector('#sms-gateway').scrollIntoView({ block: 'start', behavior: 'instant' })`)
	p.shot("sms-gateway")
	g.Answer(func(noticetest.Text) (int, string) { return 200, "ok" })
	p.click("#sms-try")
	p.says("The gateway accepted a test message to +49 170 1234567.")
	if all := g.Texts(); all[len(all)-1].To != "+491701234567" || all[len(all)-1].Header.Get("X-Api-Key") != "hush" {
		t.Errorf("the gateway got %+v", all)
	}
	p.click("#sms-gateway [type=submit]")
	p.says("A secret is stored.")
	got := h.must(200, "GET", "/v1/settings/sms-gateway", nil, asAdmin)
	if got.get("smsGateway", "chosen", "url") != g.URL+"/send" || strings.Contains(got.raw, "hush") {
		t.Errorf("the stored gateway is %s", got.raw)
	}
}

// TestOwnerEditsTextMessages: while an owner types a text message, the page shows its length and its segments, in the
// GSM alphabet and outside it.
func TestOwnerEditsTextMessages(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	p := h.desk(t, store.RoleOwner)
	p.size(1280, 720)
	p.open("/staff?lang=en#settings")
	says := func(words string) {
		t.Helper()
		p.until(`document.querySelector('.mail.sms figcaption')?.innerText.includes(` + quoted(words) + `)`)
	}
	field := "document.getElementById('sms.texts.reminder.en.text')"
	says("1 message")
	says("of 160 characters")
	p.set("#sms-notice", "reminder")
	p.until("Boolean(" + field + ")")
	p.run(field + ".focus()")
	p.write("See you on {day}, " + strings.Repeat("please be early ", 10))
	says("2 messages")
	says("of 306 characters")
	p.run(field + ".select()")
	p.write("See you on {day} 🙂")
	says("of 70 characters")
	says("Unicode")
	p.accessible("a text message outside the GSM alphabet")
	p.run(`document.querySelector('.mail.sms').closest('form').scrollIntoView({ block: 'start', behavior: 'instant' })`)
	p.shot("sms-texts")
	p.fill("#sms-country", "49")
	p.set("#sms-hours", "24")
	p.run(`document.querySelector('.mail.sms').closest('form').querySelector('[type=submit]').click()`)
	p.says("Saved")
	got := h.must(200, "GET", "/v1/settings", nil, asAdmin)
	if got.get("settings", "sms", "texts", "reminder", "en") != "See you on {day} 🙂" || got.get("settings", "sms", "countryCode") != "49" {
		t.Errorf("the settings are %s", got.raw)
	}
}

// TestDeskAgreesToTextMessages: the desk checks the box when a patient on the phone consents, and can withdraw the
// consent later.
func TestDeskAgreesToTextMessages(t *testing.T) {
	t.Parallel()
	h := withGateway(t, noticetest.NewGateway(t).URL)
	p := h.desk(t, store.RoleReception)
	p.cursor("08:00, Dr Ada Brandt")
	p.key("lena vogt")
	p.there("#patient-sms:disabled") // no number yet
	p.fill("#patient-phone", "+49 170 1234567")
	p.click("#patient-sms")
	p.there(".holding.held")
	p.accessible("booking with text messages")
	p.shot("desk-booking-sms")
	p.click("dialog [type=submit]")
	p.closed()
	a := h.one(t)
	agreed := func() bool {
		return strings.Contains(h.must(200, "GET", "/v1/appointments/"+a["id"].(string), nil, asAdmin).raw, `"sms":true`)
	}
	if !agreed() {
		t.Error("the appointment does not have the consent")
	}
	p.key("e")
	p.there("#patient-sms:checked")
	p.click("#patient-sms")
	p.click("dialog [type=submit]")
	p.closed()
	if agreed() {
		t.Error("the consent was not withdrawn")
	}
}

// TestQueuePageReviewsTextMessage: it is unknown whether a text message was sent. The queue page says where to check,
// which is not the practice system.
func TestQueuePageReviewsTextMessage(t *testing.T) {
	t.Parallel()
	g := noticetest.NewGateway(t)
	g.Answer(func(noticetest.Text) (int, string) { return 500, "" })
	h := withGateway(t, g.URL)
	p := h.desk(t, store.RoleOwner)
	h.must(201, "POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at("10:00"), "sms": true, "patient": map[string]any{"name": "Lena Vogt",
			"phone": "+49 170 1234567"}}, asAdmin)
	p.open("/staff?lang=en#queue")
	p.lineSays("Lena Vogt", "Needs your decision")
	p.lineSays("Lena Vogt", "Check your account at the SMS gateway or ask the patient, then decide.")
	if text := p.text(".lines .line"); strings.Contains(text, "practice system") {
		t.Errorf("the line of a text message is %q", text)
	}
	p.onLine("Lena Vogt", "Mark as arrived")
	p.says("Marked as arrived.")
}

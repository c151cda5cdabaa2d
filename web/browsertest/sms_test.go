package browsertest

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/web"
)

// TestPatientAgreesToTextMessages: where an SMS gateway is set, the form has a tick, and the booking carries it. Without a
// gateway there is no tick.
func TestPatientAgreesToTextMessages(t *testing.T) {
	t.Parallel()
	x, err := notice.NewTexter(notice.TexterOptions{Given: &notice.Gateway{Method: "POST", URL: "https://sms.example", Body: "to={to}&text={text}"}})
	if err != nil {
		t.Fatal(err)
	}
	h := newHouseWith(t, engine.Options{Queue: enginetest.Queue(t), Notices: message.Transport{Texter: x}}, web.Options{})
	p := h.tab(t)
	p.open("/?lang=en")
	p.when("")
	p.take(h.at("10:00"))
	p.fill("#name", "Lena Vogt")
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

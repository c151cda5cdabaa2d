package web_test

import (
	"strings"
	"testing"
)

// These tests check that a configured address of the pages is used in every link.

func TestBaseURLIsInEveryLink(t *testing.T) {
	h := newHouse(t)
	before := h.do("GET", "/v1/settings", nil, asAdmin).want(200)
	if got := before.get("address", "from"); got != "guess" || before.get("address", "url") != h.server.URL {
		t.Errorf("before an address is set, it is %v", before.get("address"))
	}
	settings := before.get("settings").(map[string]any)
	settings["baseUrl"] = "https://Book.example.org/"
	changed := h.do("PUT", "/v1/settings", settings, asAdmin).want(200)
	if changed.get("settings", "baseUrl") != "https://book.example.org" ||
		changed.get("address", "url") != "https://book.example.org" || changed.get("address", "from") != "settings" {
		t.Errorf("the settings return %s", changed.raw)
	}
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0)}).want(201)
	if got := booked.text("appointment", "manageUrl"); !strings.HasPrefix(got, "https://book.example.org/manage#") {
		t.Errorf("the manage link is %q", got)
	}
	if got := h.do("GET", "/v1/specialists/nobody", nil).problem(404, "not_found").text("type"); !strings.HasPrefix(got, "https://book.example.org/docs/errors#") {
		t.Errorf("a problem's type is %q", got)
	}
	if page := h.do("GET", "/setup", nil).want(200).raw; !strings.Contains(page,
		`"address":{"url":"https://book.example.org","from":"settings"}`) {
		t.Error("the pages do not have the address for links and QR codes")
	}
	settings["baseUrl"] = "https://book.example.org/clinic"
	h.do("PUT", "/v1/settings", settings, asAdmin).problem(422, "validation_failed")
}

// TestPageLanguageIsRemembered: the page sends its language, and the patient's emails use it.
func TestPageLanguageIsRemembered(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "locale": "de"}).want(201)
	if got := h.do("GET", "/v1/appointments/"+booked.text("appointment", "id"), nil,
		asAdmin).want(200).text("appointment", "locale"); got != "de" {
		t.Errorf("the appointment's language is %q, want de", got)
	}
	h.book(2, "checkup", map[string]any{"slotStartDate": h.at(30), "locale": "de\r\nX: y"}).problem(422,
		"validation_failed")
}

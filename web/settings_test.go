package web_test

import (
	"fmt"
	"testing"
)

// TestPatchSettingsChangesGivenFields: a patch leaves all other settings unchanged, and null sets a field to its
// default.
func TestPatchSettingsChangesGivenFields(t *testing.T) {
	h := newHouse(t)
	h.do("PUT", "/v1/settings", map[string]any{
		"reminderHours": 24, "requiredFields": []string{"email"},
		"publicBookings": map[string]any{"perNetwork": 11, "confirm": true},
	}, asAdmin).want(200)
	after := h.do("PATCH", "/v1/settings", map[string]any{
		"webhooks":       []any{map[string]any{"id": "crm", "url": "https://crm.example.org/"}},
		"publicBookings": map[string]any{"confirm": nil},
	}, asAdmin).want(200)
	for path, want := range map[string]string{
		"reminderHours": "24", "requiredFields": "[email]", "publicBookings": "map[perNetwork:11]",
	} {
		if got := fmt.Sprint(after.get("settings", path)); got != want {
			t.Errorf("after the patch, %s is %s, want %s", path, got, want)
		}
	}
	if hooks, _ := after.get("settings", "webhooks").([]any); len(hooks) != 1 ||
		hooks[0].(map[string]any)["secret"] == "" {
		t.Errorf("after the patch, webhooks is %v, want one with a secret", hooks)
	}
	secret := after.get("settings", "webhooks").([]any)[0].(map[string]any)["secret"]

	after = h.do("PATCH", "/v1/settings", map[string]any{"reminderHours": nil, "changeCutoffHours": 12},
		asAdmin).want(200)
	if got := after.get("settings", "reminderHours"); got != nil {
		t.Errorf("after null, reminderHours is %v, want the default", got)
	}
	if hooks := after.get("settings", "webhooks").([]any); hooks[0].(map[string]any)["secret"] != secret {
		t.Errorf("after the patch, the webhook is %v, want its secret unchanged", hooks[0])
	}
	h.do("PATCH", "/v1/settings", map[string]any{"reminderHour": 1}, asAdmin).problem(400, "malformed_body")
	h.do("PATCH", "/v1/settings", map[string]any{"reminderHours": "1"}, asAdmin).problem(422,
		"validation_failed").field("reminderHours")
	h.do("PATCH", "/v1/settings", map[string]any{"reminderHours": -1}, asAdmin).problem(422,
		"validation_failed").field("reminderHours")
}

// TestSettingsHonourIfMatch: a change with the ETag of older settings is refused and changes nothing.
func TestSettingsHonourIfMatch(t *testing.T) {
	h := newHouse(t)
	first := h.do("GET", "/v1/settings", nil, asAdmin).want(200).header.Get("ETag")
	if first == "" {
		t.Fatal("GET /v1/settings has no ETag")
	}
	h.do("GET", "/v1/settings", nil, asAdmin, header{"If-None-Match": first}).want(304)
	second := h.do("PATCH", "/v1/settings", map[string]any{"reminderHours": 24}, asAdmin,
		header{"If-Match": first}).want(200).header.Get("ETag")
	for _, method := range []string{"PUT", "PATCH"} {
		h.do(method, "/v1/settings", map[string]any{"reminderHours": 1}, asAdmin,
			header{"If-Match": first}).problem(412, "version_mismatch")
	}
	now := h.do("GET", "/v1/settings", nil, asAdmin, header{"If-None-Match": first}).want(200)
	if now.header.Get("ETag") != second || fmt.Sprint(now.get("settings", "reminderHours")) != "24" {
		t.Errorf("after two refused changes: %s with the ETag %s, want 24 hours and %s", now.raw,
			now.header.Get("ETag"), second)
	}
	for _, tag := range []string{second, "W/" + second, `"other", ` + second, "*"} {
		h.do("PUT", "/v1/settings", map[string]any{"reminderHours": 24}, asAdmin, header{"If-Match": tag}).want(200)
	}
}

// TestGetHonoursIfNoneMatch: a request for an appointment that has not changed gets a 304, for the desk and for the
// manage link.
func TestGetHonoursIfNoneMatch(t *testing.T) {
	h := newHouse(t)
	booked := h.book(1, "checkup", map[string]any{"slotStartDate": h.at(0), "specialistId": "ada"}).want(201)
	path := "/v1/appointments/" + booked.text("appointment", "id")
	for name, credential := range map[string]header{"desk": asAdmin, "manage link": booked.managing()} {
		t.Run(name, func(t *testing.T) {
			tag := h.do("GET", path, nil, credential).want(200).header.Get("ETag")
			if again := h.do("GET", path, nil, credential, header{"If-None-Match": tag}).want(304); again.raw != "" ||
				again.header.Get("ETag") != tag {
				t.Errorf("If-None-Match %s: got %q with the ETag %q", tag, again.raw, again.header.Get("ETag"))
			}
			h.do("POST", path+"/attendance", map[string]any{"attendance": "arrived"}, asAdmin,
				header{"If-Match": tag}).want(200)
			h.do("GET", path, nil, credential, header{"If-None-Match": tag}).want(200)
			h.do("POST", path+"/attendance", map[string]any{"attendance": "expected"}, asAdmin).want(200)
		})
	}
}

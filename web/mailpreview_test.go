package web_test

import (
	"strings"
	"testing"

	"holdfast/engine/words"
)

// TestMailTextsArePreviewedAndChecked: a preview contains the text of the email without a real patient's data. Texts
// with an unknown placeholder are refused in a preview and when they are saved.
func TestMailTextsArePreviewedAndChecked(t *testing.T) {
	h := newHouse(t)
	got := h.do("POST", "/v1/settings/mail-preview", map[string]any{"notice": "confirmation",
		"language": "de", "subject": "Bis {day}", "text": "Es bleibt bei {when}, {what}."}, asAdmin).want(200)
	if s := got.text("subject"); !strings.HasPrefix(s, "Bis ") || strings.Contains(s, "{") {
		t.Errorf("the subject is %q", s)
	}
	if s := got.text("text"); !strings.HasPrefix(s, "Es bleibt bei ") || strings.Contains(s, "{") ||
		!strings.Contains(s, "Was: ") {
		t.Errorf("the text is %q", s)
	}
	if got.text("own", "text") != "Ihr Termin ist gebucht." {
		t.Errorf("without the clinic's text, it is %q", got.text("own", "text"))
	}
	h.do("POST", "/v1/settings/mail-preview", map[string]any{"notice": "confirmation",
		"language": "de", "text": "Hallo {name}"}, asAdmin).problem(422, "validation_failed").field("text")
	h.do("POST", "/v1/settings/mail-preview", map[string]any{"notice": "staff_attention", "language": "de"},
		asAdmin).problem(422, "validation_failed").field("notice")
	texts := func(text string) map[string]any {
		return map[string]any{"mailTexts": map[string]any{"reminder": map[string]any{"en": map[string]any{"text": text}}}}
	}
	h.do("PUT", "/v1/settings", texts("See you {when} {link}"), asAdmin).problem(422,
		"validation_failed").field("mailTexts.reminder.en.text")
	h.do("PUT", "/v1/settings", texts("See you {when}"), asAdmin).want(200)
	if got := h.do("GET", "/v1/settings", nil, asAdmin).want(200); got.text("settings", "mailTexts", "reminder", "en",
		"text") != "See you {when}" {
		t.Errorf("kept is %s", got.raw)
	}
	if got := h.do("PUT", "/v1/settings", texts(" "), asAdmin).want(200); got.get("settings", "mailTexts") != nil {
		t.Errorf("after the reset, it is %s", got.raw)
	}
}

// TestEmailTextsBelongToLanguage: the server refuses texts in a language without emails, because they would be stored
// and never sent.
func TestEmailTextsBelongToLanguage(t *testing.T) {
	h := newHouse(t)
	for _, language := range words.Tags() {
		body := map[string]any{"mailTexts": map[string]any{"reminder": map[string]any{language: map[string]any{"text": "See you"}}}}
		h.do("PUT", "/v1/settings", body, asAdmin).want(200)
	}
	for _, language := range []string{"fr", "EN", "de-at", ""} {
		body := map[string]any{"mailTexts": map[string]any{"reminder": map[string]any{language: map[string]any{"text": "See you"}}}}
		h.do("PUT", "/v1/settings", body, asAdmin).problem(422, "validation_failed").field("mailTexts.reminder." +
			language + ".language")
		h.do("POST", "/v1/settings/mail-preview", map[string]any{"notice": "reminder",
			"language": language, "text": "See you"}, asAdmin).problem(422, "validation_failed")
	}
}

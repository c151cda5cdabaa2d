package web_test

import (
	"encoding/csv"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/words/wordstest"
)

var (
	tags  = regexp.MustCompile(`(?s)<style>.*?</style>|<span class="mark".*?</span>|<[^>]*>`)
	zones = regexp.MustCompile(`\b(UTC|[A-Z][a-z]+/[A-Z]\w+)\b`)
)

// TestNewLanguageReachesPlanAndUnknownPage adds an invented language, which takes one folder and one registration. The
// downtime plan, as a page and as a spreadsheet, and the page at an unknown address then contain no words in another
// language.
func TestNewLanguageReachesPlanAndUnknownPage(t *testing.T) {
	t.Parallel()
	h := newHouseOf(t, engine.Options{Words: wordstest.Catalog(t, os.DirFS("../engine/words"))})
	day := h.at(0)[:10]
	h.do("POST", "/v1/appointments", map[string]any{"appointmentTypeId": "checkup", "specialistId": "ada",
		"slotStartDate": h.at(0),
		"patient":       map[string]any{"name": "Lena Vogt", "birthDate": "1991-12-01"}}, asAdmin).want(201)
	h.do("POST", "/v1/specialists/ada/blocks", map[string]any{"start": h.at(60), "end": h.at(120), "reason": "Meeting"},
		asAdmin).want(201)
	known := []string{"Lena Vogt", "Meeting", "Dr ada", "Dr bea", "checkup", "Checkup",
		h.engine.Clinic.Schedule().Clinic.Name, "Holdfast"}
	check := func(what, text string) {
		t.Helper()
		if found := wordstest.Untranslated(zones.ReplaceAllString(text, " "), known...); len(found) > 0 {
			t.Errorf("%s has untranslated words %q:\n%s", what, found, text)
		}
	}
	const query = "/v1/downtime-kit?lang=" + wordstest.Pseudo + "&days=1&from="
	page := h.do("GET", query+day+"&format=html", nil, asAdmin).want(200).raw
	if !strings.Contains(page, `<html lang="`+wordstest.Pseudo+`">`) || !strings.Contains(page, "Lena Vogt") {
		t.Errorf("the plan is\n%s", page)
	}
	check("the plan", tags.ReplaceAllString(page, " "))
	file := h.do("GET", query+day+"&format=csv", nil, asAdmin).want(200).raw
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(file, "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		check("the spreadsheet", strings.Join(row, " "))
	}
	unknown := h.do("GET", "/nowhere?lang="+wordstest.Pseudo, nil, header{"Accept": "text/html"}).want(404).raw
	check("the page at an unknown address", tags.ReplaceAllString(unknown[strings.Index(unknown, "<title>"):], " "))
}

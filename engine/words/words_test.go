package words

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func TestEmbeddedLanguagesHaveSameTexts(t *testing.T) {
	if _, err := Load(folders, registered); err != nil {
		t.Error(err)
	}
	pages, err := LoadPages(os.DirFS("."), registered)
	if err != nil {
		t.Error(err)
	}
	n := 0
	for _, f := range pages[0] {
		n += len(f.Texts)
	}
	if n < 1000 {
		t.Errorf("the pages have only %d English texts, want all", n)
	}
}

func TestRegisteredLanguagesHaveFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		if e.IsDir() && e.Name() != "wordstest" {
			n++
			if !Embedded().Has(e.Name()) {
				t.Errorf("the folder %s is not registered", e.Name())
			}
		}
	}
	if n != len(registered) {
		t.Errorf("got %d folders for %d languages", n, len(registered))
	}
}

// TestLoadRefusesDifferentTexts checks for mistakes that a translator could make.
func TestLoadRefusesDifferentTexts(t *testing.T) {
	const english = `{"a": "One {n}", "b": "Two"}`
	for name, test := range map[string]struct{ german, want string }{
		"equal":       {`{"a": "Eins {n}", "b": "Zwei"}`, ""},
		"missing":     {`{"a": "Eins {n}"}`, "de lacks x.b"},
		"too many":    {`{"a": "Eins {n}", "b": "Zwei", "c": "Drei"}`, "de has x.c"},
		"placeholder": {`{"a": "Eins {m}", "b": "Zwei"}`, "the placeholders of x.a"},
		"twice":       {`{"a": "Eins {n}", "a": "Eins {n}", "b": "Zwei"}`, `"a" occurs twice`},
		"empty":       {`{"a": "Eins {n}", "b": " "}`, `"b" is empty`},
		"plural":      {`{"a": "Eins {n}", "b": {"other": "Zwei"}}`, "plural forms"},
		"no other":    {`{"a": "Eins {n}", "b": {"one": "Zwei"}}`, `no plural form "other"`},
		"no JSON":     {`[]`, "not a JSON object"},
	} {
		dir := fstest.MapFS{"en/x.json": {Data: []byte(english)}, "de/x.json": {Data: []byte(test.german)}}
		_, err := Load(dir, []Registration{{Tag: "en"}, {Tag: "de"}})
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
	if _, err := Load(fstest.MapFS{"en/x.json": {Data: []byte(english)}},
		[]Registration{{Tag: "en"}, {Tag: "fr"}}); err == nil {
		t.Error("a language without a folder was loaded")
	}
}

func TestFindFollowsOrder(t *testing.T) {
	c := Embedded()
	for _, test := range []struct {
		tags []string
		want string
	}{
		{[]string{"de"}, "de"}, {[]string{"de-AT"}, "de"}, {[]string{"DE-at"}, "de"}, {[]string{"", "es"}, "es"},
		{[]string{"fr", "es-MX", "de"}, "es"}, {nil, "en"}, {[]string{"fr"}, "en"},
	} {
		if got := c.Find(test.tags...).Tag; got != test.want {
			t.Errorf("%q: got %s, want %s", test.tags, got, test.want)
		}
	}
}

func TestSpokenDates(t *testing.T) {
	for _, test := range []struct{ language, local, want string }{
		{"en", "2026-11-23 10:00", "Monday, November 23rd at 10 AM"},
		{"en", "2026-11-01 09:30", "Sunday, November 1st at 9:30 AM"},
		{"en", "2026-11-02 12:00", "Monday, November 2nd at 12 PM"},
		{"en", "2026-11-11 00:05", "Wednesday, November 11th at 12:05 AM"},
		{"en", "2026-11-12 23:59", "Thursday, November 12th at 11:59 PM"},
		{"en", "2026-11-13 13:00", "Friday, November 13th at 1 PM"},
		{"en", "2026-12-21 01:00", "Monday, December 21st at 1 AM"},
		{"en", "2026-12-22 08:00", "Tuesday, December 22nd at 8 AM"},
		{"en", "2026-12-31 08:00", "Thursday, December 31st at 8 AM"},
		{"de", "2026-11-23 10:00", "Montag, 23. November um 10 Uhr"},
		{"de", "2026-11-23 01:05", "Montag, 23. November um 01:05 Uhr"},
		{"es", "2026-11-23 10:00", "lunes 23 de noviembre a las 10:00"},
		{"es", "2026-11-23 01:00", "lunes 23 de noviembre a la 01:00"},
		{"es", "2026-11-23 13:30", "lunes 23 de noviembre a las 13:30"},
	} {
		at, err := time.Parse("2006-01-02 15:04", test.local)
		if err != nil {
			t.Fatal(err)
		}
		if got := Embedded().Find(test.language).Spoken(at); got != test.want {
			t.Errorf("%s %s: got %q, want %q", test.language, test.local, got, test.want)
		}
	}
}

func TestFillReplacesInOnePass(t *testing.T) {
	for text, want := range map[string]string{
		"{a} and {b}":   "{b} and 2",
		"{{a}} {c} {b":  "{{b}} {c} {b",
		"{2}, {} or }{": "{2}, {} or }{",
		"":              "",
	} {
		if got := Fill(text, "a", "{b}", "b", "2"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// TestSeparatorFollowsRegion: spreadsheets expect semicolons where the comma is the decimal mark, and in Switzerland.
func TestSeparatorFollowsRegion(t *testing.T) {
	for _, c := range []struct{ tag, locale, want string }{
		{"en", "", ","}, {"en", "en-GB", ","}, {"en", "de", ","},
		{"de", "", ";"}, {"de", "de-AT", ";"}, {"de", "de-CH", ";"}, {"de", "es-MX", ";"},
		{"es", "", ";"}, {"es", "es", ";"}, {"es", "es-AR", ";"}, {"es", "es-MX", ","}, {"es", "es-mx", ","},
		{"es", "es-419", ","},
	} {
		if got := string(Embedded().Find(c.tag).Separator(c.locale)); got != c.want {
			t.Errorf("%s in %q: got %q, want %q", c.tag, c.locale, got, c.want)
		}
	}
}

// TestSpanishDatesHaveArticle: in a Spanish sentence, a date after hasta, desde or antes de has its article.
func TestSpanishDatesHaveArticle(t *testing.T) {
	pages, err := LoadPages(os.DirFS("."), registered)
	if err != nil {
		t.Fatal(err)
	}
	bare := regexp.MustCompile(`\b(hasta|desde|antes de) [*]*\{(until|when)\}`)
	for _, f := range pages[slices.IndexFunc(registered, func(r Registration) bool { return r.Tag == "es" })] {
		for _, text := range f.Texts {
			if bare.MatchString(text.Text) {
				t.Errorf("%s: %q is %q", f.Name, text.Key, text.Text)
			}
		}
	}
}

package clinic_test

import (
	"encoding/base64"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
)

func TestSettingsCheckAccentAndLogo(t *testing.T) {
	t.Parallel()
	practice := enginetest.NewClinic(t, nil)
	svg := func(text string) string {
		return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(text))
	}
	const open = `<svg xmlns="http://www.w3.org/2000/svg">`
	for _, c := range []struct {
		name         string
		accent, logo string
		wrong        string // the field with the error; empty means none
	}{
		{"a hue", "plum", "", ""},
		{"a dark colour", "#3a4f9a", "", ""},
		{"black", "#000000", "", ""},
		{"an unknown hue", "mauve", "", "accent"},
		{"a light colour", "#ff8800", "", "accent"},
		{"a colour that is almost dark enough", "#696969", "", "accent"},
		{"a short colour", "#123", "", "accent"},
		{"no digits", "#+12345", "", "accent"},
		{"a drawing", "", svg(`<?xml version="1.0"?><!-- a logo -->` + open + `<path d="M0 0"/></svg>`), ""},
		{"a PNG", "", "data:image/png;base64,iVBORw0KGgo=", ""},
		{"a script", "", svg(open + `<script>alert(1)</script></svg>`), "logo"},
		{"a handler", "", svg(open + `<path onload="alert(1)"/></svg>`), "logo"},
		{"a link that runs", "", svg(open + `<a href=" JavaScript:alert(1)"/></svg>`), "logo"},
		{"foreign markup", "", svg(open + `<foreignObject/></svg>`), "logo"},
		{"entities", "", svg(`<!DOCTYPE svg [<!ENTITY a "b">]>` + open + `</svg>`), "logo"},
		{"another root", "", svg(`<html/>`), "logo"},
		{"an open element", "", svg(open), "logo"},
		{"no text", "", svg(""), "logo"},
		{"a large drawing", "", svg(open + strings.Repeat(" ", 100<<10) + `</svg>`), "logo"},
		{"a GIF", "", "data:image/gif;base64,R0lGODdh", "logo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := practice.Clinic.UpdateSettings(t.Context(), enginetest.Jo, func(s *clinic.Settings) {
				s.Accent, s.Logo = c.accent, c.logo
			})
			if (got != nil) != (c.wrong != "") || got != nil && !strings.Contains(got.Error(), c.wrong) {
				t.Errorf("the check returns %v, want an error for %q", got, c.wrong)
			}
		})
	}
}

// TestColourIsThatOfThePages: emails use the colours that the pages use in the light theme. Each of them can also be
// entered as a colour, because white text on it is readable.
func TestColourIsThatOfThePages(t *testing.T) {
	t.Parallel()
	practice := enginetest.NewClinic(t, nil)
	css, err := os.ReadFile("../../web/ui/holdfast.css")
	if err != nil {
		t.Fatal(err)
	}
	// the rules of the light theme come first
	seen := make(map[string]bool)
	for _, rule := range regexp.MustCompile(`(?s):root(?:\[data-accent=(\w+)\])? \{[^}]*?--accent: (#\w+);`).
		FindAllSubmatch(css, -1) {
		name, want := string(rule[1]), string(rule[2])
		if seen[name] {
			continue
		}
		seen[name] = true
		if got := (&clinic.Settings{Accent: name}).Colour(); got != want {
			t.Errorf("%q: got %s, want %s", name, got, want)
		}
		for _, accent := range []string{name, want} {
			if _, err := practice.Clinic.UpdateSettings(t.Context(), enginetest.Jo, func(s *clinic.Settings) {
				s.Accent = accent
			}); err != nil {
				t.Errorf("accent %q: %v", accent, err)
			}
		}
	}
	if got, want := (&clinic.Settings{Accent: "kelp"}).Colour(), new(clinic.Settings).Colour(); got != want {
		t.Errorf("kelp: got %s, want the default, %s", got, want)
	}
	if len(seen) < 6 {
		t.Errorf("the pages have %d accents, want at least 6", len(seen))
	}
}

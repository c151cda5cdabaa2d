package clinic

import (
	"encoding/base64"
	"os"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine/record"
)

func TestSettingsCheckAccentAndLogo(t *testing.T) {
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
		{"a large drawing", "", svg(open + strings.Repeat(" ", maxLogo) + `</svg>`), "logo"},
		{"a GIF", "", "data:image/gif;base64,R0lGODdh", "logo"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var m record.Mistakes
			checkLook(&m, &Settings{Accent: c.accent, Logo: c.logo})
			if got := m.Err(); (got != nil) != (c.wrong != "") || got != nil && !strings.Contains(got.Error(), c.wrong) {
				t.Errorf("the check returns %v, want an error for %q", got, c.wrong)
			}
		})
	}
}

// TestColourIsThatOfThePages: emails use the colours that the pages use in the light theme.
func TestColourIsThatOfThePages(t *testing.T) {
	css, err := os.ReadFile("../../web/ui/holdfast.css")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, rule := range regexp.MustCompile(`(?s):root(?:\[data-accent=(\w+)\])? \{[^}]*?--accent: (#\w+);`).
		FindAllSubmatch(css, len(hues)) { // the rules of the light theme come first
		want[string(rule[1])] = string(rule[2])
	}
	for i, hue := range hues {
		name := hue.name
		if i == 0 {
			name = "" // the default has no separate rule
		}
		for _, accent := range []string{name, hue.name} {
			if got := (&Settings{Accent: accent}).Colour(); got == "" || got != want[name] {
				t.Errorf("%q: got %s, want %s", accent, got, want[name])
			}
		}
		if contrast, isColour := contrastOnWhite(hue.colour); !isColour || contrast < minContrast {
			t.Errorf("%s: got a contrast of %.2f:1, want at least %.1f:1", hue.name, contrast, minContrast)
		}
	}
}

// Package ical takes the text of a calendar (RFC 5545) apart into lines and properties. What they mean is for those who read them: holidays
// (engine/holiday) and when somebody is busy elsewhere (engine/busytime). It keeps nothing and knows no time zone.
package ical

import (
	"iter"
	"strings"
)

// Lines yields the content lines of a text, those that go on joined (section 3.1: each that begins with a space or a tab belongs to the
// one before), with the number of the line on which each begins, from 1. Empty lines are left out.
func Lines(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		n, begun := 0, 0
		var line strings.Builder
		for raw := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			n++
			raw = strings.TrimRight(raw, "\r\n")
			if line.Len() > 0 && raw != "" && (raw[0] == ' ' || raw[0] == '\t') {
				line.WriteString(raw[1:])
				continue
			}
			if line.Len() > 0 && !yield(begun, line.String()) {
				return
			}
			begun = n
			line.Reset()
			line.WriteString(raw)
		}
		if line.Len() > 0 {
			yield(begun, line.String())
		}
	}
}

// Property takes a content line apart (section 3.1): its name in capitals, its parameters as they are written, such as TZID="Europe/Berlin",
// and its value. A colon or semicolon inside quotes belongs to a parameter. What is no property has no name.
func Property(line string) (name string, params []string, value string) {
	quoted, from := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ';' || c == ':':
			params = append(params, line[from:i])
			if from = i + 1; c == ':' {
				return strings.ToUpper(params[0]), params[1:], line[from:]
			}
		}
	}
	return "", nil, ""
}

// Param is the value of a parameter, without its quotes; empty if it is not there.
func Param(params []string, name string) string {
	for _, p := range params {
		if key, value, _ := strings.Cut(p, "="); strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

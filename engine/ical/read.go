// Package ical reads and writes calendars (iCalendar, RFC 5545). It has no state, makes no decision about
// appointments, and imports no other package of the engine.
//
//	read.go     a calendar's text as content lines, properties and parameters
//	holiday.go  Holidays: the all-day events in a public holiday calendar
//	event.go    the events and zones of a person's calendar as they are written
//	rule.go     the days on which an event repeats (RRULE)
//	zone.go     the instant of a wall time in a zone that the calendar names or defines
//	busy.go     Busy: when the owner of a calendar is busy
//	write.go    Writer: an appointment as a calendar object
package ical

import (
	"iter"
	"strings"
)

// Lines yields the content lines of a calendar, each with the number of the line that it begins on, counted from 1. It
// joins folded lines (section 3.1: a line that begins with a space or a tab continues the line before it) and skips
// empty lines.
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

// Property splits a content line (section 3.1) into its name in capitals, its parameters as written, such as
// TZID="Europe/Berlin", and its value. A colon or semicolon inside quotes belongs to a parameter. The name is empty if
// the line is not a property.
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

// Param returns the value of a parameter without its quotes, or "" if the parameter is missing.
func Param(params []string, name string) string {
	for _, p := range params {
		if key, value, _ := strings.Cut(p, "="); strings.EqualFold(key, name) {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

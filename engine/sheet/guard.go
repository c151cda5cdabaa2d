package sheet

import (
	"regexp"
	"strings"
)

// A spreadsheet evaluates a cell that begins with one of these signs, including the full-width forms. A program that
// splits columns at semicolons or tabs starts a new cell there, even inside one of these cells. A line break also
// starts a new cell if the program ignores quotes. Spaces and quotes before the sign do not prevent this.
//
// The guard is one apostrophe before the sign. Existing apostrophes are matched too, so that removing one restores the
// text.
const (
	cellStart   = `(^|[;\t\r\n])([\s"]*)`
	formulaSign = `[=+\-@＝＋－＠]`
)

var (
	unguarded = regexp.MustCompile(cellStart + `('*` + formulaSign + `)`)
	guarded   = regexp.MustCompile(cellStart + `'('*` + formulaSign + `)`)
)

// Guarded returns a cell that no spreadsheet treats as a formula. This is needed because cells contain text that
// patients typed. An import restores the original text.
func Guarded(cell string) string {
	return unguarded.ReplaceAllString(cell, "$1$2'$3")
}

// plain returns a cell's text without surrounding spaces and without the apostrophes that Guarded adds.
func plain(cell string) string {
	return guarded.ReplaceAllString(strings.TrimSpace(cell), "$1$2$3")
}

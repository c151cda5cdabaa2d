package sheet

import (
	"regexp"
	"strings"
)

// A spreadsheet calculates a cell that begins with one of these signs; those of full width count too. A program that separates columns
// at a semicolon or a tab begins a cell there, also inside one of ours, and so does a line break where quotes are not read. Spaces and
// quotes before the sign are no protection.
//
// The guard is one apostrophe before the sign. Apostrophes that are already there are matched too, so that removing one restores the text.
const (
	cellStart   = `(^|[;\t\r\n])([\s"]*)`
	formulaSign = `[=+\-@＝＋－＠]`
)

var (
	unguarded = regexp.MustCompile(cellStart + `('*` + formulaSign + `)`)
	guarded   = regexp.MustCompile(cellStart + `'('*` + formulaSign + `)`)
)

// Guarded returns a cell in which no spreadsheet finds a formula. Cells hold what patients typed. An import reads the text back unchanged.
func Guarded(cell string) string {
	return unguarded.ReplaceAllString(cell, "$1$2'$3")
}

// plain returns the text of a cell without spaces around it and without the apostrophes of Guarded.
func plain(cell string) string {
	return guarded.ReplaceAllString(strings.TrimSpace(cell), "$1$2$3")
}

package sheet

import (
	"regexp"
	"strings"
)

// A spreadsheet evaluates a cell that begins with one of these signs, including the full-width forms. A program that
// splits columns at semicolons or tabs starts a new cell there, even inside one of these cells. If semicolons separate
// the columns, a program that splits at commas does the same. A line break also starts a new cell if the program
// ignores quotes. Spaces and quotes before the sign do not prevent this.
//
// The guard is one apostrophe before the sign. Existing apostrophes are matched too, so that removing one restores the
// text.
const formulaSign = `[=+\-@＝＋－＠]`

// guard finds the formulas in the cells of a file.
type guard struct{ unguarded, guarded *regexp.Regexp }

func newGuard(separators string) guard {
	start := `(^|[` + separators + `\r\n])([\s"]*)`
	return guard{regexp.MustCompile(start + `('*` + formulaSign + `)`),
		regexp.MustCompile(start + `'('*` + formulaSign + `)`)}
}

var (
	guardOfSemicolons = newGuard(`,;\t`)
	guardOfOthers     = newGuard(`;\t`)
)

func guardOf(separator rune) *guard {
	if separator == ';' {
		return &guardOfSemicolons
	}
	return &guardOfOthers
}

// Guarded returns a cell that no spreadsheet treats as a formula, for a file with this separator. This is needed
// because cells contain text that patients typed. An import restores the original text.
func Guarded(cell string, separator rune) string {
	return guardOf(separator).unguarded.ReplaceAllString(cell, "$1$2'$3")
}

// plain returns a cell's text without surrounding spaces and without the apostrophes that Guarded adds.
func plain(cell string, separator rune) string {
	return guardOf(separator).guarded.ReplaceAllString(strings.TrimSpace(cell), "$1$2$3")
}

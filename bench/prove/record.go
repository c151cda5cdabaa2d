package main

import (
	"fmt"
	"os"
	"strings"
)

const tableHead = "| what | count | asked for | bad | sees its bug | seconds | seed | seen |\n" +
	"|---|---|---|---|---|---|---|---|"

// line returns the row's line in the table.
func (r *row) line(x *result, seed uint64, seen string) string {
	count, asked, first := fmt.Sprintf("%d %s", x.count, r.unit), "–", "–"
	if x.note != "" {
		count = "not run: " + x.note
	}
	if r.asked > 0 {
		asked = fmt.Sprint(r.asked)
	}
	if r.isSeeded() {
		first = fmt.Sprint(seed)
	}
	return fmt.Sprintf("| %s | %s | %s | %d | %s | %.0f | %s | %s |", r.name, count, asked, x.bad, x.sees,
		x.took.Seconds(), first, seen)
}

// record writes a line into the table for a form on a page. It replaces the line with the same name, or adds the line
// at the end.
func record(page, form, line string) error {
	b, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := "<!-- make prove, "+form+" form -->\n", "<!-- until here -->\n"
	before, rest, isThere := strings.Cut(string(b), begin)
	table, after, isWhole := strings.Cut(rest, end)
	if !isThere || !isWhole {
		return fmt.Errorf("%s: no table between %q and %q", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	name := line[:strings.Index(line[1:], "|")+2] // "| name |"
	var lines []string
	replaced := false
	for _, old := range strings.Split(strings.Trim(table, "\n"), "\n") {
		if strings.HasPrefix(old, name) {
			old, replaced = line, true
		}
		lines = append(lines, old)
	}
	if !replaced {
		lines = append(lines, line)
	}
	return os.WriteFile(page, []byte(before+begin+"\n"+strings.Join(lines, "\n")+"\n\n"+end+after), 0o600)
}

package table

import (
	"strconv"
	"strings"
)

// Dialect translates the SQL of this package for one database.
type Dialect struct {
	words    *strings.Replacer
	numbered bool // arguments are $1, $2, …
}

// SQLite and Postgres are the two dialects.
//
//	{false} {true}  truths
//	{row}           the column with the order in which rows were inserted
//	{instr}         the place of the second text in the first, from 1; 0 if it is missing
//	{greatest}      the larger of two numbers
//	{each}(?)       a SELECT of the texts in a JSON array
//	{any}…{end}     one of the rows of a SELECT of one column; the index of the left side finds each
//	{items}(?)      the members of a JSON array, as rows with a value
//	{texts}(?)      the texts in a JSON array, as rows with a value
//	{json}          makes a text JSON, after it
//	{scan}          after a table: read its rows, not an index
//	{pairs}(?)      the members of a JSON object, as rows with a key and a value
//	{ascii}         has lower change A to Z only, in every locale
var (
	SQLite = Dialect{words: strings.NewReplacer(
		"{false}", "0", "{true}", "1", "{row}", "rowid", "{instr}", "instr", "{greatest}", "max", "{ascii}", "",
		"{each}", "SELECT value FROM json_each", "{items}", "json_each", "{pairs}", "json_each",
		"{texts}", "json_each", "{any}", "IN (", "{end}", ")", "{json}", "", "{scan}", "NOT INDEXED",
	)}
	Postgres = Dialect{
		numbered: true,
		words: strings.NewReplacer("{false}", "false", "{true}", "true", "{row}", "row_number", "{instr}", "strpos",
			"{greatest}", "greatest", "{ascii}", ` COLLATE "C"`, "{each}", "SELECT json_array_elements_text", "{items}",
			"json_array_elements", "{pairs}", "json_each_text", "LIMIT +?", "LIMIT ?", "{texts}",
			"json_array_elements_text", "{any}", "= ANY (ARRAY(", "{end}", "))", "{json}", "::json", "{scan}", ""),
	}
)

// Text translates SQL text for the database. It does not change text without ? and braces.
func (d Dialect) Text(text string) string {
	if !strings.ContainsAny(text, "?{") {
		return text
	}
	text = d.words.Replace(text)
	if !d.numbered {
		return text
	}
	return numbered(text)
}

// numbered replaces ?2 with $2, and each plain ? with $ and the number after the largest one used before it. SQLite
// counts arguments in the same way. It does not change text in quotes.
func numbered(text string) string {
	var b strings.Builder
	largest, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\'':
			quoted = !quoted
			b.WriteByte(c)
		case c != '?' || quoted:
			b.WriteByte(c)
		default:
			end := i + 1
			for end < len(text) && '0' <= text[end] && text[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(text[i+1 : end])
			if err != nil {
				n = largest + 1
			}
			largest = max(largest, n)
			b.WriteString("$" + strconv.Itoa(n))
			i = end - 1
		}
	}
	return b.String()
}

// Conditions holds the conditions of a WHERE clause and their arguments.
type Conditions struct {
	Args  []any
	parts []string
}

// And adds a condition. part contains a ? for each argument.
func (c *Conditions) And(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.Args = append(c.Args, args...)
}

// SQL returns the WHERE clause, or an empty string if there is no condition.
func (c *Conditions) SQL() string {
	if len(c.parts) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.parts, " AND ")
}

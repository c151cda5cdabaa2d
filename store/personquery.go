package store

import (
	"slices"
	"strings"
	"time"
)

// PersonQuery holds the parsed parts of a search for people. All of them must match.
type PersonQuery struct {
	Words  [][]rune // words of a name, folded (NameWords)
	Exact  []string // parts of an email address, each with an @; folded
	Number string   // digits of a phone number, without leading zeros: at least three, or empty
	Birth  []string // all dates of birth that the query can mean
}

// IsEmpty reports whether the query has no part to search for.
func (q *PersonQuery) IsEmpty() bool {
	return len(q.Words) == 0 && len(q.Exact) == 0 && q.Number == "" && q.Birth == nil
}

const maxWord, maxWords = 24, 6

// A query's number may be a stored number with at most maxPrefix more digits in front, if the stored number has at
// least minNumber digits.
const minNumber, maxPrefix = 7, 4

// ParsePersonQuery parses the text that a user searches for: any part of a name, a phone number, an email address or a
// date of birth, or several of these together. A date with a two-digit year is never in the future.
func ParsePersonQuery(text string, now time.Time) (q PersonQuery) {
	text = Text(text)
	var digits strings.Builder
	for _, word := range strings.Fields(text) {
		switch {
		case strings.Contains(word, "@"):
			q.Exact = append(q.Exact, Fold(word))
		case strings.ContainsAny(word, "0123456789"):
			if dates := datesOf(word, now); dates != nil && q.Birth == nil {
				q.Birth = dates
				continue
			}
			digits.WriteString(word + " ")
		default:
			for _, w := range NameWords(word) {
				if len(q.Words) < maxWords {
					q.Words = append(q.Words, w)
				}
			}
		}
	}
	typed := strings.TrimSpace(digits.String())
	if typed == "" {
		return q
	}
	// "31 3 1980": a date with spaces.
	if dates := datesOf(strings.ReplaceAll(typed, " ", "."), now); dates != nil && q.Birth == nil {
		q.Birth = dates
		return q
	}
	if q.Number = subscriber(Digits(typed)); len(q.Number) < 3 {
		q.Number = ""
	}
	return q
}

// subscriber returns a phone number without leading zeros. A number can be written with 00 or a plus and the country
// code, or with the national zero. Both forms then end in the same digits.
func subscriber(digits string) string { return strings.TrimLeft(digits, "0") }

// datesOf returns the dates that a string can mean: in ISO format, with the day before the month, or with the month
// before the day.
func datesOf(text string, now time.Time) (dates []string) {
	for _, layout := range []string{
		"2006-01-02", "2006-1-2", "2.1.2006", "2/1/2006", "1/2/2006", "2-1-2006", "02012006", "20060102", "2.1.06",
		"2/1/06",
	} {
		t, err := time.Parse(layout, text)
		if err != nil || t.Year() < 1880 {
			continue
		}
		if t.After(now) {
			t = t.AddDate(-100, 0, 0) // a two-digit year
		}
		if d := t.Format(time.DateOnly); !slices.Contains(dates, d) {
			dates = append(dates, d)
		}
	}
	return dates
}

// Match returns how much a person differs from the query: 0 is an exact match. ok is false if the person does not
// match. Names are folded and may have one or two typing errors. Phone numbers are compared without punctuation and
// prefixes.
func (q *PersonQuery) Match(i *Identity) (score int, ok bool) {
	if q.Birth != nil && !slices.Contains(q.Birth, i.BirthDate) {
		return 0, false
	}
	for _, e := range q.Exact {
		if !strings.Contains(Fold(i.Email), e) {
			return 0, false
		}
	}
	if q.Number != "" && !q.called(i) {
		return 0, false
	}
	if len(q.Words) == 0 {
		return 0, true
	}
	names := NameWords(i.Name)
	for _, w := range q.Words {
		best := -1
		for _, n := range names {
			if d := begins(w, n); d >= 0 && (best < 0 || d < best) {
				best = d
			}
		}
		if best < 0 && strings.Contains(Fold(i.Email), string(w)) {
			best = 3
		}
		if best < 0 {
			return 0, false
		}
		score += best
	}
	return score, true
}

// called reports whether the query's digits are part of the person's number. A number with the country code matches a
// stored one with a national zero, because their ends are equal.
func (q *PersonQuery) called(i *Identity) bool {
	kept := subscriber(Digits(i.Phone))
	if kept == "" {
		return false
	}
	if strings.Contains(kept, q.Number) {
		return true
	}
	long, short := q.Number, kept
	return len(short) >= minNumber && len(long) > len(short) && len(long)-len(short) <= maxPrefix &&
		strings.HasSuffix(long, short)
}

// begins returns the number of typos in a word compared with the beginning of a name: an extra, missing or wrong
// letter, or two transposed ones (the restricted Damerau–Levenshtein distance). It returns -1 if there are too many.
// Short words must match exactly.
func begins(word, name []rune) int {
	most := 0
	switch n := len(word); {
	case n >= 7:
		most = 2
	case n >= 4:
		most = 1
	}
	if len(name) >= len(word) && slices.Equal(name[:len(word)], word) {
		return 0
	}
	if most == 0 || len(name) < len(word)-most {
		return -1
	}
	if word[0] != name[0] &&
		(len(word) < 2 || len(name) < 2 || word[1] != name[0] && word[0] != name[1] && word[1] != name[1]) {
		return -1 // two errors at the beginning
	}
	name = name[:min(len(name), len(word)+most)]
	var rows [3][maxWord + 3]int8
	for j := range len(name) + 1 {
		rows[0][j] = int8(j)
	}
	for i := 1; i <= len(word); i++ {
		row, above, before := &rows[i%3], &rows[(i+2)%3], &rows[(i+1)%3]
		row[0] = int8(i)
		for j := 1; j <= len(name); j++ {
			cost := int8(1)
			if word[i-1] == name[j-1] {
				cost = 0
			}
			d := min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && word[i-1] == name[j-2] && word[i-2] == name[j-1] {
				d = min(d, before[j-2]+1)
			}
			row[j] = d
		}
	}
	last := &rows[len(word)%3]
	if d := int(slices.Min(last[:len(name)+1])); d <= most {
		return d
	}
	return -1
}

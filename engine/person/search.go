package person

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/store"
)

// MaxFound is the maximum number of people in one answer.
const MaxFound = 50

// Found is a person in the result of a search.
type Found struct {
	store.Identity        // as the newest appointment spells it
	AppointmentID  string // of the newest appointment
	Appointments   int
	Last           time.Time // the start of the newest appointment

	score int
}

// Find searches for people by any part of a name, a phone number, an email address or a date of birth, or by several
// of these together. Names are folded (accents, ß and ss, ü and ue) and may have one or two typing errors. Phone
// numbers are compared without signs and prefixes. Exact matches come before similar ones; within each, the newest
// come first.
//
// Find reads every appointment, in one search at a time.
func (pe *People) Find(ctx context.Context, query, specialistID string, limit int) ([]Found, error) {
	q := parseQuery(query)
	if q.empty() {
		return nil, nil
	}
	select {
	case pe.turn <- struct{}{}:
		defer func() { <-pe.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	people := make(map[store.Identity]*Found) // only the matches, because all people would take most of the memory
	err := pe.store.Patients(ctx, specialistID, func(p store.PatientAt) {
		f := people[p.Identity]
		if f == nil {
			score, ok := q.match(&p.Identity)
			if !ok {
				return
			}
			f = &Found{Identity: p.Identity, score: score}
			people[p.Identity] = f
		}
		if f.Appointments++; p.SlotStart.After(f.Last) || f.AppointmentID == "" {
			f.AppointmentID, f.Last = p.AppointmentID, p.SlotStart
		}
	})
	if err != nil {
		return nil, err
	}
	found := make([]Found, 0, len(people))
	for _, f := range people {
		found = append(found, *f)
	}
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(cmp.Compare(a.score, b.score), b.Last.Compare(a.Last), cmp.Compare(a.AppointmentID, b.AppointmentID)) < 0
	})
	return joined(found, min(max(limit, 1), MaxFound)), nil
}

// joined merges the spellings of one person, as far as their own data identify them (store.Identity.Is).
func joined(found []Found, limit int) (all []Found) {
	for _, f := range found {
		i := slices.IndexFunc(all, func(o Found) bool { return o.Is(&f.Identity) })
		switch {
		case i < 0 && len(all) == limit:
			return all
		case i < 0:
			all = append(all, f)
		default:
			o := &all[i]
			o.Appointments += f.Appointments
			if f.Last.After(o.Last) {
				o.Identity, o.AppointmentID, o.Last = f.Identity, f.AppointmentID, f.Last
			}
		}
	}
	return all
}

// query has the parsed parts of the search text. All of them must match.
type query struct {
	words  [][]rune // of a name, folded
	exact  []string // with an @, or part of one
	number string   // digits of a phone number, without prefixes
	birth  []string // a date in each order in which it can be read
}

func (q *query) empty() bool {
	return len(q.words) == 0 && len(q.exact) == 0 && q.number == "" && q.birth == nil
}

const maxWord, maxWords = 24, 6

func parseQuery(text string) (q query) {
	var digits strings.Builder
	for _, word := range strings.Fields(text) {
		switch {
		case strings.Contains(word, "@"):
			q.exact = append(q.exact, store.Fold(word))
		case strings.ContainsAny(word, "0123456789"):
			if dates := datesOf(word); dates != nil && q.birth == nil {
				q.birth = dates
				continue
			}
			digits.WriteString(word + " ")
		default:
			for _, w := range wordsOf(word) {
				if len(q.words) < maxWords {
					q.words = append(q.words, w)
				}
			}
		}
	}
	typed := strings.TrimSpace(digits.String())
	if typed == "" {
		return q
	}
	// "31 3 1980": a date with spaces.
	if dates := datesOf(strings.ReplaceAll(typed, " ", ".")); dates != nil && q.birth == nil {
		q.birth = dates
		return q
	}
	if q.number = subscriber(store.Digits(typed)); len(q.number) < 3 {
		q.number = ""
	}
	return q
}

// subscriber returns a phone number without leading zeros. Two notations of a number, with 00 or a plus and the
// country code, or with the national zero, have the same end.
func subscriber(digits string) string { return strings.TrimLeft(digits, "0") }

// datesOf parses a date as ISO, as day and month, and as month and day.
func datesOf(text string) (dates []string) {
	for _, layout := range []string{"2006-01-02", "2006-1-2", "2.1.2006", "2/1/2006", "1/2/2006", "2-1-2006", "02012006", "20060102", "2.1.06", "2/1/06"} {
		t, err := time.Parse(layout, text)
		if err != nil || t.Year() < 1880 {
			continue
		}
		if now := time.Now(); t.After(now) {
			t = t.AddDate(-100, 0, 0) // a year of two digits
		}
		if d := t.Format(time.DateOnly); !slices.Contains(dates, d) {
			dates = append(dates, d)
		}
	}
	return dates
}

// match returns how much a person differs from the query: 0 is an exact match. ok is false if the person does not
// match.
func (q *query) match(i *store.Identity) (score int, ok bool) {
	if q.birth != nil && !slices.Contains(q.birth, i.BirthDate) {
		return 0, false
	}
	for _, e := range q.exact {
		if !strings.Contains(store.Fold(i.Email), e) {
			return 0, false
		}
	}
	if q.number != "" && !q.called(i) {
		return 0, false
	}
	if len(q.words) == 0 {
		return 0, true
	}
	names := wordsOf(i.Name)
	for _, w := range q.words {
		best := -1
		for _, n := range names {
			if d := begins(w, n); d >= 0 && (best < 0 || d < best) {
				best = d
			}
		}
		if best < 0 && strings.Contains(store.Fold(i.Email), string(w)) {
			best = 3
		}
		if best < 0 {
			return 0, false
		}
		score += best
	}
	return score, true
}

// called reports whether the digits are part of the person's number. A number with the country code matches a stored
// one with a national zero, because their ends are equal.
func (q *query) called(i *store.Identity) bool {
	kept := subscriber(store.Digits(i.Phone))
	if kept == "" {
		return false
	}
	if strings.Contains(kept, q.number) {
		return true
	}
	long, short := q.number, kept
	return len(short) >= 7 && len(long) > len(short) && len(long)-len(short) <= 4 && strings.HasSuffix(long, short)
}

// begins returns the number of typing errors by which a word differs from the beginning of a name: an additional,
// missing or different letter, or two exchanged ones (the restricted Damerau–Levenshtein distance). 0 is equal, -1
// too many. Short words must match exactly.
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
	if word[0] != name[0] && (len(word) < 2 || len(name) < 2 || word[1] != name[0] && word[0] != name[1] && word[1] != name[1]) {
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

// wordsOf returns the words of a name, folded: case, accents, ß or ss, and the two ways to write an umlaut do not
// matter.
func wordsOf(name string) (words [][]rune) {
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, plain(word))
			word = nil
		}
	}
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 0x300 && r <= 0x36f: // a combining accent
		case r == '\'' || r == '’' || r == '.':
		case r >= 'a' && r <= 'z' || r >= 0xc0:
			if to, ok := letters[r]; ok {
				word = append(word, []rune(to)...)
			} else {
				word = append(word, r)
			}
		default:
			flush()
		}
	}
	flush()
	return words
}

// plain removes the e from ae, oe and ue, so that Müller, Mueller and Muller are equal, and cuts the word off at
// maxWord.
func plain(word []rune) []rune {
	out, before := make([]rune, 0, len(word)), rune(0)
	for i, r := range word {
		if r == 'e' && i > 0 && (before == 'a' || before == 'o' || before == 'u') {
			before = r
			continue
		}
		out, before = append(out, r), r
	}
	return out[:min(len(out), maxWord)]
}

// letters maps each letter to the letters that it is folded to.
var letters = func() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'ł': "l", 'đ': "d", 'ð': "d", 'þ': "th", 'ı': "i"}
	for base, all := range map[string]string{
		"a": "àáâãäåāăą", "c": "çćĉċč", "d": "ď", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭį", "j": "ĵ", "k": "ķ", "l": "ĺļľ",
		"n": "ñńņň", "o": "òóôõöōŏő", "r": "ŕŗř", "s": "śŝşšș", "t": "ţťŧț", "u": "ùúûüũūŭůűų", "w": "ŵ", "y": "ýÿŷ", "z": "źżž",
	} {
		for _, r := range all {
			m[r] = base
		}
	}
	return m
}()

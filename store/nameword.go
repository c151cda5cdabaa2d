package store

import "strings"

// NameWords returns the words of a name, folded: words that differ only in case, accents, ß or ss, or the spelling of
// an umlaut become equal.
func NameWords(name string) (words [][]rune) {
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
		"a": "àáâãäåāăą", "c": "çćĉċč", "d": "ď", "e": "èéêëēĕėęě", "g": "ĝğġģ", "h": "ĥħ", "i": "ìíîïĩīĭį", "j": "ĵ",
		"k": "ķ", "l": "ĺļľ", "n": "ñńņň", "o": "òóôõöōŏő", "r": "ŕŗř", "s": "śŝşšș", "t": "ţťŧț", "u": "ùúûüũūŭůűų",
		"w": "ŵ", "y": "ýÿŷ", "z": "źżž",
	} {
		for _, r := range all {
			m[r] = base
		}
	}
	return m
}()

// Package sms contains the rules for text messages that require no server: how many segments a message takes, which
// characters a segment can contain, and how a telephone number is written for a gateway. Package sms does not send
// messages; package notice does.
package sms

import (
	"strings"
	"unicode/utf16"
)

// Length is the size of a text as a mobile network counts it.
type Length struct {
	Units    int  // septets in GSM-7, UTF-16 code units in UCS-2
	Segments int  // the messages that the network carries and the gateway charges; 0 for an empty text
	IsUCS2   bool // the text contains a character outside GSM-7, so each segment carries fewer characters
}

// The capacity of a segment (3GPP TS 23.038 and 23.040). In a text with several segments, each segment has a 6-byte
// header.
const (
	oneGSM, manyGSM   = 160, 153
	oneUCS2, manyUCS2 = 70, 67
)

// basic contains the GSM-7 characters that take one septet. extended contains those that take two (3GPP TS 23.038,
// 6.2.1).
const (
	basic = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?" +
		"¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
	extended = "\f^{}\\[~]|€"
)

// Measure returns the length of a text. A character that takes two units is never split between two segments, so a
// segment can be shorter than its capacity.
func Measure(text string) Length {
	units := make([]int, 0, len(text))
	for _, r := range text {
		switch {
		case strings.ContainsRune(basic, r):
			units = append(units, 1)
		case strings.ContainsRune(extended, r):
			units = append(units, 2)
		default:
			units = units[:0]
			for _, r := range text {
				units = append(units, max(1, utf16.RuneLen(r)))
			}
			return measured(units, oneUCS2, manyUCS2, true)
		}
	}
	return measured(units, oneGSM, manyGSM, false)
}

// measured counts the segments of characters with these units.
func measured(units []int, one, many int, isUCS2 bool) Length {
	l := Length{IsUCS2: isUCS2}
	segments, used := 1, 0
	for _, n := range units {
		l.Units += n
		if used+n > many {
			segments, used = segments+1, 0
		}
		used += n
	}
	switch {
	case l.Units > one:
		l.Segments = segments
	case l.Units > 0:
		l.Segments = 1
	}
	return l
}

// similar maps common characters that GSM-7 lacks to similar GSM-7 characters.
var similar = map[rune]string{
	'á': "a", 'â': "a", 'ã': "a", 'Á': "A", 'À': "A", 'Â': "A", 'Ã': "A", 'ç': "c", 'ê': "e", 'ë': "e", 'È': "E",
	'Ê': "E", 'Ë': "E", 'í': "i", 'î': "i", 'ï': "i", 'Í': "I", 'Î': "I", 'Ï': "I", 'ó': "o", 'ô': "o", 'õ': "o",
	'Ó': "O", 'Ô': "O", 'Õ': "O", 'ú': "u", 'û': "u", 'Ú': "U", 'Û': "U", 'Ù': "U", '–': "-", '—': "-", '‘': "'",
	'’': "'", '“': `"`, '”': `"`, '„': `"`, '…': "...", '\u00a0': " ", '\u202f': " ",
}

// Plain returns a text with similar GSM-7 characters in place of those that GSM-7 lacks, if that makes the whole text
// GSM-7: otherwise a single accent would more than halve the segment's capacity. A text in another script is returned
// unchanged.
func Plain(text string) string {
	var b strings.Builder
	for _, r := range text {
		if s, ok := similar[r]; ok {
			b.WriteString(s)
		} else {
			b.WriteRune(r)
		}
	}
	if plain := b.String(); !Measure(plain).IsUCS2 {
		return plain
	}
	return text
}

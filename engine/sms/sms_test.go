package sms

import (
	"strings"
	"testing"
)

// TestMeasureCountsSegments: the limits are those of 3GPP TS 23.038: 160 and 153 septets, 70 and 67 code units.
func TestMeasureCountsSegments(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want Length
	}{
		"empty":                               {"", Length{0, 0, false}},
		"one letter":                          {"a", Length{1, 1, false}},
		"a full segment":                      {strings.Repeat("a", 160), Length{160, 1, false}},
		"one more":                            {strings.Repeat("a", 161), Length{161, 2, false}},
		"two full segments":                   {strings.Repeat("a", 306), Length{306, 2, false}},
		"one more than two":                   {strings.Repeat("a", 307), Length{307, 3, false}},
		"umlauts are GSM-7":                   {"äöüÄÖÜßñ", Length{8, 1, false}},
		"the euro takes two":                  {strings.Repeat("€", 80), Length{160, 1, false}},
		"an escape is not split":              {strings.Repeat("a", 152) + "€" + strings.Repeat("a", 152), Length{306, 3, false}},
		"a line feed is GSM-7":                {"a\nb", Length{3, 1, false}},
		"an accent that GSM-7 lacks":          {"sábado", Length{6, 1, true}},
		"a full UCS-2 segment":                {strings.Repeat("я", 70), Length{70, 1, true}},
		"one more in UCS-2":                   {strings.Repeat("я", 71), Length{71, 2, true}},
		"two full UCS-2 segments":             {strings.Repeat("я", 134), Length{134, 2, true}},
		"one more than two in UCS-2":          {strings.Repeat("я", 135), Length{135, 3, true}},
		"an emoji takes two":                  {"😀", Length{2, 1, true}},
		"a surrogate pair is not split":       {strings.Repeat("я", 66) + "😀" + strings.Repeat("я", 66), Length{134, 3, true}},
		"GSM-7 characters in a UCS-2 text":    {strings.Repeat("{", 69) + "я", Length{70, 1, true}},
		"invalid UTF-8 counts as a character": {"\xff", Length{1, 1, true}},
	} {
		if got := Measure(c.text); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}

func TestPlainKeepsOneEncoding(t *testing.T) {
	for text, want := range map[string]string{
		"Su cita es el sábado – “aquí”…": `Su cita es el sabado - "aqui"...`,
		"Größe, señor, café":             "Größe, señor, café",
		"Встреча – завтра":               "Встреча – завтра",
	} {
		if got := Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestE164CompletesNationalNumbers(t *testing.T) {
	for _, c := range []struct{ phone, code, want string }{
		{"+49 170 1234567", "", "+491701234567"},
		{"+49 (0)170 / 123-4567", "49", "+491701234567"},
		{"0049 170 1234567", "49", "+491701234567"},
		{"0170 1234567", "49", "+491701234567"},
		{"0170 1234567", "", ""},
		{"07700 900123", "44", "+447700900123"},
		{"612 345 678", "34", "+34612345678"},
		{"(415) 555-0100", "1", "+14155550100"},
		{"1 415 555 0100", "1", "+14155550100"},
		{"320 123 4567", "39", "+393201234567"},
		{"06 1234567", "39", "+39061234567"},
		{"+43 660 1234567", "49", "+436601234567"},
		{"112", "49", ""},
		{"+49 170 12345678901234", "49", ""},
		{"+0 170 1234567", "49", ""},
		{"+49 170 call me", "49", ""},
		{"", "49", ""},
	} {
		if got := E164(c.phone, c.code); got != c.want {
			t.Errorf("E164(%q, %q) = %q, want %q", c.phone, c.code, got, c.want)
		}
	}
}

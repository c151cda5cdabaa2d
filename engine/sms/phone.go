package sms

import "strings"

// The length limits of an E.164 number, without the plus. The shortest subscriber numbers with a country code have 7
// digits.
const (
	minDigits = 7
	maxDigits = 15
)

// E164 returns a telephone number in E.164 form, such as +4930123456, or "" if it cannot be one. countryCode is the
// calling code of the clinic's country without the plus, such as "49". If it is empty, E164 returns "" for a number
// without a country code.
//
// A national number loses its trunk prefix: one 0 at the beginning, except in Italy and San Marino, whose numbers keep
// it. In countries with code 1, the trunk prefix is a 1, the same as the code. E164 does not check whether the number
// exists or belongs to a mobile phone: the gateway does that.
func E164(phone, countryCode string) string {
	phone = strings.TrimSpace(phone)
	international := strings.HasPrefix(phone, "+")
	if international {
		phone = strings.ReplaceAll(phone, "(0)", "") // +49 (0)30 …: the trunk prefix is not dialled from abroad
	}
	var b strings.Builder
	for i, r := range phone {
		switch {
		case r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '+' && i == 0:
		case !strings.ContainsRune("-./() \u00a0", r):
			return ""
		}
	}
	number := b.String()
	switch {
	case international:
	case strings.HasPrefix(number, "00"):
		number = number[2:]
	case countryCode == "":
		return ""
	case countryCode == "1" && len(number) == 11 && number[0] == '1':
	case countryCode == "39" || countryCode == "378":
		number = countryCode + number
	default:
		number = countryCode + strings.TrimPrefix(number, "0")
	}
	if len(number) < minDigits || len(number) > maxDigits || number[0] == '0' {
		return ""
	}
	return "+" + number
}

// IsCountryCode reports whether s is a calling code without the plus: 1 to 3 digits that do not begin with 0.
func IsCountryCode(s string) bool {
	return s != "" && len(s) <= 3 && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

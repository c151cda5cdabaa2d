// Package instant formats instants for the API: RFC 3339, always in UTC, with whole seconds, or with milliseconds for
// the end of a hold. Like the functions of strconv, each function appends to a buffer. A list of a thousand slots or a
// frame of the live stream therefore needs no intermediate strings.
//
//	instant.Append(b, t)      // 2026-11-23T09:00:00Z
//	instant.AppendMilli(b, t) // 2026-11-23T09:00:00.000Z
//
// Years must have four digits, as in RFC 3339. The server checks this for every instant that it reads.
package instant

import (
	"sync/atomic"
	"time"
)

// Append appends an instant as `2026-11-23T09:00:00Z`. It truncates fractions of a second. It is several times as fast
// as time.AppendFormat with this layout.
func Append(b []byte, t time.Time) []byte {
	return append(appendSeconds(b, t.Unix()), 'Z')
}

// AppendCopy appends t. b[at:] must begin with the text of the instant written, which was appended earlier. If t is the
// same instant, which is the usual case, AppendCopy copies that text.
func AppendCopy(b []byte, t, written time.Time, at int) []byte {
	if t.Equal(written) {
		same := [len("2026-11-23T09:00:00Z")]byte(b[at:])
		return append(b, same[:]...)
	}
	return Append(b, t)
}

// AppendMilli appends an instant with milliseconds: `2026-11-23T09:00:00.000Z`.
func AppendMilli(b []byte, t time.Time) []byte {
	b = append(appendSeconds(b, t.Unix()), '.')
	rest := t.Nanosecond() / 1e6
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10), 'Z')
}

func appendSeconds(b []byte, unix int64) []byte {
	day, second := floorDiv(unix, 24*60*60)
	date, rest := dateOf(day), uint32(second) // divisions of 32-bit numbers are cheaper
	h, m, s := rest/3600, rest/60%60, rest%60
	b = append(b, date[:]...)
	return append(b, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':', byte('0'+s/10),
		byte('0'+s%10))
}

// AppendClock appends a time of day, such as `09:30`. Both numbers are from 0 to 99.
func AppendClock(b []byte, hour, minute int) []byte {
	return append(b, byte('0'+hour/10), byte('0'+hour%10), ':', byte('0'+minute/10), byte('0'+minute%10))
}

func floorDiv(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

// date is a formatted date, such as "2026-11-23T".
type date struct {
	day  int64 // since 1970-01-01
	text [len("2026-11-23T")]byte
}

// dates caches formatted dates, indexed by the lowest six bits of the day. Nearly all instants are in the next two
// months, so their dates do not displace each other.
var dates [64]atomic.Pointer[date]

func dateOf(day int64) *[len("2026-11-23T")]byte {
	d := dates[day&63].Load()
	if d == nil || d.day != day {
		d = &date{day: day}
		copy(d.text[:], time.Unix(day*24*60*60, 0).UTC().Format("2006-01-02T"))
		dates[day&63].Store(d)
	}
	return &d.text
}

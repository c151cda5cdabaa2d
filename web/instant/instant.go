// Package instant writes instants as the API spells them: RFC 3339, always in UTC, with whole seconds, or with
// milliseconds for the end of a hold. Each function appends to a buffer, as those of strconv do, so that a list of a
// thousand slots or a frame of the live stream is written without a string in between.
//
//	instant.Append(b, t)      // 2026-11-23T09:00:00Z
//	instant.AppendMilli(b, t) // 2026-11-23T09:00:00.000Z
//
// Years have four digits, as in RFC 3339; every instant that the server reads has been checked for that.
package instant

import (
	"sync/atomic"
	"time"
)

// Append adds an instant as `2026-11-23T09:00:00Z`: whole seconds, fractions cut off. It is time.AppendFormat for this
// one layout, several times as fast.
func Append(b []byte, t time.Time) []byte {
	return append(appendSeconds(b, t.Unix()), 'Z')
}

// AppendCopy appends t. b[at:] has an instant that was written before; if t is the same instant, which is the usual
// case, AppendCopy copies its bytes.
func AppendCopy(b []byte, t, written time.Time, at int) []byte {
	if t.Equal(written) {
		same := [len("2026-11-23T09:00:00Z")]byte(b[at:])
		return append(b, same[:]...)
	}
	return Append(b, t)
}

// AppendMilli adds an instant with milliseconds: `2026-11-23T09:00:00.000Z`.
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

// AppendClock adds a time of day, as `09:30`. Both numbers are from 0 to 99.
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

// date is a formatted date, like "2026-11-23T".
type date struct {
	day  int64 // since 1970-01-01
	text [len("2026-11-23T")]byte
}

// dates caches how days are written, by the lowest six bits of the day. Nearly all instants are of the next two months,
// which fit in without displacing each other.
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

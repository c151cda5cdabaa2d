package web

import (
	"sync/atomic"
	"time"
)

// appendInstant adds an instant as `2026-11-23T09:00:00Z`: RFC 3339 in UTC, whole seconds. It is time.AppendFormat for
// this one layout, several times as fast.
func appendInstant(b []byte, t time.Time) []byte {
	return append(appendSeconds(b, t.Unix()), 'Z')
}

// appendSame adds an instant that is most often the one already written at an index of b.
func appendSame(b []byte, t, written time.Time, at int) []byte {
	if t.Equal(written) {
		same := [len("2026-11-23T09:00:00Z")]byte(b[at:])
		return append(b, same[:]...)
	}
	return appendInstant(b, t)
}

// appendInstantMilli adds an instant with milliseconds: `2026-11-23T09:00:00.000Z`.
func appendInstantMilli(b []byte, t time.Time) []byte {
	b = append(appendSeconds(b, t.Unix()), '.')
	rest := t.Nanosecond() / 1e6
	return append(b, byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10), 'Z')
}

func appendSeconds(b []byte, unix int64) []byte {
	day, second := floorDiv(unix, 24*60*60)
	date, rest := dateOf(day), uint32(second) // the divisions of 32 bits are cheaper
	h, m, s := rest/3600, rest/60%60, rest%60
	b = append(b, date[:]...)
	return append(b, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), ':', byte('0'+s/10), byte('0'+s%10))
}

func appendTwo(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

func floorDiv(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

// date is how a day is written, like "2026-11-23T". Years have four digits, as in RFC 3339: all that is read has.
type date struct {
	day  int64 // since 1970-01-01
	text [len("2026-11-23T")]byte
}

// dates are the last ones written, by the lowest bits of their day. Nearly all instants are of the two months to come.
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

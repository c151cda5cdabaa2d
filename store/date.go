package store

import (
	"fmt"
	"time"
)

// Date is a local calendar date. It is not an instant, because it has no time zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the date of t in t's own location.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// ParseDate reads "2006-01-02" and refuses dates that do not exist.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil || len(s) != len(time.DateOnly) {
		return Date{}, fmt.Errorf("%q is not a date such as 2026-11-23", s)
	}
	return DateOf(t), nil
}

func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// AddDays returns the date n days later; n may be negative.
func (d Date) AddDays(n int) Date { return DateOf(d.midnightUTC().AddDate(0, 0, n)) }

// Weekday returns the weekday of the date, the same in every zone.
func (d Date) Weekday() Weekday { return Weekday(d.midnightUTC().Weekday()) }

// Before reports whether d is an earlier date than e.
func (d Date) Before(e Date) bool {
	if d.Year != e.Year {
		return d.Year < e.Year
	}
	if d.Month != e.Month {
		return d.Month < e.Month
	}
	return d.Day < e.Day
}

// DaysUntil returns the number of days from d to e; it is negative if e is earlier.
func (d Date) DaysUntil(e Date) int {
	return int(e.midnightUTC().Sub(d.midnightUTC()) / (24 * time.Hour))
}

func (d Date) midnightUTC() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// MarshalText and UnmarshalText use the format "2006-01-02".
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

func (d *Date) UnmarshalText(b []byte) error {
	v, err := ParseDate(string(b))
	if err == nil {
		*d = v
	}
	return err
}

// TimeOfDay is a wall-clock time in minutes after midnight, 0 to 1440. 1440 is 24:00, the end of the day.
type TimeOfDay int

// ParseTimeOfDay reads "15:04" from 00:00 to 24:00.
func ParseTimeOfDay(s string) (TimeOfDay, error) {
	bad := fmt.Errorf("%q is not a time such as 09:00 (00:00 to 24:00)", s)
	if len(s) != 5 || s[2] != ':' {
		return 0, bad
	}
	for _, i := range [4]int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return 0, bad
		}
	}
	h, m := int(s[0]-'0')*10+int(s[1]-'0'), int(s[3]-'0')*10+int(s[4]-'0')
	if m > 59 || h*60+m > 1440 {
		return 0, bad
	}
	return TimeOfDay(h*60 + m), nil
}

func (t TimeOfDay) String() string { return fmt.Sprintf("%02d:%02d", int(t)/60, int(t)%60) }

// MarshalText and UnmarshalText use the format "15:04".
func (t TimeOfDay) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t *TimeOfDay) UnmarshalText(b []byte) error {
	v, err := ParseTimeOfDay(string(b))
	if err == nil {
		*t = v
	}
	return err
}

// Weekday is time.Weekday with the spelling of the API: "monday".
type Weekday time.Weekday

var weekdays = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func (w Weekday) String() string {
	if w < 0 || int(w) >= len(weekdays) {
		return fmt.Sprintf("weekday %d", int(w))
	}
	return weekdays[w]
}

// MarshalText and UnmarshalText use the format "monday".
func (w Weekday) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

func (w *Weekday) UnmarshalText(b []byte) error {
	for i, name := range weekdays {
		if name == string(b) {
			*w = Weekday(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a weekday such as monday", b)
}

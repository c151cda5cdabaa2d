package ical

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule is a recurrence rule (section 3.3.10), applied to wall-clock times: in this file, a time.Time in UTC represents
// the time that a clock shows. Each day in a range is tested against the rule, so the cost depends only on the number
// of days, not on the rule. Only a rule with a COUNT has to be applied from its beginning.
type rule struct {
	every    frequency
	interval int
	count    int       // 0 means that no COUNT limits the rule
	until    time.Time // zero means that no UNTIL limits the rule
	untilUTC bool      // until is an instant, not a wall time
	dateOnly bool      // until is a date

	months    []int
	monthDays []int
	yearDays  []int
	days      []weekday
	positions []int
	weekStart time.Weekday
}

type frequency int

const (
	daily frequency = iota + 1
	weekly
	monthly
	yearly
)

// weekday is one element of BYDAY: the nth such day of a month or year, counted from the end if negative. 0 means
// every such day.
type weekday struct {
	nth int
	day time.Weekday
}

var (
	errRule  = errors.New("unsupported recurrence rule")
	errSteps = errors.New("the recurrence rules cover too many days")
)

var weekdays = map[string]time.Weekday{"SU": 0, "MO": 1, "TU": 2, "WE": 3, "TH": 4, "FR": 5, "SA": 6}

// parseRule reads the RRULE of an event that starts at start. It returns errRule for a rule that repeats more often
// than daily or by week number.
func parseRule(text string, start time.Time) (*rule, error) {
	r := &rule{interval: 1, weekStart: time.Monday}
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		value = strings.ToUpper(value)
		var ok bool
		switch strings.ToUpper(name) {
		case "":
			ok = true
		case "FREQ":
			r.every, ok = map[string]frequency{"DAILY": daily, "WEEKLY": weekly, "MONTHLY": monthly,
				"YEARLY": yearly}[value]
		case "INTERVAL":
			r.interval, ok = number(value, 1, 100000)
		case "COUNT":
			r.count, ok = number(value, 1, 1000000)
		case "UNTIL":
			r.until, r.dateOnly, ok = wallTime(strings.TrimSuffix(value, "Z"))
			r.untilUTC = strings.HasSuffix(value, "Z")
		case "WKST":
			r.weekStart, ok = weekdays[value]
		case "BYMONTH":
			r.months, ok = numbers(value, 1, 12)
		case "BYMONTHDAY":
			r.monthDays, ok = numbers(value, -31, 31)
		case "BYYEARDAY":
			r.yearDays, ok = numbers(value, -366, 366)
		case "BYSETPOS":
			r.positions, ok = numbers(value, -366, 366)
		case "BYDAY":
			r.days, ok = daysOf(value)
		case "BYHOUR":
			ok = value == strconv.Itoa(start.Hour()) // redundant: some programs repeat the start
		case "BYMINUTE":
			ok = value == strconv.Itoa(start.Minute())
		case "BYSECOND":
			ok = value == strconv.Itoa(start.Second())
		}
		if !ok {
			return nil, errRule
		}
	}
	if r.every == 0 || len(r.yearDays) > 0 && r.every != yearly || r.every < monthly &&
		slices.ContainsFunc(r.days, func(d weekday) bool { return d.nth != 0 }) {
		return nil, errRule
	}
	r.complete(start)
	return r, nil
}

// complete fills in the parts that a rule omits, based on the rule's start.
func (r *rule) complete(start time.Time) {
	if len(r.monthDays) > 0 || len(r.yearDays) > 0 || len(r.days) > 0 {
		return
	}
	switch r.every {
	case weekly:
		r.days = []weekday{{0, start.Weekday()}}
	case monthly:
		r.monthDays = []int{start.Day()}
	case yearly:
		r.monthDays = []int{start.Day()}
		if len(r.months) == 0 {
			r.months = []int{int(start.Month())}
		}
	}
}

func number(s string, least, most int) (int, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(s, "+"))
	return n, err == nil && n >= least && n <= most && n != 0
}

func numbers(s string, least, most int) (all []int, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		n, ok := number(part, least, most)
		if !ok || len(all) == 400 {
			return nil, false
		}
		all = append(all, n)
	}
	return all, true
}

func daysOf(s string) (all []weekday, ok bool) {
	for part := range strings.SplitSeq(s, ",") {
		if len(part) < 2 || len(all) == 400 {
			return nil, false
		}
		at := len(part) - 2
		day, known := weekdays[part[at:]]
		nth := 0
		if at > 0 {
			var ok bool
			if nth, ok = number(part[:at], -53, 53); !ok {
				return nil, false
			}
		}
		if !known {
			return nil, false
		}
		all = append(all, weekday{nth, day})
	}
	return all, true
}

const day = 24 * time.Hour

// midnight returns the beginning of a wall time's day.
func midnight(t time.Time) time.Time { return t.Truncate(day) }

// between lists the wall times in [from, to) of a repetition that begins at start. The caller must have converted until
// to a wall time. steps is the number of days that may still be tested. between reduces it and returns errSteps when
// none are left.
func (r *rule) between(start, from, to time.Time, steps *int) (all []time.Time, err error) {
	clock := start.Sub(midnight(start))
	counted := 0
	k := 0
	if r.count == 0 {
		k = r.periodsBefore(start, from)
	}
	for ; ; k++ {
		first, length := r.period(start, k)
		if !first.Before(to) || !r.until.IsZero() && first.After(r.until) {
			return all, nil
		}
		if *steps -= length; *steps < 0 {
			return nil, errSteps
		}
		for _, at := range r.inPeriod(first, length) {
			at = at.Add(clock)
			if at.Before(start) {
				continue
			}
			if !r.until.IsZero() && at.After(r.until) || !at.Before(to) {
				return all, nil
			}
			if counted++; r.count > 0 && counted > r.count {
				return all, nil
			}
			if !at.Before(from) {
				all = append(all, at)
			}
		}
	}
}

// period returns the first day and the length in days of the k-th day, week, month or year of the rule.
func (r *rule) period(start time.Time, k int) (first time.Time, length int) {
	n := k * r.interval
	switch r.every {
	case daily:
		return midnight(start).AddDate(0, 0, n), 1
	case weekly:
		return r.week(start).AddDate(0, 0, 7*n), 7
	case monthly:
		first = time.Date(start.Year(), start.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		return first, first.AddDate(0, 1, -1).Day()
	}
	first = time.Date(start.Year()+n, 1, 1, 0, 0, 0, 0, time.UTC)
	return first, first.AddDate(1, 0, -1).YearDay()
}

// week returns the first day of the week of a wall time.
func (r *rule) week(t time.Time) time.Time {
	return midnight(t).AddDate(0, 0, -(int(t.Weekday()-r.weekStart)+7)%7)
}

// periodsBefore counts the periods that end before a wall time.
func (r *rule) periodsBefore(start, from time.Time) int {
	if !from.After(start) {
		return 0
	}
	var n int
	switch r.every {
	case daily:
		n = int(from.Sub(midnight(start)) / day)
	case weekly:
		n = int(from.Sub(r.week(start)) / (7 * day))
	case monthly:
		n = (from.Year()-start.Year())*12 + int(from.Month()-start.Month())
	case yearly:
		n = from.Year() - start.Year()
	}
	return max(0, n/r.interval-1)
}

// inPeriod lists the days of a period on which the event repeats.
func (r *rule) inPeriod(first time.Time, length int) (all []time.Time) {
	for i := range length {
		if at := first.AddDate(0, 0, i); r.has(at) {
			all = append(all, at)
		}
	}
	if len(r.positions) == 0 || len(all) == 0 {
		return all
	}
	var chosen []time.Time
	for _, p := range r.positions {
		if p < 0 {
			p += len(all) + 1
		}
		if p >= 1 && p <= len(all) {
			chosen = append(chosen, all[p-1])
		}
	}
	slices.SortFunc(chosen, time.Time.Compare)
	return slices.CompactFunc(chosen, time.Time.Equal)
}

// has reports whether the day matches every BY… part of the rule except BYSETPOS.
func (r *rule) has(at time.Time) bool {
	month := time.Date(at.Year(), at.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	year := time.Date(at.Year(), 12, 31, 0, 0, 0, 0, time.UTC).YearDay()
	switch {
	case len(r.months) > 0 && !slices.Contains(r.months, int(at.Month())),
		len(r.monthDays) > 0 && !slices.Contains(r.monthDays, at.Day()) &&
			!slices.Contains(r.monthDays, at.Day()-month-1),
		len(r.yearDays) > 0 && !slices.Contains(r.yearDays, at.YearDay()) &&
			!slices.Contains(r.yearDays, at.YearDay()-year-1):
		return false
	case len(r.days) == 0:
		return true
	}
	n, length := at.Day(), month // day and length of the month, or of the year if no month is named
	if r.every == yearly && len(r.months) == 0 {
		n, length = at.YearDay(), year
	}
	return slices.ContainsFunc(r.days, func(d weekday) bool {
		return d.day == at.Weekday() && (d.nth == 0 || d.nth == (n-1)/7+1 || d.nth == -((length-n)/7+1))
	})
}

package words

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Day returns a date, such as Monday 23 November 2026.
func (l *Language) Day(t time.Time) string { return l.format("date.day", t) }

// ShortDay returns a date without its year for a text message, such as Mon 23 Nov.
func (l *Language) ShortDay(t time.Time) string { return l.format("date.short", t) }

// BirthDate returns a date in figures, such as 23/11/2026.
func (l *Language) BirthDate(t time.Time) string { return l.format("date.birth", t) }

// Spoken returns a date and a time of day, worded to be read aloud without being misheard, such as "Monday, November
// 23rd at 10 AM". Languages have their own formats for a full hour and for one o'clock.
func (l *Language) Spoken(t time.Time) string {
	key := "date.spoken"
	if t.Hour() == 1 {
		key += ".one"
	}
	if t.Minute() == 0 {
		key += ".hour"
	}
	return l.format(key, t)
}

// format fills in the placeholders that a format in date.json can contain.
func (l *Language) format(key string, t time.Time) string {
	return l.Fill(key, "weekday", l.Text("date.weekday."+strings.ToLower(t.Weekday().String())), "day",
		strconv.Itoa(t.Day()), "dd", t.Format("02"), "ordinal", ordinal(t.Day()), "month",
		l.Text("date.month."+strings.ToLower(t.Month().String())), "mm", t.Format("01"), "weekday2",
		first(l.Text("date.weekday."+strings.ToLower(t.Weekday().String())), 2), "weekday3",
		first(l.Text("date.weekday."+strings.ToLower(t.Weekday().String())), 3), "month3",
		first(l.Text("date.month."+strings.ToLower(t.Month().String())), 3), "year", strconv.Itoa(t.Year()), "yyyy",
		t.Format("2006"), "hour", strconv.Itoa(t.Hour()), "clock", t.Format("15:04"), "hour12", t.Format("3 PM"),
		"clock12", t.Format("3:04 PM"))
}

// first returns the first n letters of a word.
func first(word string, n int) string {
	letters := []rune(word)
	return string(letters[:min(n, len(letters))])
}

// ordinal returns the English ordinal number of a day of a month.
func ordinal(n int) string {
	suffix := "th"
	switch {
	case n >= 11 && n <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprint(n, suffix)
}

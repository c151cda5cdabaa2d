package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// query reads the parameters of a GET and collects their errors.
type query struct {
	values url.Values
	mistakes
}

// queryOf returns the parameters of a search that the caller sent in the body instead of the URL.
func queryOf(values url.Values, limit *int) *query {
	if limit != nil {
		values.Set("limit", strconv.Itoa(*limit))
	}
	return &query{values: values}
}

func (c *call) query() *query {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	q := &query{values: values}
	if err != nil {
		q.add("query", "must be name=value pairs joined by &, with other characters percent-encoded")
	}
	return q
}

// text reads a parameter that may appear at most once. It returns "" if the parameter is missing.
func (q *query) text(name string) string {
	given := q.values[name]
	if len(given) == 0 {
		return ""
	}
	if len(given) > 1 {
		q.add(name, "must appear only once")
		q.values[name] = given[:1]
	}
	return given[0]
}

// several reads a parameter that may be repeated. It returns each value once, even if the caller sent it several times.
func (q *query) several(name string, allowed []string) []string {
	var list []string
	for _, value := range q.values[name] {
		switch {
		case !slices.Contains(allowed, value):
			q.add(name, "must be one of "+strings.Join(allowed, ", "))
			return nil
		case !slices.Contains(list, value):
			list = append(list, value)
		}
	}
	return list
}

// id reads an optional id.
func (q *query) id(name string) string {
	s := q.text(name)
	if s != "" && !record.ValidID(s) {
		q.add(name, "must be 1 to 64 characters of A-Z a-z 0-9 _ -")
	}
	return s
}

// date reads a local date. It returns the zero Date if the parameter is missing.
func (q *query) date(name string) store.Date {
	s := q.text(name)
	if s == "" {
		return store.Date{}
	}
	return q.parseDate(name, s)
}

func (m *mistakes) parseDate(field, s string) store.Date {
	d, err := store.ParseDate(s)
	if err != nil || d.Year < 2000 || d.Year > 2200 {
		m.add(field, "must be a date that exists, like 2026-11-23")
		return store.Date{}
	}
	return d
}

// instant reads an RFC 3339 instant. It returns the zero time if the parameter is missing. It replaces spaces with +,
// because a + that the caller did not encode is decoded to a space.
func (q *query) instant(name string) time.Time {
	s := strings.ReplaceAll(q.text(name), " ", "+")
	t := q.mistakes.instant(name, s)
	if !t.IsZero() && (t.Year() < 2000 || t.Year() > 2200) {
		q.add(name, "must be between the years 2000 and 2200")
	}
	return t
}

// bound reads one end of a range: an instant, or a local date, which stands for its first instant in the zone.
func (q *query) bound(name string, zone *time.Location) time.Time {
	if len(q.text(name)) > len(time.DateOnly) {
		return q.instant(name)
	}
	d := q.date(name)
	if d == (store.Date{}) {
		return time.Time{}
	}
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, zone).UTC()
}

// whole reads a number within bounds. It returns fallback if the parameter is missing.
func (q *query) whole(name string, low, high, fallback int) int {
	s := q.text(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		q.add(name, "must be a whole number from "+strconv.Itoa(low)+" to "+strconv.Itoa(high))
		return fallback
	}
	return n
}

// flag reads true or false. It returns false if the parameter is missing.
func (q *query) flag(name string) bool {
	switch q.text(name) {
	case "", "false":
		return false
	case "true":
		return true
	}
	q.add(name, "must be true or false")
	return false
}

// client returns the client of a GET from its header or query. It returns "" if neither names one.
func (q *query) client(c *call) holds.ClientID {
	if err := c.resolveClient(q.text("clientId")); err != nil {
		q.add("clientId", "differs from the header Holdfast-Client; send one of the two, or the same in both")
		return ""
	}
	if s := string(c.client); s != "" && !validClient(s) {
		q.add("clientId", "must be 16 to 128 printable characters without spaces")
	}
	return c.client
}

func validClient(s string) bool {
	if len(s) < 16 || len(s) > 128 {
		return false
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

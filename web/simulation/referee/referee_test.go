package referee

import (
	"strings"
	"testing"
	"time"
)

// These tests check that the referee finds errors. Each case violates one guarantee, and the referee must report it.

var monday = time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)

func at(hour, minute int) time.Time {
	return monday.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
}

func newReferee() *Referee {
	s := &Specialist{ID: "ada", Zone: time.UTC, Weekly: map[time.Weekday][]Window{time.Monday: {{From: 540, To: 720}}},
		Overrides: map[string][]Window{}, Blocks: map[string]Block{}}
	return New(Clinic{Zone: time.UTC, Specialists: map[string]*Specialist{"ada": s,
		"ben": {ID: "ben", Zone: time.UTC, Weekly: s.Weekly}}, Types: map[string]*Type{
		"checkup": {ID: "checkup", Minutes: 30, Step: 30, Capacity: 1, Cooldown: 60,
			Priorities: map[string]int{"ada": 1}},
		"surgery": {ID: "surgery", Minutes: 60, Step: 30, Before: 15, After: 30, Capacity: 1,
			Priorities: map[string]int{"ada": 1}},
		"class": {ID: "class", Minutes: 60, Step: 60, Capacity: 2, Priorities: map[string]int{"ada": 1, "ben": 2}},
	}})
}

func (r *Referee) appointment(id, kind string, start time.Time) Appointment {
	return Appointment{Span: r.SpanOf(kind, "ada", start), ID: id, Client: "jo", Created: at(8, 0)}
}

func TestRefereeFindsBrokenPromises(t *testing.T) {
	r := newReferee()
	mustNot(t, r.Booked(r.appointment("a", "checkup", at(9, 0))))
	held := Hold{Span: r.SpanOf("checkup", "ada", at(10, 0)), ID: "h", Client: "jo", Until: at(8, 5)}
	mustNot(t, r.Held(held, at(8, 0)))
	row := Row{Span: r.SpanOf("checkup", "ada", at(9, 0)), ID: "a"}
	moved, gone, seat := row, row, row
	moved.Start, gone.Cancelled, seat.Seat = at(11, 0), true, 1
	early := held
	early.Client, early.ID = "bo", "i"
	booked := early
	booked.Span = r.SpanOf("checkup", "ada", at(9, 0))
	free := []Slot{{at(9, 30), 1, []string{"ada"}}, {at(10, 0), 1, []string{"ada"}}, {at(10, 30), 1, []string{"ada"}},
		{at(11, 0), 1, []string{"ada"}}, {at(11, 30), 1, []string{"ada"}}}
	offers := func(list []Slot) error { return r.Offers("checkup", "ada", "", "jo", monday, 1, list, at(8, 0)) }
	mustNot(t, offers(free))
	mustNot(t, r.Recorded([]Row{row}, true))
	mustNot(t, r.Listed([]Hold{held}, at(8, 1)))
	for what, err := range map[string]error{
		"double booking":                    newBooked(r.appointment("b", "surgery", at(9, 15))),
		"a buffer":                          newBooked(r.appointment("b", "surgery", at(9, 40))),
		"no client has booked it":           r.Cancelled("unknown"),
		"but the database has":              r.Recorded([]Row{moved}, true),
		"cancelled true":                    r.Recorded([]Row{gone}, true),
		"seat 1":                            r.Recorded([]Row{seat}, true),
		"acknowledged and lost":             r.Recorded(nil, true),
		"that no client has booked":         r.Recorded([]Row{{Span: row.Span, ID: "x"}}, false),
		"two clients hold the same time":    r.Held(early, at(8, 1)),
		"but is booked":                     r.Held(booked, at(8, 1)),
		"is missing":                        r.Listed(nil, at(8, 1)),
		"expired":                           r.Listed([]Hold{held}, at(8, 6)),
		"no client was granted":             r.Listed([]Hold{early}, at(8, 6)),
		"10:00:00Z is listed (false)":       offers(append(free[:1:1], free[2:]...)),
		"09:00:00Z is listed (true)":        offers(append([]Slot{{at(9, 0), 1, []string{"ada"}}}, free...)),
		"is not a start":                    offers(append(free, Slot{at(12, 0), 1, []string{"ada"}})),
		"out of order":                      offers(append(free[1:2:2], free[0])),
		"is listed as free with [ben]":      offers(append([]Slot{{at(9, 30), 1, []string{"ben"}}}, free[1:]...)),
		"double booking in the database: a": r.Recorded([]Row{row, {Span: row.Span, ID: "a"}}, false),
	} {
		if err == nil || what != "a buffer" && !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// newBooked books an appointment at 9:00, and then another one.
func newBooked(more Appointment) error {
	r := newReferee()
	if err := r.Booked(r.appointment("a", "checkup", at(9, 0))); err != nil {
		return err
	}
	return r.Booked(more)
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("a correct history was reported as broken: %v", err)
	}
}

func TestExpectationsFollowRules(t *testing.T) {
	r := newReferee()
	mustNot(t, r.Booked(r.appointment("a", "checkup", at(9, 0))))
	mustNot(t, r.Held(Hold{Span: r.SpanOf("checkup", "ada", at(10, 0)), ID: "h", Client: "jo", Until: at(8, 5)},
		at(8, 0)))
	for _, c := range []struct {
		kind, client string
		start, now   time.Time
		want         Answer
		who          string
	}{
		{"checkup", "bo", at(9, 30), at(8, 0), Granted, "ada"},
		{"checkup", "bo", at(9, 0), at(8, 0), Refused, ""},
		{"checkup", "bo", at(10, 0), at(8, 1), Refused, ""},
		{"checkup", "bo", at(10, 0), at(8, 6), Granted, "ada"},
		{"checkup", "bo", at(10, 0), at(8, 5), Either, ""},
		{"checkup", "jo", at(10, 0), at(8, 1), Granted, ""},
		{"checkup", "bo", at(9, 15), at(8, 0), Refused, ""},
		{"checkup", "bo", at(9, 30), at(9, 31), Refused, ""},
		{"surgery", "bo", at(9, 30), at(8, 0), Refused, ""},
		{"class", "bo", at(9, 0), at(8, 0), Granted, "ben"},
	} {
		if got, who := r.Expect(c.kind, "", "", c.client, c.start, c.now); got != c.want || who != c.who {
			t.Errorf("%s by %s at %s, requested at %s: got %v %q, want %v %q", c.kind, c.client, c.start, c.now, got, who,
				c.want, c.who)
		}
	}
	for minutes, want := range map[int]Answer{59: Refused, 60: Either, 61: Granted} {
		if got := r.Cooling("checkup", "jo", at(8, minutes)); got != want {
			t.Errorf("%d minutes later, the cooldown is %v, want %v", minutes, got, want)
		}
	}
	if got := len(r.FreeSeats(r.SpanOf("class", "ben", at(9, 0)), "")); got != 2 {
		t.Errorf("a class has %d seats, want 2", got)
	}
}

// TestWallIsTheRuleOfRFC5545: a skipped time moves forward by the gap, and a time that occurs twice means its first
// occurrence.
func TestWallIsTheRuleOfRFC5545(t *testing.T) {
	for _, c := range []struct {
		zone    string
		m       time.Month
		d       int
		minute  int
		instant string
	}{
		{"Europe/Berlin", 3, 29, 150, "2026-03-29T01:30:00Z"}, {"Europe/Berlin", 10, 25, 150, "2026-10-25T00:30:00Z"},
		{"America/New_York", 3, 8, 150, "2026-03-08T07:30:00Z"},
		{"America/New_York", 11, 1, 90, "2026-11-01T05:30:00Z"},
		{"Australia/Lord_Howe", 10, 4, 135, "2026-10-03T15:45:00Z"},
		{"Asia/Kolkata", 6, 1, 1440, "2026-06-01T18:30:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		if got := Wall(zone, 2026, c.m, c.d, c.minute).UTC().Format(time.RFC3339); got != c.instant {
			t.Errorf("%s %d-%d minute %d: got %s, want %s", c.zone, c.m, c.d, c.minute, got, c.instant)
		}
	}
}

func TestRefereeFindsBrokenStream(t *testing.T) {
	r := newReferee()
	held := Hold{Span: r.SpanOf("checkup", "ada", at(10, 0)), ID: "h", Client: "jo", Until: at(8, 5)}
	all, who := map[string]*Hold{"h": &held}, map[string]int{"ada": 1}
	begin := []string{`data: {"type":"init"}`, `data: {"type":"connected"}`}
	live := []string{"id: e-7", `data: {"type":"hold","holdId":"h"}`}
	for name, c := range map[string]struct {
		lines []string
		list  []Hold
		now   time.Time
		want  string
	}{
		"whole":          {append(begin, live...), []Hold{held}, at(8, 1), ""},
		"an event lost":  {begin, []Hold{held}, at(8, 1), "never sent"},
		"an end lost":    {append(begin, live...), nil, at(8, 6), "the end of the hold"},
		"doubled":        {append(append(begin, live...), live...), []Hold{held}, at(8, 1), "arrived after"},
		"another epoch":  {append(append(begin, live...), "id: f-8", live[1]), []Hold{held}, at(8, 1), "epoch changed"},
		"after its end":  {append(begin, `data: {"type":"end","reason":"x"}`, live[1]), nil, at(8, 1), "after the end"},
		"twice the head": {append(begin, begin...), nil, at(8, 1), "connected twice"},
	} {
		p := NewReader()
		var err error
		for _, line := range c.lines {
			if err == nil {
				err = p.Line(line)
			}
		}
		if err == nil {
			err = p.Agrees(c.list, all, who, c.now)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

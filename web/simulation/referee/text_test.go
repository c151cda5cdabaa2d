package referee

import (
	"strings"
	"testing"
	"time"
)

// texts returns a referee with an appointment on Wednesday at 9:00, booked on Monday at 8:00, whose patient gets text
// messages.
func texts(t *testing.T) *Referee {
	t.Helper()
	r := newReferee()
	mustNot(t, r.Booked(r.appointment("a", "checkup", at(2*24+9, 0))))
	r.Agrees("a", "+4930123456", at(8, 0), at(8, 0))
	r.ReviewTexts(at(8, 1))
	return r
}

const sentLink = " Change or cancel: https://book.clinic.example/m#token"

// message returns a text message that the gateway accepted.
func message(body string, at time.Time) Text {
	return Text{To: "+4930123456", Body: "Harbour Clinic: " + body, At: at, Settled: true, Taken: true}
}

const confirmed = "your appointment is on Wed 25 Nov, 09:00." + sentLink

const newTime = "new time for your appointment: Wed 25 Nov, 09:00." + sentLink

func TestRefereeFindsWrongTexts(t *testing.T) {
	t.Parallel()
	toLater := func(t *testing.T, r *Referee) { // an hour later, at the same place
		r.Specialists["ada"].Weekly[time.Wednesday] = []Window{{From: 540, To: 720}}
		mustNot(t, r.Booked(r.appointment("a", "checkup", at(2*24+10, 0))))
		r.ReviewTexts(at(9, 0))
	}
	remind := func(when time.Time) Text {
		return message("reminder of your appointment on Wed 25 Nov, 09:00."+sentLink, when)
	}
	for name, c := range map[string]struct {
		before func(*testing.T, *Referee)
		text   func() Text
		want   string // of the error; empty means none
	}{
		"a confirmation": {text: func() Text { return message(confirmed, at(8, 0)) }},
		"another number": {text: func() Text {
			m := message(confirmed, at(8, 0))
			m.To = "+4930000000"
			return m
		}, want: "without consent"},
		"after the agreement was withdrawn": {before: func(_ *testing.T, r *Referee) {
			r.Agrees("a", "", at(9, 0), at(9, 0))
		}, text: func() Text { return message(confirmed, at(9, 5)) }, want: "without consent"},
		"another time": {text: func() Text {
			return message("your appointment is on Wed 25 Nov, 10:00."+sentLink, at(8, 0))
		}, want: "about no appointment"},
		"the time before a move": {before: func(t *testing.T, r *Referee) {
			mustNot(t, r.Booked(r.appointment("a", "checkup", at(2*24+10, 0))))
			r.ReviewTexts(at(9, 0))
		}, text: func() Text { return message(confirmed, at(9, 5)) }, want: "about no appointment"},
		"a regular place for an overbooked appointment": {before: func(t *testing.T, r *Referee) {
			a := r.appointment("a", "checkup", at(2*24+9, 0))
			a.Overbook = true
			mustNot(t, r.Booked(a))
			r.ReviewTexts(at(8, 30))
			a.Overbook = false
			mustNot(t, r.Texted(message(newTime, at(8, 30))))
			mustNot(t, r.Booked(a))
			r.ReviewTexts(at(9, 0))
		}, text: func() Text { return message(newTime, at(9, 0)) }},
		"a new place": {before: toLater, text: func() Text {
			return message("new time and place for your appointment: Wed 25 Nov, 10:00."+sentLink, at(9, 0))
		}, want: "about no appointment"},
		"the same time": {before: toLater, text: func() Text {
			return message("your appointment on Wed 25 Nov, 10:00 has changed (same time)."+sentLink, at(9, 0))
		}, want: "about no appointment"},
		"a new time": {before: toLater, text: func() Text {
			return message("new time for your appointment: Wed 25 Nov, 10:00."+sentLink, at(9, 0))
		}},
		"a new place, sent after a second move": {before: func(t *testing.T, r *Referee) {
			r.Specialists["ada"].Weekly[time.Wednesday] = []Window{{From: 540, To: 600, Place: "north"},
				{From: 600, To: 720, Place: "south"}}
			for _, hour := range []int{10, 11} {
				mustNot(t, r.Booked(r.appointment("a", "checkup", at(2*24+hour, 0))))
				r.ReviewTexts(at(9, 0))
			}
		}, text: func() Text {
			return message("new time and place for your appointment: Wed 25 Nov, 11:00."+sentLink, at(9, 1))
		}},
		"a second confirmation": {before: func(t *testing.T, r *Referee) {
			mustNot(t, r.Texted(message(confirmed, at(8, 0))))
		}, text: func() Text { return message(confirmed, at(8, 1)) }, want: "and 1 were due"},
		"a repeat after the gateway was busy": {before: func(t *testing.T, r *Referee) {
			busy := message(confirmed, at(8, 0))
			busy.Settled, busy.Taken = false, false
			mustNot(t, r.Texted(busy))
		}, text: func() Text { return message(confirmed, at(8, 1)) }},
		"the type": {text: func() Text {
			return message("your checkup is on Wed 25 Nov, 09:00."+sentLink, at(8, 0))
		}, want: `contains "checkup"`},
		"two segments": {text: func() Text {
			return message(strings.Repeat("Dear patient, ", 10)+confirmed, at(8, 0))
		}, want: "characters"},
		"no link": {text: func() Text {
			return message("your appointment is on Wed 25 Nov, 09:00.", at(8, 0))
		}, want: "the wrong link"},
		// two hours before the start is in the quiet hours, so that reminder is due at 21:00 on the day before
		"a reminder":          {text: func() Text { return remind(at(24+21, 0)) }},
		"a reminder at night": {text: func() Text { return remind(at(24+22, 0)) }, want: "at night"},
		"a reminder too early": {text: func() Text { return remind(at(24+20, 0)) },
			want: "and 0 were due"},
		"a second reminder": {before: func(t *testing.T, r *Referee) {
			mustNot(t, r.Texted(remind(at(24+21, 0))))
		}, text: func() Text { return remind(at(24+21, 1)) }, want: "and 1 were due"},
		"a cancellation of no cancelled appointment": {text: func() Text {
			return message("your appointment on Wed 25 Nov, 09:00 was cancelled.", at(8, 0))
		}, want: "about no appointment"},
	} {
		t.Run(name, func(t *testing.T) {
			r := texts(t)
			if c.before != nil {
				c.before(t, r)
			}
			err := r.Texted(c.text())
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestRefereeMissesTextsThatWereDue(t *testing.T) {
	t.Parallel()
	healthy := func(from, until time.Time) time.Duration { return until.Sub(from) }
	// the gateway is unreachable on Tuesday evening, when the night's reminders are sent
	evening := func(from, until time.Time) (worked time.Duration) {
		for ; from.Before(until); from = from.Add(time.Minute) {
			if from.Before(at(24+20, 50)) || !from.Before(at(24+21, 30)) {
				worked += time.Minute
			}
		}
		return worked
	}
	booked := []Text{message(confirmed, at(8, 0))}
	for name, c := range map[string]struct {
		now       time.Time
		arrived   []Text
		health    func(from, until time.Time) time.Duration
		undecided bool
		want      string
	}{
		"no confirmation": {now: at(12, 0), health: healthy, want: "reschedule"},
		"a confirmation": {now: at(12, 0), health: healthy,
			arrived: []Text{message(confirmed, at(8, 0))}},
		"no confirmation in the first minute": {now: at(8, 1), health: healthy},
		"the gateway was unreachable": {now: at(12, 0),
			health: func(time.Time, time.Time) time.Duration { return 0 }},
		"the desk decides": {now: at(12, 0), health: healthy, undecided: true},
		"no reminder":      {now: at(2*24, 0), health: healthy, arrived: booked, want: "(reminder)"},
		"no reminder, early in the morning after an evening without the gateway": {now: at(2*24+8, 20),
			health: evening, arrived: booked},
		"no reminder, half an hour after that night": {now: at(2*24+8, 31), health: evening, arrived: booked,
			want: "(reminder)"},
	} {
		t.Run(name, func(t *testing.T) {
			r := texts(t)
			for _, m := range c.arrived {
				mustNot(t, r.Texted(m))
			}
			err := r.TextsDue(c.now, c.health, func(string, string) bool { return c.undecided })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// group returns a referee with a visit of three people on Wednesday at 9:00, 10:00 and 11:00, booked on Monday at 8:00.
// All of them get text messages at one number.
func group(t *testing.T) *Referee {
	t.Helper()
	r := newReferee()
	ids := []string{"a", "b", "c"}
	for i, id := range ids {
		mustNot(t, r.Booked(r.appointment(id, "checkup", at(2*24+9+i, 0))))
		r.Agrees(id, "+4930123456", at(8, 0), at(8, 0))
	}
	r.ReviewTogether(ids, at(8, 0))
	r.Visit(ids)
	return r
}

const groupBooked = "3 appointments are booked, the first on Wed 25 Nov, 09:00." + sentLink

func TestRefereeFindsWrongGroupTexts(t *testing.T) {
	t.Parallel()
	cancelled := func(t *testing.T, r *Referee, ids ...string) {
		for _, id := range ids {
			mustNot(t, r.Cancelled(id))
		}
		r.ReviewTogether(ids, at(9, 0))
	}
	for name, c := range map[string]struct {
		before func(*testing.T, *Referee)
		text   Text
		want   string // of the error; empty means none
	}{
		"one message": {text: message(groupBooked, at(8, 0))},
		"a message for each appointment": {before: func(t *testing.T, r *Referee) {
			mustNot(t, r.Texted(message(groupBooked, at(8, 0))))
		}, text: message(confirmed, at(8, 0)), want: "and 0 were due"},
		"a second message": {before: func(t *testing.T, r *Referee) {
			mustNot(t, r.Texted(message(groupBooked, at(8, 0))))
		}, text: message(groupBooked, at(8, 1)), want: "message number 2"},
		"the second as the first": {
			text: message("2 appointments are booked, the first on Wed 25 Nov, 10:00."+sentLink, at(8, 5)),
			want: "no such change"},
		"one too many": {text: message("4 appointments are booked, the first on Wed 25 Nov, 09:00."+sentLink,
			at(8, 5)), want: "no such change"},
		"one that was cancelled": {before: func(t *testing.T, r *Referee) { cancelled(t, r, "c") },
			text: message(groupBooked, at(9, 5)), want: "no such change"},
		"without one that was cancelled": {before: func(t *testing.T, r *Referee) { cancelled(t, r, "c") },
			text: message("2 appointments are booked, the first on Wed 25 Nov, 09:00."+sentLink, at(9, 5))},
		"the last that is left": {before: func(t *testing.T, r *Referee) { cancelled(t, r, "b", "c") },
			text: message(confirmed, at(9, 5))},
		"an ended one": {text: message(groupBooked, at(2*24+10, 50)), want: "no such change"},
		"all are cancelled": {before: func(t *testing.T, r *Referee) { cancelled(t, r, "a", "b", "c") },
			text: message("3 appointments were cancelled, the first on Wed 25 Nov, 09:00.", at(9, 5))},
		"none was moved": {text: message("3 appointments have new times, the first: Wed 25 Nov, 09:00."+sentLink,
			at(9, 5)), want: "no such change"},
		"the reminder of the first": {
			text: message("reminder of your appointment on Wed 25 Nov, 09:00."+sentLink, at(24+21, 0))},
		"the reminder of the second": {
			text: message("reminder of your appointment on Wed 25 Nov, 10:00."+sentLink, at(2*24+8, 0)),
			want: "and 0 were due"},
		"the reminder of the second, which is now the first": {
			before: func(t *testing.T, r *Referee) { cancelled(t, r, "a") },
			text:   message("reminder of your appointment on Wed 25 Nov, 10:00."+sentLink, at(2*24+8, 0))},
	} {
		t.Run(name, func(t *testing.T) {
			r := group(t)
			if c.before != nil {
				c.before(t, r)
			}
			err := r.Texted(c.text)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestRefereeMissesGroupTextThatWasDue(t *testing.T) {
	t.Parallel()
	healthy := func(from, until time.Time) time.Duration { return until.Sub(from) }
	never := func(string, string) bool { return false }
	r := group(t)
	if err := r.TextsDue(at(12, 0), healthy, never); err == nil ||
		!strings.Contains(err.Error(), "series_confirmation") {
		t.Errorf("without a message: got %v", err)
	}
	mustNot(t, r.Texted(message(groupBooked, at(8, 0))))
	mustNot(t, r.TextsDue(at(12, 0), healthy, never))
}

func TestRefereeFindsWrongOfferTexts(t *testing.T) {
	t.Parallel()
	const sent = "Wed 25 Nov, 09:00 is free. Held for you until Mon 23 Nov, 08:30. Book: https://book.clinic.example/m#t"
	for name, c := range map[string]struct {
		change func(*OfferedTime)
		texts  []Text
		want   string
	}{
		"an offer":  {texts: []Text{message(sent, at(8, 1))}},
		"too early": {texts: []Text{message(sent, at(8, 0))}, want: "no open offer"},
		"twice":     {texts: []Text{message(sent, at(8, 1)), message(sent, at(8, 2))}, want: "message number 2"},
		"declined": {change: func(o *OfferedTime) { o.Ended = at(8, 1) }, texts: []Text{message(sent, at(8, 5))},
			want: "no open offer"},
		"another end": {change: func(o *OfferedTime) { o.Expires = at(9, 0) }, texts: []Text{message(sent, at(8, 1))},
			want: "no open offer"},
		"to another entry": {change: func(o *OfferedTime) { o.Entry = "other" }, texts: []Text{message(sent, at(8, 1))},
			want: "no open offer"},
		"no message": {want: "no text message about the waitlist_offer"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReferee()
			r.WaitsAt("entry", "+4930123456")
			o := OfferedTime{Span: r.SpanOf("checkup", "ada", at(2*24+9, 0)), ID: "offer", Entry: "entry",
				Created: at(8, 0), Expires: at(8, 30)}
			if c.change != nil {
				c.change(&o)
			}
			r.OffersAre([]OfferedTime{o})
			var err error
			for _, m := range c.texts {
				if err == nil {
					err = r.Texted(m)
				}
			}
			if err == nil {
				err = r.OfferTextsDue(at(9, 0), func(from, until time.Time) time.Duration { return until.Sub(from) },
					func(string, string) bool { return false })
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

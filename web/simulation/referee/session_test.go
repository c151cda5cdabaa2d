package referee

import (
	"strings"
	"testing"
	"time"
)

// TestRefereeFindsBrokenSessions: each case violates one guarantee about on-demand sessions.
func TestRefereeFindsBrokenSessions(t *testing.T) {
	requested := func(id, client string) Session {
		return Session{ID: id, Client: client, Status: "requested", Expires: at(8, 1)}
	}
	begin := func() *Referee {
		r := newReferee()
		r.Specialists["ada"].Sessions, r.Specialists["ben"].Sessions = 1, 2
		mustNot(t, r.Requested(requested("s", "jo"), at(8, 0)))
		mustNot(t, r.Requested(requested("s", "jo"), at(8, 0))) // a repeated request
		mustNot(t, r.Requested(requested("t", "bo"), at(8, 0)))
		mustNot(t, r.Taken("s", "ada", false, at(8, 0)))
		return r
	}
	active := Session{ID: "s", Status: "active", Specialist: "ada"}
	waiting := requested("t", "")
	mustNot(t, begin().OpenSessions([]Session{active, waiting}, at(8, 0)))
	mustNot(t, begin().OpenSessions([]Session{active}, at(8, 2)))
	mustNot(t, begin().OpenSessions(nil, at(12, 6)))
	mustNot(t, begin().Taken("s", "ben", true, at(8, 1)))
	other := active
	other.Specialist = "ben"
	for what, err := range map[string]error{
		"but also got u": begin().Requested(requested("u", "bo"), at(8, 0)),
		"which is bo's":  begin().Requested(requested("t", "jo"), at(8, 0)),
		"a requested session is active": begin().Requested(Session{ID: "u", Client: "mo", Status: "active"},
			at(8, 0)),
		"which no client requested":              begin().Taken("u", "ben", false, at(8, 0)),
		"ben got session s":                      begin().Taken("s", "ben", false, at(8, 0)),
		"one more session than the maximum of 1": begin().Taken("t", "ada", false, at(8, 0)),
		"which expired 1m0s ago":                 begin().Taken("t", "ben", false, at(8, 2)),
		"t still waits":                          begin().OpenSessions([]Session{active, waiting}, at(8, 2)),
		"its last heartbeat was 4h6m0s ago":      begin().OpenSessions([]Session{active}, at(12, 6)),
		"was reported as active, of \"ada\"":     begin().OpenSessions([]Session{other}, at(8, 0)),
		"is open, but no client requested":       begin().OpenSessions([]Session{{ID: "u", Status: "requested"}}, at(8, 0)),
		"\"ada\", but is not open":               begin().OpenSessions([]Session{waiting}, at(8, 0)),
		"ada has 2 concurrent sessions":          twoAtOnce(t),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// twoAtOnce lists two acknowledged sessions for a specialist whose limit is one.
func twoAtOnce(t *testing.T) error {
	r := newReferee()
	r.Specialists["ada"].Sessions = 1
	var list []Session
	for _, id := range []string{"s", "t"} {
		s := Session{ID: id, Client: id, Status: "active", Specialist: "ada", Life: at(8, 0)}
		r.Sessions[id], list = &s, append(list, s)
	}
	return r.OpenSessions(list, at(8, 0))
}

// TestRefereeFindsBrokenWebhooks: each case violates one guarantee about webhooks.
func TestRefereeFindsBrokenWebhooks(t *testing.T) {
	const (
		older = "whsec_MDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDAwMDA="
		newer = "whsec_MTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMTE="
		// openssl dgst -sha256 -hmac of "m.1795420800.{}" with the 32 zeros and the 32 ones above, in base64
		byOlder = "v1,Nw9mk16CnGfgvf1Vc+WT8bdFqxKX+z8w4T/Qzx0BQ1A="
		byNewer = "v1,ZLrAEj3vU+s7J5fPYRRNnztN6U9ffRfgKY/QmW+m/Fk="
	)
	hook := func(id, event string, version int64, hour int, taken bool) Hook {
		return Hook{ID: id, Event: "appointment." + event, Appointment: "a", Version: version, Start: at(hour, 0),
			Cancelled: event == "cancelled", Taken: taken}
	}
	of := func(hooks ...Hook) (v *Receiver, err error) {
		v = NewReceiver()
		for _, h := range hooks {
			if err == nil {
				err = v.Arrives(h)
			}
		}
		return v, err
	}
	arrives := func(hooks ...Hook) error {
		_, err := of(hooks...)
		return err
	}
	told := func(a Appointment, hooks ...Hook) error {
		v, err := of(hooks...)
		mustNot(t, err)
		return v.Told(&a)
	}
	signed := func(signatures string, changed, now time.Time) error {
		v := NewReceiver()
		mustNot(t, v.Secret(older, at(0, 0).AddDate(0, 0, -9)))
		mustNot(t, v.Secret(newer, changed))
		return v.Signed("m", "1795420800", signatures, []byte("{}"), now)
	}
	r := newReferee()
	a := r.appointment("a", "checkup", at(9, 0))
	moved, gone := a, a
	moved.Span, gone.Cancelled = r.SpanOf("checkup", "ada", at(10, 0)), true
	booked, later, cancelled := hook("m", "created", 1, 9, true), hook("n", "rescheduled", 2, 10, true),
		hook("o", "cancelled", 3, 10, true)
	lost := hook("m", "created", 1, 9, false)
	sent := time.Unix(1795420800, 0)
	mustNot(t, arrives(lost, lost, booked, later, booked, cancelled)) // a repeat after a lost response
	mustNot(t, told(moved, booked, later))
	mustNot(t, told(gone, booked, later, cancelled))
	mustNot(t, signed(byNewer+" "+byOlder, sent.Add(-time.Hour), sent))
	mustNot(t, signed(byNewer, sent.Add(-25*time.Hour), sent))
	mustNot(t, signed(byOlder, sent, sent)) // the message was in transit when the secret changed
	for what, err := range map[string]error{
		"in version 1, arrived after": arrives(lost, later, booked),
		"of version 2, but was": arrives(booked, Hook{ID: "m",
			Event: "appointment.created", Appointment: "a", Version: 2}),
		"was never accepted":                        told(a, lost),
		"no webhook reports that":                   told(moved, later),
		"reports appointment.created":               told(moved, booked),
		"reports appointment.rescheduled":           told(gone, booked, later),
		"not signed with the secret that":           signed(byOlder, sent.Add(-time.Hour), sent),
		"which was changed 1h0m0s ago":              signed(byNewer, sent.Add(-time.Hour), sent),
		"has the timestamp":                         signed(byNewer, sent.Add(-25*time.Hour), sent.Add(2*time.Minute)),
		"arrived before a secret was set":           NewReceiver().Signed("m", "1795420800", byNewer, []byte("{}"), sent),
		"with the secret that was set 25h0m0s ago:": signed(byNewer[:9], sent.Add(-25*time.Hour), sent),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

package presence_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/presence"
	"holdfast/store"
)

func TestOnlineDaysFollowTheWallClock(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s string) time.Time {
		x, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	line := func(s, change string) store.PresenceChange { return store.PresenceChange{At: at(s), Change: change} }
	log := []store.PresenceChange{
		// for a span whose start has been deleted
		line("2026-10-22 23:00", "offline"),
		line("2026-10-23 22:00", "online"), line("2026-10-26 01:00", "auto_offline"), // across the night with 25 hours
		line("2026-10-26 08:00", "online"), line("2026-10-26 09:00", "deactivated"),
		line("2026-10-26 10:00", "activated"), line("2026-10-26 11:00", "offline"), line("2026-10-27 09:00", "online"),
	}
	hours := func(days []presence.OnlineDay) string {
		var said []string
		for _, d := range days {
			said = append(said, d.Date.String()[5:]+" "+d.Online.String())
		}
		return strings.Join(said, ", ")
	}
	stretches := func(spans []presence.OnlineSpan) string {
		var said []string
		for _, s := range spans {
			said = append(said, strings.TrimSpace(s.From.In(berlin).Format("02 15:04-")+
				s.To.In(berlin).Format("02 15:04 ")+s.Ended))
		}
		return strings.Join(said, ", ")
	}
	for name, c := range map[string]struct{ from, to, now, want, spans string }{
		"a week that is going on": {"2026-10-23 00:00", "2026-10-30 00:00", "2026-10-27 10:30",
			"10-23 2h0m0s, 10-24 24h0m0s, 10-25 25h0m0s, 10-26 2h0m0s, 10-27 1h30m0s",
			"23 22:00-26 01:00 auto_offline, 26 08:00-26 09:00 deactivated, 27 09:00-27 10:30"},
		"a week that is over": {"2026-10-26 00:00", "2026-10-28 00:00", "2026-12-01 00:00",
			"10-26 2h0m0s, 10-27 15h0m0s",
			"26 00:00-26 01:00 auto_offline, 26 08:00-26 09:00 deactivated, 27 09:00-28 00:00"},
		"a part of a day": {"2026-10-26 00:30", "2026-10-26 08:30", "2026-12-01 00:00", "10-26 1h0m0s",
			"26 00:30-26 01:00 auto_offline, 26 08:00-26 08:30"},
		"what has not begun": {"2026-11-01 00:00", "2026-11-08 00:00", "2026-10-27 10:30", "", ""},
	} {
		spans := presence.OnlineSpans(log, at(c.from), at(c.to), at(c.now))
		if got := hours(presence.OnlineDays(spans, berlin, at(c.from), at(c.to), at(c.now))); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
		if got := stretches(spans); got != c.spans {
			t.Errorf("%s: the spans are %s, want %s", name, got, c.spans)
		}
	}
}

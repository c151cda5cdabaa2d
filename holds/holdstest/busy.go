package holdstest

import (
	"testing"
	"time"

	"holdfast/holds"
)

// busy is the promises of holds.Busy.
func (h Harness) busy(t *testing.T) {
	h.prove(t, "only ticks wholly inside are set, so a hit is a true conflict", func(p *proof) {
		p.no(p.MarkBusy(p.ctx, "ada", p.at("09:02"), p.at("09:18")))
		for _, c := range []struct {
			from, to string
			want     bool
		}{
			{"09:00", "09:05", false}, // half inside: the tick proves nothing
			{"09:05", "09:10", true},
			{"09:10", "09:15", true},
			{"09:15", "09:20", false},
			{"09:04", "09:06", true}, // touches the tick that begins at 09:05
			{"09:14", "09:20", true},
			{"08:00", "12:00", true},
			{"08:00", "09:05", false},
			{"09:15", "12:00", false},
			{"09:10", "09:10", false},
			{"09:12", "09:12", false},
			{"09:13", "09:11", false},
		} {
			p.busyAt("ada", p.at(c.from), p.at(c.to), c.want)
		}
		p.busyAt("bob", p.at("09:05"), p.at("09:10"), false)
	})
	h.prove(t, "what is shorter than a tick, empty or reversed marks nothing", func(p *proof) {
		p.no(p.MarkBusy(p.ctx, "ada", p.at("09:01"), p.at("09:09")))
		p.no(p.MarkBusy(p.ctx, "ada", p.at("10:00"), p.at("10:00")))
		p.no(p.MarkBusy(p.ctx, "ada", p.at("12:00"), p.at("11:00")))
		p.no(p.MarkBusy(p.ctx, "ada", p.at("13:00").Add(time.Nanosecond), p.at("13:05")))
		p.busyAt("ada", p.day, p.day.Add(24*time.Hour), false)
	})
	h.prove(t, "clearing clears what marking set, and only that", func(p *proof) {
		p.no(p.MarkBusy(p.ctx, "ada", p.at("09:00"), p.at("11:00")))
		p.no(p.ClearBusy(p.ctx, "ada", p.at("09:30"), p.at("10:00")))
		p.busyAt("ada", p.at("09:30"), p.at("10:00"), false)
		p.busyAt("ada", p.at("09:00"), p.at("09:30"), true)
		p.busyAt("ada", p.at("10:00"), p.at("10:30"), true)
		p.no(p.ClearBusy(p.ctx, "ada", p.at("09:00"), p.at("11:00")))
		p.no(p.ClearBusy(p.ctx, "ada", p.at("09:00"), p.at("11:00")))
		p.busyAt("ada", p.day, p.day.Add(24*time.Hour), false)
		p.no(p.ClearBusy(p.ctx, "bob", p.at("09:00"), p.at("11:00")))
	})
	h.prove(t, "an appointment across midnight UTC is busy on both days, in any zone", func(p *proof) {
		zone := time.FixedZone("east", 5*3600+1800)
		from, to := p.day.Add(23*time.Hour+30*time.Minute), p.day.Add(25*time.Hour)
		p.no(p.MarkBusy(p.ctx, "ada", from.In(zone), to.In(zone)))
		p.busyAt("ada", from, from.Add(5*time.Minute), true)
		p.busyAt("ada", to.Add(-5*time.Minute).In(zone), to.In(zone), true)
		p.busyAt("ada", p.day, from, false)
		p.busyAt("ada", to, to.Add(23*time.Hour), false)
	})
	h.prove(t, "every tick of a day is its own", func(p *proof) {
		for i := range int(24 * time.Hour / holds.BusyTick) {
			if i%3 == 0 {
				from := p.day.Add(time.Duration(i) * holds.BusyTick)
				p.no(p.MarkBusy(p.ctx, "ada", from, from.Add(holds.BusyTick)))
			}
		}
		for i := range int(24 * time.Hour / holds.BusyTick) {
			from := p.day.Add(time.Duration(i) * holds.BusyTick)
			p.busyAt("ada", from, from.Add(holds.BusyTick), i%3 == 0)
		}
	})
}

func (p *proof) busyAt(specialistID string, from, to time.Time, want bool) {
	p.Helper()
	if got, err := p.IsBusy(p.ctx, specialistID, from, to); got != want || err != nil {
		p.Errorf("busy from %s to %s: got %v, %v, want %v", from.UTC().Format("15:04"), to.UTC().Format("15:04"), got, err, want)
	}
}

package redis

import (
	"context"
	"time"

	"holdfast/holds"
)

const (
	tickSeconds = int64(holds.BusyTick / time.Second)
	daySeconds  = 24 * 60 * 60
	dayTicks    = daySeconds / tickSeconds
	keepDays    = 3 // from a day's midnight: itself and two more
)

// MarkBusy implements holds.Busy.
func (b *Backend) MarkBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return b.mark(ctx, specialistID, from, to, 1)
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error {
	return b.mark(ctx, specialistID, from, to, 0)
}

func (b *Backend) mark(ctx context.Context, specialistID string, from, to time.Time, bit int) error {
	// The ticks wholly inside.
	first, end := -floor(-nextSecond(from), tickSeconds), floor(to.Unix(), tickSeconds)
	for _, d := range daysOf(first, end) {
		_, err := b.run(ctx, markScript, []string{d.key(specialistID)}, bit, d.first, d.end, (d.day+keepDays)*daySeconds)
		if err != nil {
			return err
		}
	}
	return nil
}

// IsBusy implements holds.Busy.
func (b *Backend) IsBusy(ctx context.Context, specialistID string, from, to time.Time) (bool, error) {
	if b.closed.Load() {
		return false, holds.ErrClosed
	}
	if !from.Before(to) {
		return false, nil
	}
	// The ticks that overlap.
	days := daysOf(floor(from.Unix(), tickSeconds), -floor(-nextSecond(to), tickSeconds))
	keys := make([]string, len(days))
	for i, d := range days {
		keys[i] = d.key(specialistID)
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	maps, err := b.client.MGet(ctx, keys...).Result()
	if err != nil {
		return false, b.translate(err)
	}
	for i, d := range days {
		for tick := d.first; tick < d.end; tick++ {
			bits := text(maps, i)
			if at := int(tick / 8); at < len(bits) && bits[at]&(0x80>>(tick%8)) != 0 {
				return true, nil
			}
		}
	}
	return false, nil
}

// ticks is a run of ticks of one UTC day, [first, end).
type ticks struct{ day, first, end int64 }

func (t ticks) key(specialistID string) string {
	return "availability:" + specialistID + ":" + time.Unix(t.day*daySeconds, 0).UTC().Format(time.DateOnly)
}

// daysOf deals a run of ticks since 1970 out over the days it touches.
func daysOf(first, end int64) (days []ticks) {
	for first < end {
		day := floor(first, dayTicks)
		to := min(end, (day+1)*dayTicks)
		days = append(days, ticks{day, first - day*dayTicks, to - day*dayTicks})
		first = to
	}
	return days
}

// nextSecond is t in seconds, rounded up.
func nextSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

func floor(n, by int64) int64 {
	if n < 0 {
		return -((-n + by - 1) / by)
	}
	return n / by
}

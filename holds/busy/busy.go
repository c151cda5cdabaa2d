// Package busy keeps the busy time of specialists in the memory of one process: holds.Busy for the backends that have it there.
package busy

import (
	"sync"
	"time"

	"holdfast/holds"
)

const (
	tickSeconds = int64(holds.BusyTick / time.Second)
	dayTicks    = int64(24 * time.Hour / holds.BusyTick)
	keepDays    = 2 // of the past, before a specialist's new day pushes them out
)

// Time has a bitmap for each specialist and UTC day on which anything is marked. The zero value is empty and usable, from several
// goroutines.
type Time struct {
	mu          sync.RWMutex
	specialists map[string]map[int64]*day // by days since 1970
}

// day has one bit per tick.
type day [(dayTicks + 63) / 64]uint64

// Mark sets the ticks wholly inside [from, to), and forgets what is long past at now.
func (u *Time) Mark(now time.Time, specialistID string, from, to time.Time) {
	today := floor(now.Unix(), dayTicks*tickSeconds)
	u.mu.Lock()
	defer u.mu.Unlock()
	eachDay(inside(from, to), func(n int64, ticks day) bool {
		days := u.specialists[specialistID]
		if days == nil {
			if u.specialists == nil {
				u.specialists = make(map[string]map[int64]*day)
			}
			days = make(map[int64]*day)
			u.specialists[specialistID] = days
		}
		d := days[n]
		if d == nil {
			for old := range days {
				if old < today-keepDays && old != n {
					delete(days, old)
				}
			}
			d = new(day)
			days[n] = d
		}
		for i := range d {
			d[i] |= ticks[i]
		}
		return true
	})
}

// Clear clears the ticks wholly inside [from, to).
func (u *Time) Clear(specialistID string, from, to time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	days := u.specialists[specialistID]
	eachDay(inside(from, to), func(n int64, ticks day) bool {
		d := days[n]
		if d == nil {
			return true
		}
		for i := range d {
			d[i] &^= ticks[i]
		}
		if *d == (day{}) {
			delete(days, n)
		}
		return true
	})
}

// Is reports whether any tick that overlaps [from, to) is set.
func (u *Time) Is(specialistID string, from, to time.Time) bool {
	u.mu.RLock()
	defer u.mu.RUnlock()
	days := u.specialists[specialistID]
	hit := false
	eachDay(touched(from, to), func(n int64, ticks day) bool {
		if d := days[n]; d != nil {
			for i := range d {
				hit = hit || d[i]&ticks[i] != 0
			}
		}
		return !hit
	})
	return hit
}

// span is a run of ticks since 1970, [first, end).
type span struct{ first, end int64 }

// inside is the ticks wholly inside [from, to).
func inside(from, to time.Time) span {
	return span{-floor(-nextSecond(from), tickSeconds), floor(to.Unix(), tickSeconds)}
}

// touched is the ticks that overlap [from, to).
func touched(from, to time.Time) span {
	if !from.Before(to) {
		return span{}
	}
	return span{floor(from.Unix(), tickSeconds), -floor(-nextSecond(to), tickSeconds)}
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

// eachDay calls do for each UTC day of a run with that day's ticks, until do says no.
func eachDay(s span, do func(n int64, ticks day) bool) {
	for t := s.first; t < s.end; {
		n := floor(t, dayTicks)
		end := min(s.end, (n+1)*dayTicks)
		var ticks day
		for i := t - n*dayTicks; i < end-n*dayTicks; i++ {
			ticks[i/64] |= 1 << (i % 64)
		}
		if !do(n, ticks) {
			return
		}
		t = end
	}
}

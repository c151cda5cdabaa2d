package memory

import (
	"context"
	"time"

	"holdfast/holds"
)

// pastDays is the number of past days for which a specialist's bitmaps are stored. They are dropped when a new day is
// added for that specialist.
const pastDays = 2

// busyTime has one bitmap for each UTC day on which a specialist has a booked tick, keyed by the number of days since
// 1970. The shard's lock guards it. The zero value is empty and usable.
type busyTime map[int64]*busyDay

// busyDay contains one bit per tick.
type busyDay [(holds.BusyTicksOfDay + 63) / 64]uint64

func maskOf(t holds.Ticks) (mask busyDay) {
	for i := t.First; i < t.End; i++ {
		mask[i/64] |= 1 << (i % 64)
	}
	return mask
}

// FollowBusy implements holds.Busy. Changes arrive in numerical order, so the table does not compare their numbers.
func (b *Backend) FollowBusy(_ context.Context, _ int64, freed, taken holds.Booked) error {
	if err := b.setBusy(freed.SpecialistID, freed.Ticks(), false); err != nil {
		return err
	}
	return b.setBusy(taken.SpecialistID, taken.Ticks(), true)
}

// ClearBusy implements holds.Busy.
func (b *Backend) ClearBusy(_ context.Context, specialistID string, from, to time.Time) error {
	return b.setBusy(specialistID, holds.TicksTouching(from, to), false)
}

func (b *Backend) setBusy(specialistID string, ticks holds.Ticks, busy bool) error {
	if b.closed.Load() {
		return holds.ErrClosed
	}
	if ticks.First >= ticks.End {
		return nil
	}
	today := b.clock.now().wall.Unix() / int64(24*time.Hour/time.Second)
	s := b.shardOf(specialistID)
	s.Lock()
	defer s.Unlock()
	if of := s.of(specialistID); busy {
		of.busy.set(ticks, today)
	} else {
		of.busy.clear(ticks)
	}
	return nil
}

func (u *busyTime) set(ticks holds.Ticks, today int64) {
	if *u == nil {
		*u = make(busyTime)
	}
	ticks.Days(func(n int64, within holds.Ticks) {
		day := (*u)[n]
		if day == nil {
			for old := range *u {
				if old < today-pastDays {
					delete(*u, old)
				}
			}
			day = new(busyDay)
			(*u)[n] = day
		}
		for i, bits := range maskOf(within) {
			day[i] |= bits
		}
	})
}

func (u busyTime) clear(ticks holds.Ticks) {
	ticks.Days(func(n int64, within holds.Ticks) {
		day := u[n]
		if day == nil {
			return
		}
		for i, bits := range maskOf(within) {
			day[i] &^= bits
		}
		if *day == (busyDay{}) {
			delete(u, n)
		}
	})
}

// refuses reports whether a claim needs a booked tick that does not belong to any of the appointments that it moves.
func (u busyTime) refuses(c *holds.Claim) (taken bool) {
	if len(u) == 0 {
		return false
	}
	c.Ticks().Days(func(n int64, within holds.Ticks) {
		day := u[n]
		if day == nil {
			return
		}
		for i := within.First; i < within.End && !taken; i++ {
			taken = day[i/64]&(1<<(i%64)) != 0 && !moves(c, n*holds.BusyTicksOfDay+i)
		}
	})
	return taken
}

// moves reports whether a tick belongs to an appointment that the claim moves.
func moves(c *holds.Claim, tick int64) bool {
	for _, own := range c.Moves() {
		if own.First <= tick && tick < own.End {
			return true
		}
	}
	return false
}

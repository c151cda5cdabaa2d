package holds

import (
	"context"
	"time"
)

// Booked is the slot of an appointment that shares its time with no other appointment: it is neither a seat in a group
// session nor overbooked.
type Booked struct {
	AppointmentID string
	SpecialistID  string
	SlotStart     time.Time
	SlotEnd       time.Time
}

// Busy receives the booked time of specialists. Claim refuses that time with ErrTaken.
//
// In a backend that reads the appointments from the database, these methods do nothing. The other backends store one
// bit per BusyTick, specialist and UTC day. Only ticks wholly inside a slot are set, so a set bit always means a
// conflict. A clear bit proves nothing: the database decides.
type Busy interface {
	// FollowBusy applies one committed change: in one step, it clears the ticks of freed and sets the ticks of taken.
	// Either can be zero. change is the position of the change in the commit order. If several nodes share the bits, a
	// backend ignores a change that is older than the last one for the same specialist and day.
	//
	// Change 0 stands for an appointment that the caller has read from the store. Only a backend in the caller's own
	// process applies it.
	//
	// FollowBusy does not wait for the network. The next Claim and the next Confirm of the same backend wait until the
	// change has been applied, so no node grants a hold on time that another node has booked.
	FollowBusy(ctx context.Context, change int64, freed, taken Booked) error

	// ClearBusy clears every tick that overlaps [from, to), because the database has no appointment there. It does not
	// wait for the network either.
	ClearBusy(ctx context.Context, specialistID string, from, to time.Time) error
}

// BusyTick is the resolution of Busy.
const BusyTick = 5 * time.Minute

// BusyTicksOfDay is the number of ticks in one UTC day.
const BusyTicksOfDay = int64(24 * time.Hour / BusyTick)

// Ticks is a run of ticks, [First, End), counted from the start of 1970 in UTC.
type Ticks struct{ First, End int64 }

// TicksInside returns the ticks wholly inside [from, to).
func TicksInside(from, to time.Time) Ticks {
	return Ticks{ceilTick(from), floorTick(to)}
}

// TicksTouching returns the ticks that overlap [from, to).
func TicksTouching(from, to time.Time) Ticks {
	if !from.Before(to) {
		return Ticks{}
	}
	return Ticks{floorTick(from), ceilTick(to)}
}

// Ticks returns the ticks wholly inside the slot.
func (b *Booked) Ticks() Ticks { return TicksInside(b.SlotStart, b.SlotEnd) }

// Ticks returns the ticks that Claim checks: a booked slot must not overlap the busy interval of the claim.
func (c *Claim) Ticks() Ticks { return TicksTouching(c.BusyStart, c.BusyEnd) }

// Moves returns the ticks that Claim does not check, because they belong to one of the appointments that it
// moves.
func (c *Claim) Moves() []Ticks {
	var own []Ticks
	for i := range c.Moving {
		if c.Moving[i].SpecialistID == c.SpecialistID {
			own = append(own, c.Moving[i].Ticks())
		}
	}
	return own
}

// Days calls do for each UTC day of the run, with the day number since 1970 and the run of ticks within that day.
func (t Ticks) Days(do func(day int64, within Ticks)) {
	for t.First < t.End {
		day := floor(t.First, BusyTicksOfDay)
		start := day * BusyTicksOfDay
		end := min(t.End, start+BusyTicksOfDay)
		do(day, Ticks{t.First - start, end - start})
		t.First = end
	}
}

const tickSeconds = int64(BusyTick / time.Second)

// floorTick returns the last tick that does not start after t.
func floorTick(t time.Time) int64 { return floor(t.Unix(), tickSeconds) }

// ceilTick returns the first tick that does not start before t.
func ceilTick(t time.Time) int64 {
	seconds := t.Unix()
	if t.Nanosecond() > 0 {
		seconds++
	}
	return -floor(-seconds, tickSeconds)
}

func floor(n, by int64) int64 {
	if n < 0 {
		return -((-n + by - 1) / by)
	}
	return n / by
}

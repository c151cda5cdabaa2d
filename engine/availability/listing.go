package availability

import (
	"cmp"
	"math"
	"slices"
	"time"

	"holdfast/store"
)

// Opening is a slot start with free seats.
type Opening struct {
	Start int64 // Unix milliseconds
	Free  int   // free seats, 1 to the type's capacity
}

// Slot is a bookable interval [Start, End) of one appointment type: computed, never stored.
type Slot struct {
	Start time.Time // UTC
	End   time.Time // UTC
	Free  []Free    // the specialists with free seats, in the order of the calendars; at least one
}

// Free is the number of one specialist's free seats at a slot.
type Free struct {
	SpecialistID string
	Seats        int // free seats, 1 to the type's capacity
}

// Starts appends the start time of every slot of t with from ≤ start < to, in order, as Unix milliseconds. It considers
// only windows, steps, fit and blocks. It ignores the minimum notice, the booking horizon, appointments and the active
// flags.
func (c *Calendar) Starts(dst []int64, t *store.AppointmentType, from, to time.Time) []int64 {
	first, end := ceilSeconds(from), ceilSeconds(to)
	duration, step := lengths(t)
	if first >= end {
		return dst
	}
	zone, all := zoneCursor{loc: c.zone}, len(dst)
	var buffer [8]stretch
	for day := DayOf(store.DateOf(from.In(c.zone))); zone.firstAt(day*daySeconds) < end; day++ {
		base, sorted := len(dst), true
		for _, s := range zone.stretches(buffer[:0], day, c.windowsOf(day)) {
			at := s.start
			if at < first {
				at += (first - at + step - 1) / step * step
			}
			if len(dst) > base && at*1000 <= dst[len(dst)-1] {
				sorted = false
			}
			for last := min(s.end-duration, end-1); at <= last; at += step {
				dst = append(dst, at*1000)
			}
		}
		if !sorted {
			slices.Sort(dst[base:])
			dst = dst[:base+len(slices.Compact(dst[base:]))]
		}
	}
	return c.withoutBlocked(dst, all, t)
}

// withoutBlocked removes the start times that a block excludes, beginning at an index. The start times are in order.
func (c *Calendar) withoutBlocked(starts []int64, from int, t *store.AppointmentType) []int64 {
	if len(c.blocked) == 0 {
		return starts
	}
	kept, next := starts[:from], 0
	for _, start := range starts[from:] {
		for next < len(c.blocked) {
			if _, before := c.blocked[next].rulesOut(t); start < before {
				break
			}
			next++
		}
		if next < len(c.blocked) {
			if after, _ := c.blocked[next].rulesOut(t); after < start {
				continue
			}
		}
		kept = append(kept, start)
	}
	return kept
}

// ceilSeconds returns the first whole Unix second at or after t.
func ceilSeconds(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// Open appends, in order, every slot start with from ≤ start < to for which the guarantee leaves a seat free. The
// caller applies the minimum notice and the booking horizon, so the result can be cached. Open appends nothing for an
// inactive type or specialist. taken contains the confirmed appointments in at least the range that Around returns,
// ordered by slot start, then seat, as store.Reader.Taken returns them for one specialist. Open skips those with other
// specialists.
//
// It agrees with FreeSeats at every start time, but makes only one pass over both lists.
func (c *Calendar) Open(dst []Opening, t *store.AppointmentType, from, to time.Time, taken []store.Taken) []Opening {
	return new(sweep).open(dst, c, t, from, to, taken)
}

// Rooms lists the slots of several specialists together, in order, with the specialists who have a free seat at each. A
// month of a large clinic has tens of thousands of free seats, and such lists are cached, so each specialist takes only
// 4 bytes per slot.
type Rooms struct {
	starts []int64 // Unix milliseconds, ascending
	ends   []int32 // where the entries of each slot end in the field room
	room   []Room
}

// Room is the number of free seats that one specialist has at a slot.
type Room struct {
	Who   uint16 // the index of the calendar
	Seats uint16 // free seats, 1 to the type's capacity
}

// Len returns the number of slots.
func (r *Rooms) Len() int { return len(r.starts) }

// Seats returns the total number of entries that Free returns over all slots.
func (r *Rooms) Seats() int { return len(r.room) }

// Start returns the start of a slot, in UTC.
func (r *Rooms) Start(i int) time.Time { return time.UnixMilli(r.starts[i]).UTC() }

// Free returns the specialists with a free seat at a slot, in the order of the calendars. There is at least one. Do not
// modify the result.
func (r *Rooms) Free(i int) []Room {
	begin := int32(0)
	if i > 0 {
		begin = r.ends[i-1]
	}
	return r.room[begin:r.ends[i]:r.ends[i]]
}

// Search returns the index of the first slot that starts at or after an instant, and reports whether it starts exactly
// then.
func (r *Rooms) Search(at time.Time) (int, bool) {
	return slices.BinarySearchFunc(r.starts, at, func(start int64, at time.Time) int {
		return time.UnixMilli(start).Compare(at)
	})
}

// PoolRooms lists the slots of at most 65,535 specialists together: every start time with from ≤ start < to at which at
// least one of them has a free seat. taken is the result of store.Reader.Taken for all of them, over the range that
// Around returns. The caller applies the minimum notice and the booking horizon.
func PoolRooms(calendars []*Calendar, t *store.AppointmentType, from, to time.Time, taken []store.Taken) *Rooms {
	var (
		s     sweep
		all   []Opening
		ends  = make([]int, len(calendars)) // where the openings of each calendar end in the variable all
		heads = make([]int, len(calendars))
		runs  = bySpecialist(taken)
	)
	for i, c := range calendars {
		heads[i] = len(all)
		all = s.open(all, c, t, from, to, runs[c.specialistID])
		ends[i] = len(all)
	}
	pooled := &Rooms{room: make([]Room, 0, len(all))}
	for {
		start := int64(math.MaxInt64)
		for i, head := range heads {
			if head < ends[i] {
				start = min(start, all[head].Start)
			}
		}
		if start == math.MaxInt64 {
			return pooled
		}
		for i, head := range heads {
			if head < ends[i] && all[head].Start == start {
				pooled.room = append(pooled.room, Room{uint16(i), uint16(all[head].Free)})
				heads[i]++
			}
		}
		pooled.starts, pooled.ends = append(pooled.starts, start), append(pooled.ends, int32(len(pooled.room)))
	}
}

// Only returns the rooms that keep accepts. keep receives the slot's start time and the index of the calendar.
func (r *Rooms) Only(keep func(start time.Time, who int) bool) *Rooms {
	kept := &Rooms{}
	for i := range r.starts {
		before, start := len(kept.room), r.Start(i)
		for _, room := range r.Free(i) {
			if keep(start, int(room.Who)) {
				kept.room = append(kept.room, room)
			}
		}
		if len(kept.room) > before {
			kept.starts, kept.ends = append(kept.starts, r.starts[i]), append(kept.ends, int32(len(kept.room)))
		}
	}
	return kept
}

// Pool is like PoolRooms but returns the specialists' ids, for lists that are not cached.
func Pool(calendars []*Calendar, t *store.AppointmentType, from, to time.Time, taken []store.Taken) []Slot {
	rooms := PoolRooms(calendars, t, from, to, taken)
	slots := make([]Slot, rooms.Len())
	for i := range slots {
		start := rooms.Start(i)
		slots[i] = Slot{Start: start, End: start.Add(Minutes(t.DurationMinutes))}
		for _, r := range rooms.Free(i) {
			slots[i].Free = append(slots[i].Free, Free{calendars[r.Who].specialistID, int(r.Seats)})
		}
	}
	return slots
}

// bySpecialist splits a list that is ordered by specialist into one list for each specialist.
func bySpecialist(taken []store.Taken) map[string][]store.Taken {
	runs := make(map[string][]store.Taken)
	for first := 0; first < len(taken); {
		id, end := taken[first].SpecialistID, first+1
		for end < len(taken) && taken[end].SpecialistID == id {
			end++
		}
		runs[id] = taken[first:end]
		first = end
	}
	return runs
}

// sweep contains the working buffers for one listing, reused for each specialist.
type sweep struct {
	starts    []int64
	obstacles []obstacle
	booked    []seatAt
}

// obstacle is the open interval of slot start times (after, before), in Unix milliseconds, that an appointment
// excludes.
type obstacle struct {
	after, before int64
	session       int64 // the slot start, if it is a seat of a session like the listed ones; otherwise noSession
}

// seatAt is a booked seat of a session that starts at start.
type seatAt struct {
	start int64
	seat  int
}

const noSession = math.MinInt64

func (w *sweep) open(dst []Opening, c *Calendar, t *store.AppointmentType, from, to time.Time,
	taken []store.Taken) []Opening {
	if !c.active || !t.Active {
		return dst
	}
	w.starts = c.Starts(w.starts[:0], t, from, to)
	if len(w.starts) == 0 {
		return dst
	}
	w.take(t, c.specialistID, taken)

	// The loop goes through the obstacles in order of after. Only the obstacle that extends furthest matters, except
	// that a session does not conflict with its own start. So the loop tracks the furthest of all, and the furthest
	// that does not belong to the same session.
	furthest, second, session := int64(math.MinInt64), int64(math.MinInt64), int64(noSession)
	nextObstacle, nextSeat := 0, 0
	for _, start := range w.starts {
		for ; nextObstacle < len(w.obstacles) && w.obstacles[nextObstacle].after < start; nextObstacle++ {
			switch o := &w.obstacles[nextObstacle]; {
			case o.session == session:
				furthest = max(furthest, o.before)
			case o.before > furthest:
				furthest, second, session = o.before, furthest, o.session
			default:
				second = max(second, o.before)
			}
		}
		if start < second || (start < furthest && start != session) {
			continue
		}
		free := max(t.Capacity, 1)
		for nextSeat < len(w.booked) && w.booked[nextSeat].start < start {
			nextSeat++
		}
		for ; nextSeat < len(w.booked) && w.booked[nextSeat].start == start; nextSeat++ {
			free--
		}
		if free > 0 {
			dst = append(dst, Opening{start, free})
		}
	}
	return dst
}

// take converts one specialist's appointments to the start times that they exclude for slots of t.
//
// The guarantee has two halves. The appointment's busy interval overlaps the new slot: start times in (busyStart −
// duration, busyEnd). The new slot's busy interval overlaps the appointment's slot: start times in (slotStart −
// duration − bufferAfter, slotEnd + bufferBefore). Both contain (slotStart − duration, slotEnd), so together they are
// one open interval.
func (w *sweep) take(t *store.AppointmentType, specialistID string, taken []store.Taken) {
	var (
		duration = Minutes(t.DurationMinutes).Milliseconds()
		before   = Minutes(t.BufferBeforeMinutes).Milliseconds()
		after    = Minutes(t.BufferAfterMinutes).Milliseconds()
		sorted   = true
	)
	w.obstacles, w.booked = w.obstacles[:0], w.booked[:0]
	for i := range taken {
		a := &taken[i]
		if a.SpecialistID != specialistID {
			continue
		}
		slotStart, slotEnd := a.SlotStart.UnixMilli(), a.SlotEnd.UnixMilli()
		o := obstacle{
			after:   min(a.BusyStart.UnixMilli()-duration, slotStart-duration-after),
			before:  max(a.BusyEnd.UnixMilli(), slotEnd+before),
			session: noSession,
		}
		if a.AppointmentTypeID == t.ID && slotEnd-slotStart == duration {
			o.session = slotStart
			seat := seatAt{slotStart, a.Seat}
			// The list is ordered by start, then seat, so an overbooked seat comes right after the seat that it
			// duplicates.
			if len(w.booked) == 0 || w.booked[len(w.booked)-1] != seat {
				w.booked = append(w.booked, seat)
			}
		}
		sorted = sorted && (len(w.obstacles) == 0 || w.obstacles[len(w.obstacles)-1].after <= o.after)
		w.obstacles = append(w.obstacles, o)
	}
	// Appointments are ordered by slot start, but with a longer buffer, an appointment can begin before the one that
	// precedes it.
	if !sorted {
		slices.SortFunc(w.obstacles, func(a, b obstacle) int { return cmp.Compare(a.after, b.after) })
	}
}

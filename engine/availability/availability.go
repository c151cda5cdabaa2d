package availability

import (
	"cmp"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Reason is the reason why no slot of a type can be booked at an instant. An empty Reason means that a slot can be
// booked.
type Reason string

const (
	ReasonInactive Reason = "inactive" // the type or the specialist is inactive
	ReasonTooSoon  Reason = "too_soon" // before now plus the minimum notice; this includes past times
	ReasonTooFar   Reason = "too_far"  // after now plus the horizon
	// an override closes the specialist's local date, or a block overlaps the slot
	ReasonOverrideClosed Reason = "override_closed"
	ReasonOutsideHours   Reason = "outside_hours"    // the slot does not fit entirely into one window of opening time
	ReasonNotASlotStart  Reason = "not_a_slot_start" // the slot would fit, but no slot starts at this instant
	ReasonTaken          Reason = "taken"            // a confirmed appointment conflicts, or every seat is booked
	// other clients hold every free seat, or every free room in a group
	ReasonHeld Reason = "held"
)

// closeness lists the reasons, from the farthest from bookable to the closest.
var closeness = [...]Reason{
	ReasonInactive, ReasonOutsideHours, ReasonOverrideClosed, ReasonNotASlotStart, ReasonTooFar, ReasonTooSoon,
	ReasonTaken, ReasonHeld,
}

// IsCloser reports whether r is closer to bookable than other. If several specialists cannot be booked, the closest
// reason is the one to report. Every other reason is closer than the empty one.
func (r Reason) IsCloser(other Reason) bool {
	return slices.Index(closeness[:], r) > slices.Index(closeness[:], other)
}

// NotBookableError is the reason why no slot can be booked at a start time.
type NotBookableError struct{ Reason Reason }

func (e *NotBookableError) Error() string { return "not bookable: " + string(e.Reason) }

// Calendar contains everything about one specialist that determines the slots, except appointments: zone, weekly hours,
// overrides, blocks and the active flag. It never changes, so it is safe for concurrent use.
//
// # The rules
//
// Each local date in the specialist's zone has opening windows. An override for the date replaces the weekly hours for
// that weekday. Windows are in wall-clock time. A wall time that does not exist moves forward by the gap. If a wall
// time occurs twice, the first occurrence counts. 24:00 is the end of the date. Slots start at the beginning of a
// window and at every step of absolute time after it. A slot must fit entirely into its window, but its buffers can
// extend beyond it. If windows overlap, each has its own start times, and equal start times count once. A slot cannot
// start if the slot or its buffers would overlap a block.
type Calendar struct {
	specialistID string
	active       bool
	zone         *time.Location
	weekly       [7][]window // indexed by time.Weekday
	overrides    map[int64][]window
	blocked      []blockedTime // in order, with gaps between them
}

// NewCalendar prepares one specialist's calendar. The order of hours, overrides and blocks does not matter. It returns
// an error for an unknown zone and for hours that do not lie within one day.
func NewCalendar(s store.Specialist, hours []store.WeeklyWindow, overrides []store.Override,
	blocks []store.Block) (*Calendar, error) {
	c := &Calendar{
		specialistID: s.ID, active: s.Active, overrides: make(map[int64][]window, len(overrides)),
		blocked: makeBlocked(blocks),
	}
	var err error
	if c.zone, err = LoadZone(s.Timezone); err != nil {
		return nil, fmt.Errorf("specialist %s: %w", s.ID, err)
	}
	var weekly [7][]store.Window
	for _, w := range hours {
		if w.Weekday < 0 || int(w.Weekday) >= len(weekly) {
			return nil, fmt.Errorf("specialist %s: %s is not a day of the week", s.ID, w.Weekday)
		}
		weekly[w.Weekday] = append(weekly[w.Weekday], w.Window)
	}
	for i := range weekly {
		if c.weekly[i], err = makeWindows(weekly[i]); err != nil {
			return nil, fmt.Errorf("specialist %s, %s: %w", s.ID, store.Weekday(i), err)
		}
	}
	for _, o := range overrides {
		var windows []window
		if !o.Closed {
			if windows, err = makeWindows(o.Hours); err != nil {
				return nil, fmt.Errorf("specialist %s, %s: %w", s.ID, o.Date, err)
			}
		}
		c.overrides[DayOf(o.Date)] = windows
	}
	return c, nil
}

// SpecialistID returns the id of the calendar's specialist.
func (c *Calendar) SpecialistID() string { return c.specialistID }

// Zone returns the specialist's time zone.
func (c *Calendar) Zone() *time.Location { return c.zone }

// SpanOf returns the time that a booking of this type occupies from a start time: the slot alone, and the slot with its
// buffers.
func SpanOf(t *store.AppointmentType, specialistID string, start time.Time) holds.Span {
	start = start.UTC()
	end := start.Add(Minutes(t.DurationMinutes))
	return holds.Span{
		AppointmentTypeID: t.ID,
		SpecialistID:      specialistID,
		SlotStart:         start,
		SlotEnd:           end,
		BusyStart:         start.Add(-Minutes(t.BufferBeforeMinutes)),
		BusyEnd:           end.Add(Minutes(t.BufferAfterMinutes)),
	}
}

// Around returns the time range whose confirmed appointments determine which slots of t with from ≤ start < to are
// free, and whether a slot that starts at from is free. Pass it to store.Reader.Taken.
func Around(t *store.AppointmentType, from, to time.Time) (time.Time, time.Time) {
	return from.Add(-Minutes(t.BufferBeforeMinutes)), to.Add(Minutes(t.DurationMinutes + t.BufferAfterMinutes))
}

// BookableRange returns the earliest and the latest start time, both inclusive, that the minimum notice and the booking
// horizon allow. Each day of the horizon is 24 hours, even if the clocks change. A type without a minimum notice can be
// booked from now on.
func BookableRange(t *store.AppointmentType, now time.Time) (earliest, latest time.Time) {
	now = now.UTC()
	return now.Add(Minutes(t.MinNoticeMinutes)), now.AddDate(0, 0, t.HorizonDays)
}

// WithinNotice returns ReasonTooSoon if the minimum notice rules out a start time, ReasonTooFar if the booking horizon
// does, and an empty reason if both allow it.
func WithinNotice(t *store.AppointmentType, start, now time.Time) Reason {
	earliest, latest := BookableRange(t, now)
	switch {
	case earliest.After(start):
		return ReasonTooSoon
	case start.After(latest):
		return ReasonTooFar
	}
	return ""
}

// FreeSeats returns the seats of a span that the guarantee leaves free, lowest first: the unbooked seats of a group
// session, otherwise seat 0. It returns nil if there are none. If the capacity was reduced after a booking, an
// appointment on a seat above the new capacity still takes up one of the seats. Overbooked appointments occupy time
// like any other. FreeSeats skips appointments with other specialists. The order of taken does not matter.
func FreeSeats(t *store.AppointmentType, span holds.Span, taken []store.Taken) []int {
	booked := make([]bool, max(t.Capacity, 1))
	var above []int
	for i := range taken {
		other := TakenSpan(&taken[i])
		if !span.SameGroup(&other) {
			if span.Conflicts(&other) {
				return nil
			}
			continue
		}
		switch {
		case other.Seat < len(booked):
			booked[other.Seat] = true
		case !slices.Contains(above, other.Seat):
			above = append(above, other.Seat)
		}
	}
	var free []int
	for seat, b := range booked {
		if !b {
			free = append(free, seat)
		}
	}
	if len(free) <= len(above) {
		return nil
	}
	return free[:len(free)-len(above)]
}

// TakenSpan returns the time that an appointment occupies.
func TakenSpan(a *store.Taken) holds.Span {
	return holds.Span{
		AppointmentTypeID: a.AppointmentTypeID,
		SpecialistID:      a.SpecialistID,
		SlotStart:         a.SlotStart,
		SlotEnd:           a.SlotEnd,
		BusyStart:         a.BusyStart,
		BusyEnd:           a.BusyEnd,
		Seat:              a.Seat,
	}
}

// Rules disable some of the limits on a slot. The zero value applies the rules for patients.
type Rules struct {
	IgnoreHours  bool // for staff: ignore opening times, overrides, blocks, notice and horizon
	KeepBlocks   bool // with IgnoreHours: blocks and the hours of rooms still apply
	IgnoreNotice bool // ignore notice and horizon: the slot was requested in time, or the desk is booking
	IgnorePast   bool // with IgnoreNotice: also allow a start before now
	IgnoreGrid   bool // the slot must fit into a window, but can start between the listed slots
}

// Bookable returns the reason why a patient cannot book a slot of t at start, or an empty reason if the patient can. It
// applies Seats with the zero Rules.
func (c *Calendar) Bookable(t *store.AppointmentType, start time.Time, taken []store.Taken, now time.Time) Reason {
	_, reason := c.Seats(t, start, taken, now, Rules{})
	return reason
}

// Seats returns the free seats of a slot of t at start, or the reason why the slot cannot be booked. It applies the
// same rules as Starts and Open. So with the zero Rules, every start time that they list within BookableRange has a
// seat, and every other start time is refused. taken contains confirmed appointments around start (see Around); those
// with other specialists are skipped. If several reasons apply, Seats returns the one that is declared first.
func (c *Calendar) Seats(t *store.AppointmentType, start time.Time, taken []store.Taken, now time.Time,
	rules Rules) ([]int, Reason) {
	if reason := c.refuses(t, start, now, rules); reason != "" {
		return nil, reason
	}
	seats := FreeSeats(t, SpanOf(t, c.specialistID, start), taken)
	if seats == nil {
		return nil, ReasonTaken
	}
	return seats, ""
}

// refuses applies the same checks as Seats, except those that involve appointments.
func (c *Calendar) refuses(t *store.AppointmentType, start, now time.Time, rules Rules) Reason {
	switch {
	case !c.active || !t.Active:
		return ReasonInactive
	case rules.IgnoreHours && rules.KeepBlocks && c.isBlocked(t, start):
		return ReasonOverrideClosed
	case rules.IgnoreHours:
		return ""
	case rules.IgnoreNotice && !rules.IgnorePast && start.Before(now):
		return ReasonTooSoon
	}
	if !rules.IgnoreNotice {
		if reason := WithinNotice(t, start, now); reason != "" {
			return reason
		}
	}
	reason := c.startsAt(t, start)
	if rules.IgnoreGrid && reason == ReasonNotASlotStart {
		return ""
	}
	return reason
}

// Covers reports whether the calendar is open, without any block, for a slot of t at start, which does not have to be
// one of the listed start times. With ignoreHours, the calendar only has to be active.
func (c *Calendar) Covers(t *store.AppointmentType, start time.Time, ignoreHours bool) bool {
	if !c.active || ignoreHours {
		return c.active
	}
	reason := c.startsAt(t, start)
	return reason == "" || reason == ReasonNotASlotStart
}

// startsAt returns why no slot of t starts at an instant, considering only hours and blocks. It returns an empty reason
// if a slot does start then.
func (c *Calendar) startsAt(t *store.AppointmentType, start time.Time) Reason {
	if c.isBlocked(t, start) {
		return ReasonOverrideClosed
	}
	day := DayOf(store.DateOf(start.In(c.zone)))
	at, exact := start.Unix(), start.Nanosecond() == 0
	duration, step := lengths(t)
	reason := ReasonOutsideHours
	if hours, overridden := c.overrides[day]; overridden && len(hours) == 0 {
		reason = ReasonOverrideClosed
	}
	zone := zoneCursor{loc: c.zone}
	// If the clocks go back across midnight, the end of a date occurs a second time after the next date has
	// begun.
	for d := day; d <= day+1; d++ {
		for _, s := range zone.stretches(nil, d, c.windowsOf(d)) {
			if at < s.start || at+duration > s.end || (at+duration == s.end && !exact) {
				continue
			}
			if exact && (at-s.start)%step == 0 {
				return ""
			}
			reason = ReasonNotASlotStart
		}
	}
	return reason
}

// windowsOf returns the windows for one local date.
func (c *Calendar) windowsOf(day int64) []window {
	if w, ok := c.overrides[day]; ok {
		return w
	}
	return c.weekly[weekdayOf(day)]
}

// lengths returns the duration and the step of a type in seconds. If a type has no step, its slots follow each other
// without gaps.
func lengths(t *store.AppointmentType) (duration, step int64) {
	duration, step = int64(t.DurationMinutes)*60, int64(t.SlotStepMinutes)*60
	if step <= 0 {
		step = duration
	}
	return duration, step
}

func Minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// MaxBuffer is longer than any buffer of an appointment type: an appointment that occupies an instant only with a
// buffer begins or ends within MaxBuffer of it.
const MaxBuffer = 24 * time.Hour

// Earlier returns the earlier of two instants, and Later the later one.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// TakenBy returns the part of a list that belongs to one specialist. The list must be ordered by specialist.
func TakenBy(taken []store.Taken, specialistID string) []store.Taken {
	from, ok := slices.BinarySearchFunc(taken, specialistID, func(t store.Taken, id string) int {
		return cmp.Compare(t.SpecialistID, id)
	})
	if !ok {
		return nil
	}
	to := from
	for to < len(taken) && taken[to].SpecialistID == specialistID {
		to++
	}
	return taken[from:to]
}

// blockedTime is the time covered by blocks, [start, end), in Unix milliseconds. Blocks that overlap or touch are
// merged.
type blockedTime struct{ start, end int64 }

// makeBlocked returns the time covered by all blocks, in order. It merges blocks that overlap or touch, which excludes
// the same start times as the separate blocks.
func makeBlocked(blocks []store.Block) []blockedTime {
	all := make([]blockedTime, 0, len(blocks))
	for i := range blocks {
		all = append(all, blockedTime{blocks[i].Start.UnixMilli(), blocks[i].End.UnixMilli()})
	}
	slices.SortFunc(all, func(a, b blockedTime) int { return cmp.Compare(a.start, b.start) })
	merged := all[:0]
	for _, b := range all {
		if last := len(merged) - 1; last >= 0 && b.start <= merged[last].end {
			merged[last].end = max(merged[last].end, b.end)
		} else {
			merged = append(merged, b)
		}
	}
	return merged
}

// rulesOut returns the open interval (after, before) of start times that are excluded because a slot of t or its
// buffers would overlap the blocked time. The test is the same as the guarantee's for an appointment at that time
// without buffers.
func (b *blockedTime) rulesOut(t *store.AppointmentType) (after, before int64) {
	return b.start - Minutes(t.DurationMinutes+t.BufferAfterMinutes).Milliseconds(),
		b.end + Minutes(t.BufferBeforeMinutes).Milliseconds()
}

func (c *Calendar) isBlocked(t *store.AppointmentType, start time.Time) bool {
	at := start.UnixMilli()
	next := sort.Search(len(c.blocked), func(i int) bool {
		_, before := c.blocked[i].rulesOut(t)
		return at < before
	})
	if next == len(c.blocked) {
		return false
	}
	after, _ := c.blocked[next].rulesOut(t)
	return after < at
}

// Wall times, days and instants in this file are plain numbers, because a month of twenty specialists contains
// thousands of them. A wall time is in seconds as if the zone were UTC, a day is in days since 1970-01-01, and an
// instant is in Unix seconds.

const daySeconds = 24 * 60 * 60

// window is a store.Window in wall-clock seconds after midnight.
type window struct{ start, end int64 }

// stretch is a window on one date, as two instants [start, end).
type stretch struct{ start, end int64 }

// makeWindows converts windows to wall-clock seconds.
func makeWindows(in []store.Window) ([]window, error) {
	out := make([]window, 0, len(in))
	for _, w := range in {
		if w.Start < 0 || w.End > 24*60 || w.Start >= w.End {
			return nil, fmt.Errorf("the hours %s to %s must start and end on the same day", w.Start, w.End)
		}
		out = append(out, window{int64(w.Start) * 60, int64(w.End) * 60})
	}
	return out, nil
}

// LoadZone loads a time zone by its IANA name. It refuses names whose meaning depends on the machine: the empty name,
// "Local", the system's own files in the zone directory, and alternative spellings such as "Europe//Berlin".
func LoadZone(name string) (*time.Location, error) {
	first, _, _ := strings.Cut(name, "/")
	if fs.ValidPath(name) && !slices.Contains([]string{"Local", "localtime", "posixrules", "posix", "right"}, first) {
		if loc, err := time.LoadLocation(name); err == nil {
			return loc, nil
		}
	}
	return nil, fmt.Errorf("%q is not a time zone like Europe/Berlin", name)
}

// StartOfDay returns the first instant of a local date: 00:00, or the first time after it that exists.
func StartOfDay(zone *time.Location, d store.Date) time.Time {
	z := zoneCursor{loc: zone}
	return time.Unix(z.firstAt(DayOf(d)*daySeconds), 0).UTC()
}

// WallTime returns the instant of a local date and time. As with opening hours, a time skipped by a clock change moves
// forward by the length of the gap, and a time that occurs twice means its first occurrence.
func WallTime(zone *time.Location, d store.Date, t store.TimeOfDay) time.Time {
	z := zoneCursor{loc: zone}
	return time.Unix(z.instant(DayOf(d)*daySeconds+int64(t)*60), 0).UTC()
}

// DayOf returns the day number of a date, in days since 1970-01-01.
func DayOf(d store.Date) int64 {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Unix() / daySeconds
}

// weekdayOf returns the weekday of a day number. 1970-01-01 was a Thursday.
func weekdayOf(day int64) int { return int(((day+4)%7 + 7) % 7) }

// zoneCursor converts wall times to instants. It stores the last period with one UTC offset, so a run of dates costs
// one look-up per clock change. A zoneCursor with only loc set is ready to use. It is not safe for concurrent use.
type zoneCursor struct {
	loc    *time.Location
	offset int64
	// wall times in [lo, hi) exist only, or first, under offset
	lo, hi int64
}

// The minimum and maximum instants. They are far enough from the limits of int64 that adding an offset cannot overflow.
const (
	alpha = math.MinInt64 / 4
	omega = math.MaxInt64 / 4
)

// instant returns the instant of a wall time. A wall time that does not exist (the clocks skipped it when they went
// forward) is read with the offset before the change, which moves it forward by the length of the gap. If a wall time
// occurs twice, the first occurrence counts. Both rules are those of RFC 5545, section 3.3.5. time.Date guarantees
// neither: it moves 02:30 forward in Berlin but back in New York.
func (z *zoneCursor) instant(wall int64) int64 {
	at, shifted := z.resolve(wall)
	return at + shifted
}

// firstAt returns the first instant at which the wall clock shows this time or a later one. For a time that does not
// exist, that is the instant of the clock change.
func (z *zoneCursor) firstAt(wall int64) int64 {
	at, _ := z.resolve(wall)
	return at
}

// resolve returns the first instant at which the wall clock shows this time or a later one. If this time does not
// exist, shift is the number of seconds by which instant moves it past that instant.
func (z *zoneCursor) resolve(wall int64) (at, shift int64) {
	if z.lo <= wall && wall < z.hi {
		return wall - z.offset, 0
	}
	// No offset is as long as a day, so a period that contains this instant begins before any instant with this wall
	// time.
	start, end, offset := period(z.loc, wall-daySeconds)
	for wall-offset >= end {
		before := offset
		start, end, offset = period(z.loc, end)
		if wall-offset < start {
			return start, wall - before - start
		}
	}
	z.remember(start, end, offset)
	return wall - offset, 0
}

// remember stores a period for the wall times that occur only in it, or that occur in it first.
func (z *zoneCursor) remember(start, end, offset int64) {
	z.offset, z.lo, z.hi = offset, start+offset, end+offset
	if start > alpha {
		_, _, before := period(z.loc, start-1)
		z.lo = max(z.lo, start+before)
	}
}

// period returns the range of instants [start, end) around at that share one UTC offset, in seconds east of UTC.
func period(loc *time.Location, at int64) (start, end, offset int64) {
	t := time.Unix(at, 0).In(loc)
	_, east := t.Zone()
	start, end = alpha, omega
	from, to := t.ZoneBounds()
	if !from.IsZero() {
		start = from.Unix()
	}
	if !to.IsZero() {
		end = to.Unix()
	}
	return start, end, int64(east)
}

// stretches appends the windows of one date as instants. No stretch extends past the end of its own date, so the
// stretches of successive dates are in order. A date that the zone skips entirely has none.
func (z *zoneCursor) stretches(dst []stretch, day int64, windows []window) []stretch {
	if len(windows) == 0 {
		return dst
	}
	midnight := day * daySeconds
	endOfDay := z.firstAt(midnight + daySeconds)
	for _, w := range windows {
		s := stretch{z.instant(midnight + w.start), min(z.instant(midnight+w.end), endOfDay)}
		if s.start < s.end {
			dst = append(dst, s)
		}
	}
	return dst
}

package availability

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// Reason says why no slot of a type can be booked at an instant. The empty Reason means that it can.
type Reason string

const (
	ReasonInactive       Reason = "inactive"         // the type or the specialist is switched off
	ReasonTooSoon        Reason = "too_soon"         // before now + the minimum notice; the past is too soon
	ReasonTooFar         Reason = "too_far"          // after now + the horizon
	ReasonOverrideClosed Reason = "override_closed"  // an override closes the specialist's local date, or a block is in the way
	ReasonOutsideHours   Reason = "outside_hours"    // the slot does not fit whole into one window of opening time
	ReasonNotASlotStart  Reason = "not_a_slot_start" // it would fit, but no slot starts at this instant
	ReasonTaken          Reason = "taken"            // a confirmed appointment is in the way, or every seat is booked
	ReasonHeld           Reason = "held"             // other clients hold every free seat, or every free room of a group
)

// closeness orders the reasons from the farthest from bookable to the closest.
var closeness = [...]Reason{
	ReasonInactive, ReasonOutsideHours, ReasonOverrideClosed, ReasonNotASlotStart, ReasonTooFar, ReasonTooSoon, ReasonTaken, ReasonHeld,
}

// IsCloser reports whether r is closer to bookable than other, so that it is the better answer for several specialists together. Every
// reason is closer than the empty one.
func (r Reason) IsCloser(other Reason) bool {
	return slices.Index(closeness[:], r) > slices.Index(closeness[:], other)
}

// NotBookableError says why no slot starts at the asked instant.
type NotBookableError struct{ Reason Reason }

func (e *NotBookableError) Error() string { return "not bookable: " + string(e.Reason) }

// Calendar is what availability needs to know of one specialist: zone, weekly hours, overrides, blocks and whether the
// specialist is active. It never changes, so any number of goroutines may use one.
//
// # The rules
//
// Each local date of the specialist's zone has windows of opening time: those of its override if there is one, else
// the weekly hours of its weekday. They are wall clock; a missing wall time moves forward by the gap, a doubled one is
// its first occurrence, and 24:00 is the end of the date. Slots start at a window's start and every step of absolute
// time after it, and fit whole inside it; buffers may reach past it. Where windows overlap, each gives its own starts,
// and a start that several give counts once. A start whose slot or buffers meet a block is none.
type Calendar struct {
	specialistID string
	active       bool
	zone         *time.Location
	weekly       [7][]window // by time.Weekday
	overrides    map[int64][]window
	blocked      []blockedTime // in order, with gaps between them
}

// NewCalendar prepares one specialist's calendar. The order of hours, overrides and blocks does not matter. An unknown zone and
// hours that are not a stretch of one day are errors.
func NewCalendar(s store.Specialist, hours []store.WeeklyWindow, overrides []store.Override, blocks []store.Block) (*Calendar, error) {
	c := &Calendar{specialistID: s.ID, active: s.Active, overrides: make(map[int64][]window, len(overrides)), blocked: makeBlocked(blocks)}
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

// SpecialistID names whose calendar it is.
func (c *Calendar) SpecialistID() string { return c.specialistID }

// Zone is the specialist's time zone.
func (c *Calendar) Zone() *time.Location { return c.zone }

// SpanOf widens a start to the span that a booking of this type takes: the slot, and the slot with its buffers.
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

// BookableRange returns the earliest and the latest start, both included, that notice and horizon allow. A day of the
// horizon is 24 hours, whatever the clocks do meanwhile. A type without notice can be booked from now on.
func BookableRange(t *store.AppointmentType, now time.Time) (earliest, latest time.Time) {
	now = now.UTC()
	return now.Add(Minutes(t.MinNoticeMinutes)), now.AddDate(0, 0, t.HorizonDays)
}

// WithinNotice says whether notice and horizon allow a start: ReasonTooSoon, ReasonTooFar or nothing.
func WithinNotice(t *store.AppointmentType, start, now time.Time) Reason {
	earliest, latest := BookableRange(t, now)
	switch {
	case start.Before(earliest):
		return ReasonTooSoon
	case start.After(latest):
		return ReasonTooFar
	}
	return ""
}

// FreeSeats returns the seats of a span that the guarantee leaves free, lowest first: of a group session those not yet
// booked, otherwise seat 0. It is nil if there is none. Whoever sits on a seat above a capacity that was lowered since counts like anybody.
// Overbooked appointments take time like any other. Appointments of other specialists are passed over; the order does not matter.
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
		case other.Seat >= len(booked) && !slices.Contains(above, other.Seat):
			above = append(above, other.Seat)
		case other.Seat >= len(booked):
		case other.Seat >= 0:
			booked[other.Seat] = true
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

// TakenSpan is the time that an appointment takes.
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

// Rules leave out some of the limits of a slot. The zero value is what a patient can book.
type Rules struct {
	IgnoreHours  bool // staff: opening times, overrides, blocks, notice, horizon and the active flags do not matter
	IgnoreNotice bool // notice and horizon do not matter: the slot was requested in time, or the desk books
	IgnorePast   bool // with IgnoreNotice: a start before now is fine too
	IgnoreGrid   bool // the slot has to fit into a window, but can start between the slots of the listing
}

// Bookable returns the reason why a patient cannot book a slot of t at start; empty if the patient can. It is Seats with the zero Rules.
func (c *Calendar) Bookable(t *store.AppointmentType, start time.Time, taken []store.Taken, now time.Time) Reason {
	_, reason := c.Seats(t, start, taken, now, Rules{})
	return reason
}

// Seats returns the free seats of a slot of t at start, or the reason why it cannot be booked. It applies the rules by which Starts and
// Open list. So with the zero Rules, every start that they list within BookableRange has a seat, and every other start is refused. taken
// are confirmed appointments around start (see Around); those of other specialists are skipped. If several reasons apply, Seats returns
// the first of them in the order in which Reason declares them.
func (c *Calendar) Seats(t *store.AppointmentType, start time.Time, taken []store.Taken, now time.Time, rules Rules) ([]int, Reason) {
	if reason := c.refuses(t, start, now, rules); reason != "" {
		return nil, reason
	}
	seats := FreeSeats(t, SpanOf(t, c.specialistID, start), taken)
	if seats == nil {
		return nil, ReasonTaken
	}
	return seats, ""
}

// refuses is Seats without appointments.
func (c *Calendar) refuses(t *store.AppointmentType, start, now time.Time, rules Rules) Reason {
	switch {
	case rules.IgnoreHours:
		return ""
	case !c.active || !t.Active:
		return ReasonInactive
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

// Covers reports whether the calendar is open, and has no block, for a slot of t that starts at an instant, whether or not slots of its own
// would start then. With ignoreHours it only has to be active.
func (c *Calendar) Covers(t *store.AppointmentType, start time.Time, ignoreHours bool) bool {
	if !c.active || ignoreHours {
		return c.active
	}
	reason := c.startsAt(t, start)
	return reason == "" || reason == ReasonNotASlotStart
}

// startsAt says whether a slot of t starts at an instant, by hours and blocks alone.
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
	// The clocks going back over midnight show the end of a date for a second time when the next one has begun.
	for d := day; d <= day+1; d++ {
		for _, s := range zone.stretches(nil, d, c.windowsOf(d)) {
			if duration <= 0 || at < s.start || at+duration > s.end || (at+duration == s.end && !exact) {
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

// Starts appends the start of every slot of t with from ≤ start < to, in order, as Unix milliseconds: windows, steps,
// fit and blocks only, without notice, horizon, appointments or the active flags.
func (c *Calendar) Starts(dst []int64, t *store.AppointmentType, from, to time.Time) []int64 {
	first, end := ceilSeconds(from), ceilSeconds(to)
	duration, step := lengths(t)
	if duration <= 0 || first >= end {
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

// windowsOf returns the windows of one local date.
func (c *Calendar) windowsOf(day int64) []window {
	if w, ok := c.overrides[day]; ok {
		return w
	}
	return c.weekly[weekdayOf(day)]
}

// lengths returns duration and step of a type in seconds. A type without a step offers slots back to back.
func lengths(t *store.AppointmentType) (duration, step int64) {
	duration, step = int64(t.DurationMinutes)*60, int64(t.SlotStepMinutes)*60
	if step <= 0 {
		step = duration
	}
	return duration, step
}

func Minutes(n int) time.Duration { return time.Duration(n) * time.Minute }

// MaxBuffer is more than any buffer of an appointment type: what takes time near an instant begins and ends within it.
const MaxBuffer = 24 * time.Hour

// Earlier is the earlier of two instants, and Later the later one.
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

// ceilSeconds is the first whole Unix second at or after t.
func ceilSeconds(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}

// TakenBy is the part of a list, ordered by specialist, that is one specialist's.
func TakenBy(taken []store.Taken, specialistID string) []store.Taken {
	from, ok := slices.BinarySearchFunc(taken, specialistID, func(t store.Taken, id string) int { return cmp.Compare(t.SpecialistID, id) })
	if !ok {
		return nil
	}
	to := from
	for to < len(taken) && taken[to].SpecialistID == specialistID {
		to++
	}
	return taken[from:to]
}

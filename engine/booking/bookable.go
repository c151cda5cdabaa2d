package booking

import (
	"cmp"
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// # Can this start be booked, and if not, why?
//
// A Snapshot answers that question for every caller. It reads everything once, for the time around some start times:
// the appointments, the times that the practice-management system refused, the live holds, and the room bookings. Offer
// then answers for one specialist and one start time, Offers for all specialists, and Rooms for every start time in a
// listing. After that, only Claim and the database can still refuse a time.

// Rules disable some of the limits on a start time. The zero value applies the rules for patients.
type Rules struct {
	availability.Rules
	Place        string          // the specialist must work at this place at that time; empty means any place
	IgnoreClosed bool            // the practice-management system decides: its openings and refusals are ignored
	Moving       map[string]bool // ids of appointments that are being moved: their current time is free
	Moved        []holds.Booked  // the current times of the same appointments, for Claim
	Parts        []Part          // the parts of a visit; if nil, the type is booked as one appointment
}

// Part is one appointment of a visit. The practice-management system opens each of them separately.
type Part struct {
	Type  *store.AppointmentType
	After time.Duration // measured from the start of the visit
}

// Question names the start times that a Snapshot is read for.
type Question struct {
	Schedule    *clinic.Schedule
	Types       []*store.AppointmentType
	Specialists []string
	From, To    time.Time // from From up to but not including To; From is always included
	Rules       Rules
	Client      holds.Owner // its own holds on this slot do not conflict
	Replaces    string      // the id of a hold that the new one will replace; it does not conflict

	// IgnoreHeld skips reading the holds: the caller will call Claim, which checks them.
	IgnoreHeld bool
	// Reader is the transaction that reads the appointments. Held contains all holds, read before that transaction
	// began. If Reader is nil, the appointments come from memory and the holds from the live state.
	Reader store.Reader
	Held   []holds.Hold
}

// Snapshot is the state of the clinic around some start times, read once. It is not safe for concurrent use.
type Snapshot struct {
	Question
	booking *Booking
	now     time.Time
	taken   []store.Taken // sorted by specialist or room, in store order, without the appointments being moved
	held    []holds.Hold
	own     map[string][]occupancy.Interval // current times of the appointments being moved, by specialist
}

// Offer is a start time at which one specialist is free.
type Offer struct {
	store.Assignment
	Type  *store.AppointmentType
	Span  holds.Span
	Seats []int      // free seats, in the order to try
	Rooms [][]string // free resources of each group that the type needs, in the order to try
	from  *Snapshot
}

// Refusal is the reason why a start time cannot be booked. The zero Refusal means that it can.
type Refusal struct {
	Reason    availability.Reason
	HeldUntil time.Time // with ReasonHeld: when the last conflicting hold expires
}

// Err returns the refusal as store.ErrSlotTaken, *holds.HeldError or *availability.NotBookableError. It returns nil for
// the zero Refusal.
func (r Refusal) Err() error {
	switch r.Reason {
	case "":
		return nil
	case availability.ReasonTaken:
		return store.ErrSlotTaken
	case availability.ReasonHeld:
		return &holds.HeldError{Until: r.HeldUntil}
	}
	return &availability.NotBookableError{Reason: r.Reason}
}

// Snapshot reads the data needed to answer a question about start times.
func (bk *Booking) Snapshot(ctx context.Context, q Question) (*Snapshot, error) {
	sn := &Snapshot{Question: q, booking: bk, now: time.Now()}
	ids := slices.Clone(q.Specialists)
	first, last := q.From, q.To
	for _, t := range q.Types {
		ids = append(ids, slices.Concat(t.Needs...)...)
		begin, end := availability.Around(t, q.From, q.To)
		first, last = availability.Earlier(first, begin), availability.Later(last, end)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	if len(ids) == 0 || sn.isOutOfReach() {
		return sn, nil
	}
	var err error
	// The holds are read before the appointments: a hold that becomes an appointment between the two reads then
	// appears in at least one of them.
	sn.held = q.Held
	if q.Reader == nil && !q.IgnoreHeld {
		if sn.held, err = bk.holds.List(ctx, ids...); err != nil {
			return nil, err
		}
	}
	sn.held = slices.DeleteFunc(sn.held, func(h holds.Hold) bool { return q.Replaces != "" && h.ID == q.Replaces })
	switch {
	case q.Reader != nil:
		sn.taken, err = q.Reader.Taken(ctx, ids, first, last)
	case q.From.Equal(q.To):
		sn.taken, err = bk.TakenTimeInWeeks(ctx, ids, first, last)
	default:
		sn.taken, err = bk.TakenTime(ctx, ids, first, last)
	}
	if err != nil {
		return nil, err
	}
	if len(q.Rules.Moving) > 0 {
		sn.own = standing(sn.taken, q.Rules.Moving)
		sn.taken = slices.DeleteFunc(sn.taken, func(x store.Taken) bool { return q.Rules.Moving[x.AppointmentID] })
	}
	if !q.Rules.IgnoreClosed {
		sn.taken = bk.WithClosed(sn.taken, ids)
	}
	return sn, nil
}

// isOutOfReach reports whether the minimum notice or the booking horizon rules out the question's only start time,
// regardless of bookings. In that case Snapshot reads nothing, so that requests for times far in the future cost the
// database nothing.
func (sn *Snapshot) isOutOfReach() bool {
	return sn.From.Equal(sn.To) && !sn.Rules.IgnoreHours && !sn.Rules.IgnoreNotice &&
		!slices.ContainsFunc(sn.Types, func(t *store.AppointmentType) bool {
			return availability.WithinNotice(t, sn.From, sn.now) == ""
		})
}

// standing returns the current times of the appointments being moved, by specialist. It merges appointments that follow
// each other without a gap between their buffers.
func standing(taken []store.Taken, moving map[string]bool) map[string][]occupancy.Interval {
	own, until := make(map[string][]occupancy.Interval), make(map[string]time.Time)
	for i := range taken {
		x := &taken[i]
		if !moving[x.AppointmentID] {
			continue
		}
		id := x.SpecialistID
		if n := len(own[id]); n > 0 && !x.BusyStart.After(until[id]) {
			own[id][n-1].To = x.SlotEnd
		} else {
			own[id] = append(own[id], occupancy.Interval{From: x.SlotStart, To: x.SlotEnd})
		}
		until[id] = x.BusyEnd
	}
	return own
}

// Offer returns a specialist's offer for a start time, or the reason why it cannot be booked. If there are several
// reasons, it returns the first of these: inactive, notice and horizon, hours and blocks, taken (by an appointment, in
// the practice-management system, or because every room in a group is taken), held.
func (sn *Snapshot) Offer(t *store.AppointmentType, specialistID string, start time.Time) (Offer, Refusal) {
	calendar := sn.Schedule.Calendars[specialistID]
	i := slices.IndexFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == specialistID })
	if calendar == nil || i < 0 {
		return Offer{}, Refusal{Reason: availability.ReasonInactive}
	}
	rules := &sn.Rules
	if rules.Place != "" && sn.Schedule.PlaceAt(specialistID, start) != rules.Place {
		return Offer{}, Refusal{Reason: availability.ReasonOutsideHours}
	}
	seats, reason := calendar.Seats(t, start, availability.TakenBy(sn.taken, specialistID), sn.now, rules.Rules)
	if reason != "" {
		return Offer{}, Refusal{Reason: reason}
	}
	o := Offer{
		Assignment: t.Specialists[i], Type: t, Span: availability.SpanOf(t, specialistID, start), Seats: seats,
		from: sn,
	}
	needs := sn.needs(t)
	o.Rooms = needs.Free(start, specialistID, rules.IgnoreHours && !rules.KeepBlocks)
	if !sn.isOpen(t, specialistID, start) || slices.ContainsFunc(o.Rooms, isEmpty) {
		return Offer{}, Refusal{Reason: availability.ReasonTaken}
	}
	if until, isHeld := sn.heldUntil(&o, needs); isHeld {
		return Offer{}, Refusal{Reason: availability.ReasonHeld, HeldUntil: until}
	}
	return o, Refusal{}
}

// needs returns the rooms and devices that a type needs, or nil if it needs none.
func (sn *Snapshot) needs(t *store.AppointmentType) *availability.Needs {
	return needsOf(sn.Schedule, t, sn.taken)
}

// needsOf returns the rooms and devices that a type needs, with their bookings, or nil if it needs none.
func needsOf(s *clinic.Schedule, t *store.AppointmentType, taken []store.Taken) *availability.Needs {
	var placeAt availability.PlaceAt
	if len(s.Settings.Places) > 0 {
		placeAt = s.PlaceAt
	}
	return availability.NeedsOf(s.Calendars, t, taken, placeAt)
}

// CheckHeldRooms returns the reason why the rooms and devices of a hold no longer suffice for an appointment of a type,
// or an empty reason if they do. The schedule may have changed since the hold was claimed: a room may have been
// deactivated, closed or moved to another place, or the type may now need other rooms. A new hold may find another
// room.
func CheckHeldRooms(s *clinic.Schedule, t *store.AppointmentType, h *holds.Hold, ignoreHours bool) availability.Reason {
	held := h.Resources.List()
	if s.HasInactive(held) {
		return availability.ReasonInactive
	}
	for _, open := range needsOf(s, t, nil).Free(h.SlotStart, h.SpecialistID, ignoreHours) {
		if !slices.ContainsFunc(open, func(id string) bool { return slices.Contains(held, id) }) {
			return availability.ReasonOverrideClosed
		}
	}
	return ""
}

func isEmpty(group []string) bool { return len(group) == 0 }

// Offers returns the offers of all the question's specialists at one start time. If there are none, it returns the
// refusal that came closest to an offer.
func (sn *Snapshot) Offers(t *store.AppointmentType, start time.Time) (offers []Offer, refusal Refusal) {
	refusal.Reason = availability.ReasonInactive
	for _, id := range sn.Specialists {
		o, why := sn.Offer(t, id, start)
		switch {
		case why.Reason == "":
			offers = append(offers, o)
		case why.Reason.IsCloser(refusal.Reason):
			refusal = why
		}
	}
	if len(offers) > 0 {
		return offers, Refusal{}
	}
	return nil, refusal
}

// isOpen reports whether a slot's time is open in the practice-management system.
func (sn *Snapshot) isOpen(t *store.AppointmentType, specialistID string, start time.Time) bool {
	if sn.Rules.IgnoreHours || sn.Rules.IgnoreClosed {
		return true
	}
	parts := sn.Rules.Parts
	if parts == nil {
		return sn.booking.IsOpen(sn.Schedule, t, specialistID, start, sn.own[specialistID], sn.now)
	}
	return !slices.ContainsFunc(parts, func(p Part) bool {
		return !sn.booking.IsOpen(sn.Schedule, p.Type, specialistID, start.Add(p.After), sn.own[specialistID], sn.now)
	})
}

// heldUntil reports whether other clients hold every seat of an offer, or every room in a group, and when the last of
// those holds expires. It removes seats held by others from the offer.
func (sn *Snapshot) heldUntil(o *Offer, needs *availability.Needs) (until time.Time, isHeld bool) {
	if len(sn.held) == 0 {
		return until, false
	}
	others, _ := HeldSeats(o.Span, len(o.Seats), sn.held, sn.Client)
	if others < len(o.Seats) && needs.LeftOf(o.Rooms, o.Span.SlotStart, sn.held, sn.Client) > 0 {
		o.Seats = slices.DeleteFunc(o.Seats, func(seat int) bool {
			return slices.ContainsFunc(sn.held, func(h holds.Hold) bool {
				return h.SameGroup(&o.Span) && h.Seat == seat && !h.Owner.Is(sn.Client)
			})
		})
		return until, false
	}
	for i := range sn.held {
		if h := &sn.held[i]; (h.SameGroup(&o.Span) || o.excludes(h)) && h.ExpiresAt.After(until) {
			until = h.ExpiresAt
		}
	}
	return until, true
}

// excludes reports whether a hold occupies the specialist's time for an offer, or one of the offer's rooms.
func (o *Offer) excludes(h *holds.Hold) bool {
	if o.Span.Conflicts(&h.Span) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(o.Rooms...), func(id string) bool {
		mine, theirs := o.Span, h.Span
		mine.SpecialistID, mine.Seat, theirs.SpecialistID, theirs.Seat = id, 0, id, 0
		return slices.Contains(h.Resources.List(), id) && mine.Conflicts(&theirs)
	})
}

// isBookedSince reports whether the time of a hold was booked after its offer was read and before it was claimed.
// A booking holds its time until this process has the appointment in memory, so a second read after the claim
// cannot miss it.
func (o *Offer) isBookedSince(ctx context.Context, h *holds.Hold) bool {
	sn, err := o.from.booking.Snapshot(ctx, Question{
		Schedule: o.from.Schedule, Types: []*store.AppointmentType{o.Type}, Specialists: []string{h.SpecialistID},
		From: h.SlotStart, To: h.SlotStart, Rules: o.from.Rules, IgnoreHeld: true,
	})
	if err != nil {
		o.from.booking.log.Warn("failed to check occupied time after a claim; the check is repeated at booking",
			"error", err)
		return false
	}
	seats := availability.FreeSeats(o.Type, h.Span, availability.TakenBy(sn.taken, h.SpecialistID))
	return !slices.Contains(seats, h.Seat) || !sn.needs(o.Type).Have(h)
}

// Hours returns the reason why hours, overrides, blocks or the active flags rule out a start time, or an empty reason
// if they do not. Callers that ignore the hours use it to report what they have ignored.
func (sn *Snapshot) Hours(t *store.AppointmentType, specialistID string, start time.Time) availability.Reason {
	calendar := sn.Schedule.Calendars[specialistID]
	if calendar == nil {
		return availability.ReasonInactive
	}
	rules := availability.Rules{IgnoreNotice: true, IgnorePast: true, IgnoreGrid: true}
	_, reason := calendar.Seats(t, start, nil, sn.now, rules)
	return reason
}

// Occupy adds the time of an appointment that the caller is about to write, so that later questions take it into
// account.
func (sn *Snapshot) Occupy(x store.Taken) {
	at, _ := slices.BinarySearchFunc(sn.taken, x, func(a, b store.Taken) int {
		return cmp.Or(cmp.Compare(a.SpecialistID, b.SpecialistID), occupancy.Compare(a, b))
	})
	sn.taken = slices.Insert(sn.taken, at, x)
}

// InTheWay returns the specialist's appointments, refused times and occupied times that conflict with a span.
func (sn *Snapshot) InTheWay(span *holds.Span) (list []store.Taken) {
	for _, x := range availability.TakenBy(sn.taken, span.SpecialistID) {
		if other := availability.TakenSpan(&x); span.Conflicts(&other) || span.SameGroup(&other) {
			list = append(list, x)
		}
	}
	return list
}

// Rooms lists, in one pass over the calendars, every start time in the question for which Offer would find a seat if
// there were no holds, minimum notice or booking horizon. It also returns the rooms and devices that the type needs, or
// nil if it needs none.
func (sn *Snapshot) Rooms(t *store.AppointmentType) (*availability.Rooms, *availability.Needs) {
	calendars := make([]*availability.Calendar, len(sn.Specialists))
	for i, id := range sn.Specialists {
		calendars[i] = sn.Schedule.Calendars[id]
	}
	rooms := availability.PoolRooms(calendars, t, sn.From, sn.To, sn.taken)
	if place := sn.Rules.Place; place != "" {
		rooms = rooms.Only(func(start time.Time, who int) bool {
			return sn.Schedule.PlaceAt(sn.Specialists[who], start) == place
		})
	}
	if sn.Rules.Parts == nil {
		rooms = sn.booking.OnlyOpen(sn.Schedule, t, rooms, sn.Specialists, sn.now)
	} else {
		rooms = rooms.Only(func(start time.Time, who int) bool { return sn.isOpen(t, sn.Specialists[who], start) })
	}
	needs := sn.needs(t)
	return needs.Within(rooms, sn.Specialists), needs
}

// Offers returns the offers for one start time: those of the named specialist, or of all specialists of the type. It
// does not read the holds, because Claim checks them.
//
// Errors: *ValidationError (the named specialist does not serve the type), *NotBookableError, store.ErrSlotTaken,
// storage errors.
func (bk *Booking) Offers(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string,
	start time.Time, rules Rules) ([]Offer, error) {
	ids := specialistsOf(t, specialistID)
	if len(ids) == 0 && specialistID != "" {
		return nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
	}
	sn, err := bk.Snapshot(ctx, Question{
		Schedule: s, Types: []*store.AppointmentType{t}, Specialists: ids, From: start, To: start, Rules: rules,
		IgnoreHeld: true,
	})
	if err != nil {
		return nil, err
	}
	offers, refusal := sn.Offers(t, start)
	return offers, refusal.Err()
}

// specialistsOf returns the specialists of a type, or the named one if it serves the type.
func specialistsOf(t *store.AppointmentType, specialistID string) (ids []string) {
	for _, a := range t.Specialists {
		if specialistID == "" || a.SpecialistID == specialistID {
			ids = append(ids, a.SpecialistID)
		}
	}
	return ids
}

// HeldSeats counts the free seats in one specialist's slot that a client cannot take because of holds, and reports
// whether the client itself holds one of them.
func HeldSeats(span holds.Span, free int, held []holds.Hold, client holds.Owner) (others int, own bool) {
	for i := range held {
		h := &held[i]
		switch {
		case !h.SameGroup(&span):
			if span.Conflicts(&h.Span) { // another session: it excludes every seat of this slot
				return free, false
			}
		case h.Owner.Is(client):
			own = true
		default:
			others++
		}
	}
	return min(others, free), own
}

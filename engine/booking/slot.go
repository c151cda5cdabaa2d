package booking

import (
	"context"
	"slices"
	"sync"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxTimeslotDays is the longest range that one listing can cover. DefaultTimeslotDays applies if the request has no
// end.
const (
	MaxTimeslotDays     = 62
	DefaultTimeslotDays = 7
)

// TimeslotsRequest is a request for the slots of one type.
type TimeslotsRequest struct {
	AppointmentTypeID string
	SpecialistID      string     // empty means pooled over all active specialists of the type
	Place             string     // only if specialists work at this place; empty means at any place
	From, To          store.Date // local dates, From inclusive, To exclusive; zero means today, and 7 days later
	Client            holds.ClientID
	Desk              bool // ignore the type's notice and horizon
	// Moving is the appointment that a patient is about to move, opened by its manage link; nil means none. If it is
	// confirmed and of this type, its own time counts as free, as it does for the hold and the move.
	Moving *store.Appointment
	// Schedule is the state that the caller has read. Several listings in one response then use the same state, even if
	// a type is deleted in between. If Schedule is nil, the current state applies.
	Schedule *clinic.Schedule

	// MayHold reports whether the caller may hold a span. For example, it may not if its network already holds its
	// share of the specialist's day. The listing leaves out times that the caller may not hold. If MayHold is nil, the
	// caller may hold all times.
	MayHold func(*holds.Span) bool
}

// Timeslots is the response to a TimeslotsRequest. Dates are local to Timezone: the specialist's if one was named,
// otherwise the clinic's.
type Timeslots struct {
	AppointmentTypeID string
	Timezone          string
	From, To          store.Date
	Generation        uint64
	Slots             []Timeslot // sorted by start
}

// Timeslot is one bookable start time with the live holds applied.
type Timeslot struct {
	Start, End    time.Time // UTC
	Available     int       // free seats over all specialists, minus those held by others
	Held          int       // free seats held by others
	OwnHold       bool      // the requesting client holds it
	SpecialistIDs []string  // specialists with a free seat that no other client holds, sorted by id
}

// SlotList is a computed list that does not take holds, the minimum notice or the booking horizon into account. It is
// immutable, except for a part that is computed on first use. Until the list changes, all listings share the same
// *SlotList, so callers can cache the data that they derive from it.
type SlotList struct {
	*availability.Rooms
	t           *store.AppointmentType
	specialists []string // all specialists of the listing, by id, with or without a slot
	needs       *availability.Needs
	// the specialists' calendars, from the schedule that the list was computed from; a later schedule can lack some of
	// them
	calendars []*availability.Calendar
	from, to  time.Time // the listed days

	fullOnce sync.Once
	full     []time.Time // fully booked starts; see booked
}

// cost returns approximately how many bytes the list occupies, including its encoded slots, which package web caches
// for as long as the list exists.
func (l *SlotList) cost() int64 {
	const slot, room = 140, 4 + 24 // including the JSON of a slot and of an id in it
	return 256 + int64(l.Len())*slot + int64(l.Seats())*room + int64(len(l.specialists))*16
}

// at returns the index of the slot with this start time.
func (l *SlotList) at(start time.Time) (place int, ok bool) { return l.Search(start) }

// Timeslot returns the slot at an index, 0 to Len()-1, ignoring holds.
func (l *SlotList) Timeslot(place int) Timeslot {
	free := l.Free(place)
	start := l.Start(place)
	slot := Timeslot{Start: start, End: start.Add(availability.Minutes(l.t.DurationMinutes)),
		SpecialistIDs: make([]string, len(free))}
	for i, f := range free {
		slot.SpecialistIDs[i] = l.specialists[f.Who]
		slot.Available += int(f.Seats)
	}
	slot.Available = min(slot.Available, l.needs.Most(start, slot.SpecialistIDs))
	return slot
}

// Listing is the response to a TimeslotsRequest: a part of a cached list, and new copies of the slots that holds or a
// limit on the caller affect.
type Listing struct {
	AppointmentTypeID string
	Timezone          string
	From, To          store.Date
	Generation        uint64
	List              *SlotList

	first, end int // the part of the list that notice and horizon allow
	touched    []touchedSlot
}

// touchedSlot is a slot affected by a hold or by a limit on the caller, with its remaining seats.
type touchedSlot struct {
	place int
	Timeslot
}

// isHidden reports whether the slot has no seat that the caller may hold and none that a client holds.
func (s *touchedSlot) isHidden() bool {
	return len(s.SpecialistIDs) == 0 && s.Held == 0 && !s.OwnHold
}

// Each calls its functions for all slots in the listing, by start. It calls same for each run of slots that are
// unchanged from List, at the indexes from first up to but not including end. It calls changed for each slot that a
// hold or a limit on the caller affects.
func (l *Listing) Each(same func(first, end int), changed func(*Timeslot)) {
	next := l.first
	for i := range l.touched {
		slot := &l.touched[i]
		if next < slot.place {
			same(next, slot.place)
		}
		next = slot.place + 1
		if !slot.isHidden() {
			changed(&slot.Timeslot)
		}
	}
	if next < l.end {
		same(next, l.end)
	}
}

// Slots returns the slots, by start.
func (l *Listing) Slots() []Timeslot {
	slots := make([]Timeslot, 0, l.end-l.first)
	l.Each(func(first, end int) {
		for place := first; place < end; place++ {
			slots = append(slots, l.List.Timeslot(place))
		}
	}, func(slot *Timeslot) { slots = append(slots, *slot) })
	return slots
}

// Timeslots lists the bookable slots of a type. Errors: *ValidationError, store.ErrNotFound.
func (bk *Booking) Timeslots(ctx context.Context, r TimeslotsRequest) (Timeslots, error) {
	l, err := bk.List(ctx, r)
	if err != nil {
		return Timeslots{}, err
	}
	return Timeslots{l.AppointmentTypeID, l.Timezone, l.From, l.To, l.Generation, l.Slots()}, nil
}

// List is like Timeslots, for callers that encode the slots themselves. Errors: *ValidationError, store.ErrNotFound.
func (bk *Booking) List(ctx context.Context, r TimeslotsRequest) (Listing, error) {
	s := r.Schedule
	if s == nil {
		s = bk.clinic.Current()
	}
	t, zone, err := s.Listed(r.AppointmentTypeID, r.SpecialistID)
	if err != nil {
		return Listing{}, err
	}
	now := time.Now()
	if r.From == (store.Date{}) {
		r.From = store.DateOf(now.In(zone))
	}
	if r.To == (store.Date{}) {
		r.To = r.From.AddDays(DefaultTimeslotDays)
	}
	switch days := r.From.DaysUntil(r.To); {
	case days <= 0:
		return Listing{}, record.Invalid("to", "must be later than from; it is the first day that is not included")
	case days > MaxTimeslotDays:
		return Listing{}, record.Invalid("to", "must be at most %d days after from; %d days were "+
			"requested", MaxTimeslotDays, days)
	}
	// Read the holds before the bookings: a hold that becomes a booking between the two reads then appears in at least
	// one of them.
	held, err := bk.holds.List(ctx, concerned(s, t, r.SpecialistID)...)
	if err != nil {
		bk.log.Warn("slots listed without live holds", "error", err)
	}
	answer := Listing{AppointmentTypeID: t.ID, Timezone: zone.String(), From: r.From, To: r.To,
		Generation: bk.clinic.Generation(t.ID)}
	var list *SlotList
	if moves(r.Moving, t.ID) {
		list, err = bk.computeSlots(ctx, s, t, r.SpecialistID, availability.StartOfDay(zone, r.From),
			availability.StartOfDay(zone, r.To), Rules{Place: r.Place, Moving: map[string]bool{r.Moving.ID: true}})
	} else {
		list, err = bk.slotList(ctx, s, t, r.SpecialistID, r.Place, zone, r.From, r.To, answer.Generation)
	}
	if err != nil {
		return Listing{}, err
	}
	answer.List = list
	if answer.end = list.Len(); !r.Desk {
		answer.first, answer.end = list.bookable(t, now)
	}
	answer.touched = list.touched(answer.first, answer.end, held, r.Client.Owner(), r.MayHold)
	return answer, nil
}

// slotList returns the list from the cache, or computes it from the database.
func (bk *Booking) slotList(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID,
	place string, zone *time.Location,
	from, to store.Date, generation uint64) (*SlotList, error) {
	compute := func() (*SlotList, error) {
		return bk.computeSlots(ctx, s, t, specialistID, availability.StartOfDay(zone, from),
			availability.StartOfDay(zone, to), Rules{Place: place})
	}
	if bk.clinic.Current() != s {
		// The schedule has changed since it was read, so the generation might be newer than s. Do not cache the list.
		return compute()
	}
	return bk.lists.list(slotKey(t.ID, specialistID, place, from, to, generation), compute)
}

func (bk *Booking) computeSlots(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string,
	from, to time.Time, rules Rules) (*SlotList, error) {
	list := &SlotList{t: t, Rooms: new(availability.Rooms), from: from, to: to}
	if !t.Active {
		return list, nil
	}
	list.specialists = serving(s, t, specialistID)
	if len(list.specialists) == 0 {
		return list, nil
	}
	for _, id := range list.specialists {
		list.calendars = append(list.calendars, s.Calendars[id])
	}
	sn, err := bk.Snapshot(ctx, Question{
		Schedule: s, Types: []*store.AppointmentType{t}, Specialists: list.specialists, From: from, To: to,
		Rules: rules, IgnoreHeld: true,
	})
	if err != nil {
		return nil, err
	}
	list.Rooms, list.needs = sn.Rooms(t)
	return list, nil
}

// bookable returns the part of the list, from first up to but not including end, that the minimum notice and the
// booking horizon allow at this instant.
func (l *SlotList) bookable(t *store.AppointmentType, now time.Time) (first, end int) {
	earliest, latest := availability.BookableRange(t, now)
	first, _ = l.Search(earliest)
	end, exact := l.Search(latest)
	if exact {
		end++
	}
	return min(first, end), end
}

// touched returns the slots from first up to but not including end that are affected by live holds or mayHold, with
// their remaining seats.
func (l *SlotList) touched(first, end int, held []holds.Hold, owner holds.Owner,
	mayHold func(*holds.Span) bool) []touchedSlot {
	if len(held) == 0 && mayHold == nil || first == end {
		return nil
	}
	here := l.bySpecialist(held)
	var touched []touchedSlot
	for place := first; place < end; place++ {
		left := touchedSlot{place: -1}
		for _, f := range l.Free(place) {
			if here[f.Who] == nil && mayHold == nil {
				continue
			}
			id := l.specialists[f.Who]
			span := availability.SpanOf(l.t, id, l.Start(place))
			others, own := HeldSeats(span, int(f.Seats), here[f.Who], owner)
			refused := !own && mayHold != nil && !mayHold(&span)
			if others == 0 && !own && !refused {
				continue
			}
			if left.place < 0 {
				left = touchedSlot{place, l.Timeslot(place)}
			}
			left.Available -= others
			left.Held += others
			left.OwnHold = left.OwnHold || own
			if refused {
				left.Available -= int(f.Seats) - others
			}
			if refused || others == int(f.Seats) {
				left.SpecialistIDs = slices.DeleteFunc(left.SpecialistIDs, func(each string) bool { return each == id })
			}
		}
		if l.t.Needs != nil {
			left = l.withRooms(left, place, held, owner)
		}
		if left.place >= 0 {
			touched = append(touched, left)
		}
	}
	return touched
}

// withRooms returns a copy of a slot without the specialists and the seats that the holds leave no room for.
func (l *SlotList) withRooms(left touchedSlot, place int, held []holds.Hold, owner holds.Owner) touchedSlot {
	start := l.Start(place)
	if left.place < 0 {
		if !l.needs.AnyHeld(start, held, owner) {
			return left
		}
		left = touchedSlot{place, l.Timeslot(place)}
	}
	whole := l.Timeslot(place)
	left.SpecialistIDs = slices.DeleteFunc(left.SpecialistIDs, func(id string) bool {
		return l.needs.Left(start, []string{id}, held, owner) == 0
	})
	left.Available = min(len(left.SpecialistIDs), l.needs.Left(start, left.SpecialistIDs, held, owner))
	left.Held = whole.Available - left.Available
	return left
}

// bySpecialist groups the holds by specialist, in the order of the list's specialists.
func (l *SlotList) bySpecialist(held []holds.Hold) [][]holds.Hold {
	here := make([][]holds.Hold, len(l.specialists))
	for _, h := range held {
		if who, ok := slices.BinarySearch(l.specialists, h.SpecialistID); ok {
			here[who] = append(here[who], h)
		}
	}
	return here
}

// serving returns the active specialists of a type, or only the named one, sorted by id.
func serving(s *clinic.Schedule, t *store.AppointmentType, specialistID string) []string {
	var ids []string
	for _, a := range t.Specialists {
		if specialistID != "" && specialistID != a.SpecialistID {
			continue
		}
		if p := s.SpecialistByID[a.SpecialistID]; p != nil && p.Active {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// concerned returns the ids whose holds can affect a list for the type: its specialists and its resources.
func concerned(s *clinic.Schedule, t *store.AppointmentType, specialistID string) []string {
	return slices.Concat(serving(s, t, specialistID), availability.ResourcesOf(t))
}

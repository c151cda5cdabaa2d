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

// MaxTimeslotDays is the longest range of one listing; DefaultTimeslotDays is taken where no end is asked for.
const (
	MaxTimeslotDays     = 62
	DefaultTimeslotDays = 7
)

// TimeslotsRequest asks for the slots of one type.
type TimeslotsRequest struct {
	AppointmentTypeID string
	SpecialistID      string     // empty: pooled over all active specialists of the type
	From, To          store.Date // local dates, From inclusive, To exclusive; zero: today, and 7 days later
	Client            holds.ClientID
}

// Timeslots is the answer. Dates are local to Timezone: the specialist's if one was named, else the clinic's.
type Timeslots struct {
	AppointmentTypeID string
	Timezone          string
	From, To          store.Date
	Generation        uint64
	Slots             []Timeslot // by start; shared, must not be changed
}

// Timeslot is one bookable start, with the live holds laid over it.
type Timeslot struct {
	Start, End    time.Time // UTC
	Available     int       // free seats over all specialists, less those held by others
	Held          int       // free seats held by others
	OwnHold       bool      // the asking client holds it
	SpecialistIDs []string  // those with a free seat nobody else holds, by id; shared, must not be changed
}

// slotList is a computed list without holds, notice and horizon. It is immutable.
type slotList struct {
	slots       []listedSlot // by start
	unheld      []Timeslot   // what slots come to while nobody holds anything; one for one
	specialists []string     // all who were asked, whether or not they have a slot

	once sync.Once
	full []time.Time // starts that are booked out; see booked
}

type listedSlot struct {
	availability.Slot
	ids   []string // the specialists of Free
	seats int      // over all of Free
}

func (l *slotList) cost() int64 {
	cost := int64(64)
	for i := range l.slots {
		cost += 96 + int64(len(l.slots[i].Free))*40
	}
	return cost
}

// at returns the slot with this start, or nil.
func (l *slotList) at(start time.Time) *listedSlot {
	i, ok := slices.BinarySearchFunc(l.slots, start, func(s listedSlot, t time.Time) int { return s.Start.Compare(t) })
	if !ok {
		return nil
	}
	return &l.slots[i]
}

// Timeslots lists the bookable slots of a type. *ValidationError, store.ErrNotFound.
func (bk *Booking) Timeslots(ctx context.Context, r TimeslotsRequest) (Timeslots, error) {
	s := bk.clinic.Current()
	t, zone, err := bk.listing(s, r.AppointmentTypeID, r.SpecialistID)
	if err != nil {
		return Timeslots{}, err
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
		return Timeslots{}, record.Invalid("to", "must be later than from; it names the first day left out")
	case days > MaxTimeslotDays:
		return Timeslots{}, record.Invalid("to", "at most %d days after from, %d were asked for", MaxTimeslotDays, days)
	}
	answer := Timeslots{AppointmentTypeID: t.ID, Timezone: zone.String(), From: r.From, To: r.To, Generation: bk.clinic.Generation(t.ID)}
	list, err := bk.slotList(ctx, s, t, r.SpecialistID, zone, r.From, r.To, answer.Generation)
	if err != nil {
		return Timeslots{}, err
	}
	held, err := bk.holds.List(ctx, list.specialists...)
	if err != nil {
		bk.log.Warn("slots are listed without holds", "error", err)
	}
	first, end := list.bookable(t, now)
	answer.Slots = list.unheld[first:end:end]
	if len(held) > 0 {
		answer.Slots = layHolds(t, list.slots[first:end], answer.Slots, held, r.Client.Owner())
	}
	return answer, nil
}

// listing checks what a listing is asked about and names the zone its dates are in.
func (bk *Booking) listing(s *clinic.Schedule, appointmentTypeID, specialistID string) (*store.AppointmentType, *time.Location, error) {
	t, ok := s.Types[appointmentTypeID]
	if !ok {
		return nil, nil, record.ErrNoAppointmentType
	}
	if specialistID == "" {
		return t, s.Zone, nil
	}
	if !slices.ContainsFunc(t.Specialists, func(a store.Assignment) bool { return a.SpecialistID == specialistID }) {
		return nil, nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
	}
	return t, s.Calendars[specialistID].Zone(), nil
}

// slotList returns the list from the cache, or computes it from the database.
func (bk *Booking) slotList(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string, zone *time.Location,
	from, to store.Date, generation uint64) (*slotList, error) {
	if bk.clinic.Current() != s {
		// The schedule was changed since it was read, so the generation may be newer than s: nothing is kept.
		return bk.computeSlots(ctx, s, t, specialistID, availability.StartOfDay(zone, from), availability.StartOfDay(zone, to))
	}
	return bk.slots.get(slotKey(t.ID, specialistID, from, to, generation), func() (*slotList, error) {
		return bk.computeSlots(ctx, s, t, specialistID, availability.StartOfDay(zone, from), availability.StartOfDay(zone, to))
	})
}

func (bk *Booking) computeSlots(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string, from, to time.Time) (*slotList, error) {
	list := &slotList{}
	if !t.Active {
		return list, nil
	}
	for _, a := range t.Specialists {
		p := s.SpecialistByID[a.SpecialistID]
		if p != nil && p.Active && (specialistID == "" || specialistID == p.ID) {
			list.specialists = append(list.specialists, p.ID)
		}
	}
	if len(list.specialists) == 0 {
		return list, nil
	}
	slices.Sort(list.specialists)
	first, last := availability.Around(t, from, to)
	taken, err := bk.TakenTime(ctx, list.specialists, first, last)
	if err != nil {
		return nil, err
	}
	calendars := make([]*availability.Calendar, len(list.specialists))
	for i, id := range list.specialists {
		calendars[i] = s.Calendars[id]
	}
	slots := availability.Pool(calendars, t, from, to, bk.closed.over(taken, list.specialists))
	list.slots, list.unheld = make([]listedSlot, len(slots)), make([]Timeslot, len(slots))
	for i, slot := range slots {
		listed := listedSlot{Slot: slot, ids: make([]string, len(slot.Free))}
		for j, f := range slot.Free {
			listed.ids[j] = f.SpecialistID
			listed.seats += f.Seats
		}
		list.slots[i] = listed
		list.unheld[i] = Timeslot{Start: slot.Start, End: slot.End, Available: listed.seats, SpecialistIDs: listed.ids}
	}
	return list, nil
}

// bookable is the part of the list, from first to before end, that notice and horizon leave at this instant.
func (l *slotList) bookable(t *store.AppointmentType, now time.Time) (first, end int) {
	earliest, latest := availability.BookableRange(t, now)
	compare := func(s listedSlot, at time.Time) int { return s.Start.Compare(at) }
	first, _ = slices.BinarySearchFunc(l.slots, earliest, compare)
	end, exact := slices.BinarySearchFunc(l.slots, latest, compare)
	if exact {
		end++
	}
	return min(first, end), end
}

// layHolds counts what the live holds leave of each slot. unheld is what the slots come to without them.
func layHolds(t *store.AppointmentType, slots []listedSlot, unheld []Timeslot, held []holds.Hold, asking holds.Owner) []Timeslot {
	answer := slices.Clone(unheld)
	bySpecialist := make(map[string][]holds.Hold)
	for _, h := range held {
		bySpecialist[h.SpecialistID] = append(bySpecialist[h.SpecialistID], h)
	}
	for i := range slots {
		s := &slots[i]
		var without []string // specialists whose every seat somebody holds
		for _, f := range s.Free {
			here := bySpecialist[f.SpecialistID]
			if here == nil {
				continue
			}
			others, own := HeldSeats(availability.SpanOf(t, f.SpecialistID, s.Start), f.Seats, here, asking)
			answer[i].Available -= others
			answer[i].Held += others
			answer[i].OwnHold = answer[i].OwnHold || own
			if others == f.Seats {
				without = append(without, f.SpecialistID)
			}
		}
		if without != nil {
			answer[i].SpecialistIDs = slices.DeleteFunc(slices.Clone(s.ids), func(id string) bool { return slices.Contains(without, id) })
		}
	}
	return answer
}

// HeldSeats counts how many of one specialist's free seats holds keep from this client, and says whether the client
// itself holds one.
func HeldSeats(span holds.Span, seats int, held []holds.Hold, asking holds.Owner) (others int, own bool) {
	for i := range held {
		h := &held[i]
		switch {
		case !h.SameGroup(&span):
			if span.Conflicts(&h.Span) { // another session: every seat is in its way
				return seats, false
			}
		case h.Owner.Is(asking):
			own = true
		default:
			others++
		}
	}
	return min(others, seats), own
}

// NextAvailable returns the first slot with a free seat that nobody holds, at or after the instant, up to the type's
// horizon. ErrNoSlots, store.ErrNotFound, *ValidationError.
func (bk *Booking) NextAvailable(ctx context.Context, appointmentTypeID, specialistID string, after time.Time) (Timeslot, error) {
	s := bk.clinic.Current()
	t, zone, err := bk.listing(s, appointmentTypeID, specialistID)
	if err != nil {
		return Timeslot{}, err
	}
	now := time.Now()
	if after.Before(now) {
		after = now
	}
	last := store.DateOf(now.AddDate(0, 0, t.HorizonDays+1).In(zone))
	for from := store.DateOf(after.In(zone)); !last.Before(from); from = from.AddDays(DefaultTimeslotDays) {
		list, err := bk.Timeslots(ctx, TimeslotsRequest{
			AppointmentTypeID: appointmentTypeID, SpecialistID: specialistID, From: from, To: from.AddDays(DefaultTimeslotDays),
		})
		if err != nil {
			return Timeslot{}, err
		}
		for _, slot := range list.Slots {
			if slot.Available > 0 && !slot.Start.Before(after) {
				return slot, nil
			}
		}
	}
	return Timeslot{}, record.ErrNoSlots
}

package group

import (
	"context"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MaxPublicDays is the longest range that the public can list a visit's start times for. The server computes such a
// list for each request and does not cache it.
const MaxPublicDays = 14

// SlotsRequest is a request for the start times at which a whole visit fits.
type SlotsRequest struct {
	AppointmentTypeIDs []string // one for each person
	SpecialistID       string   // empty means all specialists who serve all types
	From, To           store.Date
	Client             holds.ClientID
	// Moving is an appointment in the visit that the patient is about to move; nil means none. The visit's current time
	// then counts as free, as it does for the hold and the move.
	Moving *store.Appointment
	Desk   bool // ignore notice and horizon; the range has at most booking.MaxTimeslotDays
}

// Slots lists the start times at which a whole visit fits: on the first type's grid, within opening hours, and free for
// the visit's whole duration. A start time is listed as held if another client holds part of the visit's time.
func (v *Visit) Slots(ctx context.Context, r SlotsRequest) (booking.Timeslots, error) {
	s := v.clinic.Current()
	w, err := slotOf(s, r.AppointmentTypeIDs)
	if err != nil {
		return booking.Timeslots{}, err
	}
	_, zone, err := s.Listed(w.ID, r.SpecialistID)
	if err != nil {
		return booking.Timeslots{}, err
	}
	if r.SpecialistID != "" && !w.AppointmentType.IsServedBy(r.SpecialistID) {
		return booking.Timeslots{}, record.Invalid("specialistId",
			"no specialist with this id serves all of these appointment types")
	}
	now := time.Now()
	if r.From == (store.Date{}) {
		r.From = store.DateOf(now.In(zone))
	}
	if r.To == (store.Date{}) {
		r.To = r.From.AddDays(booking.DefaultTimeslotDays)
	}
	most := MaxPublicDays
	if r.Desk {
		most = booking.MaxTimeslotDays
	}
	if days := r.From.DaysUntil(r.To); days <= 0 || days > most {
		return booking.Timeslots{}, record.Invalid("to",
			"must be 1 to %d days after from for a visit of several people; got %d", most, days)
	}
	answer := booking.Timeslots{AppointmentTypeID: w.ID, Timezone: zone.String(), From: r.From, To: r.To,
		Generation: v.clinic.Generation(w.ID), Slots: []booking.Timeslot{}}
	if !w.Active {
		return answer, nil
	}
	var ids []string
	for _, a := range w.Specialists {
		if p := s.SpecialistByID[a.SpecialistID]; p != nil && p.Active &&
			(r.SpecialistID == "" || r.SpecialistID == p.ID) {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	from, to := availability.StartOfDay(zone, r.From), availability.StartOfDay(zone, r.To)
	rule := rules{ignoreHolds: true}
	if r.Moving != nil {
		list, err := visitOf(ctx, v.store, r.Moving, store.Confirmed)
		if err != nil {
			return answer, err
		}
		rule.moves(list)
	}
	k, err := v.look(ctx, s, w, ids, from, to, &rule)
	if err != nil {
		return answer, err
	}
	held, err := v.holds.List(ctx, slices.Concat(ids, availability.ResourcesOf(w.AppointmentType))...)
	if err != nil {
		held = nil // list the starts without holds; the claim will check them
	}
	laid := layOut(held)
	rooms, needs := k.snapshot.Rooms(w.AppointmentType)
	for i := range rooms.Len() {
		if i%256 == 0 && ctx.Err() != nil { // the client has disconnected
			return booking.Timeslots{}, ctx.Err()
		}
		start := rooms.Start(i)
		if !r.Desk && availability.WithinNotice(w.AppointmentType, start, now) != "" {
			continue
		}
		if one, any := w.timeslot(start, rooms.Free(i), ids, needs, laid, r.Client.Owner()); any {
			answer.Slots = append(answer.Slots, one)
		}
	}
	return answer, nil
}

// searchDays is how many days ahead NextAvailable searches at most.
const searchDays = 12 * 7

// NextAvailable returns the first start time at or after an instant at which a whole visit fits and that no client
// holds. The search ends at the shortest booking horizon of the types, and after searchDays. r.From and r.To have no
// effect.
//
// Errors: those of Slots, record.ErrNoSlots.
func (v *Visit) NextAvailable(ctx context.Context, r SlotsRequest, after time.Time) (booking.Timeslot, error) {
	s := v.clinic.Current()
	w, err := slotOf(s, r.AppointmentTypeIDs)
	if err != nil {
		return booking.Timeslot{}, err
	}
	searched := 0
	return booking.FirstAvailable(s.Zone, after, w.HorizonDays, MaxPublicDays,
		func(from, to store.Date) (booking.Timeslots, error) {
			if searched += MaxPublicDays; searched > searchDays {
				return booking.Timeslots{}, record.ErrNoSlots
			}
			r.From, r.To = from, to
			return v.Slots(ctx, r)
		})
}

// heldTime contains the holds around a listing, grouped once for all of its start times.
type heldTime struct {
	bySpecialist map[string][]holds.Hold
	withRooms    []holds.Hold // the holds that take a room or a device
	near         []holds.Hold // the holds in withRooms that are near one start
}

func layOut(held []holds.Hold) *heldTime {
	laid := &heldTime{bySpecialist: make(map[string][]holds.Hold)}
	for i := range held {
		laid.bySpecialist[held[i].SpecialistID] = append(laid.bySpecialist[held[i].SpecialistID], held[i])
		if held[i].Resources != "" {
			laid.withRooms = append(laid.withRooms, held[i])
		}
	}
	return laid
}

// roomsAt lists the holds that take a room in a slot's busy time. The next call overwrites the list.
func (l *heldTime) roomsAt(span *holds.Span) []holds.Hold {
	l.near = l.near[:0]
	for i := range l.withRooms {
		if h := &l.withRooms[i]; h.BusyStart.Before(span.BusyEnd) && span.BusyStart.Before(h.BusyEnd) {
			l.near = append(l.near, *h)
		}
	}
	return l.near
}

// timeslot returns one start time with its holds. any is false if the start time is neither free nor held.
func (w *slot) timeslot(start time.Time, free []availability.Room, ids []string, needs *availability.Needs,
	held *heldTime, owner holds.Owner) (one booking.Timeslot, any bool) {
	one = booking.Timeslot{Start: start, End: start.Add(availability.Minutes(w.DurationMinutes)),
		SpecialistIDs: []string{}}
	for _, f := range free {
		id := ids[f.Who]
		others, own := booking.HeldSeats(availability.SpanOf(w.AppointmentType, id, start), 1, held.bySpecialist[id],
			owner)
		one.OwnHold = one.OwnHold || own
		if one.Held += others; others == 0 {
			one.SpecialistIDs = append(one.SpecialistIDs, id)
		}
	}
	if one.Available = len(one.SpecialistIDs); one.Available > 0 && needs != nil {
		span := availability.SpanOf(w.AppointmentType, "", start)
		taking := held.roomsAt(&span)
		one.SpecialistIDs = slices.DeleteFunc(one.SpecialistIDs, func(id string) bool {
			return needs.Left(start, []string{id}, taking, owner) == 0
		})
		one.Held += one.Available - len(one.SpecialistIDs)
		one.Available = min(len(one.SpecialistIDs), needs.Left(start, one.SpecialistIDs, taking, owner))
	}
	if one.Available == 0 {
		one.Held, one.SpecialistIDs = one.Held+len(one.SpecialistIDs), []string{}
	}
	return one, one.Available+one.Held > 0
}

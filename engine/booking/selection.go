package booking

import (
	"context"
	"maps"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// LockTTL is the lifetime of the hold that a locking selection takes, unless the type's maximum is shorter.
const LockTTL = 600 * time.Second

// SelectRequest is a request to mark a slot as selected by a client.
type SelectRequest struct {
	AppointmentTypeID string
	SlotStart         time.Time
	SpecialistID      string // empty means that Select assigns one
	Client            holds.ClientID
	Lock              bool                    // also take a hold
	Limit             func(*holds.Span) error // limits that hold; see HoldRequest.Limit
}

// Selected is the result of Select.
type Selected struct {
	holds.Selection
	Hold *holds.Hold // nil without a lock
}

// Select marks a slot as being looked at, for holds.SelectionTTL. A selection does not exclude other clients. With
// Lock, Select also holds the slot.
//
// Errors: those of Hold.
func (bk *Booking) Select(ctx context.Context, r SelectRequest) (Selected, error) {
	asked := HoldRequest{AppointmentTypeID: r.AppointmentTypeID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID,
		Client: r.Client, TTL: LockTTL, Limit: r.Limit}
	if r.Lock {
		return bk.lock(ctx, asked)
	}
	if err := asked.validate(); err != nil {
		return Selected{}, err
	}
	s := bk.clinic.Current()
	t, ok := s.Types[r.AppointmentTypeID]
	if !ok {
		return Selected{}, record.ErrNoAppointmentType
	}
	offers, err := bk.Offers(ctx, s, t, r.SpecialistID, r.SlotStart, Rules{})
	if err != nil {
		return Selected{}, err
	}
	selection, err := bk.holds.Select(ctx, r.Client.Owner(), offers[pick(offers, "")].Span)
	return Selected{Selection: selection}, err
}

// lock holds the slot and marks it. If only the mark fails, lock logs that and returns the hold, which is what the
// client needs.
func (bk *Booking) lock(ctx context.Context, asked HoldRequest) (Selected, error) {
	h, err := bk.Hold(ctx, asked)
	if err != nil {
		return Selected{}, err
	}
	selection, err := bk.holds.Select(ctx, asked.Client.Owner(), h.Span)
	if err != nil {
		bk.log.Warn("failed to store a selection with a hold", "error", err)
		selection = holds.Selection{Span: h.Span, Owner: asked.Client.Owner()}
	}
	return Selected{Selection: selection, Hold: &h}, nil
}

// Deselect ends the client's selection of a slot and releases the client's hold on it. It is idempotent and reports
// whether either existed. Errors: *ValidationError.
func (bk *Booking) Deselect(ctx context.Context, r SelectRequest) (bool, error) {
	asked := HoldRequest{AppointmentTypeID: r.AppointmentTypeID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID,
		Client: r.Client}
	if err := asked.validate(); err != nil {
		return false, err
	}
	specialists := bk.selectable(&r)
	if len(specialists) == 0 {
		return false, nil
	}
	asking := r.Client.Owner()
	same := func(s *holds.Span, owner holds.Owner) bool {
		return owner.Is(asking) && s.AppointmentTypeID == r.AppointmentTypeID && s.SlotStart.Equal(r.SlotStart)
	}
	done := false
	looking, err := bk.holds.Selected(ctx, r.SlotStart, r.SlotStart.Add(time.Minute), specialists...)
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(looking, func(s holds.Selection) bool { return same(&s.Span, s.Owner) }) {
		if done, err = bk.holds.Deselect(ctx, asking); err != nil {
			return false, err
		}
	}
	held, err := bk.holds.List(ctx, specialists...)
	if err != nil {
		return done, err
	}
	for i := range held {
		if h := &held[i]; same(&h.Span, h.Owner) {
			released, err := bk.holds.Release(ctx, h.ID, h.Owner, holds.ReasonReleased)
			if err != nil {
				return done, err
			}
			done = done || released
		}
	}
	return done, nil
}

// selectable returns the specialists that a selection can apply to: the one named in the request, or all specialists of
// the type.
func (bk *Booking) selectable(r *SelectRequest) []string {
	if r.SpecialistID != "" {
		return []string{r.SpecialistID}
	}
	t := bk.clinic.Current().Types[r.AppointmentTypeID]
	if t == nil {
		return nil
	}
	ids := make([]string, len(t.Specialists))
	for i, a := range t.Specialists {
		ids[i] = a.SpecialistID
	}
	return ids
}

// PollRequest is a request for the state of one local day.
type PollRequest struct {
	AppointmentTypeID string     // empty means all types, or all that the specialist serves
	Date              store.Date // zero means today
	SpecialistID      string     // empty means pooled
	Client            holds.ClientID
	// Selected is the start time that the client has selected. If that selection has expired and a type is named, Poll
	// creates it again. Zero means no selection.
	Selected time.Time

	anyType bool // this is one of several types in a poll: list the free starts too
}

// Poll is the state of one local day, for pages that cannot receive a live stream. Start times are in order, and each
// is in at most one of Booked and Locked. The result is the same for every client: it includes the client's own
// selection and holds.
type Poll struct {
	Zone       *time.Location // the zone of the day: the specialist's if one was named, otherwise the clinic's
	Generation uint64         // generation of the slots
	Looking    []time.Time    // starts that at least one client has selected
	Booked     []time.Time    // starts without a free seat; shared, must not be changed
	Locked     []time.Time    // starts with free seats that are all held
	CheckedAt  time.Time

	free []time.Time // starts that can be held, for the union of several types
}

// ListingZone returns the time zone for the listings of a type, or of all types if none is named: the specialist's if
// one is named, otherwise the clinic's. Errors: store.ErrNotFound, *ValidationError.
func (bk *Booking) ListingZone(appointmentTypeID, specialistID string) (*time.Location, error) {
	s := bk.clinic.Current()
	switch {
	case appointmentTypeID != "":
		_, zone, err := s.Listed(appointmentTypeID, specialistID)
		return zone, err
	case specialistID == "":
		return s.Zone, nil
	case s.Calendars[specialistID] == nil:
		return nil, record.Invalid("specialistId", "no specialist has this id")
	}
	return s.Calendars[specialistID].Zone(), nil
}

// Poll returns the state of one local day from memory: from the slot cache and the live state. It renews the client's
// own selection. Errors: store.ErrNotFound, *ValidationError.
func (bk *Booking) Poll(ctx context.Context, r PollRequest) (Poll, error) {
	if r.AppointmentTypeID != "" {
		return bk.pollType(ctx, r)
	}
	zone, err := bk.ListingZone("", r.SpecialistID)
	if err != nil {
		return Poll{}, err
	}
	p := Poll{Zone: zone, CheckedAt: time.Now()}
	if r.Date == (store.Date{}) {
		r.Date = store.DateOf(p.CheckedAt.In(zone))
	}
	if r.Client != "" {
		if _, err := bk.holds.Renew(ctx, r.Client.Owner()); err != nil {
			bk.log.Debug("failed to renew a selection", "error", err)
		}
	}
	types := bk.clinic.Serves(r.SpecialistID)
	if r.SpecialistID == "" {
		types = slices.Collect(maps.Keys(bk.clinic.Current().Types))
	}
	for _, id := range types {
		one, err := bk.pollType(ctx, PollRequest{AppointmentTypeID: id, Date: r.Date, SpecialistID: r.SpecialistID,
			anyType: true})
		if err != nil {
			return Poll{}, err
		}
		p.add(&one)
	}
	// A start time that can be held for one type is neither booked nor locked, even if a longer type does not fit
	// there. If only a hold keeps a type from using a start time, that time is locked, because it becomes free when the
	// hold ends.
	p.Locked = without(p.Locked, p.free)
	p.Booked = without(without(p.Booked, p.free), p.Locked)
	return p, nil
}

// without returns the instants in all that are not in leave. Both lists are in order.
func without(all, leave []time.Time) []time.Time {
	return slices.DeleteFunc(all, func(at time.Time) bool {
		_, found := slices.BinarySearchFunc(leave, at, time.Time.Compare)
		return found
	})
}

// add merges the poll of another type into p. The merged generation is the highest of all types' generations, so it
// changes when any of them does.
func (p *Poll) add(other *Poll) {
	p.Generation = max(p.Generation, other.Generation)
	p.Booked, p.Locked, p.Looking = unite(p.Booked, other.Booked), unite(p.Locked, other.Locked),
		unite(p.Looking, other.Looking)
	p.free = unite(p.free, other.free)
}

// unite returns the instants from both lists in order, without duplicates.
func unite(a, b []time.Time) []time.Time {
	all := slices.Concat(a, b)
	slices.SortFunc(all, time.Time.Compare)
	return slices.CompactFunc(all, time.Time.Equal)
}

// pollTries is the maximum number of times that a poll is read if bookings are written during the reads.
const pollTries = 3

// pollType polls one type. It reads the list before the live state, because the list names the specialists to read. A
// hold that becomes a booking between the two reads would appear in neither. Such a booking changes the generation
// before it ends the hold, so pollType detects it and reads both again.
func (bk *Booking) pollType(ctx context.Context, r PollRequest) (p Poll, err error) {
	for range pollTries {
		if p, err = bk.readPoll(ctx, r); err != nil || p.Generation == bk.clinic.Generation(r.AppointmentTypeID) {
			break
		}
	}
	return p, err
}

func (bk *Booking) readPoll(ctx context.Context, r PollRequest) (Poll, error) {
	// read before the schedule, so that the list is at least as new
	generation := bk.clinic.Generation(r.AppointmentTypeID)
	s := bk.clinic.Current()
	t, zone, err := s.Listed(r.AppointmentTypeID, r.SpecialistID)
	switch {
	case err != nil && r.anyType:
		// After Poll read the types, the type was deleted, or the specialist stopped serving it.
		return Poll{Generation: generation}, nil
	case err != nil:
		return Poll{}, err
	}
	now := time.Now()
	if r.Date == (store.Date{}) {
		r.Date = store.DateOf(now.In(zone))
	}
	from, to := availability.StartOfDay(zone, r.Date), availability.StartOfDay(zone, r.Date.AddDays(1))
	list, err := bk.slotList(ctx, s, t, r.SpecialistID, "", zone, r.Date, r.Date.AddDays(1), generation)
	if err != nil {
		return Poll{}, err
	}
	p := Poll{Zone: zone, Generation: generation, CheckedAt: now, Booked: list.booked()}
	if r.Client != "" {
		bk.renewSelection(ctx, t, list, &r, now)
	}
	if len(list.specialists) == 0 {
		return p, nil
	}
	key := liveKey{t.ID, r.SpecialistID, r.Date, generation}
	day, err := bk.liveDay(ctx, key, t, concerned(s, t, r.SpecialistID), from, to, now)
	if err != nil {
		return Poll{}, err
	}
	p.Locked = list.locked(day.held)
	if r.anyType {
		for place := range list.Len() {
			p.free = append(p.free, list.Start(place))
		}
		p.free = without(p.free, p.Locked)
	}
	for i := range day.looking {
		at := day.looking[i].SlotStart
		if n := len(p.Looking); n == 0 || !p.Looking[n-1].Equal(at) {
			p.Looking = append(p.Looking, at)
		}
	}
	return p, nil
}

// renewSelection renews the selection of a polling client, or creates it again from the given list. A selection is only
// a hint, so a failure is only logged.
func (bk *Booking) renewSelection(ctx context.Context, t *store.AppointmentType, list *SlotList, r *PollRequest,
	now time.Time) {
	renewed, err := bk.holds.Renew(ctx, r.Client.Owner())
	if err == nil && !renewed && !r.Selected.IsZero() && availability.WithinNotice(t, r.Selected, now) == "" {
		if place, ok := list.at(r.Selected); ok {
			id, _ := availability.Assign(t.ID, list.Start(place), list.assignments(place))
			_, err = bk.holds.Select(ctx, r.Client.Owner(), availability.SpanOf(t, id, list.Start(place)))
		}
	}
	if err != nil {
		bk.log.Debug("failed to renew a selection", "error", err)
	}
}

// assignments returns the assignments of the specialists who are free at a slot.
func (l *SlotList) assignments(place int) []store.Assignment {
	var free []store.Assignment
	for _, f := range l.Free(place) {
		i := slices.IndexFunc(l.t.Specialists, func(a store.Assignment) bool {
			return a.SpecialistID == l.specialists[f.Who]
		})
		free = append(free, l.t.Specialists[i])
	}
	return free
}

// locked lists the start times whose free seats are all held.
func (l *SlotList) locked(held []holds.Hold) []time.Time {
	if len(held) == 0 {
		return nil
	}
	here := l.bySpecialist(held)
	var starts []time.Time
	for place := range l.Len() {
		if start := l.Start(place); !slices.ContainsFunc(l.Free(place), func(f availability.Room) bool {
			if here[f.Who] == nil {
				return true
			}
			others, _ := HeldSeats(availability.SpanOf(l.t, l.specialists[f.Who], start), int(f.Seats), here[f.Who],
				holds.Owner{})
			return others < int(f.Seats)
		}) || l.needs != nil && l.needs.Left(start, l.Timeslot(place).SpecialistIDs, held, holds.Owner{}) == 0 {
			starts = append(starts, start)
		}
	}
	return starts
}

// booked lists the start times that the opening hours offer but that have no free seat. It is computed once per list.
func (l *SlotList) booked() []time.Time {
	l.fullOnce.Do(func() {
		var starts []int64
		for _, c := range l.calendars {
			starts = c.Starts(starts, l.t, l.from, l.to)
		}
		slices.Sort(starts)
		for _, ms := range slices.Compact(starts) {
			at := time.UnixMilli(ms).UTC()
			if _, ok := l.at(at); !ok {
				l.full = append(l.full, at)
			}
		}
	})
	return l.full
}

package engine

import (
	"context"
	"slices"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// LockTTL is the life of the hold that a selection with a lock takes, as far as the type's maximum allows.
const LockTTL = 600 * time.Second

// SelectRequest says that a client is looking at a slot.
type SelectRequest struct {
	AppointmentTypeID string
	SlotStart         time.Time
	SpecialistID      string // empty: assigned
	Client            holds.ClientID
	Lock              bool // also take a hold
}

// Selected is what a selection came to.
type Selected struct {
	holds.Selection
	Hold *holds.Hold // nil without a lock
}

// Select marks a slot as being looked at, for holds.SelectionTTL. It excludes nobody; with Lock it also holds the slot.
//
// Errors: those of Hold.
func (e *Engine) Select(ctx context.Context, r SelectRequest) (Selected, error) {
	asked := HoldRequest{AppointmentTypeID: r.AppointmentTypeID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Client: r.Client, TTL: LockTTL}
	if err := asked.validate(); err != nil {
		return Selected{}, err
	}
	var answer Selected
	var span holds.Span
	if r.Lock {
		h, err := e.Hold(ctx, asked)
		if err != nil {
			return Selected{}, err
		}
		answer.Hold, span = &h, h.Span
	} else {
		s := e.schedule.current.Load()
		t, ok := s.types[r.AppointmentTypeID]
		if !ok {
			return Selected{}, store.ErrNotFound
		}
		found, err := e.candidates(ctx, s, t, r.SpecialistID, r.SlotStart, time.Now(), candidateRules{})
		if err != nil {
			return Selected{}, err
		}
		left := make([]store.Assignment, len(found))
		for i := range found {
			left[i] = found[i].Assignment
		}
		id, _ := Assign(t.ID, r.SlotStart, left)
		span = SpanOf(t, id, r.SlotStart)
	}
	var err error
	answer.Selection, err = e.holds.Select(ctx, r.Client, span)
	return answer, err
}

// Deselect ends the client's selection of a slot, and the hold that the client has on it. It is idempotent and reports
// whether there was either.
func (e *Engine) Deselect(ctx context.Context, r SelectRequest) (bool, error) {
	asked := HoldRequest{AppointmentTypeID: r.AppointmentTypeID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Client: r.Client}
	if err := asked.validate(); err != nil {
		return false, err
	}
	same := func(s *holds.Span, c holds.ClientID) bool {
		return c == r.Client && s.AppointmentTypeID == r.AppointmentTypeID && s.SlotStart.Equal(r.SlotStart) &&
			(r.SpecialistID == "" || s.SpecialistID == r.SpecialistID)
	}
	done := false
	looking, err := e.holds.Selected(ctx, r.SlotStart, r.SlotStart.Add(time.Minute))
	if err != nil {
		return false, err
	}
	if slices.ContainsFunc(looking, func(s holds.Selection) bool { return same(&s.Span, s.Client) }) {
		if done, err = e.holds.Deselect(ctx, r.Client); err != nil {
			return false, err
		}
	}
	held, err := e.holds.List(ctx)
	if err != nil {
		return done, err
	}
	for i := range held {
		if h := &held[i]; same(&h.Span, h.Client) {
			released, err := e.holds.Release(ctx, h.ID, h.Client, holds.ReasonReleased)
			if err != nil {
				return done, err
			}
			done = done || released
		}
	}
	return done, nil
}

// PollRequest asks for the state of one local day of a type.
type PollRequest struct {
	AppointmentTypeID string
	Date              store.Date
	SpecialistID      string // empty: pooled
	Client            holds.ClientID
	// Selected is the start that the client says it is looking at; a selection that lapsed is made anew. Zero: none.
	Selected time.Time
}

// Poll is that state, for pages whose live stream does not get through. Starts are in the order of the day; a start is
// in at most one of Booked and Locked. The client's own selection and holds are left out.
type Poll struct {
	Zone      *time.Location // whose wall clock the day is: the specialist's if one was named, else the clinic's
	Looking   []time.Time    // starts that others are looking at
	Booked    []time.Time    // starts without a free seat
	Locked    []time.Time    // starts whose every free seat others hold
	CheckedAt time.Time
}

// Poll answers from memory: the slot cache and the live state. It renews the client's own selection. store.ErrNotFound,
// *ValidationError.
func (e *Engine) Poll(ctx context.Context, r PollRequest) (Poll, error) {
	s := e.schedule.current.Load()
	t, zone, err := e.listing(s, r.AppointmentTypeID, r.SpecialistID)
	if err != nil {
		return Poll{}, err
	}
	if r.Client != "" {
		e.renewSelection(ctx, &r)
	}
	now := time.Now()
	next := r.Date.AddDays(1)
	list, err := e.slotList(ctx, s, t, r.SpecialistID, zone, r.Date, next, e.Generation(t.ID))
	if err != nil {
		return Poll{}, err
	}
	p := Poll{Zone: zone, CheckedAt: now, Booked: list.booked(s, t, StartOfDay(zone, r.Date), StartOfDay(zone, next))}
	if len(list.specialists) == 0 {
		return p, nil
	}
	held, err := e.holds.List(ctx, list.specialists...)
	if err != nil {
		return Poll{}, err
	}
	if len(held) > 0 {
		for _, slot := range layHolds(t, list.slots, list.unheld, held, r.Client) {
			if slot.Available == 0 {
				p.Locked = append(p.Locked, slot.Start)
			}
		}
	}
	looking, err := e.holds.Selected(ctx, StartOfDay(zone, r.Date), StartOfDay(zone, next), list.specialists...)
	if err != nil {
		return Poll{}, err
	}
	for i := range looking {
		if x := &looking[i]; x.AppointmentTypeID == t.ID && (r.Client == "" || x.Client != r.Client) {
			p.Looking = append(p.Looking, x.SlotStart)
		}
	}
	slices.SortFunc(p.Looking, time.Time.Compare)
	p.Looking = slices.CompactFunc(p.Looking, time.Time.Equal)
	return p, nil
}

// renewSelection keeps the selection of a client that polls. It is a courtesy, so a failure is only logged.
func (e *Engine) renewSelection(ctx context.Context, r *PollRequest) {
	renewed, err := e.holds.Renew(ctx, r.Client)
	if err == nil && !renewed && !r.Selected.IsZero() {
		_, err = e.Select(ctx, SelectRequest{AppointmentTypeID: r.AppointmentTypeID, SlotStart: r.Selected, SpecialistID: r.SpecialistID, Client: r.Client})
	}
	if err != nil {
		e.log.Debug("a selection was not renewed", "error", err)
	}
}

// booked lists the starts that the hours offer and that nobody has a seat free at. It is worked out once for a list.
func (l *slotList) booked(s *schedule, t *store.AppointmentType, from, to time.Time) []time.Time {
	l.once.Do(func() {
		var starts []int64
		for _, id := range l.specialists {
			starts = s.calendars[id].Starts(starts, t, from, to)
		}
		slices.Sort(starts)
		for _, ms := range slices.Compact(starts) {
			if at := time.UnixMilli(ms).UTC(); l.at(at) == nil {
				l.full = append(l.full, at)
			}
		}
	})
	return l.full
}

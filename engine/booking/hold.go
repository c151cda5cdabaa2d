package booking

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/clinic"
	"holdfast/engine/occupancy"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// MinHoldTTL is the shortest TTL that a request may ask for.
const MinHoldTTL = time.Second

// HoldRequest asks for a hold.
type HoldRequest struct {
	AppointmentTypeID string
	SlotStart         time.Time
	SpecialistID      string // empty: assigned
	Place             string // one of the clinic's; empty: any
	Client            holds.ClientID
	TTL               time.Duration // 0: the type's
	Displace          bool          // staff: take it from whoever holds it; its owner is told
	IgnoreHours       bool          // staff: outside the opening times as well
	// Moving is the confirmed appointment that this hold is to move, opened by its manage link. Its own time is free to
	// it, and a cooldown, which is about booking the same type again, does not stand in its way.
	Moving *store.Appointment
	// Limit reports why the caller may not hold this span, such as a network that holds its share of the specialist's day; nil if it may.
	// Where no specialist is named, the hold goes to one that the caller may hold. Nil: no limit.
	Limit func(*holds.Span) error
}

// moves reports whether the hold is for moving an appointment of the type it asks for.
func (r *HoldRequest) moves() bool {
	return r.Moving != nil && r.Moving.Status == store.Confirmed && r.Moving.AppointmentTypeID == r.AppointmentTypeID
}

// Hold claims a slot for one client. Where no specialist is named, one is assigned, and the next one if that claim is
// lost, until one is claimed or none is left.
//
// Errors: *ValidationError, store.ErrNotFound, *NotBookableError, store.ErrSlotTaken, *holds.HeldError, holds.ErrQuota,
// *CooldownError.
func (bk *Booking) Hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	h, err := bk.hold(ctx, r)
	if bk.CountRefusal(ActHold, err); err == nil {
		bk.counts.held.Add(1)
	}
	return h, err
}

func (bk *Booking) hold(ctx context.Context, r HoldRequest) (holds.Hold, error) {
	if err := r.validate(); err != nil {
		return holds.Hold{}, err
	}
	s := bk.clinic.Current()
	t, ok := s.Types[r.AppointmentTypeID]
	if !ok {
		return holds.Hold{}, record.ErrNoAppointmentType
	}
	now := time.Now()
	rules := CandidateRules{IgnoreHours: r.IgnoreHours, Place: r.Place}
	if r.moves() {
		rules.moving = r.Moving.ID
	}
	found, err := bk.Candidates(ctx, s, t, r.SpecialistID, r.SlotStart, now, rules)
	if err != nil {
		return holds.Hold{}, err
	}
	if !r.moves() && !r.Displace {
		if err := bk.CheckCooldown(ctx, bk.store, t, r.Client.Owner().String(), now); err != nil {
			var cooling *CooldownError
			if errors.As(err, &cooling) {
				return holds.Hold{}, err
			}
			bk.log.Warn("cooldown not checked for a hold; checked at booking", "error", err)
		}
	}
	if found, err = bk.withinLimit(ctx, t, &r, found); err != nil {
		return holds.Hold{}, err
	}
	ttl := r.TTL
	if ttl == 0 {
		ttl = time.Duration(t.HoldTTLSeconds) * time.Second
	}
	maxLife := time.Duration(t.MaxHoldSeconds) * time.Second
	claim := holds.Claim{Owner: r.Client.Owner(), TTL: min(ttl, maxLife), MaxLife: maxLife, Quota: t.HoldQuota, Displace: r.Displace}
	for {
		h, err := bk.Claim(ctx, t, r.SlotStart, found, claim)
		if err != nil {
			return holds.Hold{}, err
		}
		if !bk.bookedMeanwhile(ctx, t, &h, rules) {
			bk.KnowHold(h.ID, &h.Span, h.Owner)
			return h, nil
		}
		bk.Release(ctx, h, holds.ReasonConflict)
		if found = lose(found, h); len(found) == 0 {
			return holds.Hold{}, store.ErrSlotTaken
		}
	}
}

// withinLimit leaves the candidates that the caller may hold. A slot that the client holds already is counted already. If none is left, the
// error is the limit of the first.
func (bk *Booking) withinLimit(ctx context.Context, t *store.AppointmentType, r *HoldRequest, found []candidate) ([]candidate, error) {
	if r.Limit == nil {
		return found, nil
	}
	var refusal error
	var left []candidate
	for i := range found {
		err := r.Limit(&found[i].span)
		if err == nil {
			left = append(left, found[i])
		} else if refusal == nil {
			refusal = err
		}
	}
	if len(left) == len(found) {
		return found, nil
	}
	if own := bk.alreadyHeld(ctx, t, r.SlotStart, found, r.Client.Owner()); own != "" {
		return found, nil
	}
	if len(left) == 0 {
		return nil, refusal
	}
	return left, nil
}

// bookedMeanwhile reports whether what a hold was just granted on was booked after it was found free. A booking keeps its time
// by a hold of its own until what is taken is known here, so who looks again with the hold in hand cannot miss it.
func (bk *Booking) bookedMeanwhile(ctx context.Context, t *store.AppointmentType, h *holds.Hold, rules CandidateRules) bool {
	first, last := availability.Around(t, h.SlotStart, h.SlotStart)
	taken, err := bk.TakenTime(ctx, []string{h.SpecialistID}, first, last)
	if err != nil {
		bk.log.Warn("occupied time not checked again for a hold; checked at booking", "error", err)
		return false
	}
	if rules.moving != "" {
		taken = slices.DeleteFunc(taken, func(k store.Taken) bool { return k.AppointmentID == rules.moving })
	}
	if !slices.Contains(availability.FreeSeats(t, h.Span, taken), h.Seat) {
		return true
	}
	needs, err := bk.Needs(ctx, bk.clinic.Current(), t, first, last, rules.moving)
	return err == nil && !needs.Have(h)
}

func (r *HoldRequest) validate() error {
	var m record.Mistakes
	record.CheckID(&m, "appointmentTypeId", r.AppointmentTypeID)
	if r.SpecialistID != "" {
		record.CheckID(&m, "specialistId", r.SpecialistID)
	}
	record.CheckClient(&m, r.Client)
	record.CheckStart(&m, r.SlotStart)
	if r.TTL != 0 && (r.TTL < MinHoldTTL || r.TTL > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	return m.Err()
}

// candidate is a specialist who has a free seat at the asked start.
type candidate struct {
	store.Assignment
	span  holds.Span
	seats []int
	needs [][]string // free resources of each group
}

type CandidateRules struct {
	IgnoreHours  bool   // staff: opening times, notice and horizon do not matter
	ignoreNotice bool   // the client holds the slot already, or the appointment was made in time
	Place        string // who works there at the start; empty: anywhere
	IgnoreClosed bool   // the practice system itself is about to be asked
	moving       string // id of the appointment that is being moved: its own time is free to it
}

// candidates is Candidates without what the type needs besides.
func (bk *Booking) candidates(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, specialistID string, start, now time.Time,
	rules CandidateRules) ([]candidate, error) {
	var asked []store.Assignment
	for _, a := range t.Specialists {
		if (specialistID == "" || a.SpecialistID == specialistID) && (rules.Place == "" || s.PlaceAt(a.SpecialistID, start) == rules.Place) {
			asked = append(asked, a)
		}
	}
	if len(asked) == 0 {
		if rules.Place != "" {
			return nil, &availability.NotBookableError{Reason: availability.ReasonOutsideHours}
		}
		if specialistID != "" {
			return nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
		}
		return nil, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	// Every booking outdates the lists of the whole type: to make them anew for each of many specialists takes longer than to look at
	// the one time that is asked for.
	if rules.Place = ""; rules == (CandidateRules{}) && len(asked) == 1 && s.Types[t.ID] == t { // and not as somebody had asked for it
		if found, ok := bk.listedCandidate(ctx, s, t, asked[0], start, now); ok {
			return found, nil
		}
	}
	return bk.computedCandidates(ctx, s, t, asked, start, now, rules)
}

// onlySeat is the one seat of an appointment that nobody shares.
var onlySeat = []int{0}

// listedCandidate finds the one who is asked for in a cached list of the day, which is how nearly every request for somebody by name is
// answered at once. It reports false unless all is well, so that the reason of a refusal is found in one place.
func (bk *Booking) listedCandidate(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, a store.Assignment, start, now time.Time) ([]candidate, bool) {
	if bk.answers.kept == nil || t.Capacity > 1 || availability.WithinNotice(t, start, now) != "" {
		return nil, false // a list counts the seats of a group session and does not name them
	}
	zone := s.Calendars[a.SpecialistID].Zone()
	day := store.DateOf(start.In(zone))
	list, err := bk.slotList(ctx, s, t, a.SpecialistID, "", zone, day, day.AddDays(1), bk.clinic.Generation(t.ID))
	if err != nil {
		return nil, false
	}
	if _, ok := list.at(start); !ok {
		return nil, false
	}
	return []candidate{{a, availability.SpanOf(t, a.SpecialistID, start), onlySeat, nil}}, true
}

func (bk *Booking) computedCandidates(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType, asked []store.Assignment, start, now time.Time,
	rules CandidateRules) ([]candidate, error) {
	ids := make([]string, len(asked))
	for i, a := range asked {
		ids[i] = a.SpecialistID
	}
	first, last := availability.Around(t, start, start)
	var known []store.Taken
	if rules != (CandidateRules{}) || availability.WithinNotice(t, start, now) == "" { // else that is the reason, whatever is booked there
		var err error
		if known, err = bk.TakenTimeInWeeks(ctx, ids, first, last); err != nil {
			return nil, err
		}
	}
	if !rules.IgnoreClosed {
		known = bk.WithClosed(known, ids)
	}
	own := make(map[string]occupancy.Interval) // where the appointment that is being moved stands
	if rules.moving != "" {
		for _, k := range known {
			if k.AppointmentID == rules.moving {
				own[k.SpecialistID] = occupancy.Interval{From: k.SlotStart, To: k.SlotEnd}
			}
		}
		known = slices.DeleteFunc(known, func(k store.Taken) bool { return k.AppointmentID == rules.moving })
	}
	var found []candidate
	var refusal availability.Reason
	for _, a := range asked {
		booked := availability.TakenBy(known, a.SpecialistID)
		reason := s.Calendars[a.SpecialistID].Bookable(t, start, booked, now)
		if rules.ignoreNotice && (reason == availability.ReasonTooSoon || reason == availability.ReasonTooFar) {
			reason = s.Calendars[a.SpecialistID].Bookable(WithoutNotice(t), start, booked, now)
		}
		span := availability.SpanOf(t, a.SpecialistID, start)
		seats := availability.FreeSeats(t, span, booked)
		switch {
		case rules.IgnoreHours:
			reason = ""
		case reason == "" && !rules.IgnoreClosed && !bk.IsOpen(s, t, a.SpecialistID, start, own[a.SpecialistID], now):
			reason = availability.ReasonTaken
		}
		switch {
		case reason == "" && len(seats) > 0:
			found = append(found, candidate{a, span, seats, nil})
		case reason == "" || reason == availability.ReasonTaken:
			refusal = availability.ReasonTaken
		case refusal == "" || weight(reason) > weight(refusal):
			refusal = reason
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case refusal == availability.ReasonTaken:
		return nil, store.ErrSlotTaken
	}
	return nil, &availability.NotBookableError{Reason: refusal}
}

// weight orders the reasons of several specialists for one answer: the one that came closest to being bookable is told.
func weight(r availability.Reason) int {
	return slices.Index([]availability.Reason{availability.ReasonInactive, availability.ReasonOutsideHours, availability.ReasonOverrideClosed, availability.ReasonNotASlotStart, availability.ReasonTooFar, availability.ReasonTooSoon, availability.ReasonTaken}, r)
}

// WithoutNotice is the same type without notice and horizon, for a slot that was asked for in time.
func WithoutNotice(t *store.AppointmentType) *store.AppointmentType {
	open := *t
	open.MinNoticeMinutes, open.HorizonDays = -24*60*366, 366*100
	return &open
}

// Claim takes one of the candidates: the assigned one, and while that is lost, the next. A client that holds this slot
// already gets the hold it has.
func (bk *Booking) Claim(ctx context.Context, t *store.AppointmentType, start time.Time, found []candidate, c holds.Claim) (holds.Hold, error) {
	var lost *holds.HeldError
	first := ""
	if len(found) > 1 {
		first = bk.alreadyHeld(ctx, t, start, found, c.Owner)
	}
	for len(found) > 0 {
		id := first
		if first = ""; id == "" {
			left := make([]store.Assignment, len(found))
			for i := range found {
				left[i] = found[i].Assignment
			}
			id, _ = availability.Assign(t.ID, start, left)
		}
		i := slices.IndexFunc(found, func(f candidate) bool { return f.SpecialistID == id })
		c.Span, c.Seats, c.Needs = found[i].span, found[i].seats, found[i].needs
		h, err := bk.holds.Claim(ctx, c)
		var held *holds.HeldError
		if !errors.As(err, &held) {
			return h, err
		}
		if lost == nil || held.Until.Before(lost.Until) {
			lost = held
		}
		found = slices.Delete(slices.Clone(found), i, i+1)
	}
	return holds.Hold{}, lost
}

// alreadyHeld names the candidate whose slot this client holds, or nobody.
func (bk *Booking) alreadyHeld(ctx context.Context, t *store.AppointmentType, start time.Time, found []candidate, owner holds.Owner) string {
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].SpecialistID
	}
	held, err := bk.holds.List(ctx, ids...)
	if err != nil {
		return "" // the claim itself will say so
	}
	for i := range held {
		if held[i].Owner.Is(owner) && held[i].AppointmentTypeID == t.ID && held[i].SlotStart.Equal(start) {
			return held[i].SpecialistID
		}
	}
	return ""
}

// ExtendHold is a heartbeat: the hold lives for ttl from now (0: its type's), never past its maximum life. With
// restart, the maximum life begins anew, at most holds.MaxRestarts times.
//
// Errors: holds.ErrNotFound (lapsed or unknown), holds.ErrNotOwner, holds.ErrRestarts, *ValidationError.
func (bk *Booking) ExtendHold(ctx context.Context, id string, client holds.ClientID, ttl time.Duration, restart bool) (holds.Hold, error) {
	var m record.Mistakes
	record.CheckID(&m, "holdId", id)
	record.CheckClient(&m, client)
	if ttl != 0 && (ttl < MinHoldTTL || ttl > clinic.MaxHoldTTL) {
		m.Add("ttlSeconds", "must be between 1 and %d seconds", int(clinic.MaxHoldTTL.Seconds()))
	}
	if err := m.Err(); err != nil {
		return holds.Hold{}, err
	}
	if ttl == 0 {
		ttl = 30 * time.Second
		if h, err := bk.holds.Hold(ctx, id); err == nil {
			if t, ok := bk.clinic.Current().Types[h.AppointmentTypeID]; ok {
				ttl = time.Duration(t.HoldTTLSeconds) * time.Second
			}
		}
	}
	h, err := bk.holds.Extend(ctx, id, client.Owner(), ttl, restart)
	if err == nil {
		bk.KnowHold(h.ID, &h.Span, h.Owner)
	}
	return h, err
}

// ReleaseHold gives a hold back. It is idempotent and reports whether the hold was there. holds.ErrNotOwner.
func (bk *Booking) ReleaseHold(ctx context.Context, id string, client holds.ClientID) (bool, error) {
	var m record.Mistakes
	record.CheckID(&m, "holdId", id)
	record.CheckClient(&m, client)
	if err := m.Err(); err != nil {
		return false, err
	}
	return bk.holds.Release(ctx, id, client.Owner(), holds.ReasonReleased)
}

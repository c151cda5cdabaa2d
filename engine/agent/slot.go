package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/practice"
	"holdfast/engine/record"
	"holdfast/engine/upstream"
	"holdfast/store"
)

// SlotsRequest is a request for slots to offer to a caller.
type SlotsRequest struct {
	AppointmentTypeID   string // this or the next field is required
	AppointmentTypeGUID string
	From                store.Date // on the clinic's calendar; zero means today
	Days                int        // 1 to MaxAgentDays; 0 means 7
	Count               int        // 1 to MaxAgentSlots; 0 means 5
	PartOfDay           string     // "morning" (before noon), "afternoon" (from noon on), or empty
	// Moving is the appointment that the caller wants to move, or nil. If it is confirmed and of this type, its own
	// time counts as free: the list contains times that overlap it, but not the time that it has.
	Moving *store.Appointment
	Place  string // the id of one of the clinic's places; empty means any
}

// Limits of a SlotsRequest.
const (
	MaxAgentDays  = 31
	MaxAgentSlots = 50
)

// Slot is one slot as an agent offers it.
type Slot struct {
	Start               time.Time // UTC
	Spoken              string    // "Monday, November 23rd at 10 AM"
	StartTime           string    // clinic time, "11/23/2026 10:00 AM"
	Minutes             int
	BookingToken        string
	ScheduleViewGUID    string // Holdfast's own ids if the upstream has none
	ScheduleColumnGUID  string
	AppointmentTypeGUID string
	Place               *Place // nil if the appointment is remote or the clinic names no place for this time
}

// Slots is the response to a SlotsRequest.
type Slots struct {
	Slots     []Slot // sorted by start; each start occurs once
	ErrorType string // set if the upstream could not be queried
	Message   string
	Guidance  Guidance
}

// Slots lists slots for an agent: the upstream's openings that are not booked or held here or, without an upstream, the
// slots that visitors can book. Errors: *ValidationError, store.ErrNotFound, and the storage errors.
func (ag *Agent) Slots(ctx context.Context, r SlotsRequest) (Slots, error) {
	s := ag.clinic.Current()
	t, err := r.check(s)
	if err != nil {
		return Slots{}, err
	}
	if err := store.Trial(ctx); err != nil {
		return Slots{}, err
	}
	var found []offer
	if ag.practice.Options.Upstream != nil && t.UpstreamTypeID != "" {
		found, err = ag.upstreamOffers(ctx, s, t, &r)
		if noAnswer := new(upstream.Error); errors.As(err, &noAnswer) {
			return Slots{ErrorType: errorUpstreamMissing, Message: "The practice system is not responding.",
				Guidance: ag.guide(sayUnreachable, time.Time{})}, nil
		}
	} else {
		found, err = ag.ownOffers(ctx, s, t, &r)
	}
	if err != nil {
		return Slots{}, err
	}
	answer := Slots{Slots: []Slot{}, Guidance: ag.guide(saySlots, time.Time{})}
	now := time.Now()
	for _, o := range found {
		if len(answer.Slots) == r.Count {
			break
		}
		if n := len(answer.Slots); n > 0 && answer.Slots[n-1].Start.Equal(o.start) {
			continue // a caller chooses only a time; the first specialist for it is assigned
		}
		slot, err := ag.agentOffer(t, s.SpecialistByID[o.specialistID], o, now)
		if err != nil {
			return Slots{}, err
		}
		if o.place != "" && !t.Page.Remote {
			slot.Place = ag.placeNamed(s, o.place)
		}
		answer.Slots = append(answer.Slots, slot)
	}
	if slices.ContainsFunc(answer.Slots, func(x Slot) bool { return x.Place != nil }) {
		answer.Guidance.Chain = slices.Insert(answer.Guidance.Chain, 1, sayPlaces)
	}
	if len(answer.Slots) == 0 {
		answer.Guidance = ag.guide(sayNoSlots, time.Time{})
	}
	return answer, nil
}

// check fills in the defaults and returns the appointment type.
func (r *SlotsRequest) check(s *clinic.Schedule) (*store.AppointmentType, error) {
	var m record.Mistakes
	id := r.AppointmentTypeID
	if id == "" {
		id = r.AppointmentTypeGUID
	}
	t := typeByGUID(s, id, nil)
	switch {
	case t == nil && isDeskType(s, id):
		m.Add("appointmentTypeId", notForAgents)
	case t == nil:
		m.Add("appointmentTypeId",
			"must be an appointment type of this clinic, by appointmentTypeId or appointmentTypeGUID")
	}
	if r.Days == 0 {
		r.Days = 7
	}
	if r.Count == 0 {
		r.Count = 5
	}
	if r.Days < 1 || r.Days > MaxAgentDays {
		m.Add("days", "must be 1 to %d", MaxAgentDays)
	}
	if r.Count < 1 || r.Count > MaxAgentSlots {
		m.Add("count", "must be 1 to %d", MaxAgentSlots)
	}
	if r.Place != "" && s.Place(r.Place) == nil {
		m.Add("place", "must be the id of one of the clinic's places, or left out")
	}
	switch r.PartOfDay = strings.ToLower(r.PartOfDay); r.PartOfDay {
	case "", "morning", "afternoon":
	case "any":
		r.PartOfDay = ""
	default:
		m.Add("partOfDay", "must be morning, afternoon or any")
	}
	if today := store.DateOf(time.Now().In(s.Zone)); r.From == (store.Date{}) || r.From.Before(today) {
		r.From = today
	}
	return t, m.Err()
}

// suits reports whether a start time is on one of the requested dates and in the requested part of the day. The
// upstream may list more times than were requested.
func (r *SlotsRequest) suits(start time.Time, zone *time.Location) bool {
	if date := store.DateOf(start.In(zone)); date.Before(r.From) || !date.Before(r.From.AddDays(r.Days)) {
		return false
	}
	return r.PartOfDay == "" || (start.In(zone).Hour() < 12) == (r.PartOfDay == "morning")
}

// isCurrent reports whether the appointment that is being moved has this time already.
func (r *SlotsRequest) isCurrent(start time.Time, specialistID string) bool {
	return r.Moving != nil && r.Moving.SlotStart.Equal(start) && r.Moving.SpecialistID == specialistID
}

// offer is a free start time with one specialist.
type offer struct {
	start        time.Time
	minutes      int
	specialistID string
	place        string // where the specialist works then; empty if the clinic does not say
}

// ownOffers lists the slots that visitors can book, each with the specialist who would be assigned.
func (ag *Agent) ownOffers(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType,
	r *SlotsRequest) ([]offer, error) {
	list, err := ag.booking.Timeslots(ctx, booking.TimeslotsRequest{AppointmentTypeID: t.ID, Place: r.Place,
		From: r.From, To: r.From.AddDays(r.Days), Schedule: s, Moving: r.Moving})
	if err != nil {
		return nil, err
	}
	var found []offer
	for _, slot := range list.Slots {
		if slot.Available <= 0 || !r.suits(slot.Start, ag.clinic.Zone()) {
			continue
		}
		id, ok := availability.Assign(t.ID, slot.Start, among(t, slot.SpecialistIDs))
		if ok && !r.isCurrent(slot.Start, id) {
			found = append(found, offer{slot.Start, t.DurationMinutes, id, s.PlaceAt(id, slot.Start)})
		}
	}
	return found, nil
}

// among returns the assignments for these specialists.
func among(t *store.AppointmentType, ids []string) []store.Assignment {
	var list []store.Assignment
	for _, a := range t.Specialists {
		if slices.Contains(ids, a.SpecialistID) {
			list = append(list, a)
		}
	}
	return list
}

// maxOfferMinutes is the maximum length of an opening that is offered as one slot.
const maxOfferMinutes = 24 * 60

// upstreamOffers lists the upstream's openings that are not booked or held here.
func (ag *Agent) upstreamOffers(ctx context.Context, s *clinic.Schedule, t *store.AppointmentType,
	r *SlotsRequest) ([]offer, error) {
	question, columns := practice.QuestionFor(s, t, r.From, r.From.AddDays(r.Days))
	if len(columns) == 0 || !t.Active {
		return nil, nil
	}
	question.Morning, question.Afternoon = r.PartOfDay == "morning", r.PartOfDay == "afternoon"
	bounded, cancel := context.WithTimeout(ctx, ag.practice.Options.AgentBound-practice.CallReserve)
	defer cancel()
	listed, asked, err := ag.practice.AskOpenings(bounded, question, columns)
	if err != nil {
		return nil, err
	}
	for id, openings := range listed {
		ag.booking.OpenListed(ctx, id, openings, asked)
	}
	ids := slices.Sorted(maps.Values(columns))
	longest := *t
	longest.DurationMinutes = maxOfferMinutes
	rules := booking.Rules{Rules: upstreamHours(true), Place: r.Place}
	if a := r.Moving; a != nil && a.Status == store.Confirmed && a.AppointmentTypeID == t.ID {
		rules.Moving = map[string]bool{a.ID: true}
	}
	sn, err := ag.booking.Snapshot(ctx, booking.Question{
		Schedule: s, Types: []*store.AppointmentType{&longest}, Specialists: ids,
		From: question.From.Add(-24 * time.Hour), To: question.To.Add(24 * time.Hour),
		Rules: rules,
	})
	if err != nil {
		return nil, err
	}
	now := time.Now()
	var found []offer
	for _, id := range ids {
		for _, o := range listed[id] {
			minutes := int(o.To.Sub(o.From) / time.Minute)
			if !o.From.After(now) || !r.suits(o.From, s.Zone) || r.isCurrent(o.From, id) || minutes > maxOfferMinutes {
				continue
			}
			longer := *t
			longer.DurationMinutes = minutes
			if _, refusal := sn.Offer(&longer, id, o.From); refusal.Reason == "" {
				found = append(found, offer{o.From, minutes, id, s.PlaceAt(id, o.From)})
			}
		}
	}
	return byAssignment(t, found), nil
}

// byAssignment sorts offers by start time. Among offers with the same start time, the one with the specialist who would
// be assigned comes first.
func byAssignment(t *store.AppointmentType, found []offer) []offer {
	slices.SortStableFunc(found, func(a, b offer) int { return a.start.Compare(b.start) })
	for i := 0; i < len(found); {
		j := i
		var ids []string
		for ; j < len(found) && found[j].start.Equal(found[i].start); j++ {
			ids = append(ids, found[j].specialistID)
		}
		first, _ := availability.Assign(t.ID, found[i].start, among(t, ids))
		slices.SortStableFunc(found[i:j], func(a, b offer) int {
			switch first {
			case a.specialistID:
				return -1
			case b.specialistID:
				return 1
			}
			return 0
		})
		i = j
	}
	return found
}

// agentOffer converts an offer to the wire format.
func (ag *Agent) agentOffer(t *store.AppointmentType, p *store.Specialist, o offer, now time.Time) (Slot, error) {
	signed, _, err := ag.booking.Keys().IssueBooking(t.ID, p.ID, o.start, o.minutes, now)
	if err != nil {
		return Slot{}, err
	}
	or := func(guid, id string) string {
		if guid == "" {
			return id
		}
		return guid
	}
	return Slot{
		Start: o.start, Spoken: ag.Spoken(o.start), StartTime: upstream.FormatTime(o.start, ag.clinic.Zone()),
		Minutes: o.minutes, BookingToken: signed, ScheduleViewGUID: or(p.UpstreamScheduleViewID, p.ID),
		ScheduleColumnGUID: or(p.UpstreamColumnID, p.ID), AppointmentTypeGUID: or(t.UpstreamTypeID, t.ID),
	}, nil
}

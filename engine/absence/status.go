package absence

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/waitlist"
	"holdfast/store"
)

// State is the outcome for a displaced appointment.
type State string

const (
	StateMoved     State = "moved"     // the desk moved the appointment
	StateAsked     State = "asked"     // the patient has not answered yet
	StateAccepted  State = "accepted"  // the patient accepted the proposed time
	StateRebooked  State = "rebooked"  // the appointment has another time, chosen by the patient or the desk
	StateCancelled State = "cancelled" // the patient or the desk cancelled
	StateDeclined  State = "declined"  // the patient wants to be called
	StateExpired   State = "expired"   // the patient did not answer in time
	StateCall      State = "call"      // the desk must call the patient
)

// Answered reports whether an appointment in this state needs no further action.
func (s State) Answered() bool {
	return slices.Contains([]State{StateMoved, StateAccepted, StateRebooked, StateCancelled}, s)
}

// ToCall reports whether the desk must call the patient of an appointment in this state.
func (s State) ToCall() bool {
	return slices.Contains([]State{StateDeclined, StateExpired, StateCall}, s)
}

// Answer is the current state of a displaced appointment.
type Answer struct {
	Appointment store.Appointment
	Was         store.Displaced      // the time that was booked
	Offer       *store.WaitlistOffer // the proposed time; nil means none
	State       State
}

// Absence is a recorded absence.
type Absence struct {
	Block   store.Block
	Answers []Answer // sorted by booked time
}

// recent is how long after its end an absence stays listed.
const recent = 24 * time.Hour

// List lists recorded absences by start. It omits those that ended more than a day ago.
func (ab *Absences) List(ctx context.Context) ([]Absence, error) {
	entries, err := ab.Waitlist.Displaced(ctx, "")
	if err != nil {
		return nil, err
	}
	by := make(map[string][]waitlist.Waiting)
	for _, e := range entries {
		by[e.AbsenceID] = append(by[e.AbsenceID], e)
	}
	var all []Absence
	for id, list := range by {
		b, err := ab.blockOf(id)
		if err != nil || time.Since(b.End) > recent {
			continue // the block was deleted, or the absence ended too long ago
		}
		absence, err := ab.absenceOf(ctx, b, list)
		if err != nil {
			return nil, err
		}
		all = append(all, absence)
	}
	slices.SortFunc(all, func(a, b Absence) int {
		return cmp.Or(a.Block.Start.Compare(b.Block.Start), cmp.Compare(a.Block.ID, b.Block.ID))
	})
	return all, nil
}

// Status returns one absence. It returns store.ErrNotFound if the absence's block has been deleted.
func (ab *Absences) Status(ctx context.Context, id string) (Absence, error) {
	b, err := ab.blockOf(id)
	if err != nil {
		return Absence{}, err
	}
	entries, err := ab.Waitlist.Displaced(ctx, id)
	if err != nil {
		return Absence{}, err
	}
	return ab.absenceOf(ctx, b, entries)
}

// blockOf returns the block of an absence. An absence remains if its specialist is archived, because its patients still
// need new times. Errors: store.ErrNotFound.
func (ab *Absences) blockOf(id string) (store.Block, error) {
	s := ab.Clinic.Current()
	if i := slices.IndexFunc(s.ArchivedBlocks, func(b store.Block) bool { return b.ID == id }); i >= 0 {
		return s.ArchivedBlocks[i], nil
	}
	for _, blocks := range s.Blocks {
		if i := slices.IndexFunc(blocks, func(b store.Block) bool { return b.ID == id }); i >= 0 {
			return blocks[i], nil
		}
	}
	return store.Block{}, store.ErrNotFound
}

// absenceOf reads the appointments of an absence: those that have an entry, and those that still
// conflict with it.
func (ab *Absences) absenceOf(ctx context.Context, b store.Block, entries []waitlist.Waiting) (Absence, error) {
	list, _, err := ab.displaced(ctx, b)
	if err != nil {
		return Absence{}, err
	}
	x := Absence{Block: b}
	seen := make(map[string]bool)
	for i := range entries {
		e := &entries[i]
		a, err := ab.Store.Appointment(ctx, e.AppointmentID)
		if errors.Is(err, store.ErrNotFound) {
			continue // the appointment was erased
		}
		if err != nil {
			return Absence{}, err
		}
		seen[a.ID] = true
		var offer *store.WaitlistOffer
		if len(e.Offers) > 0 {
			offer = &e.Offers[len(e.Offers)-1]
		}
		state := stateOf(&a, &e.Displaced, offer)
		if state == StateAsked && offer == nil && !ab.Messages.ChangesOnline(ctx, &a) {
			state = StateCall // the message said that the clinic will call
		}
		x.Answers = append(x.Answers, Answer{a, e.Displaced, offer, state})
	}
	for i := range list {
		if a := &list[i]; !seen[a.ID] {
			x.Answers = append(x.Answers, Answer{*a, store.Displaced{SpecialistID: a.SpecialistID,
				SlotStart: a.SlotStart}, nil, StateCall})
		}
	}
	slices.SortStableFunc(x.Answers, func(a, b Answer) int { return a.Was.SlotStart.Compare(b.Was.SlotStart) })
	return x, nil
}

// stateOf returns the state of a displaced appointment.
func stateOf(a *store.Appointment, was *store.Displaced, offer *store.WaitlistOffer) State {
	switch {
	case a.Status == store.Cancelled:
		return StateCancelled
	case !was.From(a) && was.By == store.DisplacedMove:
		return StateMoved
	case !was.From(a) && offer != nil && offer.Status == store.OfferBooked:
		return StateAccepted
	case !was.From(a):
		return StateRebooked
	case offer == nil && was.By == store.DisplacedAsk:
		return StateAsked
	case offer == nil || offer.Status == store.OfferWithdrawn:
		return StateCall
	case offer.Status == store.OfferDeclined:
		return StateDeclined
	case offer.Status == store.OfferLapsed:
		return StateExpired
	case was.By == store.DisplacedAsk:
		return StateAsked
	}
	return StateCall
}

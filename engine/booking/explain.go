package booking

import (
	"context"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Explanation reports whether one specialist can be booked at one start time and, if not, why.
type Explanation struct {
	SpecialistID string
	Bookable     bool
	Reason       availability.Reason // empty when bookable
	HeldUntil    time.Time           // with ReasonHeld: when the conflicting hold expires
}

// Explain answers "why not 10:30?" for each specialist of a type, or for the named one. As in a listing, the client's
// own hold of that slot does not conflict; the empty client has none. Errors: store.ErrNotFound, *ValidationError.
func (bk *Booking) Explain(ctx context.Context, appointmentTypeID, specialistID string,
	start time.Time, client holds.ClientID) ([]Explanation, error) {
	var m record.Mistakes
	record.CheckStart(&m, start)
	if err := m.Err(); err != nil {
		return nil, err
	}
	s := bk.clinic.Current()
	t, _, err := s.Listed(appointmentTypeID, specialistID)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, a := range t.Specialists {
		if s.SpecialistByID[a.SpecialistID] != nil && (specialistID == "" || a.SpecialistID == specialistID) {
			ids = append(ids, a.SpecialistID)
		}
	}
	sn, err := bk.Snapshot(ctx, Question{
		Schedule: s, Types: []*store.AppointmentType{t}, Specialists: ids, From: start, To: start,
		Client: client.Owner(),
	})
	if err != nil {
		return nil, err
	}
	answer := make([]Explanation, len(ids))
	for i, id := range ids {
		_, refusal := sn.Offer(t, id, start)
		answer[i] = Explanation{SpecialistID: id, Bookable: refusal.Reason == "", Reason: refusal.Reason,
			HeldUntil: refusal.HeldUntil}
	}
	return answer, nil
}

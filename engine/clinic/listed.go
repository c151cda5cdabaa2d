package clinic

import (
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Listed returns the type for a listing, and the zone of its dates. The listing covers all specialists of the type,
// or only the given one. Errors: store.ErrNotFound, *record.ValidationError.
func (s *Schedule) Listed(appointmentTypeID, specialistID string) (*store.AppointmentType, *time.Location, error) {
	t, ok := s.Types[appointmentTypeID]
	if !ok {
		return nil, nil, record.ErrNoAppointmentType
	}
	if specialistID == "" {
		return t, s.Zone, nil
	}
	if !t.IsServedBy(specialistID) {
		return nil, nil, record.Invalid("specialistId", "no specialist with this id serves this appointment type")
	}
	return t, s.Calendars[specialistID].Zone(), nil
}

package clinic

import (
	"cmp"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/store"
)

// Archived types and specialists no longer have slots, but their appointments still need them: emails, files and pages
// show their names.

// TypeOf returns a type, whether archived or not, or nil if it is unknown.
func (s *Schedule) TypeOf(id string) *store.AppointmentType {
	if t := s.Types[id]; t != nil {
		return t
	}
	if i, found := slices.BinarySearchFunc(s.ArchivedTypes, id, func(t store.AppointmentType, id string) int {
		return cmp.Compare(t.ID, id)
	}); found {
		return &s.ArchivedTypes[i]
	}
	return nil
}

// IsRemote reports whether the appointments of a type, archived or not, take place by video or phone. They have no
// place: the one that is stored with them is only where their specialist works at that time.
func (s *Schedule) IsRemote(appointmentTypeID string) bool {
	t := s.TypeOf(appointmentTypeID)
	return t != nil && t.Page.Remote
}

// TypeName returns the name of a type in a language, whether archived or not. For an unknown type, it returns the id.
func (s *Schedule) TypeName(id, language string) string {
	if t := s.TypeOf(id); t != nil {
		return NameIn(t, language)
	}
	return id
}

// SpecialistOf returns a specialist or a resource, whether archived or not, or nil if the id is unknown.
func (s *Schedule) SpecialistOf(id string) *store.Specialist {
	if p := s.SpecialistByID[id]; p != nil {
		return p
	}
	if i, found := slices.BinarySearchFunc(s.ArchivedSpecialists, id, func(p store.Specialist, id string) int {
		return cmp.Compare(p.ID, id)
	}); found {
		return &s.ArchivedSpecialists[i]
	}
	return nil
}

// Who returns the name of a specialist, whether archived or not, and the zone of their appointments. For an unknown
// specialist, it returns no name and the clinic's zone.
func (s *Schedule) Who(id string) (name string, zone *time.Location) {
	p := s.SpecialistOf(id)
	if p == nil {
		return "", s.Zone
	}
	if c := s.Calendars[id]; c != nil {
		return p.Name, c.Zone()
	}
	if zone, err := availability.LoadZone(p.Timezone); err == nil {
		return p.Name, zone
	}
	return p.Name, s.Zone
}

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

// Who returns the name of a specialist, whether archived or not, and the zone of their appointments. For an unknown
// specialist, it returns no name and the clinic's zone.
func (s *Schedule) Who(id string) (name string, zone *time.Location) {
	if p := s.SpecialistByID[id]; p != nil {
		return p.Name, s.Calendars[id].Zone()
	}
	i, found := slices.BinarySearchFunc(s.ArchivedSpecialists, id, func(p store.Specialist, id string) int {
		return cmp.Compare(p.ID, id)
	})
	if !found {
		return "", s.Zone
	}
	p := &s.ArchivedSpecialists[i]
	if zone, err := availability.LoadZone(p.Timezone); err == nil {
		return p.Name, zone
	}
	return p.Name, s.Zone
}

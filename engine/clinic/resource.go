package clinic

import (
	"slices"

	"holdfast/engine/record"
	"holdfast/store"
)

// Limits on a type's needs: the number of groups, and the number of resources per group.
const maxNeeds, maxNeeded = 5, 50

// IsResource reports whether an id belongs to a room or a device.
func (s *Schedule) IsResource(id string) bool {
	p := s.SpecialistByID[id]
	return p != nil && p.Kind == store.ResourceKind
}

// TypesOf lists the appointment types whose slots depend on the time of a specialist or a resource.
func (s *Schedule) TypesOf(id string) []string {
	if needed := s.NeededBy[id]; needed != nil {
		return needed
	}
	return s.Serves[id]
}

// always returns the hours of a resource that has no hours of its own: it is available at all times.
func always() (hours []store.WeeklyWindow) {
	for day := range store.Weekday(7) {
		hours = append(hours, store.WeeklyWindow{Weekday: day, Window: store.Window{End: 24 * 60}})
	}
	return hours
}

// checkKind checks the kind of a specialist or resource. The kind cannot change. before is nil for a new entry.
func checkKind(m *record.Mistakes, at string, p, before *store.Specialist) {
	switch {
	case p.Kind != store.PersonKind && p.Kind != store.ResourceKind:
		m.Add(at+"kind", "must be resource, or left out for a person")
	case before != nil && before.Kind != p.Kind:
		m.Add(at+"kind", "cannot be changed: archive this specialist and add a new one")
	}
	if p.Kind == store.ResourceKind {
		p.MaxSessions = 0 // a room has no sessions
	}
}

// kinds returns the kinds of all specialists and resources in a schedule, by id.
func kinds(s *store.Schedule) map[string]store.SpecialistKind {
	all := make(map[string]store.SpecialistKind, len(s.Specialists))
	for i := range s.Specialists {
		all[s.Specialists[i].ID] = s.Specialists[i].Kind
	}
	return all
}

// checkNeeds checks the resources that a type needs, and that none of the type's specialists is a resource.
func checkNeeds(m *record.Mistakes, at string, t *store.AppointmentType, kinds map[string]store.SpecialistKind) {
	for i, a := range t.Specialists {
		if kinds[a.SpecialistID] == store.ResourceKind {
			m.Add(at+indexed("specialists", i)+".specialistId", "%q is a room or a device: put it in needs",
				record.Clip(a.SpecialistID))
		}
	}
	if len(t.Needs) > maxNeeds {
		m.Add(at+"needs", "at most %d groups", maxNeeds)
		return
	}
	if len(t.Needs) > 0 && t.Capacity > 1 {
		m.Add(at+"needs", "a group session cannot need a room or a device: the capacity must be 1")
	}
	var named []string
	for i, group := range t.Needs {
		if len(group) == 0 || len(group) > maxNeeded {
			m.Add(at+indexed("needs", i), "must name 1 to %d rooms or devices", maxNeeded)
			continue
		}
		for _, id := range group {
			if kinds[id] != store.ResourceKind {
				m.Add(at+indexed("needs", i), "no room or device has the id %q", record.Clip(id))
			} else if slices.Contains(named, id) {
				m.Add(at+indexed("needs", i), "%q is named twice: one appointment cannot use it twice", record.Clip(id))
			}
			named = append(named, id)
		}
	}
}

// refuseNeeded returns an error if a type needs the resource, because that type could not be booked without it.
func refuseNeeded(s *store.Schedule, id string) error {
	for i := range s.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		if slices.ContainsFunc(t.Needs, func(group store.Need) bool { return slices.Contains(group, id) }) {
			return record.Invalid("id", "the appointment type %q needs this room or device: change the appointment "+
				"type first", record.Clip(t.Name))
		}
	}
	return nil
}

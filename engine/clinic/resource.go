package clinic

import (
	"slices"

	"holdfast/engine/record"
	"holdfast/store"
)

// The bounds of what a type may need.
const maxNeeds, maxNeeded = 5, 50

// IsResource reports whether an id is a room's or a device's.
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

// always are the hours of a resource that has none of its own: it is there whenever a specialist is.
func always() (hours []store.WeeklyWindow) {
	for day := range store.Weekday(7) {
		hours = append(hours, store.WeeklyWindow{Weekday: day, Window: store.Window{End: 24 * 60}})
	}
	return hours
}

// checkKind checks what a resource can be, and that nobody becomes another kind: before is nil for a new one.
func checkKind(m *record.Mistakes, at string, p, before *store.Specialist) {
	switch {
	case p.Kind != store.PersonKind && p.Kind != store.ResourceKind:
		m.Add(at+"kind", "must be resource, or left out for a person")
	case before != nil && before.Kind != p.Kind:
		m.Add(at+"kind", "cannot be changed: archive this one and add another")
	}
	if p.Kind == store.ResourceKind {
		p.MaxSessions = 0 // a room takes no sessions
	}
}

// kinds says what everybody of a schedule is.
func kinds(s *store.Schedule) map[string]store.SpecialistKind {
	all := make(map[string]store.SpecialistKind, len(s.Specialists))
	for i := range s.Specialists {
		all[s.Specialists[i].ID] = s.Specialists[i].Kind
	}
	return all
}

// checkNeeds checks what a type needs besides its specialists, and that none of these is a resource.
func checkNeeds(m *record.Mistakes, at string, t *store.AppointmentType, kinds map[string]store.SpecialistKind) {
	for i, a := range t.Specialists {
		if kinds[a.SpecialistID] == store.ResourceKind {
			m.Add(at+indexed("specialists", i)+".specialistId", "%q is a room or a device: name it in needs", clip(a.SpecialistID))
		}
	}
	if len(t.Needs) > maxNeeds {
		m.Add(at+"needs", "at most %d groups", maxNeeds)
		return
	}
	if len(t.Needs) > 0 && t.Capacity > 1 {
		m.Add(at+"needs", "a group session takes no room or device: its capacity must be 1")
	}
	var named []string
	for i, group := range t.Needs {
		if len(group) == 0 || len(group) > maxNeeded {
			m.Add(at+indexed("needs", i), "must name 1 to %d rooms or devices", maxNeeded)
			continue
		}
		for _, id := range group {
			if kinds[id] != store.ResourceKind {
				m.Add(at+indexed("needs", i), "no room or device has the id %q", clip(id))
			} else if slices.Contains(named, id) {
				m.Add(at+indexed("needs", i), "%q is named twice: one appointment cannot take it for two things", clip(id))
			}
			named = append(named, id)
		}
	}
}

// refuseNeeded refuses to archive what a type needs: that type could not be booked any more.
func refuseNeeded(s *store.Schedule, id string) error {
	for i := range s.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		if slices.ContainsFunc(t.Needs, func(group store.Need) bool { return slices.Contains(group, id) }) {
			return record.Invalid("id", "the appointment type %q needs it: change that first", clip(t.Name))
		}
	}
	return nil
}

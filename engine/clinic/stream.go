package clinic

import (
	"slices"

	"holdfast/holds"
)

// Concerns lists the appointment types whose streams receive an event: those that the event names or, if it names none,
// all types of its specialist. A hold for one type also makes slots of the other types unavailable.
func (cl *Clinic) Concerns(ev *holds.Event) []string {
	if ev.AppointmentTypeIDs != nil {
		return ev.AppointmentTypeIDs
	}
	return cl.Serves(ev.SpecialistID)
}

// Affects lists the appointment types that need one of an event's rooms or devices, and the newest of their
// generations. The event does not show which of their slots remain, so clients that show these types must list them
// again.
func (cl *Clinic) Affects(ev *holds.Event) (appointmentTypeIDs []string, generation uint64) {
	for _, id := range ev.Resources.List() {
		appointmentTypeIDs = append(appointmentTypeIDs, cl.Current().NeededBy[id]...)
	}
	slices.Sort(appointmentTypeIDs)
	appointmentTypeIDs = slices.Compact(appointmentTypeIDs)
	for _, id := range appointmentTypeIDs {
		generation = max(generation, cl.Generation(id))
	}
	return appointmentTypeIDs, generation
}

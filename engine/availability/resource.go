package availability

import (
	"math"
	"slices"
	"time"

	"holdfast/holds"
	"holdfast/store"
)

// In addition to its specialist's time, an appointment occupies one resource (a room or a device) from each group that
// its type needs (docs/decisions/0050). Needs determines which resources are free at a start time, based on their
// hours, overrides and blocks, and on bookings and holds. A hold claims all of them together with the specialist, or
// none, and the database decides.

// ResourcesOf returns the ids of all resources in a type's groups, sorted.
func ResourcesOf(t *store.AppointmentType) []string {
	var ids []string
	for _, group := range t.Needs {
		ids = append(ids, group...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Needs contains the resources that the slots of one type need over a range of time. A nil Needs means that no
// resources are needed. Needs is immutable.
type Needs struct {
	t       *store.AppointmentType
	groups  [][]resource
	placeAt PlaceAt
}

// PlaceAt returns the place where a specialist works, or where a resource is, at an instant. The result is empty if
// there is no particular place. PlaceAt is nil in a clinic without places.
type PlaceAt func(id string, at time.Time) string

type resource struct {
	id       string
	calendar *Calendar
	taken    []store.Taken
}

// NeedsOf returns the needs of a type, or nil if it has none. calendars contains the resources' calendars by id. taken
// is the result of store.Reader.Taken for a span around the range and at least the resources that ResourcesOf returns,
// ordered by specialist.
func NeedsOf(calendars map[string]*Calendar, t *store.AppointmentType, taken []store.Taken, placeAt PlaceAt) *Needs {
	if len(t.Needs) == 0 {
		return nil
	}
	n := &Needs{t: t, placeAt: placeAt}
	for _, group := range t.Needs {
		var all []resource
		for _, id := range group {
			if calendar := calendars[id]; calendar != nil {
				all = append(all, resource{id, calendar, TakenBy(taken, id)})
			}
		}
		n.groups = append(n.groups, all)
	}
	return n
}

// Free lists, for each group, the resources that an appointment with a specialist can take at a start time, ignoring
// holds. It returns nil if there are no needs. A resource at a different place from the specialist's is not free for
// that specialist. With ignoreHours, Free also lists resources that are closed then.
func (n *Needs) Free(start time.Time, specialistID string, ignoreHours bool) [][]string {
	if n == nil {
		return nil
	}
	return n.freeAt(start, n.place(specialistID, start), ignoreHours)
}

// place returns where a specialist or a resource is: the id of a place, or an empty string if there is none.
func (n *Needs) place(id string, start time.Time) string {
	if n.placeAt == nil {
		return ""
	}
	return n.placeAt(id, start)
}

// freeAt is like Free, for a given place. An empty place means any place.
func (n *Needs) freeAt(start time.Time, place string, ignoreHours bool) [][]string {
	free := make([][]string, len(n.groups))
	for i, group := range n.groups {
		for j := range group {
			r := &group[j]
			if n.serves(r.id, place, start) && r.isFree(n.t, start, ignoreHours) {
				free[i] = append(free[i], r.id)
			}
		}
	}
	return free
}

// serves reports whether a resource is at the given place or is not tied to a place. Every resource serves the empty
// place.
func (n *Needs) serves(id, place string, start time.Time) bool {
	at := n.place(id, start)
	return place == "" || at == "" || at == place
}

func (r *resource) isFree(t *store.AppointmentType, start time.Time, ignoreHours bool) bool {
	if !r.calendar.Covers(t, start, ignoreHours) {
		return false
	}
	span := spanOf(t, r.id, start)
	return !slices.ContainsFunc(r.taken, func(k store.Taken) bool {
		other := TakenSpan(&k)
		other.Seat = 0
		return span.Conflicts(&other)
	})
}

// spanOf returns the time during which an appointment occupies a resource. A resource is never shared.
func spanOf(t *store.AppointmentType, resourceID string, start time.Time) holds.Span {
	return SpanOf(t, resourceID, start)
}

// Most returns the maximum number of appointments with these specialists that the resources allow at a start time,
// ignoring holds.
func (n *Needs) Most(start time.Time, specialists []string) int {
	return n.Left(start, specialists, nil, holds.Owner{})
}

// Left is like Most, but leaves out resources that other clients hold. The requesting client's own holds on this slot
// do not count.
func (n *Needs) Left(start time.Time, specialists []string, held []holds.Hold, asking holds.Owner) int {
	if n == nil {
		return math.MaxInt
	}
	left := n.LeftOf(n.freeAt(start, "", false), start, held, asking)
	if n.placeAt == nil || left == 0 {
		return left
	}
	at := make(map[string]int) // how many specialists work at each place
	for _, id := range specialists {
		at[n.place(id, start)]++
	}
	sum := 0
	for place, count := range at {
		sum += min(count, n.LeftOf(n.freeAt(start, place, false), start, held, asking))
	}
	left = min(left, sum)
	for _, group := range n.freeAt(start, "", false) {
		left = min(left, n.served(group, at, start, held, asking))
	}
	return left
}

// served returns how many specialists can each have one resource of a group. at counts the specialists at each place. A
// resource that is not tied to a place serves one specialist at any place. A resource at a place serves only the
// specialists there and those who are not tied to a place.
func (n *Needs) served(group []string, at map[string]int, start time.Time, held []holds.Hold, asking holds.Owner) int {
	there := make(map[string]int) // the number of unheld resources at each place
	for _, id := range group {
		if !n.isHeld(id, start, held, asking) {
			there[n.place(id, start)]++
		}
	}
	served, without, spare := 0, 0, 0
	for place, count := range at {
		if place != "" {
			served += min(count, there[place])
			without += max(0, count-there[place])
		}
	}
	for place, count := range there {
		if place != "" {
			spare += max(0, count-at[place])
		}
	}
	shared := min(without, there[""])
	return served + shared + min(at[""], spare+there[""]-shared)
}

// LeftOf is like Left, for the given free resources of each group, as returned by Free.
func (n *Needs) LeftOf(groups [][]string, start time.Time, held []holds.Hold, asking holds.Owner) int {
	left := math.MaxInt
	for _, group := range groups {
		count := 0
		for _, id := range group {
			if !n.isHeld(id, start, held, asking) {
				count++
			}
		}
		left = min(left, count)
	}
	return left
}

// AnyHeld reports whether other clients hold at least one of the resources at a start time.
func (n *Needs) AnyHeld(start time.Time, held []holds.Hold, asking holds.Owner) bool {
	return slices.ContainsFunc(n.groups, func(group []resource) bool {
		return slices.ContainsFunc(group, func(r resource) bool { return n.isHeld(r.id, start, held, asking) })
	})
}

func (n *Needs) isHeld(id string, start time.Time, held []holds.Hold, asking holds.Owner) bool {
	span := spanOf(n.t, id, start)
	for i := range held {
		h := &held[i]
		if !slices.Contains(h.Resources.List(), id) || h.Owner.Is(asking) && h.AppointmentTypeID == n.t.ID &&
			h.SlotStart.Equal(start) {
			continue
		}
		other := h.Span
		other.SpecialistID, other.Seat = id, 0
		if span.Conflicts(&other) {
			return true
		}
	}
	return false
}

// Within returns only those rooms whose start times leave the needs met, ignoring holds. specialists are the
// specialists that the indexes in rooms refer to.
func (n *Needs) Within(rooms *Rooms, specialists []string) *Rooms {
	if n == nil {
		return rooms
	}
	var last time.Time
	var lastPlace string
	met := false
	return rooms.Only(func(start time.Time, who int) bool {
		place := n.place(specialists[who], start)
		if !start.Equal(last) || place != lastPlace {
			last, lastPlace = start, place
			met = !slices.ContainsFunc(n.freeAt(start, place, false),
				func(free []string) bool { return len(free) == 0 })
		}
		return met
	})
}

// Have reports whether an appointment can take all resources of its hold, ignoring their hours and other holds.
func (n *Needs) Have(h *holds.Hold) bool {
	if n == nil {
		return true
	}
	wanted := h.Resources.List()
	for _, group := range n.groups {
		for j := range group {
			if slices.Contains(wanted, group[j].id) && !group[j].isFree(n.t, h.SlotStart, true) {
				return false
			}
		}
	}
	return true
}

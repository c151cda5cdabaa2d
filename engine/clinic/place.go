package clinic

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// A clinic can have several places. A window in a specialist's hours can name the place of work. An appointment takes
// place where its window says.

const maxPlaces = 50

// Place is one location of the clinic. Windows of hours and appointments refer to it by its id.
type Place struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Names   map[string]string `json:"names,omitempty"` // keyed by language
	Address string            `json:"address,omitempty"`
}

// NameIn returns the name of the place in a language. If it has no name in that language, NameIn returns its default
// name.
func (p *Place) NameIn(language string) string { return cmp.Or(p.Names[language], p.Name) }

// Place returns one of the clinic's places, or nil if the id is unknown.
func (s *Schedule) Place(id string) *Place {
	i := slices.IndexFunc(s.Settings.Places, func(p Place) bool { return p.ID == id })
	if id == "" || i < 0 {
		return nil
	}
	return &s.Settings.Places[i]
}

// PlaceAt returns the id of the place where a specialist works at an instant: the place of the window that contains the
// instant, or, outside all windows, the first place of that day's windows. The result is empty if the clinic has no
// places or the hours do not name any.
func (s *Schedule) PlaceAt(specialistID string, at time.Time) string {
	calendar := s.Calendars[specialistID]
	if len(s.Settings.Places) == 0 || calendar == nil {
		return ""
	}
	local := at.In(calendar.Zone())
	minute, found := store.TimeOfDay(local.Hour()*60+local.Minute()), ""
	for _, w := range s.WindowsOn(specialistID, store.DateOf(local), store.Weekday(local.Weekday())) {
		if w.Start <= minute && minute < w.End {
			found = w.Place
			break
		}
		found = cmp.Or(found, w.Place)
	}
	if s.Place(found) == nil {
		return ""
	}
	return found
}

// WindowsOn returns the hours on one local date: those of its override or, if there is none, the weekly hours for that
// weekday.
func (s *Schedule) WindowsOn(specialistID string, date store.Date, day store.Weekday) (windows []store.Window) {
	for _, o := range s.Overrides[specialistID] {
		if o.Date == date {
			return o.Hours
		}
	}
	for _, w := range s.WeeklyHours[specialistID] {
		if w.Weekday == day {
			windows = append(windows, w.Window)
		}
	}
	return windows
}

// PlacesOf lists the ids of the places where a specialist works, in settings order.
func (s *Schedule) PlacesOf(specialistID string) (ids []string) {
	if len(s.Settings.Places) == 0 {
		return nil
	}
	used := make(map[string]bool)
	for _, w := range s.WeeklyHours[specialistID] {
		used[w.Place] = true
	}
	for _, o := range s.Overrides[specialistID] {
		for _, w := range o.Hours {
			used[w.Place] = true
		}
	}
	for i := range s.Settings.Places {
		if id := s.Settings.Places[i].ID; used[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// PlaceOf returns the place to which the patient of an appointment comes. It returns nil for a remote appointment, and
// if the appointment has no place.
func (s *Schedule) PlaceOf(a *store.Appointment) *Place {
	if s.IsRemote(a.AppointmentTypeID) {
		return nil
	}
	return s.Place(a.Place)
}

// Where returns the location of an appointment in a language: the name and address of its place, or the clinic's
// address. It returns an empty string for a remote appointment.
func (s *Schedule) Where(a *store.Appointment, language string) string {
	if s.IsRemote(a.AppointmentTypeID) {
		return ""
	}
	p := s.Place(a.Place)
	if p == nil {
		return s.Clinic.Address
	}
	return strings.TrimSuffix(p.NameIn(language)+", "+cmp.Or(p.Address, s.Clinic.Address), ", ")
}

// checkPlaces trims and checks the places in the settings.
func checkPlaces(m *record.Mistakes, places []Place) {
	if len(places) > maxPlaces {
		m.Add("places", "at most %d locations", maxPlaces)
		return
	}
	seen := make(map[string]bool)
	for i := range places {
		p, field := &places[i], indexed("places", i)+"."
		checkNamed(m, field, "place", p.ID, &p.Name, p.Names, seen)
		p.Address = strings.TrimSpace(p.Address)
		record.CheckText(m, field+"address", p.Address, 500, true)
	}
}

// placesOf returns the places in the stored settings.
func placesOf(s *store.Schedule) []Place {
	settings, err := readSettings(s.Clinic.Settings)
	if err != nil {
		return nil
	}
	return settings.Places
}

// checkVisited refuses a change that removes a place to which patients with confirmed appointments are still to come. s
// is the stored schedule, and after are the places after the change. Requests and offers have the place of the hours,
// which checkUse protects.
func checkVisited(ctx context.Context, m *record.Mistakes, r store.AppointmentReader, s *store.Schedule,
	after []Place) error {
	removed := slices.DeleteFunc(placesOf(s), func(p Place) bool {
		return slices.ContainsFunc(after, func(x Place) bool { return x.ID == p.ID })
	})
	if len(removed) == 0 {
		return nil
	}
	remote := make(map[string]bool) // by type
	for i := range s.AppointmentTypes {
		remote[s.AppointmentTypes[i].ID] = s.AppointmentTypes[i].Page.Remote
	}
	count := make(map[string]int)
	f := store.AppointmentFilter{Status: store.Confirmed, From: record.Now(), Limit: 500}
	for more := true; more; more = f.Cursor != "" {
		list, next, err := r.Appointments(ctx, f)
		if err != nil {
			return err
		}
		for i := range list {
			if !remote[list[i].AppointmentTypeID] {
				count[list[i].Place]++
			}
		}
		f.Cursor = next
	}
	for _, p := range removed {
		switch n := count[p.ID]; n {
		case 0:
		case 1:
			m.Add("places", "1 coming appointment is at %q; move or cancel it first", p.Name)
		default:
			m.Add("places", "%d coming appointments are at %q; move or cancel them first", n, p.Name)
		}
	}
	return nil
}

// checkPlace refuses a window that names an unknown place.
func checkPlace(m *record.Mistakes, field, id string, places []Place) {
	if id != "" && !slices.ContainsFunc(places, func(p Place) bool { return p.ID == id }) {
		m.Add(field+".place", "no place has the id %q; the settings list all places under places", record.Clip(id))
	}
}

// leaveRemovedPlaces is like clearPlaces, for the stored schedule in the state that the transaction sees.
func leaveRemovedPlaces(ctx context.Context, tx store.Tx) error {
	s, err := StoredSchedule(ctx, tx)
	if err != nil {
		return err
	}
	settings, err := readSettings(s.Clinic.Settings)
	if err != nil {
		return err
	}
	return clearPlaces(ctx, tx, &s, settings.Places)
}

// clearPlaces clears the places in the hours of a schedule that are not among the clinic's places. These are overrides
// of past dates, and the hours of specialists who were archived, because they do not keep a place. Hours at an unknown
// place would make every later change to the settings fail, and the file of Export could not be imported.
func clearPlaces(ctx context.Context, tx store.Tx, s *store.Schedule, places []Place) error {
	clearPlace := func(w *store.Window) bool {
		if slices.ContainsFunc(places, func(p Place) bool { return p.ID == w.Place }) || w.Place == "" {
			return false
		}
		w.Place = ""
		return true
	}
	for id, hours := range s.WeeklyHours {
		changed := false
		for i := range hours {
			changed = clearPlace(&hours[i].Window) || changed
		}
		if changed {
			if err := tx.PutWeeklyHours(ctx, id, hours); err != nil {
				return err
			}
		}
	}
	for _, list := range s.Overrides {
		for _, o := range list {
			changed := false
			for i := range o.Hours {
				changed = clearPlace(&o.Hours[i]) || changed
			}
			if changed {
				if err := tx.PutOverride(ctx, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// usedPlaces returns the places that the hours name. The value for each place is the id of the first specialist with
// hours there. Weekly hours are searched before overrides. Overrides of dates that have ended by now in every time zone
// do not count.
func usedPlaces(s *store.Schedule, now time.Time) map[string]string {
	yesterday := store.DateOf(now.UTC()).AddDays(-1)
	used := make(map[string]string)
	note := func(place, specialistID string) {
		if _, known := used[place]; !known && place != "" {
			used[place] = specialistID
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.WeeklyHours)) {
		for _, w := range s.WeeklyHours[id] {
			note(w.Place, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Overrides)) {
		for _, o := range s.Overrides[id] {
			if o.Date.Before(yesterday) {
				continue
			}
			for _, w := range o.Hours {
				note(w.Place, id)
			}
		}
	}
	return used
}

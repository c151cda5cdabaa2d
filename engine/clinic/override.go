package clinic

import (
	"context"
	"slices"
	"sort"
	"strings"

	"holdfast/engine/record"
	"holdfast/store"
)

// Overrides lists the overrides of one specialist by date. Errors: store.ErrNotFound.
func (cl *Clinic) Overrides(specialistID string) ([]store.Override, error) {
	s := cl.Current()
	if s.SpecialistByID[specialistID] == nil {
		return nil, store.ErrNotFound
	}
	return s.Overrides[specialistID], nil
}

// PutOverride closes one local date of a specialist or sets other hours for it. It replaces any override for that date.
// Appointments on that date do not change. The next listing reflects the override. Errors: store.ErrNotFound,
// *ValidationError.
func (cl *Clinic) PutOverride(ctx context.Context, actor record.Actor, o store.Override,
	once *record.Once) (store.Override, error) {
	if _, err := cl.Specialist(o.SpecialistID); err != nil {
		return o, err
	}
	var m record.Mistakes
	checkOverride(&m, "", &o, cl.Settings().Places)
	if err := m.Err(); err != nil {
		return o, err
	}
	o.ID = record.NewID()
	return o, cl.ChangeSchedule(ctx, &ScheduleChange{
		Actor: actor, Action: record.ActionOverridePut, Subject: "specialist:" + o.SpecialistID, reason: o.Reason,
		after: overrideEntry(&o), once: once, result: o,
	}, func(tx store.Tx) error { return tx.PutOverride(ctx, o) })
}

// DeleteOverride removes an override, so that the weekly hours apply to its date again. Errors: store.ErrNotFound.
func (cl *Clinic) DeleteOverride(ctx context.Context, actor record.Actor, id string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionOverrideDeleted}
	return cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		o, err := tx.DeleteOverride(ctx, id)
		c.before = overrideEntry(&o)
		c.Subject = "specialist:" + o.SpecialistID
		return err
	})
}

// checkOverride trims and checks an override, and sorts its hours.
func checkOverride(m *record.Mistakes, at string, o *store.Override, places []Place) {
	o.Reason = strings.TrimSpace(o.Reason)
	record.CheckText(m, at+"reason", o.Reason, 500, true)
	if o.Date.Year < 2000 || o.Date.Year > 2200 {
		m.Add(at+"date", "must be a date like 2026-12-24")
	}
	switch {
	case o.Closed && len(o.Hours) > 0:
		m.Add(at+"hours", "a closed date has no hours; leave out one of the two")
	case !o.Closed && len(o.Hours) == 0:
		m.Add(at+"hours", "give the hours of that date, or set \"closed\": true")
	}
	o.Hours = slices.Clone(o.Hours)
	for i, w := range o.Hours {
		checkWindow(m, at+indexed("hours", i), w)
		checkPlace(m, at+indexed("hours", i), w.Place, places)
	}
	sort.Slice(o.Hours, func(i, j int) bool { return o.Hours[i].Start < o.Hours[j].Start })
	for i := 1; i < len(o.Hours); i++ {
		if o.Hours[i].Start < o.Hours[i-1].End {
			m.Add(at+"hours", "windows overlap: %s to %s and %s to %s", o.Hours[i-1].Start, o.Hours[i-1].End,
				o.Hours[i].Start, o.Hours[i].End)
		}
	}
}

// WindowEntry is one window of an override.
type WindowEntry struct {
	Start store.TimeOfDay `json:"start"`
	End   store.TimeOfDay `json:"end"`
	Place string          `json:"place,omitempty"`
}

// OverrideEntry is one override.
type OverrideEntry struct {
	Date   store.Date    `json:"date"`
	Closed bool          `json:"closed,omitempty"`
	Hours  []WindowEntry `json:"hours,omitempty"`
	Reason string        `json:"reason,omitempty"`
}

// overrideEntry converts an override to its form in a File and in the audit log.
func overrideEntry(o *store.Override) OverrideEntry {
	entry := OverrideEntry{Date: o.Date, Closed: o.Closed, Reason: o.Reason}
	for _, w := range o.Hours {
		entry.Hours = append(entry.Hours, WindowEntry(w))
	}
	return entry
}

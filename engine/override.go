package engine

import (
	"context"
	"slices"
	"strings"

	"holdfast/store"
)

// Overrides lists the overrides of one specialist by date. store.ErrNotFound.
func (e *Engine) Overrides(specialistID string) ([]store.Override, error) {
	s := e.Current()
	if s.specialists[specialistID] == nil {
		return nil, store.ErrNotFound
	}
	return s.Overrides[specialistID], nil
}

// PutOverride closes one local date of a specialist or gives it other hours, in place of an override that the date may
// have. Appointments on it stay. It shows in the very next listing. store.ErrNotFound, *ValidationError.
func (e *Engine) PutOverride(ctx context.Context, actor Actor, o store.Override, once *Once) (store.Override, error) {
	if _, err := e.Specialist(o.SpecialistID); err != nil {
		return o, err
	}
	var m mistakes
	checkOverride(&m, "", &o)
	if err := m.err(); err != nil {
		return o, err
	}
	o.ID = newID()
	return o, e.changeSchedule(ctx, &scheduleChange{
		actor: actor, action: "override.put", subject: "specialist:" + o.SpecialistID, reason: o.Reason, after: o,
		once: once, result: o,
	}, func(tx store.Tx) error { return tx.PutOverride(ctx, o) })
}

// DeleteOverride gives a date its weekly hours back. store.ErrNotFound.
func (e *Engine) DeleteOverride(ctx context.Context, actor Actor, id string) error {
	c := scheduleChange{actor: actor, action: "override.deleted"}
	return e.changeSchedule(ctx, &c, func(tx store.Tx) error {
		o, err := tx.DeleteOverride(ctx, id)
		c.subject = "specialist:" + o.SpecialistID
		return err
	})
}

// checkOverride sorts the hours of an override and refuses what cannot be meant.
func checkOverride(m *mistakes, at string, o *store.Override) {
	o.Reason = strings.TrimSpace(o.Reason)
	checkText(m, at+"reason", o.Reason, 500, true)
	if o.Date.Year < 2000 || o.Date.Year > 2200 {
		m.add(at+"date", "must be a date like 2026-12-24")
	}
	switch {
	case o.Closed && len(o.Hours) > 0:
		m.add(at+"hours", "a closed date has no hours; leave one of the two out")
	case !o.Closed && len(o.Hours) == 0:
		m.add(at+"hours", "give the hours of that date, or say \"closed\": true")
	}
	o.Hours = slices.Clone(o.Hours)
	for i, w := range o.Hours {
		checkWindow(m, at+indexed("hours", i), w)
	}
	slices.SortFunc(o.Hours, func(a, b store.Window) int { return int(a.Start - b.Start) })
	for i := 1; i < len(o.Hours); i++ {
		if o.Hours[i].Start < o.Hours[i-1].End {
			m.add(at+"hours", "windows overlap: %s to %s and %s to %s", o.Hours[i-1].Start, o.Hours[i-1].End, o.Hours[i].Start, o.Hours[i].End)
		}
	}
}

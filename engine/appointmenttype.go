package engine

import (
	"context"
	"strings"

	"holdfast/store"
)

// maxHorizonDays is how far ahead a type may be booked.
const maxHorizonDays = 3 * 366

// DefaultAppointmentType holds the value of every field that a new type does not name.
func DefaultAppointmentType() store.AppointmentType {
	return store.AppointmentType{
		DurationMinutes: 30, HorizonDays: 60, CooldownMinutes: 1440, Capacity: 1,
		HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true,
	}
}

// CreateAppointmentType adds a type; an empty id is made. A SlotStepMinutes of 0 is the duration. *ValidationError.
func (e *Engine) CreateAppointmentType(ctx context.Context, actor Actor, t store.AppointmentType) (store.AppointmentType, error) {
	if t.ID == "" {
		t.ID = newID()
	}
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	s := e.schedule.current.Load()
	if s.types[t.ID] != nil {
		return t, invalid("id", "this id is in use; choose another, or change that appointment type with PATCH")
	}
	return e.putAppointmentType(ctx, actor, "appointmenttype.created", nil, t)
}

// UpdateAppointmentType lets edit change one type. store.ErrNotFound, *ValidationError.
func (e *Engine) UpdateAppointmentType(ctx context.Context, actor Actor, id string, edit func(*store.AppointmentType)) (store.AppointmentType, error) {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	before, err := e.AppointmentType(id)
	if err != nil {
		return before, err
	}
	t := before
	t.Specialists = append([]store.Assignment(nil), before.Specialists...)
	edit(&t)
	t.ID = id
	return e.putAppointmentType(ctx, actor, "appointmenttype.changed", &before, t)
}

// ArchiveAppointmentType takes a type out of every listing; its appointments stay. store.ErrNotFound.
func (e *Engine) ArchiveAppointmentType(ctx context.Context, actor Actor, id string) error {
	e.schedule.change.Lock()
	defer e.schedule.change.Unlock()
	t, err := e.AppointmentType(id)
	if err != nil {
		return err
	}
	return e.changeSchedule(ctx, scheduleChange{
		actor: actor, action: "appointmenttype.archived", subject: "appointmenttype:" + id, before: t,
	}, func(tx store.Tx) error { return tx.ArchiveAppointmentType(ctx, id) })
}

func (e *Engine) putAppointmentType(ctx context.Context, actor Actor, action string, before *store.AppointmentType, t store.AppointmentType) (store.AppointmentType, error) {
	s := e.schedule.current.Load()
	var m mistakes
	checkAppointmentType(&m, "", &t, func(id string) bool { return s.specialists[id] != nil })
	if err := m.err(); err != nil {
		return t, err
	}
	c := scheduleChange{actor: actor, action: action, subject: "appointmenttype:" + t.ID, after: t}
	if before != nil {
		c.before = *before
	}
	return t, e.changeSchedule(ctx, c, func(tx store.Tx) error { return tx.PutAppointmentType(ctx, t) })
}

func assigned(list []store.Assignment) []string {
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.SpecialistID
	}
	return ids
}

// checkAppointmentType trims and checks one type. Field names are prefixed with at.
func checkAppointmentType(m *mistakes, at string, t *store.AppointmentType, known func(specialistID string) bool) {
	t.Name, t.Description = strings.TrimSpace(t.Name), strings.TrimSpace(t.Description)
	if t.SlotStepMinutes == 0 {
		t.SlotStepMinutes = t.DurationMinutes
	}
	checkID(m, at+"id", t.ID)
	if t.Name == "" {
		m.add(at+"name", "give the appointment type a name")
	}
	checkText(m, at+"name", t.Name, 200, false)
	checkText(m, at+"description", t.Description, 2000, true)
	for _, f := range []struct {
		field     string
		n         int
		low, high int
		unit      string
	}{
		{"durationMinutes", t.DurationMinutes, 1, 1440, "minutes"},
		{"slotStepMinutes", t.SlotStepMinutes, 1, 1440, "minutes"},
		{"bufferBeforeMinutes", t.BufferBeforeMinutes, 0, 720, "minutes"},
		{"bufferAfterMinutes", t.BufferAfterMinutes, 0, 720, "minutes"},
		{"minNoticeMinutes", t.MinNoticeMinutes, 0, 366 * 1440, "minutes"},
		{"horizonDays", t.HorizonDays, 1, maxHorizonDays, "days"},
		{"cooldownMinutes", t.CooldownMinutes, 0, 366 * 1440, "minutes"},
		{"capacity", t.Capacity, 1, 500, "seats"},
		{"holdTtlSeconds", t.HoldTTLSeconds, 1, int(MaxHoldTTL.Seconds()), "seconds"},
		{"maxHoldSeconds", t.MaxHoldSeconds, t.HoldTTLSeconds, 7200, "seconds"},
		{"holdQuota", t.HoldQuota, 1, 100, "holds"},
	} {
		if f.n < f.low || f.n > f.high {
			m.add(at+f.field, "must be %d to %d %s", f.low, f.high, f.unit)
		}
	}
	seen := make(map[string]bool)
	for i, a := range t.Specialists {
		field := at + indexed("specialists", i) + "."
		switch {
		case !known(a.SpecialistID):
			m.add(field+"specialistId", "no specialist has the id %q", clip(a.SpecialistID))
		case seen[a.SpecialistID]:
			m.add(field+"specialistId", "%q is named twice", a.SpecialistID)
		}
		seen[a.SpecialistID] = true
		if a.Priority < -1000 || a.Priority > 1000 {
			m.add(field+"priority", "must be -1000 to 1000; the highest is assigned first")
		}
	}
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

func (r reads) Schedule(ctx context.Context) (store.Schedule, error) {
	s := store.Schedule{WeeklyHours: map[string][]store.WeeklyWindow{}, Overrides: map[string][]store.Override{}, Blocks: map[string][]store.Block{}}
	assignments := map[string][]store.Assignment{}
	overrides := map[string]*store.Override{} // by id; filled before their windows are read
	var ordered []*store.Override
	err := r.snapshot(ctx,
		asks(func(r *row) { s.Clinic = scanClinic(r) },
			`SELECT name, timezone, locale, phone, email, address, website, settings FROM clinic`),
		asks(func(r *row) {
			id := r.text()
			assignments[id] = append(assignments[id], store.Assignment{SpecialistID: r.text(), Priority: r.int()})
		}, `SELECT appointment_type_id, specialist_id, priority FROM assignments
			ORDER BY appointment_type_id, priority DESC, specialist_id`),
		asks(func(r *row) {
			t := scanAppointmentType(r)
			t.Specialists = assignments[t.ID]
			s.AppointmentTypes = append(s.AppointmentTypes, t)
		}, `SELECT `+appointmentTypeColumns+` FROM appointment_types WHERE NOT archived ORDER BY position, id`),
		asks(func(r *row) { s.Specialists = append(s.Specialists, scanSpecialist(r)) },
			`SELECT `+specialistColumns+`, COALESCE((SELECT digest FROM specialist_pictures WHERE specialist_id = specialists.id), '') FROM specialists WHERE NOT archived ORDER BY position, id`),
		asks(func(r *row) { s.ArchivedTypes = append(s.ArchivedTypes, scanAppointmentType(r)) },
			`SELECT `+appointmentTypeColumns+` FROM appointment_types WHERE archived ORDER BY id`),
		asks(func(r *row) { s.ArchivedSpecialists = append(s.ArchivedSpecialists, scanSpecialist(r)) },
			`SELECT `+specialistColumns+`, '' FROM specialists WHERE archived ORDER BY id`),
		asks(func(r *row) {
			id := r.text()
			s.WeeklyHours[id] = append(s.WeeklyHours[id], scanWeeklyWindow(r))
		}, `SELECT specialist_id, weekday, start_minute, end_minute, place FROM weekly_hours
			JOIN specialists ON specialists.id = specialist_id WHERE NOT archived
			ORDER BY specialist_id, weekday, start_minute`),
		asks(func(r *row) {
			o := scanOverride(r)
			overrides[o.ID] = &o
			ordered = append(ordered, &o)
		}, `SELECT overrides.id, specialist_id, date, closed, reason FROM overrides
			JOIN specialists ON specialists.id = specialist_id WHERE NOT archived ORDER BY specialist_id, date`),
		asks(func(r *row) {
			if o := overrides[r.text()]; o != nil {
				o.Hours = append(o.Hours, scanWindow(r))
			}
		}, `SELECT override_id, start_minute, end_minute, place FROM override_windows ORDER BY override_id, start_minute`),
		asks(func(r *row) {
			b := scanBlock(r)
			s.Blocks[b.SpecialistID] = append(s.Blocks[b.SpecialistID], b)
		}, recentBlocks, time.Now().Add(-store.BlockMemory)))
	for _, o := range ordered {
		s.Overrides[o.SpecialistID] = append(s.Overrides[o.SpecialistID], *o)
	}
	if err != nil {
		return store.Schedule{}, err
	}
	return s, nil
}

func scanClinic(r *row) store.Clinic {
	return store.Clinic{Name: r.text(), Timezone: r.text(), Locale: r.text(), Phone: r.text(), Email: r.text(),
		Address: r.text(), Website: r.text(), Settings: r.json()}
}

const appointmentTypeColumns = `id, name, description, duration_minutes, slot_step_minutes,
	buffer_before_minutes, buffer_after_minutes, min_notice_minutes, horizon_days, cooldown_minutes, capacity,
	hold_ttl_seconds, max_hold_seconds, hold_quota, active, position, upstream_type_id, page, needs`

func scanAppointmentType(r *row) store.AppointmentType {
	return store.AppointmentType{
		ID: r.text(), Name: r.text(), Description: r.text(), DurationMinutes: r.int(), SlotStepMinutes: r.int(),
		BufferBeforeMinutes: r.int(), BufferAfterMinutes: r.int(), MinNoticeMinutes: r.int(), HorizonDays: r.int(),
		CooldownMinutes: r.int(), Capacity: r.int(), HoldTTLSeconds: r.int(), MaxHoldSeconds: r.int(),
		HoldQuota: r.int(), Active: r.bool(), Position: r.int(), UpstreamTypeID: r.text(), Page: store.Unpacked[store.TypePage](r.text()),
		Needs: store.Unpacked[[]store.Need](r.text()),
	}
}

const specialistColumns = `id, name, timezone, active, email, max_sessions, position,
	upstream_schedule_view_id, upstream_column_id, page, kind`

func scanSpecialist(r *row) store.Specialist {
	return store.Specialist{ID: r.text(), Name: r.text(), Timezone: r.text(), Active: r.bool(), Email: r.text(),
		MaxSessions: r.int(), Position: r.int(), UpstreamScheduleViewID: r.text(), UpstreamColumnID: r.text(),
		Page: store.Unpacked[store.SpecialistPage](r.text()), Kind: store.SpecialistKind(r.text()), PictureDigest: r.text()}
}

// The database counts weekdays as ISO 8601 does, Monday 1 to Sunday 7, so that they sort as people read them.
func scanWeeklyWindow(r *row) store.WeeklyWindow {
	return store.WeeklyWindow{Weekday: store.Weekday(r.int() % 7), Window: scanWindow(r)}
}

func isoWeekday(w store.Weekday) int { return (int(w)+6)%7 + 1 }

func scanWindow(r *row) store.Window {
	return store.Window{Start: store.TimeOfDay(r.int()), End: store.TimeOfDay(r.int()), Place: r.text()}
}

func scanOverride(r *row) store.Override {
	o := store.Override{ID: r.text(), SpecialistID: r.text()}
	o.Date, _ = store.ParseDate(r.text())
	o.Closed, o.Reason = r.bool(), r.text()
	return o
}

func (t *tx) PutClinic(_ context.Context, c store.Clinic) error {
	t.changed(store.Change{Noun: store.NounClinic})
	return t.run(`
		INSERT INTO clinic (id, name, timezone, locale, phone, email, address, website, settings)
		VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, timezone = excluded.timezone, locale = excluded.locale,
			phone = excluded.phone, email = excluded.email, address = excluded.address, website = excluded.website,
			settings = excluded.settings`,
		c.Name, c.Timezone, c.Locale, c.Phone, c.Email, c.Address, c.Website, textOrNull(c.Settings))
}

func (t *tx) PutAppointmentType(ctx context.Context, a store.AppointmentType) error {
	t.changed(store.Change{Noun: store.NounAppointmentType, ID: a.ID})
	err := t.run(`
		INSERT INTO appointment_types (`+appointmentTypeColumns+`, largest_capacity)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $11)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, description = excluded.description,
			duration_minutes = excluded.duration_minutes, slot_step_minutes = excluded.slot_step_minutes,
			buffer_before_minutes = excluded.buffer_before_minutes,
			buffer_after_minutes = excluded.buffer_after_minutes,
			min_notice_minutes = excluded.min_notice_minutes, horizon_days = excluded.horizon_days,
			cooldown_minutes = excluded.cooldown_minutes, capacity = excluded.capacity,
			largest_capacity = greatest(appointment_types.largest_capacity, excluded.capacity),
			hold_ttl_seconds = excluded.hold_ttl_seconds, max_hold_seconds = excluded.max_hold_seconds,
			hold_quota = excluded.hold_quota, active = excluded.active, position = excluded.position,
			upstream_type_id = excluded.upstream_type_id, page = excluded.page, needs = excluded.needs, archived = false`,
		a.ID, a.Name, a.Description, a.DurationMinutes, a.SlotStepMinutes, a.BufferBeforeMinutes, a.BufferAfterMinutes,
		a.MinNoticeMinutes, a.HorizonDays, a.CooldownMinutes, a.Capacity, a.HoldTTLSeconds, a.MaxHoldSeconds,
		a.HoldQuota, a.Active, a.Position, a.UpstreamTypeID, store.Packed(a.Page), store.Packed(a.Needs))
	if err != nil {
		return err
	}
	if err := t.run(`DELETE FROM assignments WHERE appointment_type_id = $1`, a.ID); err != nil {
		return err
	}
	for _, s := range a.Specialists {
		// Selecting from the specialists leaves out those who are unknown and those who were archived.
		n, err := t.exec(`
			INSERT INTO assignments (appointment_type_id, specialist_id, priority)
			SELECT $1, id, $2 FROM specialists WHERE id = $3 AND NOT archived`, a.ID, s.Priority, s.SpecialistID)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: appointment type %q names the unknown specialist %q", store.ErrInvalid, a.ID, s.SpecialistID)
		}
		if errors.Is(err, store.ErrDuplicate) {
			err = fmt.Errorf("%w: appointment type %q names specialist %q twice", store.ErrInvalid, a.ID, s.SpecialistID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) ArchiveAppointmentType(_ context.Context, id string) error {
	t.changed(store.Change{Noun: store.NounAppointmentType, ID: id})
	return t.mustChange(`UPDATE appointment_types SET archived = true WHERE id = $1 AND NOT archived`, id)
}

func (t *tx) PutSpecialist(_ context.Context, s store.Specialist) error {
	t.changed(store.Change{Noun: store.NounSpecialist, ID: s.ID})
	return t.run(`
		INSERT INTO specialists (`+specialistColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, timezone = excluded.timezone, active = excluded.active,
			email = excluded.email, max_sessions = excluded.max_sessions, position = excluded.position,
			upstream_schedule_view_id = excluded.upstream_schedule_view_id,
			upstream_column_id = excluded.upstream_column_id, page = excluded.page, kind = excluded.kind, archived = false`,
		s.ID, s.Name, s.Timezone, s.Active, s.Email, s.MaxSessions, s.Position,
		s.UpstreamScheduleViewID, s.UpstreamColumnID, store.Packed(s.Page), string(s.Kind))
}

func (t *tx) ArchiveSpecialist(_ context.Context, id string) error {
	t.changed(store.Change{Noun: store.NounSpecialist, ID: id})
	if err := t.mustChange(`UPDATE specialists SET archived = true WHERE id = $1 AND NOT archived`, id); err != nil {
		return err
	}
	return t.run(`DELETE FROM assignments WHERE specialist_id = $1`, id)
}

// specialist answers ErrNotFound for one who is unknown or archived.
func (t *tx) specialist(ctx context.Context, id string) error {
	_, err := one(ctx, t.reads, (*row).int, `SELECT 1 FROM specialists WHERE id = $1 AND NOT archived`, id)
	return err
}

func (t *tx) PutWeeklyHours(ctx context.Context, specialistID string, hours []store.WeeklyWindow) error {
	if err := t.specialist(ctx, specialistID); err != nil {
		return err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	if err := t.run(`DELETE FROM weekly_hours WHERE specialist_id = $1`, specialistID); err != nil {
		return err
	}
	for _, w := range hours {
		err := t.run(`INSERT INTO weekly_hours (specialist_id, weekday, start_minute, end_minute, place) VALUES ($1, $2, $3, $4, $5)`,
			specialistID, isoWeekday(w.Weekday), int(w.Start), int(w.End), w.Place)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) PutOverride(ctx context.Context, o store.Override) error {
	if err := t.specialist(ctx, o.SpecialistID); err != nil {
		return err
	}
	if o.Closed && len(o.Hours) > 0 {
		return fmt.Errorf("%w: a closed day has no hours", store.ErrInvalid)
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: o.SpecialistID})
	date := o.Date.String()
	if err := t.run(`DELETE FROM overrides WHERE specialist_id = $1 AND date = $2`, o.SpecialistID, date); err != nil {
		return err
	}
	err := t.run(`INSERT INTO overrides (id, specialist_id, date, closed, reason) VALUES ($1, $2, $3, $4, $5)`,
		o.ID, o.SpecialistID, date, o.Closed, o.Reason)
	if err != nil {
		return err
	}
	for _, w := range o.Hours {
		err := t.run(`INSERT INTO override_windows (override_id, start_minute, end_minute, place) VALUES ($1, $2, $3, $4)`,
			o.ID, int(w.Start), int(w.End), w.Place)
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DeleteOverride(ctx context.Context, id string) (store.Override, error) {
	o, err := one(ctx, t.reads, scanOverride,
		`SELECT id, specialist_id, date, closed, reason FROM overrides WHERE id = $1`, id)
	if err != nil {
		return store.Override{}, err
	}
	o.Hours, err = list(ctx, t.reads, scanWindow,
		`SELECT start_minute, end_minute, place FROM override_windows WHERE override_id = $1 ORDER BY start_minute`, id)
	if err != nil {
		return store.Override{}, err
	}
	t.changed(store.Change{Noun: store.NounSpecialist, ID: o.SpecialistID})
	return o, t.run(`DELETE FROM overrides WHERE id = $1`, id)
}

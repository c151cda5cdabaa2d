package table

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/store"
)

var clinics = nounOf[store.Clinic]("clinic", "id",
	derived("id", func(*store.Clinic) any { return 1 }),
)

var appointmentTypes = nounOf[store.AppointmentType]("appointment_types", "id",
	derived("archived", func(*store.AppointmentType) any { return false }),
	// A seat that was booked before the capacity was lowered stays valid.
	merged("largest_capacity", func(a *store.AppointmentType) any { return a.Capacity },
		"{greatest}(appointment_types.largest_capacity, excluded.largest_capacity)"),
)

var specialists = nounOf[store.Specialist]("specialists", "id",
	derived("archived", func(*store.Specialist) any { return false }),
)

// Schedule implements store.ScheduleReader.
func (r Reads) Schedule(ctx context.Context) (store.Schedule, error) {
	s := store.Schedule{
		WeeklyHours: map[string][]store.WeeklyWindow{}, Overrides: map[string][]store.Override{},
		Blocks: map[string][]store.Block{},
	}
	assignments := map[string][]store.Assignment{}
	overrides := map[string]*store.Override{} // by id; all are read before the first of their windows
	var ordered []*store.Override
	recent := []any{time.Now().Add(-store.BlockMemory)}
	err := r.source.Snapshot(ctx,
		Question{Each: func(r Row) { s.Clinic = clinics.scan(r) }, Text: clinics.from},
		Question{Each: func(r Row) {
			id := r.Text()
			assignments[id] = append(assignments[id], store.Assignment{SpecialistID: r.Text(), Priority: r.Int()})
		}, Text: `SELECT appointment_type_id, specialist_id, priority FROM assignments
			ORDER BY appointment_type_id, priority DESC, specialist_id`},
		Question{Each: func(r Row) {
			t := appointmentTypes.scan(r)
			t.Specialists = assignments[t.ID]
			s.AppointmentTypes = append(s.AppointmentTypes, t)
		}, Text: appointmentTypes.from + `WHERE archived = {false} ORDER BY position, id`},
		Question{Each: func(r Row) {
			x := specialists.scan(r)
			x.PictureDigest = r.Text()
			s.Specialists = append(s.Specialists, x)
		}, Text: `SELECT ` + specialists.names + `,
				COALESCE((SELECT digest FROM specialist_pictures WHERE specialist_id = specialists.id), '')
			FROM specialists WHERE archived = {false} ORDER BY position, id`},
		Question{Each: func(r Row) { s.ArchivedTypes = append(s.ArchivedTypes, appointmentTypes.scan(r)) },
			Text: appointmentTypes.from + `WHERE archived = {true} ORDER BY id`},
		Question{Each: func(r Row) { s.ArchivedSpecialists = append(s.ArchivedSpecialists, specialists.scan(r)) },
			Text: specialists.from + `WHERE archived = {true} ORDER BY id`},
		Question{Each: func(r Row) {
			id := r.Text()
			s.WeeklyHours[id] = append(s.WeeklyHours[id], scanWeeklyWindow(r))
		}, Text: `SELECT specialist_id, weekday, start_minute, end_minute, place FROM weekly_hours
			JOIN specialists ON specialists.id = specialist_id WHERE archived = {false}
			ORDER BY specialist_id, weekday, start_minute`},
		Question{Each: func(r Row) {
			o := scanOverride(r)
			overrides[o.ID] = &o
			ordered = append(ordered, &o)
		}, Text: `SELECT overrides.id, specialist_id, date, closed, reason FROM overrides
			JOIN specialists ON specialists.id = specialist_id WHERE archived = {false} ORDER BY specialist_id, date`},
		Question{Each: func(r Row) {
			if o := overrides[r.Text()]; o != nil {
				o.Hours = append(o.Hours, scanWindow(r))
			}
		}, Text: `SELECT override_id, start_minute, end_minute, place FROM override_windows
			ORDER BY override_id, start_minute`},
		Question{Each: func(r Row) {
			b := blocks.scan(r)
			s.Blocks[b.SpecialistID] = append(s.Blocks[b.SpecialistID], b)
		}, Text: recentBlocks, Args: recent},
		Question{Each: func(r Row) { s.ArchivedBlocks = append(s.ArchivedBlocks, blocks.scan(r)) },
			Text: archivedBlocks, Args: recent})
	if err != nil {
		return store.Schedule{}, err
	}
	for _, o := range ordered {
		s.Overrides[o.SpecialistID] = append(s.Overrides[o.SpecialistID], *o)
	}
	return s, nil
}

// scanWeeklyWindow reads a weekly window. Weekdays are stored as in ISO 8601 (Monday is 1, Sunday is 7), so that a week
// sorts from Monday to Sunday.
func scanWeeklyWindow(r Row) store.WeeklyWindow {
	return store.WeeklyWindow{Weekday: store.Weekday(r.Int() % 7), Window: scanWindow(r)}
}

func isoWeekday(w store.Weekday) int { return (int(w)+6)%7 + 1 }

func scanWindow(r Row) store.Window {
	return store.Window{Start: store.TimeOfDay(r.Int()), End: store.TimeOfDay(r.Int()), Place: r.Text()}
}

func scanOverride(r Row) store.Override {
	o := store.Override{ID: r.Text(), SpecialistID: r.Text()}
	o.Date, _ = store.ParseDate(r.Text())
	o.Closed, o.Reason = r.Bool(), r.Text()
	return o
}

// PutClinic implements store.ScheduleWriter.
func (t *Tx) PutClinic(_ context.Context, c store.Clinic) error {
	t.to.Changed(store.Change{Noun: store.NounClinic})
	return t.run(clinics.put, clinics.values(&c)...)
}

// PutAppointmentType implements store.ScheduleWriter.
func (t *Tx) PutAppointmentType(ctx context.Context, a store.AppointmentType) error {
	t.to.Changed(store.Change{Noun: store.NounAppointmentType, ID: a.ID})
	if err := t.run(appointmentTypes.put, appointmentTypes.values(&a)...); err != nil {
		return err
	}
	if err := t.run(`DELETE FROM assignments WHERE appointment_type_id = ?`, a.ID); err != nil {
		return err
	}
	for _, s := range a.Specialists {
		// The SELECT omits unknown and archived specialists.
		n, err := t.count(`
			INSERT INTO assignments (appointment_type_id, specialist_id, priority)
			SELECT ?, id, ? FROM specialists WHERE id = ? AND archived = {false}`, a.ID, s.Priority, s.SpecialistID)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: appointment type %q names the unknown specialist %q",
				store.ErrInvalid, a.ID, s.SpecialistID)
		}
		if errors.Is(err, store.ErrDuplicate) {
			err = fmt.Errorf("%w: appointment type %q names specialist %q twice",
				store.ErrInvalid, a.ID, s.SpecialistID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ArchiveAppointmentType implements store.ScheduleWriter.
func (t *Tx) ArchiveAppointmentType(_ context.Context, id string) error {
	t.to.Changed(store.Change{Noun: store.NounAppointmentType, ID: id})
	return t.mustChange(`UPDATE appointment_types SET archived = {true} WHERE id = ? AND archived = {false}`, id)
}

// PutSpecialist implements store.ScheduleWriter.
func (t *Tx) PutSpecialist(_ context.Context, s store.Specialist) error {
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: s.ID})
	return t.run(specialists.put, specialists.values(&s)...)
}

// ArchiveSpecialist implements store.ScheduleWriter.
func (t *Tx) ArchiveSpecialist(_ context.Context, id string) error {
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: id})
	err := t.mustChange(`UPDATE specialists SET archived = {true} WHERE id = ? AND archived = {false}`, id)
	if err != nil {
		return err
	}
	return t.run(`DELETE FROM assignments WHERE specialist_id = ?`, id)
}

// specialist returns ErrNotFound for an unknown or archived specialist.
func (t *Tx) specialist(ctx context.Context, id string) error {
	_, err := one(ctx, t.source, Row.Int, `SELECT 1 FROM specialists WHERE id = ? AND archived = {false}`, id)
	return err
}

// PutWeeklyHours implements store.ScheduleWriter.
func (t *Tx) PutWeeklyHours(ctx context.Context, specialistID string, hours []store.WeeklyWindow) error {
	if err := t.specialist(ctx, specialistID); err != nil {
		return err
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: specialistID})
	if err := t.run(`DELETE FROM weekly_hours WHERE specialist_id = ?`, specialistID); err != nil {
		return err
	}
	for _, w := range hours {
		err := t.run(`
			INSERT INTO weekly_hours (specialist_id, weekday, start_minute, end_minute, place) VALUES (?, ?, ?, ?, ?)`,
			specialistID, isoWeekday(w.Weekday), int(w.Start), int(w.End), w.Place)
		if err != nil {
			return err
		}
	}
	return nil
}

// PutOverride implements store.ScheduleWriter.
func (t *Tx) PutOverride(ctx context.Context, o store.Override) error {
	if err := t.specialist(ctx, o.SpecialistID); err != nil {
		return err
	}
	if o.Closed && len(o.Hours) > 0 {
		return fmt.Errorf("%w: a closed day has no hours", store.ErrInvalid)
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: o.SpecialistID})
	date := o.Date.String()
	if err := t.run(`DELETE FROM overrides WHERE specialist_id = ? AND date = ?`, o.SpecialistID, date); err != nil {
		return err
	}
	err := t.run(`INSERT INTO overrides (id, specialist_id, date, closed, reason) VALUES (?, ?, ?, ?, ?)`,
		o.ID, o.SpecialistID, date, o.Closed, o.Reason)
	if err != nil {
		return err
	}
	for _, w := range o.Hours {
		err := t.run(`INSERT INTO override_windows (override_id, start_minute, end_minute, place) VALUES (?, ?, ?, ?)`,
			o.ID, int(w.Start), int(w.End), w.Place)
		if err != nil {
			return err
		}
	}
	return nil
}

// DeleteOverride implements store.ScheduleWriter.
func (t *Tx) DeleteOverride(ctx context.Context, id string) (store.Override, error) {
	o, err := one(ctx, t.source, scanOverride,
		`SELECT id, specialist_id, date, closed, reason FROM overrides WHERE id = ?`, id)
	if err != nil {
		return store.Override{}, err
	}
	o.Hours, err = list(ctx, t.source, scanWindow,
		`SELECT start_minute, end_minute, place FROM override_windows WHERE override_id = ? ORDER BY start_minute`, id)
	if err != nil {
		return store.Override{}, err
	}
	t.to.Changed(store.Change{Noun: store.NounSpecialist, ID: o.SpecialistID})
	return o, t.run(`DELETE FROM overrides WHERE id = ?`, id)
}

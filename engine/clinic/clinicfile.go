package clinic

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"holdfast/engine/record"
	"holdfast/store"
)

// File is a whole clinic as one JSON document: what import reads and export writes. Import is idempotent by id, so
// the same file twice is the same clinic; what the file does not name stays as it is.
type File struct {
	Clinic           *FileClinic            `json:"clinic,omitempty"`
	Specialists      []SpecialistEntry      `json:"specialists"`
	AppointmentTypes []AppointmentTypeEntry `json:"appointmentTypes"`
}

// FileClinic is the clinic itself in a File.
type FileClinic struct {
	Name     string    `json:"name"`
	Timezone string    `json:"timezone"`
	Locale   string    `json:"locale,omitempty"`
	Phone    string    `json:"phone,omitempty"`
	Email    string    `json:"email,omitempty"`
	Address  string    `json:"address,omitempty"`
	Website  string    `json:"website,omitempty"`
	Settings *Settings `json:"settings,omitempty"`
}

// SpecialistEntry is one specialist in a File, with hours, overrides and blocks. Weekly hours that are absent stay
// as they are, and an empty list clears them; overrides and blocks that are not named stay.
type SpecialistEntry struct {
	ID          string              `json:"id"`
	Name        string              `json:"name"`
	Timezone    string              `json:"timezone,omitempty"` // default: the clinic's
	Active      bool                `json:"active"`             // default: true
	Email       string              `json:"email,omitempty"`
	MaxSessions int                 `json:"maxSessions"` // default: 1; 0 takes no on-demand sessions
	Upstream    *UpstreamSpecialist `json:"upstream,omitempty"`
	WeeklyHours []HoursEntry        `json:"weeklyHours,omitempty"`
	Overrides   []OverrideEntry     `json:"overrides,omitempty"`
	Blocks      []BlockEntry        `json:"blocks,omitempty"`
}

// UpstreamSpecialist is what the practice-management system calls a specialist.
type UpstreamSpecialist struct {
	ScheduleViewGUID   string `json:"scheduleViewGUID"`
	ScheduleColumnGUID string `json:"scheduleColumnGUID"`
}

// UpstreamType is what the practice-management system calls an appointment type.
type UpstreamType struct {
	AppointmentTypeGUID string `json:"appointmentTypeGUID"`
}

// HoursEntry is one window of the weekly hours.
type HoursEntry struct {
	Weekday store.Weekday   `json:"weekday"`
	Start   store.TimeOfDay `json:"start"`
	End     store.TimeOfDay `json:"end"`
}

// WindowEntry is one window of an override.
type WindowEntry struct {
	Start store.TimeOfDay `json:"start"`
	End   store.TimeOfDay `json:"end"`
}

// OverrideEntry is one override.
type OverrideEntry struct {
	Date   store.Date    `json:"date"`
	Closed bool          `json:"closed,omitempty"`
	Hours  []WindowEntry `json:"hours,omitempty"`
	Reason string        `json:"reason,omitempty"`
}

// AssignmentEntry links an appointment type with a specialist.
type AssignmentEntry struct {
	SpecialistID string `json:"specialistId"`
	Priority     int    `json:"priority"`
}

// AppointmentTypeEntry is one appointment type. Absent fields have the values of DefaultAppointmentType.
type AppointmentTypeEntry struct {
	ID                  string            `json:"id"`
	Name                string            `json:"name"`
	Description         string            `json:"description,omitempty"`
	DurationMinutes     int               `json:"durationMinutes"`
	SlotStepMinutes     int               `json:"slotStepMinutes"`
	BufferBeforeMinutes int               `json:"bufferBeforeMinutes"`
	BufferAfterMinutes  int               `json:"bufferAfterMinutes"`
	MinNoticeMinutes    int               `json:"minNoticeMinutes"`
	HorizonDays         int               `json:"horizonDays"`
	CooldownMinutes     int               `json:"cooldownMinutes"`
	Capacity            int               `json:"capacity"`
	HoldTTLSeconds      int               `json:"holdTtlSeconds"`
	MaxHoldSeconds      int               `json:"maxHoldSeconds"`
	HoldQuota           int               `json:"holdQuota"`
	Active              bool              `json:"active"`
	Upstream            *UpstreamType     `json:"upstream,omitempty"`
	Specialists         []AssignmentEntry `json:"specialists"`
}

// UnmarshalJSON fills in the defaults and refuses unknown fields.
func (t *AppointmentTypeEntry) UnmarshalJSON(b []byte) error {
	type plain AppointmentTypeEntry
	d := DefaultAppointmentType()
	v := plain{
		DurationMinutes: d.DurationMinutes, HorizonDays: d.HorizonDays, CooldownMinutes: d.CooldownMinutes, Capacity: d.Capacity,
		HoldTTLSeconds: d.HoldTTLSeconds, MaxHoldSeconds: d.MaxHoldSeconds, HoldQuota: d.HoldQuota, Active: d.Active,
	}
	err := strictJSON(b, &v)
	*t = AppointmentTypeEntry(v)
	return err
}

// UnmarshalJSON fills in the defaults and refuses unknown fields.
func (p *SpecialistEntry) UnmarshalJSON(b []byte) error {
	type plain SpecialistEntry
	v := plain{Active: true, MaxSessions: 1}
	err := strictJSON(b, &v)
	*p = SpecialistEntry(v)
	return err
}

// strictJSON decodes and refuses fields that are not known, which a method of a nested type must ask for anew.
func strictJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Imported counts what a File named.
type Imported struct {
	Specialists      int
	AppointmentTypes int
}

// Import stores a File, whole or not at all. *ValidationError names every mistake in it.
func (cl *Clinic) Import(ctx context.Context, actor record.Actor, f File) (Imported, error) {
	cl.schedule.change.Lock()
	defer cl.schedule.change.Unlock()
	n := Imported{Specialists: len(f.Specialists), AppointmentTypes: len(f.AppointmentTypes)}
	var rows *importRows
	c := ScheduleChange{Actor: actor, Action: "clinic.imported", Subject: "clinic", after: n, result: n}
	err := cl.ChangeSchedule(ctx, &c, func(tx store.Tx) error {
		s, err := StoredSchedule(ctx, tx)
		if err != nil {
			return err
		}
		if rows, err = f.rows(&s); err != nil {
			return err
		}
		return rows.write(ctx, tx)
	})
	if err != nil {
		return Imported{}, err
	}
	for _, p := range rows.specialists {
		cl.SpecialistChanged(context.WithoutCancel(ctx), p)
	}
	return n, nil
}

// importRows is a checked ClinicFile as rows of the store.
type importRows struct {
	clinic      *store.Clinic
	specialists []store.Specialist
	hours       map[string][]store.WeeklyWindow
	overrides   []store.Override
	blocks      []store.Block
	blockIDs    map[string]bool // to find one that is in the file twice
	types       []store.AppointmentType
}

// rows checks the file against the schedule that it is stored over. It may be called again.
func (f *File) rows(s *store.Schedule) (*importRows, error) {
	var m record.Mistakes
	r := &importRows{hours: make(map[string][]store.WeeklyWindow), blockIDs: make(map[string]bool)}
	zone := s.Clinic.Timezone
	if f.Clinic != nil {
		c := f.Clinic.row(&m, s.Clinic.Settings)
		r.clinic, zone = &c, c.Timezone
	}
	known := make(map[string]bool)
	for i := range s.Specialists {
		known[s.Specialists[i].ID] = true
	}
	inFile := make(map[string]bool)
	for i := range f.Specialists {
		p, at := &f.Specialists[i], indexed("specialists", i)+"."
		if inFile[p.ID] {
			m.Add(at+"id", "%q is in the file twice", clip(p.ID))
		}
		known[p.ID], inFile[p.ID] = true, true
		p.rows(&m, at, i, zone, r)
	}
	inFile = make(map[string]bool)
	for i := range f.AppointmentTypes {
		at := indexed("appointmentTypes", i) + "."
		t := f.AppointmentTypes[i].row(i)
		if inFile[t.ID] {
			m.Add(at+"id", "%q is in the file twice", clip(t.ID))
		}
		inFile[t.ID] = true
		checkAppointmentType(&m, at, &t, func(id string) bool { return known[id] })
		r.types = append(r.types, t)
	}
	return r, m.Err()
}

func (c *FileClinic) row(m *record.Mistakes, settings json.RawMessage) store.Clinic {
	row := store.Clinic{
		Name: c.Name, Timezone: c.Timezone, Locale: c.Locale, Phone: c.Phone, Email: c.Email, Address: c.Address, Website: c.Website, Settings: settings,
	}
	if c.Settings != nil {
		was, err := readSettings(settings)
		if err == nil {
			c.Settings.Webhooks = was.Webhooks // they have secrets, so no file has them
		}
		checkSettings(m, c.Settings, &was)
		row.Settings, _ = json.Marshal(c.Settings) // a struct of strings and numbers cannot fail
	}
	CheckClinic(m, "clinic.", "clinic.", &row)
	return row
}

func (p *SpecialistEntry) rows(m *record.Mistakes, at string, position int, zone string, r *importRows) {
	row := store.Specialist{ID: p.ID, Name: p.Name, Timezone: p.Timezone, Active: p.Active, Email: p.Email, MaxSessions: p.MaxSessions, Position: position}
	if row.Timezone == "" {
		row.Timezone = zone
	}
	if p.Upstream != nil {
		row.UpstreamScheduleViewID, row.UpstreamColumnID = p.Upstream.ScheduleViewGUID, p.Upstream.ScheduleColumnGUID
	}
	checkSpecialist(m, at, &row)
	r.specialists = append(r.specialists, row)
	if p.WeeklyHours != nil {
		hours := make([]store.WeeklyWindow, len(p.WeeklyHours))
		for i, w := range p.WeeklyHours {
			hours[i] = store.WeeklyWindow{Weekday: w.Weekday, Window: store.Window{Start: w.Start, End: w.End}}
		}
		r.hours[p.ID] = checkHours(m, at, hours)
	}
	for i, o := range p.Overrides {
		row := store.Override{ID: record.NewID(), SpecialistID: p.ID, Date: o.Date, Closed: o.Closed, Reason: o.Reason}
		for _, w := range o.Hours {
			row.Hours = append(row.Hours, store.Window(w))
		}
		checkOverride(m, at+indexed("overrides", i)+".", &row)
		r.overrides = append(r.overrides, row)
	}
	for i, b := range p.Blocks {
		r.addBlock(m, at+indexed("blocks", i)+".", store.Block{ID: b.ID, SpecialistID: p.ID, Start: b.Start, End: b.End, Reason: b.Reason})
	}
}

func (t *AppointmentTypeEntry) row(position int) store.AppointmentType {
	row := store.AppointmentType{
		ID: t.ID, Name: t.Name, Description: t.Description, DurationMinutes: t.DurationMinutes, SlotStepMinutes: t.SlotStepMinutes,
		BufferBeforeMinutes: t.BufferBeforeMinutes, BufferAfterMinutes: t.BufferAfterMinutes, MinNoticeMinutes: t.MinNoticeMinutes,
		HorizonDays: t.HorizonDays, CooldownMinutes: t.CooldownMinutes, Capacity: t.Capacity, HoldTTLSeconds: t.HoldTTLSeconds,
		MaxHoldSeconds: t.MaxHoldSeconds, HoldQuota: t.HoldQuota, Active: t.Active, Position: position,
	}
	if t.Upstream != nil {
		row.UpstreamTypeID = t.Upstream.AppointmentTypeGUID
	}
	for _, a := range t.Specialists {
		row.Specialists = append(row.Specialists, store.Assignment(a))
	}
	return row
}

func (r *importRows) write(ctx context.Context, tx store.Tx) error {
	if r.clinic != nil {
		if err := tx.PutClinic(ctx, *r.clinic); err != nil {
			return err
		}
	}
	for _, p := range r.specialists {
		if err := tx.PutSpecialist(ctx, p); err != nil {
			return err
		}
		if !p.Active {
			if err := endSignInsOf(ctx, tx, p.ID); err != nil {
				return err
			}
		}
		if hours, ok := r.hours[p.ID]; ok {
			if err := tx.PutWeeklyHours(ctx, p.ID, hours); err != nil {
				return err
			}
		}
	}
	for _, o := range r.overrides {
		if err := tx.PutOverride(ctx, o); err != nil {
			return err
		}
	}
	for _, b := range r.blocks {
		if err := tx.PutBlock(ctx, b); err != nil {
			return err
		}
	}
	for _, t := range r.types {
		if err := tx.PutAppointmentType(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// Export returns the clinic as a File that Import would read back to the same clinic.
func (cl *Clinic) Export() File {
	s := cl.Current()
	settings := cl.Settings()
	settings.Webhooks = nil
	f := File{
		Clinic: &FileClinic{
			Name: s.Clinic.Name, Timezone: s.Clinic.Timezone, Locale: s.Clinic.Locale, Phone: s.Clinic.Phone, Email: s.Clinic.Email,
			Address: s.Clinic.Address, Website: s.Clinic.Website, Settings: &settings,
		},
		Specialists: []SpecialistEntry{}, AppointmentTypes: []AppointmentTypeEntry{},
	}
	for _, p := range s.Specialists {
		entry := SpecialistEntry{ID: p.ID, Name: p.Name, Timezone: p.Timezone, Active: p.Active, Email: p.Email, MaxSessions: p.MaxSessions}
		if p.UpstreamScheduleViewID != "" || p.UpstreamColumnID != "" {
			entry.Upstream = &UpstreamSpecialist{p.UpstreamScheduleViewID, p.UpstreamColumnID}
		}
		for _, w := range s.WeeklyHours[p.ID] {
			entry.WeeklyHours = append(entry.WeeklyHours, HoursEntry{w.Weekday, w.Start, w.End})
		}
		for _, o := range s.Overrides[p.ID] {
			x := OverrideEntry{Date: o.Date, Closed: o.Closed, Reason: o.Reason}
			for _, w := range o.Hours {
				x.Hours = append(x.Hours, WindowEntry(w))
			}
			entry.Overrides = append(entry.Overrides, x)
		}
		for _, b := range s.Blocks[p.ID] {
			entry.Blocks = append(entry.Blocks, BlockEntry{b.ID, b.Start, b.End, b.Reason})
		}
		f.Specialists = append(f.Specialists, entry)
	}
	for _, t := range s.AppointmentTypes {
		entry := AppointmentTypeEntry{
			ID: t.ID, Name: t.Name, Description: t.Description, DurationMinutes: t.DurationMinutes, SlotStepMinutes: t.SlotStepMinutes,
			BufferBeforeMinutes: t.BufferBeforeMinutes, BufferAfterMinutes: t.BufferAfterMinutes, MinNoticeMinutes: t.MinNoticeMinutes,
			HorizonDays: t.HorizonDays, CooldownMinutes: t.CooldownMinutes, Capacity: t.Capacity, HoldTTLSeconds: t.HoldTTLSeconds,
			MaxHoldSeconds: t.MaxHoldSeconds, HoldQuota: t.HoldQuota, Active: t.Active, Specialists: []AssignmentEntry{},
		}
		if t.UpstreamTypeID != "" {
			entry.Upstream = &UpstreamType{t.UpstreamTypeID}
		}
		for _, a := range t.Specialists {
			entry.Specialists = append(entry.Specialists, AssignmentEntry(a))
		}
		slices.SortFunc(entry.Specialists, func(a, b AssignmentEntry) int { return b.Priority - a.Priority })
		f.AppointmentTypes = append(f.AppointmentTypes, entry)
	}
	return f
}

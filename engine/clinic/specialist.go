package clinic

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/record"
	"holdfast/store"
)

// CreateSpecialist adds a specialist. If the id is empty, the specialist gets a new one. If the zone is empty, it is
// set to the clinic's zone. Errors: *ValidationError.
func (cl *Clinic) CreateSpecialist(ctx context.Context, actor record.Actor,
	p store.Specialist) (store.Specialist, error) {
	if p.ID == "" {
		p.ID = record.NewID()
	}
	return cl.putSpecialist(ctx, actor, record.ActionSpecialistCreated, p.ID,
		func(before *store.Specialist) (store.Specialist, error) {
			if before != nil {
				return p, record.Invalid("id",
					"this id is in use; choose another id, or change that specialist with PATCH")
			}
			return p, nil
		})
}

// UpdateSpecialist calls edit to change one specialist. Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) UpdateSpecialist(ctx context.Context, actor record.Actor, id string,
	edit func(*store.Specialist)) (store.Specialist, error) {
	return cl.putSpecialist(ctx, actor, record.ActionSpecialistChanged, id,
		func(before *store.Specialist) (store.Specialist, error) {
			if before == nil {
				return store.Specialist{}, store.ErrNotFound
			}
			p := *before
			edit(&p)
			p.ID = id
			return p, nil
		})
}

// ArchiveSpecialist removes a specialist from every listing and signs out the specialist's user accounts. The
// appointments do not change. Errors: store.ErrNotFound; *ValidationError if a type needs the specialist as a resource.
func (cl *Clinic) ArchiveSpecialist(ctx context.Context, actor record.Actor, id string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionSpecialistArchived, Subject: "specialist:" + id}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		before := specialistIn(s, id)
		if before == nil {
			return store.ErrNotFound
		}
		if err := refuseNeeded(s, id); err != nil {
			return err
		}
		p := *before
		p.Active = false
		c.before, c.specialists = specialistEntry(before), []store.Specialist{p}
		if err := tx.ArchiveSpecialist(ctx, id); err != nil {
			return err
		}
		return endSignInsOf(ctx, tx, id)
	})
}

// putSpecialist stores the specialist that edit returns. before is the stored specialist, or nil if there is none.
func (cl *Clinic) putSpecialist(ctx context.Context, actor record.Actor, action record.Action, id string,
	edit func(before *store.Specialist) (store.Specialist, error)) (store.Specialist, error) {
	var p store.Specialist
	c := ScheduleChange{Actor: actor, Action: action, Subject: "specialist:" + id}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		var err error
		before := specialistIn(s, id)
		if p, err = edit(before); err != nil {
			return err
		}
		p.Position = newPositions(s).ofSpecialist(id)
		if p.Timezone == "" {
			p.Timezone = s.Clinic.Timezone
		}
		var m record.Mistakes
		checkSpecialist(&m, "", &p)
		checkKind(&m, "", &p, before)
		if err := m.Err(); err != nil {
			return err
		}
		c.after, c.result, c.specialists = specialistEntry(&p), p, []store.Specialist{p}
		if before != nil {
			c.before = specialistEntry(before)
		}
		if err := tx.PutSpecialist(ctx, p); err != nil {
			return err
		}
		if before == nil {
			if err := leaveRemovedPlaces(ctx, tx); err != nil {
				return err
			}
		}
		if p.Active {
			return nil
		}
		return endSignInsOf(ctx, tx, p.ID)
	})
	return p, err
}

// specialistIn returns a specialist of a stored schedule, or nil if it is not there.
func specialistIn(s *store.Schedule, id string) *store.Specialist {
	for i := range s.Specialists {
		if s.Specialists[i].ID == id {
			return &s.Specialists[i]
		}
	}
	return nil
}

// endSignInsOf signs out the users who work as this specialist.
func endSignInsOf(ctx context.Context, tx store.Tx, specialistID string) error {
	users, err := tx.Users(ctx)
	if err != nil {
		return err
	}
	for _, u := range users {
		if u.Role == store.RoleSpecialist && u.SpecialistID == specialistID {
			if _, err := tx.DeleteSignIns(ctx, u.ID, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkSpecialist(m *record.Mistakes, at string, p *store.Specialist) {
	p.Name, p.Email = strings.TrimSpace(p.Name), strings.TrimSpace(p.Email)
	record.CheckID(m, at+"id", p.ID)
	if p.Name == "" {
		m.Add(at+"name", "give the specialist a name")
	}
	record.CheckText(m, at+"name", p.Name, 200, false)
	checkZone(m, at+"timezone", p.Timezone)
	if p.Email != "" {
		record.CheckEmail(m, at+"email", p.Email)
	}
	if p.MaxSessions < 0 || p.MaxSessions > 1000 {
		m.Add(at+"maxSessions", "must be 0 to 1000")
	}
	checkSpecialistPage(m, at, &p.Page)
}

func checkZone(m *record.Mistakes, field, name string) {
	if _, err := availability.LoadZone(name); err != nil {
		m.Add(field, "must be an IANA time zone like Europe/Berlin, not %q", record.Clip(name))
	}
}

// WeeklyHours returns the weekly hours of one specialist. Errors: store.ErrNotFound.
func (cl *Clinic) WeeklyHours(specialistID string) ([]store.WeeklyWindow, error) {
	s := cl.Current()
	if s.SpecialistByID[specialistID] == nil {
		return nil, store.ErrNotFound
	}
	return s.WeeklyHours[specialistID], nil
}

// PutWeeklyHours replaces all weekly hours of one specialist. Appointments outside the new hours do not change.
// Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) PutWeeklyHours(ctx context.Context, actor record.Actor, specialistID string,
	hours []store.WeeklyWindow) error {
	hours, err := checkedHours(hours, cl.Settings().Places)
	if err != nil {
		return err
	}
	c := ScheduleChange{
		Actor: actor, Action: record.ActionWeeklyHoursReplaced, Subject: "specialist:" + specialistID,
		after: hoursEntries(hours),
	}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		if specialistIn(s, specialistID) == nil {
			return store.ErrNotFound
		}
		c.before = hoursEntries(s.WeeklyHours[specialistID])
		return tx.PutWeeklyHours(ctx, specialistID, hours)
	})
}

// DryRunWeeklyHours lists the slots of one type that a specialist would have with these hours. It changes nothing and
// ignores live holds. Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) DryRunWeeklyHours(ctx context.Context, specialistID, appointmentTypeID string,
	hours []store.WeeklyWindow, from, to store.Date) ([]availability.Slot, error) {
	s := cl.Current()
	p := s.SpecialistByID[specialistID]
	t := s.Types[appointmentTypeID]
	if p == nil || t == nil {
		return nil, store.ErrNotFound
	}
	hours, err := checkedHours(hours, cl.Settings().Places)
	if err != nil {
		return nil, err
	}
	// Hours can be prepared for a specialist or type that is still inactive. The result shows the slots that will exist
	// once both are active.
	opened, openedType := *p, *t
	opened.Active, openedType.Active = true, true
	calendar, err := availability.NewCalendar(opened, hours, s.Overrides[specialistID], s.Blocks[specialistID])
	if err != nil {
		return nil, err
	}
	begin, end := availability.StartOfDay(calendar.Zone(), from), availability.StartOfDay(calendar.Zone(), to)
	first, last := availability.Around(&openedType, begin, end)
	taken, err := cl.store.Taken(ctx, []string{specialistID}, first, last)
	if err != nil {
		return nil, err
	}
	slots := availability.Pool([]*availability.Calendar{calendar}, &openedType, begin, end, taken)
	now := time.Now()
	return slices.DeleteFunc(slots, func(slot availability.Slot) bool {
		return availability.WithinNotice(t, slot.Start, now) != ""
	}), nil
}

func checkedHours(hours []store.WeeklyWindow, places []Place) ([]store.WeeklyWindow, error) {
	var m record.Mistakes
	hours = checkHours(&m, "", hours, places)
	return hours, m.Err()
}

// checkHours sorts weekly hours and refuses windows that are reversed or empty, or that overlap on the same day.
func checkHours(m *record.Mistakes, at string, hours []store.WeeklyWindow, places []Place) []store.WeeklyWindow {
	hours = slices.Clone(hours)
	if len(hours) > 7*48 {
		m.Add(at+"weeklyHours", "at most %d windows", 7*48)
		return hours
	}
	for i, w := range hours {
		if w.Weekday < 0 || w.Weekday > 6 {
			m.Add(at+indexed("weeklyHours", i)+".weekday", "must be a weekday like monday")
		}
		checkWindow(m, at+indexed("weeklyHours", i), w.Window)
		checkPlace(m, at+indexed("weeklyHours", i), w.Place, places)
	}
	monday := func(w store.Weekday) int { return (int(w) + 6) % 7 }
	sort.SliceStable(hours, func(i, j int) bool {
		a, b := &hours[i], &hours[j]
		if d := monday(a.Weekday) - monday(b.Weekday); d != 0 {
			return d < 0
		}
		return a.Start < b.Start
	})
	for i := 1; i < len(hours); i++ {
		if hours[i].Weekday == hours[i-1].Weekday && hours[i].Start < hours[i-1].End {
			m.Add(at+"weeklyHours", "%s has windows that overlap: %s to %s and %s to %s",
				hours[i].Weekday, hours[i-1].Start, hours[i-1].End, hours[i].Start, hours[i].End)
		}
	}
	return hours
}

func checkWindow(m *record.Mistakes, field string, w store.Window) {
	if w.Start < 0 || w.Start >= 1440 || w.End <= w.Start || w.End > 1440 {
		m.Add(field, "must start before it ends, between 00:00 and 24:00 of one day; split hours that cross midnight")
	}
}

func indexed(list string, i int) string { return fmt.Sprintf("%s[%d]", list, i) }

// SpecialistEntry is one specialist in a File, with hours, overrides and blocks. If weeklyHours is absent, the stored
// hours are preserved; an empty list clears them. Overrides and blocks that the file does not name do not change.
type SpecialistEntry struct {
	ID          string              `json:"id"`
	Kind        string              `json:"kind,omitempty"` // resource for a room or a device
	Name        string              `json:"name"`
	Timezone    string              `json:"timezone,omitempty"` // default: the clinic's
	Active      bool                `json:"active"`             // default: true
	Email       string              `json:"email,omitempty"`
	MaxSessions int                 `json:"maxSessions"` // default: 1; 0 means no on-demand sessions
	Upstream    *UpstreamSpecialist `json:"upstream,omitempty"`
	WeeklyHours []HoursEntry        `json:"weeklyHours,omitzero"`
	Overrides   []OverrideEntry     `json:"overrides,omitempty"`
	Blocks      []BlockEntry        `json:"blocks,omitempty"`
	store.SpecialistPage
}

// UpstreamSpecialist contains a specialist's ids in the practice-management system.
type UpstreamSpecialist struct {
	ScheduleViewGUID   string `json:"scheduleViewGUID"`
	ScheduleColumnGUID string `json:"scheduleColumnGUID"`
}

// HoursEntry is one window of the weekly hours.
type HoursEntry struct {
	Weekday store.Weekday   `json:"weekday"`
	Start   store.TimeOfDay `json:"start"`
	End     store.TimeOfDay `json:"end"`
	Place   string          `json:"place,omitempty"`
}

// UnmarshalJSON fills in the defaults and refuses unknown fields.
func (p *SpecialistEntry) UnmarshalJSON(b []byte) error {
	type plain SpecialistEntry
	v := plain{Active: true, MaxSessions: 1}
	err := strictJSON(b, &v)
	*p = SpecialistEntry(v)
	return err
}

func (p *SpecialistEntry) rows(m *record.Mistakes, at string, position int, zone string, before *store.Specialist,
	r *importRows) {
	row := store.Specialist{ID: p.ID, Kind: store.SpecialistKind(p.Kind), Name: p.Name, Timezone: p.Timezone,
		Active: p.Active, Email: p.Email, MaxSessions: p.MaxSessions, Position: position, Page: p.SpecialistPage}
	if row.Timezone == "" {
		row.Timezone = zone
	}
	if p.Upstream != nil {
		row.UpstreamScheduleViewID, row.UpstreamColumnID = p.Upstream.ScheduleViewGUID, p.Upstream.ScheduleColumnGUID
	}
	checkSpecialist(m, at, &row)
	checkKind(m, at, &row, before)
	r.specialists = append(r.specialists, row)
	if p.WeeklyHours != nil {
		hours := make([]store.WeeklyWindow, len(p.WeeklyHours))
		for i, w := range p.WeeklyHours {
			hours[i] = store.WeeklyWindow{Weekday: w.Weekday,
				Window: store.Window{Start: w.Start, End: w.End, Place: w.Place}}
		}
		r.hours[p.ID] = checkHours(m, at, hours, r.places)
	}
	for i, o := range p.Overrides {
		row := store.Override{ID: record.NewID(), SpecialistID: p.ID, Date: o.Date, Closed: o.Closed, Reason: o.Reason}
		for _, w := range o.Hours {
			row.Hours = append(row.Hours, store.Window(w))
		}
		checkOverride(m, at+indexed("overrides", i)+".", &row, r.places)
		r.overrides = append(r.overrides, row)
	}
	for i, b := range p.Blocks {
		r.addBlock(m, at+indexed("blocks", i)+".", store.Block{ID: b.ID,
			SpecialistID: p.ID, Start: b.Start, End: b.End, Reason: b.Reason, SetID: b.SetID})
	}
}

// specialistEntry converts a specialist, without hours, overrides and blocks, to its form in a File and in the audit
// log.
func specialistEntry(p *store.Specialist) SpecialistEntry {
	entry := SpecialistEntry{ID: p.ID, Kind: string(p.Kind), Name: p.Name, Timezone: p.Timezone, Active: p.Active,
		Email: p.Email, MaxSessions: p.MaxSessions, SpecialistPage: p.Page}
	entry.Feed = store.CalendarFeed{} // the feed belongs to this server and is confidential
	if p.UpstreamScheduleViewID != "" || p.UpstreamColumnID != "" {
		entry.Upstream = &UpstreamSpecialist{p.UpstreamScheduleViewID, p.UpstreamColumnID}
	}
	return entry
}

func hoursEntries(hours []store.WeeklyWindow) []HoursEntry {
	var entries []HoursEntry
	for _, w := range hours {
		entries = append(entries, HoursEntry{w.Weekday, w.Start, w.End, w.Place})
	}
	return entries
}

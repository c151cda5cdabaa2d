package clinic

import (
	"context"
	"sort"
	"strings"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// MaxHorizonDays is the largest HorizonDays of a type.
const MaxHorizonDays = 3 * 366

// MaxHoldTTL is the longest TTL of a hold. The hold times of an appointment type are defaults: a request can ask for
// another TTL up to MaxHoldTTL, but the hold never outlasts the type's MaxHoldSeconds.
const MaxHoldTTL = 600 * time.Second

// DefaultAppointmentType returns the default values for all fields of a new type.
func DefaultAppointmentType() store.AppointmentType {
	return store.AppointmentType{
		DurationMinutes: 30, HorizonDays: 60, CooldownMinutes: 1440, Capacity: 1,
		HoldTTLSeconds: 30, MaxHoldSeconds: 900, HoldQuota: 3, Active: true,
	}
}

// CreateAppointmentType adds a type. If the id is empty, the type gets a new one. If SlotStepMinutes is 0, it is set to
// the duration. Errors: *ValidationError.
func (cl *Clinic) CreateAppointmentType(ctx context.Context, actor record.Actor,
	t store.AppointmentType) (store.AppointmentType, error) {
	if t.ID == "" {
		t.ID = record.NewID()
	}
	return cl.putAppointmentType(ctx, actor, record.ActionAppointmentTypeCreated, t.ID,
		func(before *store.AppointmentType) (store.AppointmentType, error) {
			if before != nil {
				return t, record.Invalid("id",
					"this id is in use; choose another id, or change that appointment type with PATCH")
			}
			return t, nil
		})
}

// UpdateAppointmentType calls edit to change one type. Errors: store.ErrNotFound, *ValidationError.
func (cl *Clinic) UpdateAppointmentType(ctx context.Context, actor record.Actor, id string,
	edit func(*store.AppointmentType)) (store.AppointmentType, error) {
	return cl.putAppointmentType(ctx, actor, record.ActionAppointmentTypeChanged, id,
		func(before *store.AppointmentType) (store.AppointmentType, error) {
			if before == nil {
				return store.AppointmentType{}, record.ErrNoAppointmentType
			}
			t := *before
			t.Specialists = append([]store.Assignment(nil), before.Specialists...)
			edit(&t)
			t.ID = id
			return t, nil
		})
}

// ArchiveAppointmentType removes a type from every listing. Its appointments do not change. Errors:
// store.ErrNotFound.
func (cl *Clinic) ArchiveAppointmentType(ctx context.Context, actor record.Actor, id string) error {
	c := ScheduleChange{Actor: actor, Action: record.ActionAppointmentTypeArchived, Subject: "appointmenttype:" + id}
	return cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		t := typeIn(s, id)
		if t == nil {
			return record.ErrNoAppointmentType
		}
		c.before = EntryOf(t)
		return tx.ArchiveAppointmentType(ctx, id)
	})
}

// putAppointmentType stores the type that edit returns. before is the stored type, or nil if there is none.
func (cl *Clinic) putAppointmentType(ctx context.Context, actor record.Actor, action record.Action, id string,
	edit func(before *store.AppointmentType) (store.AppointmentType, error)) (store.AppointmentType, error) {
	var t store.AppointmentType
	c := ScheduleChange{Actor: actor, Action: action, Subject: "appointmenttype:" + id}
	err := cl.changeStored(ctx, &c, func(tx store.Tx, s *store.Schedule) error {
		var err error
		before := typeIn(s, id)
		if t, err = edit(before); err != nil {
			return err
		}
		t.Position = newPositions(s).ofType(id)
		var m record.Mistakes
		checkAppointmentType(&m, "", &t, func(id string) bool { return specialistIn(s, id) != nil }, groupsOf(s))
		checkNeeds(&m, "", &t, kinds(s))
		if err := m.Err(); err != nil {
			return err
		}
		c.after, c.result = EntryOf(&t), t
		if before != nil {
			c.before = EntryOf(before)
		}
		return tx.PutAppointmentType(ctx, t)
	})
	return t, err
}

// typeIn returns an appointment type of a stored schedule, or nil if it is not there.
func typeIn(s *store.Schedule, id string) *store.AppointmentType {
	for i := range s.AppointmentTypes {
		if s.AppointmentTypes[i].ID == id {
			return &s.AppointmentTypes[i]
		}
	}
	return nil
}

// positions stores where types and specialists appear in the lists on the pages. Existing entries keep their positions,
// so that types keep the colours that depend on them. New entries are added at the end.
type positions struct {
	types, specialists       map[string]int
	nextType, nextSpecialist int
}

func newPositions(s *store.Schedule) *positions {
	p := &positions{types: make(map[string]int), specialists: make(map[string]int)}
	for i := range s.AppointmentTypes {
		t := &s.AppointmentTypes[i]
		p.types[t.ID], p.nextType = t.Position, max(p.nextType, t.Position+1)
	}
	for i := range s.Specialists {
		x := &s.Specialists[i]
		p.specialists[x.ID], p.nextSpecialist = x.Position, max(p.nextSpecialist, x.Position+1)
	}
	return p
}

func (p *positions) ofType(id string) int { return position(p.types, &p.nextType, id) }
func (p *positions) ofSpecialist(id string) int {
	return position(p.specialists, &p.nextSpecialist, id)
}

func position(known map[string]int, next *int, id string) int {
	if _, ok := known[id]; !ok {
		known[id] = *next
		*next++
	}
	return known[id]
}

func assigned(list []store.Assignment) []string {
	ids := make([]string, len(list))
	for i, a := range list {
		ids[i] = a.SpecialistID
	}
	return ids
}

// checkAppointmentType trims and checks one type. It prefixes field names with at.
func checkAppointmentType(m *record.Mistakes, at string, t *store.AppointmentType, known func(specialistID string) bool,
	groups []TypeGroup) {
	checkTypePage(m, at, &t.Page, groups)
	t.Name, t.Description = strings.TrimSpace(t.Name), strings.TrimSpace(t.Description)
	record.CheckID(m, at+"id", t.ID)
	if t.Name == "" {
		m.Add(at+"name", "give the appointment type a name")
	}
	record.CheckText(m, at+"name", t.Name, 200, false)
	record.CheckText(m, at+"description", t.Description, 2000, true)
	maxTTL := int(MaxHoldTTL.Seconds())
	for _, f := range []struct {
		field     string
		n         int
		low, high int
		unit      string
	}{
		{"durationMinutes", t.DurationMinutes, 1, 1440, "minutes"},
		{"slotStepMinutes", t.SlotStepMinutes, 0, 1440, "minutes"},
		{"bufferBeforeMinutes", t.BufferBeforeMinutes, 0, 720, "minutes"},
		{"bufferAfterMinutes", t.BufferAfterMinutes, 0, 720, "minutes"},
		{"minNoticeMinutes", t.MinNoticeMinutes, 0, 366 * 1440, "minutes"},
		{"horizonDays", t.HorizonDays, 1, MaxHorizonDays, "days"},
		{"cooldownMinutes", t.CooldownMinutes, 0, 366 * 1440, "minutes"},
		{"capacity", t.Capacity, 1, 500, "seats"},
		{"holdTtlSeconds", t.HoldTTLSeconds, 1, maxTTL, "seconds"},
		{"maxHoldSeconds", t.MaxHoldSeconds, max(1, min(t.HoldTTLSeconds, maxTTL)), 7200, "seconds"},
		{"holdQuota", t.HoldQuota, 1, 100, "holds"},
	} {
		if f.n < f.low || f.n > f.high {
			m.Add(at+f.field, "must be %d to %d %s", f.low, f.high, f.unit)
		}
	}
	if t.SlotStepMinutes == 0 {
		t.SlotStepMinutes = t.DurationMinutes
	}
	seen := make(map[string]bool)
	for i, a := range t.Specialists {
		field := at + indexed("specialists", i) + "."
		switch {
		case !known(a.SpecialistID):
			m.Add(field+"specialistId", "no specialist has the id %q", record.Clip(a.SpecialistID))
		case seen[a.SpecialistID]:
			m.Add(field+"specialistId", "%q is named twice", a.SpecialistID)
		}
		seen[a.SpecialistID] = true
		if a.Priority < -1000 || a.Priority > 1000 {
			m.Add(field+"priority", "must be -1000 to 1000; the highest is assigned first")
		}
	}
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
	// groups of rooms and devices; an appointment takes one of each
	Needs []store.Need `json:"needs,omitempty"`
	store.TypePage
}

// AssignmentEntry assigns a specialist to an appointment type.
type AssignmentEntry struct {
	SpecialistID string `json:"specialistId"`
	Priority     int    `json:"priority"`
}

// UpstreamType is the id of an appointment type in the practice-management system.
type UpstreamType struct {
	AppointmentTypeGUID string `json:"appointmentTypeGUID"`
}

// UnmarshalJSON fills in the defaults and refuses unknown fields.
func (t *AppointmentTypeEntry) UnmarshalJSON(b []byte) error {
	type plain AppointmentTypeEntry
	d := DefaultAppointmentType()
	v := plain(EntryOf(&d))
	v.Specialists = nil
	err := strictJSON(b, &v)
	*t = AppointmentTypeEntry(v)
	return err
}

// Type converts the entry to an appointment type at that position.
func (t *AppointmentTypeEntry) Type(position int) store.AppointmentType {
	row := store.AppointmentType{
		ID: t.ID, Name: t.Name, Description: t.Description, DurationMinutes: t.DurationMinutes,
		SlotStepMinutes: t.SlotStepMinutes, BufferBeforeMinutes: t.BufferBeforeMinutes,
		BufferAfterMinutes: t.BufferAfterMinutes, MinNoticeMinutes: t.MinNoticeMinutes, HorizonDays: t.HorizonDays,
		CooldownMinutes: t.CooldownMinutes, Capacity: t.Capacity, HoldTTLSeconds: t.HoldTTLSeconds,
		MaxHoldSeconds: t.MaxHoldSeconds, HoldQuota: t.HoldQuota, Active: t.Active, Position: position, Needs: t.Needs,
		Page: t.TypePage,
	}
	if t.Upstream != nil {
		row.UpstreamTypeID = t.Upstream.AppointmentTypeGUID
	}
	for _, a := range t.Specialists {
		row.Specialists = append(row.Specialists, store.Assignment(a))
	}
	return row
}

// EntryOf converts an appointment type to its form in a File, in the audit log and in the API.
func EntryOf(t *store.AppointmentType) AppointmentTypeEntry {
	entry := AppointmentTypeEntry{
		ID: t.ID, Name: t.Name, Description: t.Description, DurationMinutes: t.DurationMinutes,
		SlotStepMinutes: t.SlotStepMinutes, BufferBeforeMinutes: t.BufferBeforeMinutes,
		BufferAfterMinutes: t.BufferAfterMinutes, MinNoticeMinutes: t.MinNoticeMinutes, HorizonDays: t.HorizonDays,
		CooldownMinutes: t.CooldownMinutes, Capacity: t.Capacity, HoldTTLSeconds: t.HoldTTLSeconds,
		MaxHoldSeconds: t.MaxHoldSeconds, HoldQuota: t.HoldQuota, Active: t.Active, Specialists: []AssignmentEntry{},
		Needs: t.Needs, TypePage: t.Page,
	}
	if t.UpstreamTypeID != "" {
		entry.Upstream = &UpstreamType{t.UpstreamTypeID}
	}
	for _, a := range t.Specialists {
		entry.Specialists = append(entry.Specialists, AssignmentEntry(a))
	}
	sort.Slice(entry.Specialists, func(i, j int) bool {
		return entry.Specialists[j].Priority < entry.Specialists[i].Priority
	})
	return entry
}

package store

import (
	"context"
	"encoding/json"
	"slices"
)

// Clinic holds the clinic's own data. There is exactly one.
type Clinic struct {
	Name     string
	Timezone string // IANA name; the zone of pooled listings and agents
	Locale   string // BCP 47 language tag, such as "de"
	Phone    string
	Email    string
	Address  string
	Website  string
	// Settings are the owner's settings from the console (accent, required patient fields, change cut-off, embed
	// origins, mail, webhooks …) as one JSON object. The engine defines its shape; the store keeps it as one value.
	Settings json.RawMessage
}

// AppointmentType is a bookable service. Its durations are whole minutes.
type AppointmentType struct {
	ID                  string
	Name                string
	Description         string
	DurationMinutes     int // 1..1440
	SlotStepMinutes     int // 1..1440; minutes between two starts, counted from each window's start
	BufferBeforeMinutes int
	BufferAfterMinutes  int
	MinNoticeMinutes    int // minimum time from now to a bookable start
	HorizonDays         int // how many days ahead of now a start can be booked
	CooldownMinutes     int // 0 = off
	Capacity            int // seats of one group session; 1 = not shared
	HoldTTLSeconds      int
	MaxHoldSeconds      int
	HoldQuota           int
	Active              bool
	Position            int          // order on the page, smallest first
	UpstreamTypeID      string       // the practice-management system's appointment type GUID, or empty
	Specialists         []Assignment `column:"-"`
	Needs               []Need       // the resources that an appointment takes in addition to its specialist
	Page                TypePage
}

// IsServedBy reports whether a specialist is assigned to the type, active or not.
func (t *AppointmentType) IsServedBy(specialistID string) bool {
	return slices.ContainsFunc(t.Specialists, func(a Assignment) bool { return a.SpecialistID == specialistID })
}

// Need is a group of resources. An appointment takes the first free one.
type Need []string

// Assignment links an appointment type with a specialist who serves it.
type Assignment struct {
	SpecialistID string
	Priority     int // highest is assigned first
}

// SpecialistKind is the kind of a Specialist. It never changes.
type SpecialistKind string

const (
	PersonKind SpecialistKind = "" // a person or a chair, booked directly
	// a room or a device: taken by appointments that need it, and never booked directly
	ResourceKind SpecialistKind = "resource"
)

// Specialist is the person or chair whose time is booked, or a resource.
type Specialist struct {
	ID                     string
	Kind                   SpecialistKind
	Name                   string
	Timezone               string // IANA name; the zone of the weekly hours and overrides
	Active                 bool
	Email                  string
	MaxSessions            int // on-demand sessions at a time; 0 = none
	Position               int
	UpstreamScheduleViewID string
	UpstreamColumnID       string
	Page                   SpecialistPage
	PictureDigest          string `column:"-"` // digest of the current picture; empty means none; PutPicture sets it
}

// Window is one interval of opening time on a local day, [Start, End). It never crosses midnight; End may be 24:00.
type Window struct {
	Start TimeOfDay
	End   TimeOfDay
	Place string // id of the clinic's place where the specialist works then; empty means no place
}

// WeeklyWindow is a Window that repeats every week.
type WeeklyWindow struct {
	Weekday Weekday
	Window
}

// Override replaces the weekly hours of one specialist on one local date: closed, or other hours.
type Override struct {
	ID           string
	SpecialistID string
	Date         Date
	Closed       bool
	Hours        []Window // empty when Closed
	Reason       string
}

// Schedule holds all data needed to compute availability, read in one consistent snapshot. It includes inactive rows.
// Archived rows are in separate fields.
type Schedule struct {
	Clinic           Clinic
	AppointmentTypes []AppointmentType         // by Position, then id
	Specialists      []Specialist              // by Position, then id
	WeeklyHours      map[string][]WeeklyWindow // by specialist id; ordered by weekday (Monday first), then start
	Overrides        map[string][]Override     // by specialist id; ordered by date
	// by specialist id; ordered by start, then id; without blocks that ended more than BlockMemory ago
	Blocks map[string][]Block

	// Archived rows, ordered by id. Only appointments still refer to them. The types have no Specialists, and the
	// specialists have no PictureDigest.
	ArchivedTypes       []AppointmentType
	ArchivedSpecialists []Specialist
	ArchivedBlocks      []Block // of archived specialists; ordered by specialist id, then as in Blocks
}

// ScheduleReader reads the schedule.
type ScheduleReader interface {
	// Schedule returns the whole schedule. A database that has never been set up returns a zero Clinic and no rows.
	Schedule(ctx context.Context) (Schedule, error)
}

// ScheduleWriter changes the schedule. The caller has validated the values. The schema refuses invalid rows with
// ErrInvalid.
type ScheduleWriter interface {
	PutClinic(ctx context.Context, c Clinic) error

	// PutAppointmentType inserts or replaces a type by id, including its Specialists, and restores an archived one. It
	// returns ErrInvalid if an assignment names an unknown specialist. The caller checks the ids in Needs.
	PutAppointmentType(ctx context.Context, t AppointmentType) error

	// ArchiveAppointmentType removes a type from every listing. Its appointments stay. Errors: ErrNotFound.
	ArchiveAppointmentType(ctx context.Context, id string) error

	// PutSpecialist inserts or replaces a specialist by id and restores an archived one. It does not change hours,
	// overrides and blocks. It returns ErrInvalid if the existing specialist has a different Kind.
	PutSpecialist(ctx context.Context, s Specialist) error

	// ArchiveSpecialist removes a specialist from every listing and assignment. The appointments stay. Errors:
	// ErrNotFound.
	ArchiveSpecialist(ctx context.Context, id string) error

	// PutWeeklyHours replaces all weekly hours of one specialist. Errors: ErrNotFound.
	PutWeeklyHours(ctx context.Context, specialistID string, hours []WeeklyWindow) error

	// PutOverride inserts or replaces the override of o.SpecialistID on o.Date; a replaced row gets o.ID. It returns
	// ErrNotFound if there is no such specialist.
	PutOverride(ctx context.Context, o Override) error

	// DeleteOverride removes one override and returns it. Errors: ErrNotFound.
	DeleteOverride(ctx context.Context, id string) (Override, error)
}

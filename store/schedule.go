package store

import (
	"context"
	"encoding/json"
)

// Clinic is the place itself. There is one.
type Clinic struct {
	Name     string
	Timezone string // IANA name; pooled listings and agents speak in it
	Locale   string // BCP 47 language tag, such as "de"
	Phone    string
	Email    string
	Address  string
	Website  string
	// Settings are what an owner chooses in the console (accent, required patient fields, change cut-off, embed
	// origins, mail, webhooks …) as one JSON object. Its shape belongs to the engine; the store keeps it whole.
	Settings json.RawMessage
}

// AppointmentType is a bookable service. Its durations are whole minutes.
type AppointmentType struct {
	ID                  string
	Name                string
	Description         string
	DurationMinutes     int // 1..1440
	SlotStepMinutes     int // 1..1440; a start every so often after each window's start
	BufferBeforeMinutes int
	BufferAfterMinutes  int
	MinNoticeMinutes    int // the soonest bookable start is so far ahead of now
	HorizonDays         int // the latest bookable start is so many days ahead of now
	CooldownMinutes     int // 0 = off
	Capacity            int // seats of one group session; 1 = not shared
	HoldTTLSeconds      int
	MaxHoldSeconds      int
	HoldQuota           int
	Active              bool
	Position            int    // order on the page, smallest first
	UpstreamTypeID      string // the practice-management system's appointment type GUID, or empty
	Specialists         []Assignment
	Needs               []Need // what an appointment takes besides its specialist's time
	Page                TypePage
}

// Need is a group of resources of which an appointment takes one, whichever is free: the first of them that is.
type Need []string

// Assignment links an appointment type with a specialist who serves it.
type Assignment struct {
	SpecialistID string
	Priority     int // highest is assigned first
}

// SpecialistKind says what a Specialist is. It never changes.
type SpecialistKind string

const (
	PersonKind   SpecialistKind = ""         // a person or a chair, which is booked directly
	ResourceKind SpecialistKind = "resource" // a room or a device: taken by appointments that need it, and never booked directly
)

// Specialist is the person or chair whose time is booked, or a resource.
type Specialist struct {
	ID                     string
	Kind                   SpecialistKind
	Name                   string
	Timezone               string // IANA name; weekly hours and overrides are wall clock there
	Active                 bool
	Email                  string
	MaxSessions            int // on-demand sessions at a time; 0 = none
	Position               int
	UpstreamScheduleViewID string
	UpstreamColumnID       string
	Page                   SpecialistPage
	PictureDigest          string // of the picture there is, empty without one; PutPicture sets it
}

// Window is one stretch of opening time of a local day, [Start, End). It never crosses midnight; End may be 24:00.
type Window struct {
	Start TimeOfDay
	End   TimeOfDay
	Place string // id of the clinic's place where the specialist works then; empty: it has no such
}

// WeeklyWindow is a Window that returns every week.
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

// Schedule is everything that availability is computed from, read in one consistent snapshot. Archived rows are beside it,
// inactive ones are in.
type Schedule struct {
	Clinic           Clinic
	AppointmentTypes []AppointmentType         // by Position, then id
	Specialists      []Specialist              // by Position, then id
	WeeklyHours      map[string][]WeeklyWindow // by specialist id; ordered by weekday (Monday first), then start
	Overrides        map[string][]Override     // by specialist id; ordered by date
	Blocks           map[string][]Block        // by specialist id; ordered by start, then id; those that ended within BlockMemory or will

	// What was archived and only its appointments still name, by id: the types without their Specialists, the specialists without
	// their Picture.
	ArchivedTypes       []AppointmentType
	ArchivedSpecialists []Specialist
}

// ScheduleReader asks about the schedule.
type ScheduleReader interface {
	// Schedule returns the whole of it. A database that was never set up answers a zero Clinic and no rows.
	Schedule(ctx context.Context) (Schedule, error)
}

// ScheduleWriter changes the schedule. The caller has validated the values; the schema refuses what it must with
// ErrInvalid.
type ScheduleWriter interface {
	PutClinic(ctx context.Context, c Clinic) error

	// PutAppointmentType inserts or replaces by id, its Specialists included, and brings an archived one back.
	// ErrInvalid if an assignment names an unknown specialist. What Needs names is the caller's to check.
	PutAppointmentType(ctx context.Context, t AppointmentType) error

	// ArchiveAppointmentType takes a type out of every listing; its appointments stay. ErrNotFound.
	ArchiveAppointmentType(ctx context.Context, id string) error

	// PutSpecialist inserts or replaces by id and brings an archived one back. Hours, overrides and blocks are untouched.
	// ErrInvalid for another Kind than the one there is.
	PutSpecialist(ctx context.Context, s Specialist) error

	// ArchiveSpecialist takes a specialist out of every listing and assignment; the appointments stay. ErrNotFound.
	ArchiveSpecialist(ctx context.Context, id string) error

	// PutWeeklyHours replaces all weekly hours of one specialist. ErrNotFound.
	PutWeeklyHours(ctx context.Context, specialistID string, hours []WeeklyWindow) error

	// PutOverride inserts or replaces the override of o.SpecialistID on o.Date; a replaced row takes o.ID.
	// ErrNotFound if there is no such specialist.
	PutOverride(ctx context.Context, o Override) error

	// DeleteOverride removes one override and returns it. ErrNotFound.
	DeleteOverride(ctx context.Context, id string) (Override, error)
}

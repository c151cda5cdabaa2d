package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status is the state of an appointment. Attendance records what happens at the desk.
type Status string

const (
	Confirmed Status = "confirmed"
	Cancelled Status = "cancelled"
)

// Attendance records what happened at the desk. It can change from any value to any other.
type Attendance string

const (
	Expected   Attendance = "expected"
	Arrived    Attendance = "arrived"
	InProgress Attendance = "in_progress"
	Completed  Attendance = "completed"
	NoShow     Attendance = "no_show"
)

// Source is the kind of client that created an appointment.
type Source string

const (
	SourceWeb   Source = "web"
	SourceAgent Source = "agent"
	SourceStaff Source = "staff"
	SourceAPI   Source = "api"
)

// UpstreamState is the state of an appointment in the clinic's practice-management system.
type UpstreamState string

const (
	UpstreamNone      UpstreamState = "none"      // no upstream is configured, or the appointment is not sent to it
	UpstreamPending   UpstreamState = "pending"   // accepted by this server, not yet written to the upstream
	UpstreamConfirmed UpstreamState = "confirmed" // written to the upstream, as UpstreamID
	UpstreamFailed    UpstreamState = "failed"    // no further attempt; staff have been notified
	UpstreamReview    UpstreamState = "needs_review"
)

// Patient is the person for whom an appointment is booked. Every field may be empty after the person's data has been
// erased.
type Patient struct {
	Name      string
	Email     string
	Phone     string
	BirthDate string // local date as "2006-01-02", or empty
	Notes     string `column:"notes"`
}

// Appointment is the durable record of one booking.
//
// Slot is the time that the patient sees. Busy is the slot widened by the appointment type's buffers at the time of
// booking. Both are half open, [start, end).
type Appointment struct {
	ID                string
	AppointmentTypeID string
	SpecialistID      string
	Owner             string `column:"client_id"` // the client that booked, as a holds.Owner; empty for staff
	Seat              int    // 0 ≤ Seat < the type's capacity
	Overbook          bool   // the guarantee does not apply; staff booked it, with a reason
	OverbookReason    string
	Status            Status
	Attendance        Attendance
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
	Patient           Patient `column:"patient_,inline"`
	Intake            Intake  // the patient's answers to the booking form
	// Resources are the ids of the rooms and devices that the appointment also takes, for its slot and its buffers. It
	// takes one of each group that its type needed at the time of booking. An overbooked appointment takes none.
	Resources         []string
	Place             string // id of the clinic's place at the time of booking; empty means no place
	Locale            string // the language for messages to the patient, such as "de"; empty means the clinic's
	Source            Source
	UpstreamState     UpstreamState
	UpstreamID        string
	UpstreamPatientID string    // the upstream's patient GUID, if an agent booked
	ManageEpoch       int64     // counts the manage links issued; a link from an older epoch does not work
	SeriesID          string    // the series that it was booked in; empty means none
	VisitID           string    // the group visit that it is part of (several people in sequence); empty means none
	ArrivedAt         time.Time `column:",null"` // when the patient arrived; zero if not yet, or not recorded
	RecallAt          time.Time `column:",null"` // when the patient is reminded of the next visit; zero means never
	CreatedAt         time.Time
	UpdatedAt         time.Time
	CancelledAt       time.Time `column:",null"` // zero unless cancelled
	CancelReason      string
	Version           int64 // 1 after the insert; each update adds 1
}

// Taken holds the fields of a confirmed appointment that availability and the guarantee need.
type Taken struct {
	AppointmentID     string
	AppointmentTypeID string
	SpecialistID      string // the resource's id, if this is the taken time of a resource
	Resources         IDs    // the resources that it also takes; set only in a Change
	Seat              int
	Overbook          bool
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
}

// IDs is a list of ids, joined with spaces so that a struct that contains it is comparable.
type IDs string

// IDsOf joins ids.
func IDsOf(ids []string) IDs { return IDs(strings.Join(ids, " ")) }

// List returns the ids.
func (ids IDs) List() []string { return strings.Fields(string(ids)) }

// AppointmentFilter selects appointments. The zero value selects all. Every field that is set narrows the selection.
type AppointmentFilter struct {
	From, To     time.Time // slot overlaps [From, To); a zero bound is open
	SpecialistID string
	ResourceID   string // only confirmed appointments that take this resource
	Owner        string
	Status       Status
	Query        string // part of a name, an email address or a phone number; see SearchTerms
	Upstream     UpstreamState
	SeriesID     string // only appointments in this series
	VisitID      string // only appointments in this visit
	// UpstreamPatient is the patient's id in the practice-management system, in upper or lower case.
	UpstreamPatient string
	RecallAfter     time.Time // only appointments with a RecallAt after this instant; zero means any
	Cursor          string    // as returned by the previous call
	Limit           int       // 1..500; 0 means 100
}

// AppointmentReader reads appointments.
type AppointmentReader interface {
	// Appointment returns one appointment. Errors: ErrNotFound.
	Appointment(ctx context.Context, id string) (Appointment, error)

	// Appointments lists by slot start, then id. next is empty on the last page. It returns ErrInvalid if this method
	// did not create the cursor.
	Appointments(ctx context.Context, f AppointmentFilter) (list []Appointment, next string, err error)

	// Taken returns the confirmed appointments, overbooked ones included, of these specialists and resources whose slot
	// or busy interval overlaps [from, to), ordered by specialist, then slot start, then seat.
	Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]Taken, error)

	// BookedOnline returns the appointments that the public and agents booked at or after since, cancelled or not,
	// newest first. It returns those with one specialist, or with any specialist if specialistID is empty. limit works
	// like AppointmentFilter.Limit.
	BookedOnline(ctx context.Context, since time.Time, specialistID string, limit int) ([]Appointment, error)

	// LatestWebBooking returns this owner's latest web booking of this type that is still confirmed and was created at
	// or after since. It returns ErrNotFound if there is none. The engine uses it for the cooldown.
	LatestWebBooking(ctx context.Context, owner, appointmentTypeID string, since time.Time) (WebBooking, error)
}

// FirstIDOf returns a lower bound for the ids of appointments booked at or after an instant. Ids sort by their time of
// creation. An appointment created from a request has the request's id, which can be up to seven days older.
func FirstIDOf(t time.Time) string {
	ms := max(0, t.Add(-(7*24+1)*time.Hour).UnixMilli())
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// WebBooking holds the fields of an appointment that the cooldown needs.
type WebBooking struct {
	AppointmentID        string
	SlotStart, CreatedAt time.Time
}

// AppointmentWriter changes appointments. No method deletes one.
type AppointmentWriter interface {
	// InsertAppointment adds a. The caller sets CreatedAt, UpdatedAt and Version; Version must be 1.
	//
	// It returns ErrSlotTaken if the guarantee refuses a: two confirmed appointments for the same specialist never
	// overlap, buffers included, unless one of them is overbooked or they are different seats in the same group
	// session. Two appointments that take the same resource never overlap.
	//
	// It returns ErrDuplicate if the id already exists. It returns ErrInvalid if the seat is outside the capacity; the
	// type, the specialist or a resource is unknown; the specialist is a resource; a resource is named twice; an
	// overbooked appointment takes a resource; or the interval is empty or reversed.
	InsertAppointment(ctx context.Context, a Appointment) error

	// UpdateAppointment replaces every column of the row that has a's id and version, and stores a.Version+1. A move is
	// one update of the same row, so the new time may overlap the old one. It returns ErrVersion if the row has a
	// different version, and ErrNotFound if there is no such row. It returns ErrSlotTaken and ErrInvalid in the same
	// cases as InsertAppointment.
	UpdateAppointment(ctx context.Context, a Appointment) error
}

// CheckResources checks the rules for a's Resources that the backends do not enforce themselves. Errors: ErrInvalid.
func (a *Appointment) CheckResources() error {
	if a.Overbook && len(a.Resources) > 0 {
		return fmt.Errorf("%w: an overbooked appointment takes no resource", ErrInvalid)
	}
	for i, id := range a.Resources {
		if slices.Contains(a.Resources[:i], id) {
			return fmt.Errorf("%w: resource %q is named twice", ErrInvalid, id)
		}
	}
	return nil
}

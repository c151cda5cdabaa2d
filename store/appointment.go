package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status of an appointment. What happens at the desk is Attendance.
type Status string

const (
	Confirmed Status = "confirmed"
	Cancelled Status = "cancelled"
)

// Attendance is what happened at the desk. It moves freely in any direction.
type Attendance string

const (
	Expected   Attendance = "expected"
	Arrived    Attendance = "arrived"
	InProgress Attendance = "in_progress"
	Completed  Attendance = "completed"
	NoShow     Attendance = "no_show"
)

// Source says who made an appointment.
type Source string

const (
	SourceWeb   Source = "web"
	SourceAgent Source = "agent"
	SourceStaff Source = "staff"
	SourceAPI   Source = "api"
)

// UpstreamState is what the clinic's practice-management system knows of an appointment.
type UpstreamState string

const (
	UpstreamNone      UpstreamState = "none"      // no upstream is configured, or this appointment is not meant for it
	UpstreamPending   UpstreamState = "pending"   // accepted here, still to be written there
	UpstreamConfirmed UpstreamState = "confirmed" // written there; UpstreamID names it
	UpstreamFailed    UpstreamState = "failed"    // given up; staff have been told
	UpstreamReview    UpstreamState = "needs_review"
)

// Patient is the person an appointment is for. Every field may be empty once the person was erased.
type Patient struct {
	Name      string
	Email     string
	Phone     string
	BirthDate string // local date as "2006-01-02", or empty
	Notes     string
}

// Appointment is the durable record of one booking.
//
// Slot is the time the patient sees; Busy is the slot widened by the appointment type's buffers as they were when it
// was booked. Both are half open, [start, end).
type Appointment struct {
	ID                string
	AppointmentTypeID string
	SpecialistID      string
	Owner             string // the client that booked, as holds.Owner spells it; empty for staff
	Seat              int    // 0 ≤ Seat < the type's capacity
	Overbook          bool   // outside the guarantee, by a member of staff with a reason
	OverbookReason    string
	Status            Status
	Attendance        Attendance
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
	Patient           Patient
	Intake            Intake // what they said beside it
	// Resources are the ids of the rooms and devices whose time it takes as well, from the start of its slot to the end, with its buffers:
	// one of each group that its type needed when it was booked. An overbooked appointment takes none.
	Resources         []string
	Place             string // id of the clinic's place where it is, as it was when it was booked; empty: it has no such
	Locale            string // the language the patient is written to, such as "de"; empty: the clinic's
	Source            Source
	UpstreamState     UpstreamState
	UpstreamID        string
	UpstreamPatientID string    // the upstream's patient GUID, when an agent booked
	ManageEpoch       int64     // counts the manage links handed out; a link of an older epoch is dead
	SeriesID          string    // of the series it was booked with; empty: it stands alone
	VisitID           string    // of the visit that it is part of: several people one after the other; empty: of none
	ArrivedAt         time.Time // when the patient arrived at the desk; zero: not yet, or not recorded
	CreatedAt         time.Time
	UpdatedAt         time.Time
	CancelledAt       time.Time // zero unless cancelled
	CancelReason      string
	Version           int64 // 1 when inserted, one more with every update
}

// Taken is the part of a confirmed appointment that availability and the guarantee look at.
type Taken struct {
	AppointmentID     string
	AppointmentTypeID string
	SpecialistID      string // or the resource, where it is asked for a resource's time
	Resources         IDs    // that it takes as well; only in a Change
	Seat              int
	Overbook          bool
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
}

// IDs are some ids with a space between each, so that what has them can be compared.
type IDs string

// IDsOf joins ids.
func IDsOf(ids []string) IDs { return IDs(strings.Join(ids, " ")) }

// List is the ids.
func (ids IDs) List() []string { return strings.Fields(string(ids)) }

// AppointmentFilter selects appointments. The zero value selects all; fields narrow it together.
type AppointmentFilter struct {
	From, To     time.Time // those whose slot overlaps [From, To); a zero bound is open
	SpecialistID string
	ResourceID   string // those that are confirmed and take this resource
	Owner        string
	Status       Status
	Query        string // part of a name, an e-mail address or a phone number; case and accents as the database folds them
	Upstream     UpstreamState
	SeriesID     string // of one series
	VisitID      string // of one visit
	// UpstreamPatient is the patient as the practice system names them; the case of letters does not matter.
	UpstreamPatient string
	Cursor          string // as returned by the call before
	Limit           int    // 1..500; 0 means 100
}

// AppointmentReader asks about appointments.
type AppointmentReader interface {
	// Appointment returns one appointment. ErrNotFound.
	Appointment(ctx context.Context, id string) (Appointment, error)

	// Appointments lists by slot start, then id. next is empty on the last page; ErrInvalid for a cursor that was
	// not made by this method.
	Appointments(ctx context.Context, f AppointmentFilter) (list []Appointment, next string, err error)

	// Taken returns the confirmed appointments, overbooks included, of these specialists and resources whose slot or busy
	// interval overlaps [from, to), ordered by specialist, then slot start, then seat.
	Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]Taken, error)

	// BookedOnline returns what the public and agents booked at or after since, cancelled or not, the newest first: of one
	// specialist, or of all if none is named, and as many as a filter's Limit says.
	BookedOnline(ctx context.Context, since time.Time, specialistID string, limit int) ([]Appointment, error)

	// LatestWebBooking returns the web booking of this type that this owner made last and that is still confirmed, if it
	// was made at or after since. ErrNotFound if there is none. The cooldown is derived from it.
	LatestWebBooking(ctx context.Context, owner, appointmentTypeID string, since time.Time) (WebBooking, error)
}

// FirstIDOf is where the ids begin of what can have been booked at or after an instant: ids sort by the time they were made,
// and an appointment that was asked for first has the id of its request, which waits for seven days at most.
func FirstIDOf(t time.Time) string {
	ms := max(0, t.Add(-(7*24+1)*time.Hour).UnixMilli())
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// WebBooking is what the cooldown needs of an appointment.
type WebBooking struct {
	AppointmentID        string
	SlotStart, CreatedAt time.Time
}

// AppointmentWriter changes appointments. Nothing deletes one.
type AppointmentWriter interface {
	// InsertAppointment adds a. CreatedAt, UpdatedAt and Version are the caller's to set; Version must be 1.
	//
	// ErrSlotTaken: the guarantee. Two confirmed, non-overbook appointments of one specialist never overlap, buffers
	// included, unless they are different seats of the very same group session; and two that take the same resource never do at
	// all. ErrDuplicate: the id exists. ErrInvalid: seat outside the capacity, an unknown type, specialist or resource, an
	// appointment of a resource, one named twice, an overbook that takes one, an empty or reversed interval.
	InsertAppointment(ctx context.Context, a Appointment) error

	// UpdateAppointment replaces every column of the row with a's id whose version is a.Version, and stores
	// a.Version+1. A move is one update of the same row, so it may overlap its own old time. ErrVersion if the row
	// has another version, ErrNotFound if there is none, ErrSlotTaken and ErrInvalid as InsertAppointment.
	UpdateAppointment(ctx context.Context, a Appointment) error
}

// CheckResources says what is wrong with a's Resources that a backend would not find by itself. ErrInvalid.
func (a *Appointment) CheckResources() error {
	if a.Overbook && len(a.Resources) > 0 {
		return fmt.Errorf("%w: an overbooked appointment takes no resource", ErrInvalid)
	}
	for i, id := range a.Resources {
		if slices.Contains(a.Resources[:i], id) {
			return fmt.Errorf("%w: the resource %q is named twice", ErrInvalid, id)
		}
	}
	return nil
}

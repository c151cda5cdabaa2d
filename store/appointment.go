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

// Source is who created an appointment.
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
	UpstreamPending   UpstreamState = "pending"   // accepted here, not yet written to the upstream
	UpstreamConfirmed UpstreamState = "confirmed" // written to the upstream, as UpstreamID
	UpstreamFailed    UpstreamState = "failed"    // no further attempt; staff have been notified
	UpstreamReview    UpstreamState = "needs_review"
)

// Patient is the person for whom an appointment is booked. Every field may be empty after the person was erased.
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
	Owner             string `column:"client_id"` // the client that booked, as holds.Owner spells it; empty for staff
	Seat              int    // 0 ≤ Seat < the type's capacity
	Overbook          bool   // outside the guarantee, by a member of staff with a reason
	OverbookReason    string
	Status            Status
	Attendance        Attendance
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
	Patient           Patient `column:"patient_,inline"`
	Intake            Intake  // the patient's answers to the booking form
	// Resources are the ids of the rooms and devices that it also takes, from the start of its slot to the end, with
	// its buffers: one of each group that its type needed when it was booked. An overbooked appointment takes none.
	Resources         []string
	Place             string // id of the clinic's place at the time of booking; empty means no place
	Locale            string // the language for messages to the patient, such as "de"; empty means the clinic's
	Source            Source
	UpstreamState     UpstreamState
	UpstreamID        string
	UpstreamPatientID string    // the upstream's patient GUID, when an agent booked
	ManageEpoch       int64     // counts the manage links issued; a link of an older epoch does not work
	SeriesID          string    // the series with which it was booked; empty means none
	VisitID           string    // the group visit that it is part of (several people one after the other); empty: none
	ArrivedAt         time.Time `column:",null"` // when the patient arrived at the desk; zero: not yet, or not recorded
	CreatedAt         time.Time
	UpdatedAt         time.Time
	CancelledAt       time.Time `column:",null"` // zero unless cancelled
	CancelReason      string
	Version           int64 // 1 when inserted, one more with every update
}

// Taken is the part of a confirmed appointment that availability and the guarantee need.
type Taken struct {
	AppointmentID     string
	AppointmentTypeID string
	SpecialistID      string // or the resource, in the taken time of a resource
	Resources         IDs    // that it also takes; only in a Change
	Seat              int
	Overbook          bool
	SlotStart         time.Time
	SlotEnd           time.Time
	BusyStart         time.Time
	BusyEnd           time.Time
}

// IDs are some ids, joined with spaces so that a struct with IDs is comparable.
type IDs string

// IDsOf joins ids.
func IDsOf(ids []string) IDs { return IDs(strings.Join(ids, " ")) }

// List returns the ids.
func (ids IDs) List() []string { return strings.Fields(string(ids)) }

// AppointmentFilter selects appointments. The zero value selects all. Every field that is set narrows the selection.
type AppointmentFilter struct {
	From, To     time.Time // slot overlaps [From, To); a zero bound is open
	SpecialistID string
	ResourceID   string // confirmed and takes this resource
	Owner        string
	Status       Status
	Query        string // part of a name, an email address or a phone number; the database folds case and accents
	Upstream     UpstreamState
	SeriesID     string // of one series
	VisitID      string // of one visit
	// UpstreamPatient is the patient's id in the practice-management system, in upper or lower case.
	UpstreamPatient string
	Cursor          string // as returned by the previous call
	Limit           int    // 1..500; 0 means 100
}

// AppointmentReader reads appointments.
type AppointmentReader interface {
	// Appointment returns one appointment. Errors: ErrNotFound.
	Appointment(ctx context.Context, id string) (Appointment, error)

	// Appointments lists by slot start, then id. next is empty on the last page. ErrInvalid: this method did not
	// create the cursor.
	Appointments(ctx context.Context, f AppointmentFilter) (list []Appointment, next string, err error)

	// Taken returns the confirmed appointments, overbooks included, of these specialists and resources whose slot or
	// busy interval overlaps [from, to), ordered by specialist, then slot start, then seat.
	Taken(ctx context.Context, specialistIDs []string, from, to time.Time) ([]Taken, error)

	// BookedOnline returns the appointments that the public and agents booked at or after since, cancelled or not,
	// newest first. It returns those of one specialist, or of all if specialistID is empty. limit works as
	// AppointmentFilter.Limit does.
	BookedOnline(ctx context.Context, since time.Time, specialistID string, limit int) ([]Appointment, error)

	// LatestWebBooking returns this owner's latest web booking of this type that is still confirmed, if it was
	// created at or after since. It returns ErrNotFound if there is none. The engine derives the cooldown from it.
	LatestWebBooking(ctx context.Context, owner, appointmentTypeID string, since time.Time) (WebBooking, error)
}

// FirstIDOf returns a lower bound of the ids of appointments booked at or after an instant. Ids sort by their time of
// creation, and an appointment from a request has the id of the request, which waits for at most seven days.
func FirstIDOf(t time.Time) string {
	ms := max(0, t.Add(-(7*24+1)*time.Hour).UnixMilli())
	return fmt.Sprintf("%08x-%04x", ms>>16, ms&0xffff)
}

// WebBooking is the part of an appointment that the cooldown needs.
type WebBooking struct {
	AppointmentID        string
	SlotStart, CreatedAt time.Time
}

// AppointmentWriter changes appointments. No method deletes one.
type AppointmentWriter interface {
	// InsertAppointment adds a. The caller sets CreatedAt, UpdatedAt and Version; Version must be 1.
	//
	// ErrSlotTaken: the guarantee. Two confirmed, non-overbook appointments of one specialist never overlap, buffers
	// included, unless they are different seats of the same group session. Two appointments that take the same
	// resource never overlap. It returns ErrDuplicate if the id exists, and ErrInvalid if the seat is outside the
	// capacity; the type, the specialist or a resource is unknown; the specialist is a resource; a resource is named
	// twice; an overbook takes a resource; the interval is empty or reversed.
	InsertAppointment(ctx context.Context, a Appointment) error

	// UpdateAppointment replaces every column of the row with a's id and version, and stores a.Version+1. A move is
	// one update of the same row, so it may overlap its own old time. It returns ErrVersion if the row has another
	// version. It returns ErrNotFound if there is no such row. ErrSlotTaken and ErrInvalid as in InsertAppointment.
	UpdateAppointment(ctx context.Context, a Appointment) error
}

// CheckResources checks the rules for a's Resources that a backend would not check itself. Errors: ErrInvalid.
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

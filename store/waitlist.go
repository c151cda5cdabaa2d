package store

import (
	"context"
	"time"
)

// WaitlistEntry is a patient who is waiting for a time for one appointment type.
type WaitlistEntry struct {
	ID                string
	AppointmentTypeID string
	Owner             string `column:"client_id"` // the client that created it, as a holds.Owner; empty means the desk
	AppointmentID     string // the confirmed appointment to move to an earlier time; empty means none
	// AbsenceID is the block of the absence that displaces AppointmentID. Such an entry is not on the waiting list: it
	// records what the patient was asked, and its offer is the proposed time. If AbsenceID is empty, the entry is on
	// the waiting list.
	AbsenceID string
	Displaced Displaced // set if AbsenceID is set
	Wish      WaitlistWish
	Status    WaitlistStatus
	Patient   Patient `column:"patient_,inline"`
	Intake    Intake
	Locale    string // the language for messages to the patient; empty means the clinic's
	CreatedAt time.Time
	EndedAt   time.Time `column:",null"` // zero while the entry is unconfirmed or waiting
}

// Displaced is an appointment that cannot take place because its specialist is absent.
type Displaced struct {
	SpecialistID string         `json:"specialistId,omitempty"` // as booked
	SlotStart    time.Time      `json:"slotStart,omitzero"`     // as booked
	By           DisplacedBy    `json:"by,omitempty"`           // how the patient learns of it
	Channel      MessageChannel `json:"channel,omitempty"`      // of the message to the patient; empty means none
}

// DisplacedBy is how the desk handles a displaced appointment.
type DisplacedBy string

const (
	DisplacedMove DisplacedBy = "move" // the desk moved the appointment immediately
	DisplacedAsk  DisplacedBy = "ask"  // the patient is asked whether the proposed time suits
	DisplacedCall DisplacedBy = "call" // the desk calls the patient
)

// MessageChannel is how a message reaches a patient.
type MessageChannel string

// The channels of a message. A patient who receives both has ChannelEmail.
const (
	ChannelEmail MessageChannel = "email"
	ChannelSMS   MessageChannel = "sms" // a text message
)

// From reports whether an appointment still has the time that it had when it was displaced.
func (d *Displaced) From(a *Appointment) bool {
	return a.Status == Confirmed && a.SpecialistID == d.SpecialistID && a.SlotStart.Equal(d.SlotStart)
}

// WaitlistWish describes the times that suit the patient. Dates and times of day are the clinic's.
type WaitlistWish struct {
	SpecialistIDs []string  `json:"specialistIds,omitempty"` // any of them; empty means all
	Place         string    `json:"place,omitempty"`         // id of the clinic's place; empty means any
	Weekdays      []Weekday `json:"weekdays,omitempty"`      // empty means any
	Earliest      TimeOfDay `json:"earliest,omitempty"`      // earliest start
	Latest        TimeOfDay `json:"latest,omitempty"`        // the start must be before it; zero means 24:00
	From          Date      `json:"from"`
	To            Date      `json:"to"` // the last day
	// SlotStart is the start of the only group session that the patient waits for; zero means any suitable time.
	SlotStart time.Time `json:"slotStart,omitzero"`
}

// WaitlistStatus is the state of an entry.
type WaitlistStatus string

const (
	WaitlistUnconfirmed WaitlistStatus = "unconfirmed" // the patient has not followed the link in the email yet
	WaitlistWaiting     WaitlistStatus = "waiting"
	WaitlistBooked      WaitlistStatus = "booked"
	WaitlistRemoved     WaitlistStatus = "removed" // removed by the patient or the desk
	WaitlistLapsed      WaitlistStatus = "lapsed"  // its last day is over, or it was never confirmed
)

// WaitlistOffer is one time that the server holds for an entry and has offered to its patient.
type WaitlistOffer struct {
	ID                string // id of the appointment that it becomes
	EntryID           string
	AppointmentTypeID string
	SpecialistID      string
	Seat              int
	HoldOwner         string // the owner of the hold on its time, as a holds.Owner; no client has this owner
	Status            OfferStatus
	SlotStart         time.Time
	SlotEnd           time.Time
	CreatedAt         time.Time
	ExpiresAt         time.Time // when it expires
	EndedAt           time.Time `column:",null"` // zero while it is open
}

// OfferStatus is the state of an offer.
type OfferStatus string

const (
	OfferOpen      OfferStatus = "open"
	OfferBooked    OfferStatus = "booked"
	OfferDeclined  OfferStatus = "declined"
	OfferLapsed    OfferStatus = "lapsed"
	OfferWithdrawn OfferStatus = "withdrawn" // the hold on its time was lost, or its entry ended
)

// WaitlistReader reads the waiting list.
type WaitlistReader interface {
	// WaitlistEntry returns one entry in any status. Errors: ErrNotFound.
	WaitlistEntry(ctx context.Context, id string) (WaitlistEntry, error)
	// WaitlistEntries lists the unconfirmed and waiting entries that have no absence, in the order of their creation,
	// then id.
	WaitlistEntries(ctx context.Context) ([]WaitlistEntry, error)
	// EndedWaitlistEntries lists up to limit ended entries of the waiting list, the latest first.
	EndedWaitlistEntries(ctx context.Context, limit int) ([]WaitlistEntry, error)
	// DisplacedEntries lists the entries of an absence and of an appointment, in the order of their creation, then id.
	// An empty absenceID selects all absences, and an empty appointmentID all appointments.
	DisplacedEntries(ctx context.Context, absenceID, appointmentID string) ([]WaitlistEntry, error)

	// WaitlistOffer returns one offer in any status. Errors: ErrNotFound.
	WaitlistOffer(ctx context.Context, id string) (WaitlistOffer, error)
	// OpenWaitlistOffers lists the offers with status open, including those past their ExpiresAt, by when they
	// expire, then id.
	OpenWaitlistOffers(ctx context.Context) ([]WaitlistOffer, error)
	// WaitlistOffers lists all offers of the given entries by creation, then id.
	WaitlistOffers(ctx context.Context, entryIDs ...string) ([]WaitlistOffer, error)
}

// WaitlistWriter changes the waiting list.
type WaitlistWriter interface {
	// InsertWaitlistEntry adds e. It returns ErrDuplicate if e's id already exists.
	InsertWaitlistEntry(ctx context.Context, e WaitlistEntry) error
	// MoveWaitlistEntry moves an entry from one status to another. It returns ErrNotFound if no entry has the id and
	// that status.
	MoveWaitlistEntry(ctx context.Context, id string, from, to WaitlistStatus, at time.Time) error

	// InsertWaitlistOffer adds an open offer. It returns ErrDuplicate if o's id already exists, its entry already has
	// an open offer, or the same seat is in another open offer.
	InsertWaitlistOffer(ctx context.Context, o WaitlistOffer) error
	// EndWaitlistOffer moves an open offer to its final status. It returns ErrNotFound if no open offer has the id.
	EndWaitlistOffer(ctx context.Context, id string, to OfferStatus, at time.Time) error

	// ForgetWaitlist removes up to limit entries that ended before the instant, with their offers, and returns how
	// many.
	ForgetWaitlist(ctx context.Context, before time.Time, limit int) (int, error)
}

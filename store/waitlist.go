package store

import (
	"context"
	"time"
)

// WaitlistEntry is a patient who waits for a time of one appointment type.
type WaitlistEntry struct {
	ID                string
	AppointmentTypeID string
	Owner             string // the client that asked, as holds.Owner spells it; empty: the desk
	AppointmentID     string // of the confirmed appointment that an earlier time is wanted for; empty: there is none
	Wish              WaitlistWish
	Status            WaitlistStatus
	Patient           Patient
	Intake            Intake
	Locale            string // the language the patient is written to; empty: the clinic's
	CreatedAt         time.Time
	EndedAt           time.Time // zero while the entry is unconfirmed or waits
}

// WaitlistWish is which times suit. Dates and times of day are the clinic's.
type WaitlistWish struct {
	SpecialistIDs []string  `json:"specialistIds,omitempty"` // any of them; none: of all
	Weekdays      []Weekday `json:"weekdays,omitempty"`      // none: any
	Earliest      TimeOfDay `json:"earliest,omitempty"`      // of the start
	Latest        TimeOfDay `json:"latest,omitempty"`        // the start is before it; zero: 24:00
	From          Date      `json:"from"`
	To            Date      `json:"to"` // the last day
	// SlotStart is the one session that is waited for, of a group; zero: any time that suits.
	SlotStart time.Time `json:"slotStart,omitzero"`
}

// WaitlistStatus says what became of an entry.
type WaitlistStatus string

const (
	WaitlistUnconfirmed WaitlistStatus = "unconfirmed" // the link of its mail was not followed yet
	WaitlistWaiting     WaitlistStatus = "waiting"
	WaitlistBooked      WaitlistStatus = "booked"
	WaitlistRemoved     WaitlistStatus = "removed" // by the patient or the desk
	WaitlistLapsed      WaitlistStatus = "lapsed"  // its last day is over, or it was never confirmed
)

// WaitlistOffer is one time that was kept for an entry and offered to it.
type WaitlistOffer struct {
	ID                string // of the appointment that it becomes
	EntryID           string
	AppointmentTypeID string
	SpecialistID      string
	Seat              int
	HoldOwner         string // the owner of the hold on its time, as holds.Owner spells it: no client has it
	Status            OfferStatus
	SlotStart         time.Time
	SlotEnd           time.Time
	CreatedAt         time.Time
	ExpiresAt         time.Time // it lapses then
	EndedAt           time.Time // zero while it is open
}

// OfferStatus says what became of an offer.
type OfferStatus string

const (
	OfferOpen      OfferStatus = "open"
	OfferBooked    OfferStatus = "booked"
	OfferDeclined  OfferStatus = "declined"
	OfferLapsed    OfferStatus = "lapsed"
	OfferWithdrawn OfferStatus = "withdrawn" // its time could not be kept, or its entry ended
)

// WaitlistReader asks about the waiting list.
type WaitlistReader interface {
	// WaitlistEntry returns one, whatever became of it. ErrNotFound.
	WaitlistEntry(ctx context.Context, id string) (WaitlistEntry, error)
	// WaitlistEntries lists those that are unconfirmed or wait, in the order in which they came, then id.
	WaitlistEntries(ctx context.Context) ([]WaitlistEntry, error)
	// EndedWaitlistEntries lists up to limit of those that ended, the latest first.
	EndedWaitlistEntries(ctx context.Context, limit int) ([]WaitlistEntry, error)

	// WaitlistOffer returns one, whatever became of it. ErrNotFound.
	WaitlistOffer(ctx context.Context, id string) (WaitlistOffer, error)
	// OpenWaitlistOffers lists those that are open, lapsed in the meantime or not, by when they end, then id.
	OpenWaitlistOffers(ctx context.Context) ([]WaitlistOffer, error)
	// WaitlistOffers lists all offers of the entries given, by when they were made, then id.
	WaitlistOffers(ctx context.Context, entryIDs ...string) ([]WaitlistOffer, error)
}

// WaitlistWriter changes the waiting list.
type WaitlistWriter interface {
	// InsertWaitlistEntry adds e. ErrDuplicate if its id is there.
	InsertWaitlistEntry(ctx context.Context, e WaitlistEntry) error
	// MoveWaitlistEntry moves an entry from one status to another. ErrNotFound if there is none with the id in that status.
	MoveWaitlistEntry(ctx context.Context, id string, from, to WaitlistStatus, at time.Time) error

	// InsertWaitlistOffer adds an open offer. ErrDuplicate if its id is there, its entry has an open offer, or the very seat is offered to
	// somebody.
	InsertWaitlistOffer(ctx context.Context, o WaitlistOffer) error
	// EndWaitlistOffer moves an open offer to what became of it. ErrNotFound if there is no such open one.
	EndWaitlistOffer(ctx context.Context, id string, to OfferStatus, at time.Time) error

	// ForgetWaitlist removes up to limit of the entries that ended before the instant, with their offers, and says how many.
	ForgetWaitlist(ctx context.Context, before time.Time, limit int) (int, error)
}

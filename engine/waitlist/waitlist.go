// Package waitlist manages the waiting list: the entries of people who wait for a time, and the offers of times that
// have become free.
//
// # Entries
//
// An entry contains a person, an appointment type, and the suitable times (entry.go). Entries from the public count
// toward the same limits as public bookings. They must first be confirmed with the link in an email, so the server
// holds no time for an address that does not receive emails. A patient who joins with the link of an appointment wants
// an earlier time for it: accepting an offer moves the appointment.
//
// # Offers
//
// The server holds a suitable free time for the first entry in line, and offers it by email (round.go). The owner of
// such a hold belongs to no client. The link in the email books the time on the same path as every booking, or declines
// it (take.go). If the offer is declined or expires, the server offers its time to the next entry that it suits. The
// time stays held in between, so no other client can take it.
//
// A round looks for free times, not for events: a cancellation, a move, new hours or an expired request only starts the
// next round early. So a lost event only delays an offer, and a round finds a time however it became free.
//
// # Once
//
// Every node runs rounds, but each time is offered once. A hold excludes other holds, the transaction that writes an
// offer checks the entry again, and the database refuses a second open offer for an entry or for a seat. The node that
// ends an offer hands its time on. Only one node does so, because an offer ends only once.
package waitlist

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/store"
)

// Waitlist offers times that become free to the people on the waiting list. It is safe for concurrent use.
type Waitlist struct {
	Options
	woken chan struct{}
	turn  chan struct{} // taken by a round, or by an undo during which no offers may be made

	checkedAt time.Time   // when a round last called endSettledSooner; only rounds use it
	stale     atomic.Bool // an offer may belong to an entry that has been settled since the last round

	mu    sync.Mutex
	ended []store.WaitlistOffer // offers that this process has ended; their times are still held
}

// Options configure a Waitlist.
type Options struct {
	Store    store.Store
	Logger   *slog.Logger
	Clinic   *clinic.Clinic
	Booking  *booking.Booking
	Outbound *outbound.Outbound
	Messages *message.Messages
	Requests *request.Requests
	ToFiles  bool // makes offers even if emails are only written to files
}

// New returns a Waitlist.
func New(o Options) *Waitlist {
	return &Waitlist{Options: o, woken: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
}

// KeepEnded is how long an entry is stored after it has ended, so that staff can see which times were offered to a
// person.
const KeepEnded = 30 * 24 * time.Hour

const (
	// maxLive is the maximum number of confirmed entries.
	maxLive = 1000
	// maxUnconfirmed is the maximum number of entries from the public that are not confirmed yet.
	maxUnconfirmed = 300
	// maxPerContact is the maximum number of entries that an email address or phone number can have at a time. This
	// limit does not apply to the desk.
	maxPerContact = 5
	// maxUnanswered is how many consecutive offers must expire before the entry expires too.
	maxUnanswered = 3
	// confirmWithin is how long an entry can be confirmed with the link in its email.
	confirmWithin = message.ConfirmWithin
)

var (
	// ErrOff means that this server cannot send emails with links, or that the clinic adds entries only at the desk.
	ErrOff = errors.New("the waiting list is not open to the public")
	// ErrFull means that the list is full, or the person has the maximum number of entries.
	ErrFull = errors.New("the maximum number of waiting-list entries is reached")
	// ErrOffered means that the entry or the time already has an offer.
	ErrOffered = errors.New("already offered")
)

// EndedError reports that an offer or an entry has ended. As is its final status.
type EndedError struct{ As string }

func (e *EndedError) Error() string { return "the offer or entry has ended: " + e.As }

// Open reports whether visitors to the booking page can join the waiting list.
func (w *Waitlist) Open() bool {
	return !w.Clinic.Settings().Waitlist.DeskOnly && w.Messages.MailsLinks()
}

// automatic reports whether the server offers free times without the desk.
func (w *Waitlist) automatic() bool { return w.ToFiles || w.Messages.MailsLinks() }

// Follow starts the next round early if changes may have freed a time or changed the waiting list. It never blocks.
func (w *Waitlist) Follow(changes []store.Change) {
	for i := range changes {
		if n := changes[i].Noun; n == store.NounAppointment || n == store.NounWaitlist {
			w.stale.Store(true)
		}
	}
	if slices.ContainsFunc(changes, matters) {
		w.Wake()
	}
}

func matters(c store.Change) bool {
	switch c.Noun {
	case store.NounAppointment:
		return c.Moved() && c.Before != nil
	case store.NounClinic, store.NounAppointmentType, store.NounSpecialist, store.NounWaitlist:
		return true
	}
	return false
}

// Wake starts the next round early. It never blocks.
func (w *Waitlist) Wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// end records that this process ended an offer whose time must be handed on, and wakes the round.
func (w *Waitlist) end(o store.WaitlistOffer) {
	w.mu.Lock()
	w.ended = append(w.ended, o)
	w.mu.Unlock()
	w.Wake()
}

func (w *Waitlist) takeEnded() []store.WaitlistOffer {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.ended
	w.ended = nil
	return list
}

// entryAudit is the audit record of an entry, and offerAudit is that of an offer. Neither contains personal data.
type entryAudit struct {
	AppointmentTypeID string `json:"appointmentTypeId"`
	Status            string `json:"status"`
}

type offerAudit struct {
	OfferID       string    `json:"offerId"`
	SpecialistID  string    `json:"specialistId"`
	SlotStartDate time.Time `json:"slotStartDate"`
	ExpiresAt     time.Time `json:"expiresAt"`
}

func auditEntry(ctx context.Context, tx store.Tx, now time.Time, actor record.Actor, action record.Action,
	e *store.WaitlistEntry, to store.WaitlistStatus) error {
	return record.Audit(ctx, tx, now, actor, action, "waitlist:"+e.ID, "", nil,
		entryAudit{e.AppointmentTypeID, string(to)})
}

func auditOffer(ctx context.Context, tx store.Tx, now time.Time, actor record.Actor, action record.Action,
	o *store.WaitlistOffer) error {
	return record.Audit(ctx, tx, now, actor, action, "waitlist:"+o.EntryID, "", nil,
		offerAudit{o.ID, o.SpecialistID, o.SlotStart, o.ExpiresAt})
}

// samePerson reports whether two entries have the same email address or the same phone number.
func samePerson(a, b *store.WaitlistEntry) bool {
	return a.Patient.Email != "" && booking.SameAddress(a.Patient.Email, b.Patient.Email) ||
		a.Patient.Phone != "" && store.Digits(a.Patient.Phone) == store.Digits(b.Patient.Phone)
}

// Waiting is an entry with its offers, earliest first.
type Waiting struct {
	store.WaitlistEntry
	Offers []store.WaitlistOffer
}

// Offer returns the open offer, or nil if there is none.
func (x *Waiting) Offer() *store.WaitlistOffer {
	i := slices.IndexFunc(x.Offers, func(o store.WaitlistOffer) bool { return o.Status == store.OfferOpen })
	if i < 0 {
		return nil
	}
	return &x.Offers[i]
}

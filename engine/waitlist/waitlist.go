// Package waitlist decides who waits for a time, and to whom a time that has become free is offered.
//
// # Entries
//
// An entry says who waits, for which appointment type, and which times suit (entry.go). What the public asks for counts as their bookings
// do and is confirmed from a mail first, so nobody's time is kept for an address that nobody reads. Whoever asks by the link of an
// appointment wants an earlier time for it: taking one moves the appointment.
//
// # Offers
//
// A time that is free and suits is held for the first in line, like any other time, by an owner that is nobody's client, and offered by
// mail (round.go). The link of the mail books it, by the same path as everybody, or declines it (take.go). What is declined or
// lapses passes to the next whom it suits while it is still held, so no stranger gets in between.
//
// What is free is looked at, and not what has just happened: a cancellation, a move, new hours or a lapsed request only wake the round
// earlier than its time. Nothing is lost with a process, therefore, and a time is found however it became free.
//
// # Once
//
// Each node looks. A hold excludes, the transaction that writes an offer asks again, and the database refuses a second open offer of an
// entry or of a seat. Whoever ends an offer hands its time on: one node, because an offer ends once.
package waitlist

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/store"
)

// Waitlist offers what becomes free to those who wait. It is safe for concurrent use.
type Waitlist struct {
	Options
	woken chan struct{}
	turn  chan struct{} // who offers, or has a time given back that nothing is to be offered of meanwhile

	mu    sync.Mutex
	ended []store.WaitlistOffer // by this process, with times that are still held
}

// Options are what a Waitlist is made of.
type Options struct {
	Store    store.Store
	Logger   *slog.Logger
	Clinic   *clinic.Clinic
	Booking  *booking.Booking
	Outbound *outbound.Outbound
	Messages *message.Messages
	Requests *request.Requests
	ToFiles  bool // what becomes free is offered although mail only becomes files
}

// New returns a Waitlist.
func New(o Options) *Waitlist {
	return &Waitlist{Options: o, woken: make(chan struct{}, 1), turn: make(chan struct{}, 1)}
}

// KeepEnded is how long an entry is kept after its end, for whoever asks who was offered what.
const KeepEnded = 30 * 24 * time.Hour

const (
	// maxLive bounds the list.
	maxLive = 1000
	// maxUnconfirmed bounds those of it whose mail nobody has answered yet.
	maxUnconfirmed = 300
	// maxPerContact is how often one address or number waits at a time, where the desk has not asked for it.
	maxPerContact = 5
	// maxUnanswered is how many offers in a row may lapse before the entry does.
	maxUnanswered = 3
	// confirmWithin is how long an entry waits for the link of its mail.
	confirmWithin = 24 * time.Hour
)

var (
	// ErrOff: nobody can be asked by mail to confirm, or the clinic takes entries at the desk only.
	ErrOff = errors.New("the waiting list is not open to the public")
	// ErrFull: the list has no room, or the person waits often enough.
	ErrFull = errors.New("no more entries of the waiting list")
	// ErrOffered: the entry or the time has an offer already.
	ErrOffered = errors.New("already offered")
)

// EndedError says that an offer or an entry has ended, and how.
type EndedError struct{ As string }

func (e *EndedError) Error() string { return "the offer or entry has ended: " + e.As }

// Open reports whether visitors of the booking page can ask to wait.
func (w *Waitlist) Open() bool {
	return !w.Clinic.Settings().Waitlist.DeskOnly && w.Messages.MailsLinks()
}

// automatic reports whether what becomes free is offered without the desk.
func (w *Waitlist) automatic() bool { return w.ToFiles || w.Messages.MailsLinks() }

// Matters reports whether a change may have made a time free, or changed who waits.
func Matters(c store.Change) bool {
	switch c.Noun {
	case store.NounAppointment:
		return c.Moved() && c.Before != nil
	case store.NounClinic, store.NounAppointmentType, store.NounSpecialist, store.NounWaitlist:
		return true
	}
	return false
}

// Wake has the round begin earlier than its time. It never waits.
func (w *Waitlist) Wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

// end notes that an offer was ended here, and that its time is to be handed on.
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

// entryAudit is what the audit log keeps of an entry, and offerAudit of an offer: nothing about the person.
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

func auditEntry(ctx context.Context, tx store.Tx, now time.Time, actor record.Actor, action record.Action, e *store.WaitlistEntry, to store.WaitlistStatus) error {
	return record.Audit(ctx, tx, now, actor, action, "waitlist:"+e.ID, "", nil, entryAudit{e.AppointmentTypeID, string(to)})
}

func auditOffer(ctx context.Context, tx store.Tx, now time.Time, actor record.Actor, action record.Action, o *store.WaitlistOffer) error {
	return record.Audit(ctx, tx, now, actor, action, "waitlist:"+o.EntryID, "", nil, offerAudit{o.ID, o.SpecialistID, o.SlotStart, o.ExpiresAt})
}

// samePerson reports whether two entries are of one address, number or client.
func samePerson(a, b *store.WaitlistEntry) bool {
	return a.Patient.Email != "" && booking.SameAddress(a.Patient.Email, b.Patient.Email) ||
		a.Patient.Phone != "" && store.Digits(a.Patient.Phone) == store.Digits(b.Patient.Phone)
}

// Waiting is an entry with what was offered to it, the first first.
type Waiting struct {
	store.WaitlistEntry
	Offers []store.WaitlistOffer
}

// Offer is the open offer; nil if there is none.
func (x *Waiting) Offer() *store.WaitlistOffer {
	i := slices.IndexFunc(x.Offers, func(o store.WaitlistOffer) bool { return o.Status == store.OfferOpen })
	if i < 0 {
		return nil
	}
	return &x.Offers[i]
}

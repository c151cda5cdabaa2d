// Package request decides what people without a sign-in or a key may book: how often, and what has to be confirmed first.
//
// # Limits
//
// The bookings of the last hour are counted by network, by e-mail address and by phone number (limit.go), in the transaction that
// books. The counts are in the database, so a restart forgives nobody; what is counted by is a keyed hash.
//
// # Requests
//
// What is past the limits, and everything where the clinic says so, becomes a request: a row of its own with the id of the
// appointment it may become, whose time is kept by a hold that no client owns. Nobody outside is told but the patient, by a mail
// with the manage link of that id. Opened before it lapses, the link confirms; the desk can too, or decline. Confirming is an
// ordinary booking that deletes the request in its transaction: cooldown, guarantee, webhooks and the practice system are as ever.
//
// # Approval
//
// What is booked of a type that the desk approves is a request as well, and stays one for hours or days. The link of its mail shows it
// and gives it back; only the desk confirms. Both the patient and the clinic are told by mail that it is there.
//
// A hold is lost with the process where live state is in memory. HoldAll takes them anew at the start, before anybody is
// answered.
package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/outbound"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// Requests books for the public. It is safe for concurrent use.
type Requests struct {
	store    store.Store
	log      *slog.Logger
	clinic   *clinic.Clinic
	booking  *booking.Booking
	outbound *outbound.Outbound
	messages *message.Messages
}

// New returns a Requests.
func New(s store.Store, log *slog.Logger, c *clinic.Clinic, b *booking.Booking, out *outbound.Outbound, m *message.Messages) *Requests {
	return &Requests{s, log, c, b, out, m}
}

// Visitor is where a public booking comes from.
type Visitor struct {
	Network   netip.Addr // as it is counted; invalid: not known
	Unlimited bool       // the limits are off
	// AdmitHold has the last word on the hold of a request; it gives the hold back where it refuses. Nil: it is welcome.
	AdmitHold func(*holds.Hold) error
}

// Booked is what became of a public booking: an appointment, or a request that waits to be confirmed.
type Booked struct {
	Appointment store.Appointment
	Request     *store.BookingRequest // nil: it is booked
}

// errAsk: the booking is past the limits and can be a request.
var errAsk = errors.New("to be confirmed first")

// LapsedError says that a request cannot be confirmed any more.
type LapsedError struct{ Declined bool }

func (e *LapsedError) Error() string {
	if e.Declined {
		return "the request was declined"
	}
	return "the request has lapsed"
}

// Book books for a visitor, or makes a request. r.Once is answered with a store.Appointment or a store.Get.
//
// Errors: those of booking.Book, *LimitError; a *ValidationError about patient.email where a request needs one.
func (rq *Requests) Book(ctx context.Context, r booking.Request, from Visitor) (Booked, error) {
	if rq.needsApproval(r.AppointmentTypeID) || rq.clinic.Settings().PublicBookings.Confirm {
		return rq.ask(ctx, r, from)
	}
	if !from.Unlimited {
		r.Admit = func(ctx context.Context, tx store.Tx) error { return rq.admitBooking(ctx, tx, &r, &from) }
	}
	a, err := rq.booking.Book(ctx, r)
	if !errors.Is(err, errAsk) {
		return Booked{Appointment: a}, err
	}
	return rq.ask(ctx, r, from)
}

// needsApproval reports whether the desk decides about bookings of a type.
func (rq *Requests) needsApproval(appointmentTypeID string) bool {
	t := rq.clinic.Current().Types[appointmentTypeID]
	return t != nil && t.Page.Approval
}

// ask makes a request out of a booking: its time is kept, and the row, the mail and the answer are written. A hold that the client has
// is pinned meanwhile and becomes the request's at the end, so that a refusal leaves it with the client.
func (rq *Requests) ask(ctx context.Context, r booking.Request, from Visitor) (Booked, error) {
	r.Admit = nil
	if err := rq.mayAsk(ctx, &r, &from); err != nil {
		return Booked{}, err
	}
	t, h, held, err := rq.booking.CheckRequest(ctx, &r)
	if err != nil {
		return Booked{}, err
	}
	owner, now := record.NewOwner(), record.Now()
	settings := rq.clinic.Settings()
	until := settings.AskedUntil(t, r.SlotStart, now)
	if !held {
		h, err = rq.booking.HoldForRequest(ctx, booking.RequestedSlot{AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Place: r.Place, Start: r.SlotStart}, owner, until)
		if err != nil {
			return Booked{}, err
		}
		if from.AdmitHold != nil {
			if err := from.AdmitHold(&h); err != nil {
				return Booked{}, err
			}
		}
	}
	asked := store.BookingRequest{
		ID: record.NewID(), AppointmentTypeID: h.AppointmentTypeID, SpecialistID: h.SpecialistID, Owner: r.Owner.String(), HoldOwner: owner.String(),
		Status: store.RequestOpen, SlotStart: h.SlotStart, SlotEnd: h.SlotEnd, Patient: r.Patient, Intake: r.Intake, Approval: t.Page.Approval, Locale: r.Locale, CreatedAt: now, ExpiresAt: until,
	}
	notice := message.MailRequest
	if asked.Approval {
		notice = message.MailReceived
	}
	mail := rq.messages.RequestMail(&asked, notice, now)
	err = rq.store.Write(ctx, func(tx store.Tx) error {
		if err := rq.booking.CheckCooldown(ctx, tx, t, asked.Owner, now); err != nil {
			return err
		}
		if !from.Unlimited {
			if err := rq.Count(ctx, tx, "request", &r.Patient, &from, now); err != nil {
				return err
			}
		}
		if err := tx.InsertBookingRequest(ctx, asked); err != nil {
			return err
		}
		if err := rq.record(ctx, tx, record.ActionRequestCreated, &asked, r.Actor, now, mail); err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, asked, now)
	})
	switch {
	case err != nil && held:
		rq.booking.Unpin(ctx, h)
	case err != nil:
		rq.booking.Release(ctx, h, holds.ReasonReleased)
	case held:
		rq.booking.TransferToRequest(ctx, h, owner, until)
	}
	if err != nil {
		return Booked{}, err
	}
	rq.outbound.Enqueue(mail...)
	return Booked{Request: &asked}, nil
}

// requestAudit is what the audit log keeps of a request: nothing about the person.
type requestAudit struct {
	AppointmentTypeID string    `json:"appointmentTypeId"`
	SpecialistID      string    `json:"specialistId"`
	SlotStartDate     time.Time `json:"slotStartDate"`
	ExpiresAt         time.Time `json:"expiresAt"`
}

func (rq *Requests) record(ctx context.Context, tx store.Tx, action record.Action, r *store.BookingRequest, actor record.Actor, now time.Time, mail []booking.Promise) error {
	err := record.Audit(ctx, tx, now, actor, action, "request:"+r.ID, "", nil, requestAudit{r.AppointmentTypeID, r.SpecialistID, r.SlotStart, r.ExpiresAt})
	if err != nil {
		return err
	}
	return booking.WritePromises(ctx, tx, now, mail...)
}

// List lists the requests that wait, by slot start.
func (rq *Requests) List(ctx context.Context) ([]store.BookingRequest, error) {
	return rq.store.BookingRequests(ctx, record.Now())
}

// Get returns one request. store.ErrNotFound: there is none, or it is an appointment by now.
func (rq *Requests) Get(ctx context.Context, id string) (store.BookingRequest, error) {
	if !record.ValidID(id) {
		return store.BookingRequest{}, store.ErrNotFound
	}
	return rq.store.BookingRequest(ctx, id)
}

// Requested returns the request that the link of its mail opens. ErrUnauthorized, store.ErrNotFound.
func (rq *Requests) Requested(ctx context.Context, manageToken string) (store.BookingRequest, error) {
	id, err := rq.booking.TokenID(manageToken)
	if err != nil {
		return store.BookingRequest{}, err
	}
	return rq.store.BookingRequest(ctx, id)
}

// keepTime is the hold of an open request: the one there is, or a new one of the very time that was asked for.
func (rq *Requests) keepTime(ctx context.Context, r *store.BookingRequest) (h holds.Hold, anew bool, err error) {
	owner := record.SpelledOwner(r.HoldOwner)
	h, err = rq.booking.RequestHold(ctx, r.SpecialistID, owner)
	if !errors.Is(err, holds.ErrNotFound) {
		return h, false, err
	}
	h, err = rq.booking.HoldForRequest(ctx, booking.RequestedSlot{
		AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Start: r.SlotStart, Length: r.SlotEnd.Sub(r.SlotStart),
	}, owner, r.ExpiresAt)
	return h, true, err
}

// byLink is who acts by the link of a mail. Everybody else is the clinic.
const byLink record.Actor = "manage"

// Confirm makes the appointment of a request, of the time that was asked for, however its type has changed since. One that was confirmed
// before gives its appointment again. The cooldown is for those who confirm it themselves: the clinic decides about each.
//
// Errors: store.ErrNotFound, *LapsedError, and those of booking.Book.
func (rq *Requests) Confirm(ctx context.Context, id string, actor record.Actor, once *record.Once) (store.Appointment, error) {
	r, err := rq.Get(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return rq.confirmed(ctx, id, once)
	}
	if err != nil {
		return store.Appointment{}, err
	}
	if lapsed := lapsedAt(&r, record.Now()); lapsed != nil {
		return store.Appointment{}, lapsed
	}
	h, anew, err := rq.keepTime(ctx, &r)
	if err != nil {
		if b, known := rq.confirmed(ctx, id, once); known == nil {
			return b, nil // by somebody else, a moment ago, whose appointment is what stands in the way
		}
		return store.Appointment{}, err
	}
	a, err := rq.booking.Book(ctx, booking.Request{
		AppointmentTypeID: r.AppointmentTypeID, HoldID: h.ID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID, Owner: h.Owner, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, Source: store.SourceWeb, Actor: actor, Once: once,
		Confirms: &booking.Confirmation{RequestID: r.ID, Owner: r.Owner, IgnoreCooldown: actor != byLink, Length: r.SlotEnd.Sub(r.SlotStart)},
		Admit: func(ctx context.Context, tx store.Tx) error {
			err := tx.DeleteBookingRequest(ctx, r.ID)
			if errors.Is(err, store.ErrNotFound) {
				return &LapsedError{Declined: true} // it was open a moment ago
			}
			return err
		},
	})
	if err == nil {
		return a, nil
	}
	b, known := rq.confirmed(ctx, id, once)
	if anew && (known == nil || errors.As(err, new(*LapsedError))) {
		rq.booking.Release(ctx, h, holds.ReasonReleased) // whoever ended the request meanwhile has given its hold back, and this is another
	}
	if known == nil {
		return b, nil // by somebody else, at the same time
	}
	return a, err
}

// confirmed is the appointment that a request has become.
func (rq *Requests) confirmed(ctx context.Context, id string, once *record.Once) (a store.Appointment, err error) {
	if a, err = rq.booking.Appointment(ctx, id); err != nil || once == nil {
		return a, err
	}
	return a, rq.store.Write(ctx, func(tx store.Tx) error { return once.Remember(ctx, tx, a, record.Now()) })
}

func lapsedAt(r *store.BookingRequest, now time.Time) error {
	switch {
	case r.Status == store.RequestDeclined:
		return &LapsedError{Declined: true}
	case !now.Before(r.ExpiresAt):
		return &LapsedError{}
	}
	return nil
}

// Decline ends a request and frees its time. Where the desk declines, the patient is told by mail. Declining a declined one
// changes nothing.
//
// Errors: store.ErrNotFound, *LapsedError.
func (rq *Requests) Decline(ctx context.Context, id string, actor record.Actor, tell bool, once *record.Once) (store.BookingRequest, error) {
	r, err := rq.Get(ctx, id)
	if err != nil {
		return r, err
	}
	now := record.Now()
	if r.Status == store.RequestOpen && !now.Before(r.ExpiresAt) {
		return r, &LapsedError{}
	}
	var mail []booking.Promise
	if tell {
		mail = rq.messages.RequestMail(&r, message.MailDeclined, now)
	}
	told := false
	err = rq.store.Write(ctx, func(tx store.Tx) error {
		err := tx.DeclineBookingRequest(ctx, id)
		told = err == nil
		if errors.Is(err, store.ErrNotFound) {
			if r, err = tx.BookingRequest(ctx, id); err != nil {
				return err // it is an appointment by now
			}
		} else if err != nil {
			return err
		} else if err := rq.record(ctx, tx, record.ActionRequestDeclined, &r, actor, now, mail); err != nil {
			return err
		}
		r.Status = store.RequestDeclined
		return once.Remember(ctx, tx, r, now)
	})
	if err != nil {
		return r, err
	}
	if told {
		rq.outbound.Enqueue(mail...)
	}
	rq.letGo(ctx, &r)
	return r, nil
}

// ReleaseErased gives back the times of those of these requests that are gone, because whoever made them was erased.
func (rq *Requests) ReleaseErased(ctx context.Context, open []store.BookingRequest) {
	for i := range open {
		r := &open[i]
		if _, err := rq.store.BookingRequest(ctx, r.ID); errors.Is(err, store.ErrNotFound) {
			rq.letGo(ctx, r)
		} else if err != nil {
			rq.log.Warn("erasure of a request unknown; its hold may remain until it expires", "request", r.ID, "error", err)
		}
	}
}

// letGo gives back the time of a request that has ended.
func (rq *Requests) letGo(ctx context.Context, r *store.BookingRequest) {
	if err := rq.booking.ReleaseRequestHold(ctx, r.SpecialistID, record.SpelledOwner(r.HoldOwner)); err != nil {
		rq.log.Warn("hold of an ended request not released; it expires on its own", "request", r.ID, "error", err)
	}
}

// HoldAll holds the times of the open requests again, after a start.
func (rq *Requests) HoldAll(ctx context.Context) error {
	open, err := rq.List(ctx)
	if err != nil {
		return fmt.Errorf("booking requests: %w", err)
	}
	for i := range open {
		r := &open[i]
		if _, _, err := rq.keepTime(ctx, r); err != nil {
			rq.log.Warn("time of a booking request no longer held", "request", r.ID, "error", err)
		}
	}
	return nil
}

// Package request decides what people without a sign-in or a key can book: how often, and what must be confirmed first.
//
// # Limits
//
// The transaction that writes a booking counts the bookings in the last hour by network, by email address and by phone
// number (limit.go). The counts are in the database, so a restart does not reset them. The key of each count is a keyed
// hash.
//
// # Requests
//
// A booking over the limits becomes a request. So does every public booking if the clinic requires confirmation. A
// request is a separate row with the id of the appointment that it can become. A hold that belongs to no client
// reserves its time. Only the patient is notified, by an email with the manage link for that id. Until the request
// expires, the link confirms it; the desk can also confirm or decline it. Confirming is an ordinary booking that
// deletes the request in its transaction: the guarantee, webhooks and the upstream write apply as they do to every
// booking.
//
// # Approval
//
// A booking of a type that needs the desk's approval is also a request, and remains a request for hours or days. The
// link in its email shows the request and can withdraw it; only the desk can confirm it. The patient and the clinic
// each get an email about the new request.
//
// If live state is in memory, the holds are lost with the process. HoldAll takes them again at startup, before the
// server handles HTTP requests.
package request

import (
	"cmp"
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
	"holdfast/engine/rule"
	"holdfast/holds"
	"holdfast/store"
)

// Requests books on behalf of the public. It is safe for concurrent use.
type Requests struct {
	store    store.Store
	records  *record.Records
	log      *slog.Logger
	clinic   *clinic.Clinic
	booking  *booking.Booking
	outbound *outbound.Outbound
	messages *message.Messages
	rule     *rule.Rule
}

// New returns a Requests. It consults the rule for every booking.
func New(s store.Store, r *record.Records, log *slog.Logger, c *clinic.Clinic, b *booking.Booking,
	out *outbound.Outbound, m *message.Messages, asked *rule.Rule) *Requests {
	return &Requests{s, r, log, c, b, out, m, asked}
}

// Visitor describes the origin of a public booking.
type Visitor struct {
	Network   netip.Addr // the network to count by; invalid if it is unknown
	Unlimited bool       // the limits are off
	// AdmitHold makes the final decision on a request's hold. If it refuses the hold, it also releases it. If AdmitHold
	// is nil, every hold is accepted.
	AdmitHold func(*holds.Hold) error
}

// Booked is the result of a public booking: an appointment, or a request that must be confirmed.
type Booked struct {
	Appointment store.Appointment
	Request     *store.BookingRequest // nil if the appointment is booked
}

// errAsk means that the booking is over the limits and can be a request.
var errAsk = errors.New("confirmation is required first")

// errApprove means that the clinic's program leaves the booking to the desk.
var errApprove = errors.New("approval by the desk is required first")

// LapsedError reports that a request can no longer be confirmed, because it was declined or has expired.
type LapsedError struct{ Declined bool }

func (e *LapsedError) Error() string {
	if e.Declined {
		return "the request was declined"
	}
	return "the request has expired"
}

// Book books for a visitor, or creates a request. r.Once saves a store.Appointment or a store.BookingRequest.
//
// Errors: those of booking.Book, *LimitError, *rule.RefusedError; a *ValidationError on patient.email if a request
// needs the address.
func (rq *Requests) Book(ctx context.Context, r booking.Request, from Visitor) (Booked, error) {
	approval := rq.needsApproval(r.AppointmentTypeID)
	r.Permit = rq.permit
	if !approval && !rq.clinic.Settings().PublicBookings.Confirm {
		if !from.Unlimited {
			r.Admit = func(ctx context.Context, tx store.Tx) error { return rq.admitBooking(ctx, tx, &r, &from) }
		}
		a, err := rq.booking.Book(ctx, r)
		if approval = errors.Is(err, errApprove); !approval && !errors.Is(err, errAsk) {
			return Booked{Appointment: a}, err
		}
		r.Permit = nil // the rule has already been consulted
	}
	asked, err := rq.ask(ctx, &r, &from, approval)
	if errors.Is(err, errApprove) {
		r.Permit = nil
		asked, err = rq.ask(ctx, &r, &from, true) // different rules apply to requests that the desk decides
	}
	if err != nil {
		return Booked{}, err
	}
	return Booked{Request: asked}, nil
}

// permit consults the clinic's rule about a booking. A repeated request for any specialist gets this far if another
// specialist is free; it already has a response, so permit makes no second call. Errors: store.ErrDuplicate (the
// request is such a repetition), *rule.RefusedError, errApprove, ctx.Err(), and those of Records.Recall.
func (rq *Requests) permit(ctx context.Context, r *booking.Request, at holds.Span) error {
	if rq.clinic.Settings().BookingRule.URL == "" {
		return nil
	}
	if response, err := rq.records.Recall(ctx, r.Once); response != nil || err != nil {
		return cmp.Or(err, store.ErrDuplicate)
	}
	approve, err := rq.rule.Check(ctx, rule.Question{
		AppointmentTypeID: r.AppointmentTypeID, SpecialistID: at.SpecialistID, Place: r.Place, Start: at.SlotStart,
		Source: r.Source, Patient: r.Patient,
	})
	if err == nil && approve {
		err = errApprove
	}
	return err
}

// needsApproval reports whether the desk decides about bookings of a type.
func (rq *Requests) needsApproval(appointmentTypeID string) bool {
	t := rq.clinic.Current().Types[appointmentTypeID]
	return t != nil && t.Page.Approval
}

// ask turns a booking into a request: it secures the time, writes the request, and settles the hold. If the client has
// a hold, ask pins it first and transfers it to the request at the end, so that the client keeps it after a refusal.
// approval means that the desk decides on the request, and not the patient by email.
//
// Errors: those of Book, and errApprove if the clinic's program leaves the booking to the desk and approval is not set.
func (rq *Requests) ask(ctx context.Context, r *booking.Request, from *Visitor,
	approval bool) (*store.BookingRequest, error) {
	if err := rq.mayAsk(ctx, r, from, approval); err != nil {
		return nil, err
	}
	t, h, err := rq.booking.CheckRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	isHeld := h.ID != ""
	if r.Permit != nil {
		err := r.Permit(ctx, r, holds.Span{SpecialistID: r.SpecialistID, SlotStart: r.SlotStart})
		if err != nil && !(approval && errors.Is(err, errApprove)) {
			if isHeld {
				rq.booking.Unpin(ctx, h)
			}
			return nil, err
		}
	}
	if approval {
		decided := *t
		decided.Page.Approval, t = true, &decided
	}
	owner, now := record.NewOwner(), record.Now()
	settings := rq.clinic.Settings()
	until := settings.AskedUntil(t, r.SlotStart, now)
	if !isHeld {
		h, err = rq.booking.HoldForRequest(ctx, booking.RequestedSlot{
			AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Place: r.Place, Start: r.SlotStart,
		}, owner, until)
		if err == nil && from.AdmitHold != nil {
			err = from.AdmitHold(&h)
		}
		if err != nil {
			return nil, err
		}
	}
	asked := store.BookingRequest{
		ID: record.NewID(), AppointmentTypeID: h.AppointmentTypeID, SpecialistID: h.SpecialistID,
		Owner: r.Owner.String(), HoldOwner: owner.String(), Status: store.RequestOpen, SlotStart: h.SlotStart,
		SlotEnd: h.SlotEnd, Patient: r.Patient, Intake: r.Intake, Approval: t.Page.Approval, Locale: r.Locale,
		CreatedAt: now, ExpiresAt: until,
	}
	mail, err := rq.write(ctx, t, r, from, &asked)
	switch {
	case err != nil && isHeld:
		rq.booking.Unpin(ctx, h)
	case err != nil:
		rq.booking.Release(ctx, h, holds.ReasonReleased)
	case isHeld:
		rq.booking.TransferToRequest(ctx, h, owner, until)
	}
	if err != nil {
		return nil, err
	}
	rq.outbound.Enqueue(mail...)
	return &asked, nil
}

// write commits a request and everything that belongs to it. One transaction checks the cooldown and the limits, and
// writes the row, its audit entry, the emails and the saved response. It returns the emails, for the queue.
func (rq *Requests) write(ctx context.Context, t *store.AppointmentType, r *booking.Request, from *Visitor,
	asked *store.BookingRequest) ([]booking.Promise, error) {
	now, notice := asked.CreatedAt, message.MailRequest
	if asked.Approval {
		notice = message.MailReceived
	}
	mail := rq.messages.RequestMail(asked, notice, now)
	err := rq.store.Write(ctx, func(tx store.Tx) error {
		if err := rq.booking.CheckCooldown(ctx, tx, t, asked.Owner, now); err != nil {
			return err
		}
		if !from.Unlimited {
			if err := rq.Count(ctx, tx, "request", &r.Patient, from, now); err != nil {
				return err
			}
		}
		if err := tx.InsertBookingRequest(ctx, *asked); err != nil {
			return err
		}
		if err := rq.record(ctx, tx, record.ActionRequestCreated, asked, r.Actor, now, mail); err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, *asked, now)
	})
	return mail, err
}

// requestAudit is the audit record of a request. It contains no personal data.
type requestAudit struct {
	AppointmentTypeID string    `json:"appointmentTypeId"`
	SpecialistID      string    `json:"specialistId"`
	SlotStartDate     time.Time `json:"slotStartDate"`
	ExpiresAt         time.Time `json:"expiresAt"`
}

func (rq *Requests) record(ctx context.Context, tx store.Tx, action record.Action, r *store.BookingRequest,
	actor record.Actor, now time.Time, mail []booking.Promise) error {
	err := record.Audit(ctx, tx, now, actor, action, "request:"+r.ID, "", nil, requestAudit{
		r.AppointmentTypeID, r.SpecialistID, r.SlotStart, r.ExpiresAt,
	})
	if err != nil {
		return err
	}
	return booking.WritePromises(ctx, tx, now, mail...)
}

// List lists the open requests, by slot start.
func (rq *Requests) List(ctx context.Context) ([]store.BookingRequest, error) {
	return rq.store.BookingRequests(ctx, record.Now())
}

// Get returns one request. It returns store.ErrNotFound if the request does not exist or has become an appointment.
func (rq *Requests) Get(ctx context.Context, id string) (store.BookingRequest, error) {
	if !record.ValidID(id) {
		return store.BookingRequest{}, store.ErrNotFound
	}
	return rq.store.BookingRequest(ctx, id)
}

// Requested returns the request that the link in its email opens. Errors: ErrUnauthorized, store.ErrNotFound.
func (rq *Requests) Requested(ctx context.Context, manageToken string) (store.BookingRequest, error) {
	id, err := rq.booking.TokenID(manageToken)
	if err != nil {
		return store.BookingRequest{}, err
	}
	return rq.store.BookingRequest(ctx, id)
}

// holdTime returns the hold of an open request. If the request has no hold, holdTime takes a new one on exactly the
// requested time and returns true.
func (rq *Requests) holdTime(ctx context.Context, r *store.BookingRequest) (h holds.Hold, isNew bool, err error) {
	owner := record.SpelledOwner(r.HoldOwner)
	h, err = rq.booking.RequestHold(ctx, r.SpecialistID, owner)
	if !errors.Is(err, holds.ErrNotFound) {
		return h, false, err
	}
	h, err = rq.booking.HoldForRequest(ctx, booking.RequestedSlot{
		AppointmentTypeID: r.AppointmentTypeID, SpecialistID: r.SpecialistID, Start: r.SlotStart,
		Length: r.SlotEnd.Sub(r.SlotStart),
	}, owner, r.ExpiresAt)
	return h, true, err
}

// byLink is the actor for the link in an email. Any other actor belongs to the clinic.
const byLink record.Actor = "manage"

// Confirm turns a request into an appointment at the requested time, even if its type has changed since then. If the
// request has already been confirmed, Confirm returns its appointment again. The cooldown applies only to patients who
// confirm with the link: the clinic decides on each request itself. seen is the time that was shown to the caller; zero
// if it is unknown.
//
// Errors: store.ErrNotFound, store.ErrVersion (the request's time differs from seen), *LapsedError, and those of
// booking.Book.
func (rq *Requests) Confirm(ctx context.Context, id string, seen time.Time, actor record.Actor,
	once *record.Once) (store.Appointment, error) {
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
	if !seen.IsZero() && !seen.Equal(r.SlotStart) {
		return store.Appointment{}, store.ErrVersion
	}
	h, isNew, err := rq.holdTime(ctx, &r)
	if err != nil {
		if b, known := rq.confirmed(ctx, id, once); known == nil {
			return b, nil // another caller has just confirmed it; the conflict is with its appointment
		}
		return store.Appointment{}, err
	}
	a, err := rq.booking.Book(ctx, booking.Request{
		AppointmentTypeID: r.AppointmentTypeID, HoldID: h.ID, SlotStart: r.SlotStart, SpecialistID: r.SpecialistID,
		Owner: h.Owner, Patient: r.Patient, Intake: r.Intake, Locale: r.Locale, Source: store.SourceWeb, Actor: actor,
		Once: once,
		Confirms: &booking.Confirmation{
			RequestID: r.ID, Owner: r.Owner, IgnoreCooldown: actor != byLink, Length: r.SlotEnd.Sub(r.SlotStart),
		},
		Admit: func(ctx context.Context, tx store.Tx) error {
			err := tx.DeleteBookingRequest(ctx, r.ID, r.HoldOwner)
			if errors.Is(err, store.ErrNotFound) {
				// A moment ago, it was open and had this time. The server also declines a request when it expires.
				return &LapsedError{Declined: record.Now().Before(r.ExpiresAt)}
			}
			return err
		},
	})
	if err == nil {
		return a, nil
	}
	b, known := rq.confirmed(ctx, id, once)
	if isNew && (known == nil || errors.As(err, new(*LapsedError))) {
		// h is a new hold: the caller that ended the request released the old one
		rq.booking.Release(ctx, h, holds.ReasonReleased)
	}
	if known == nil {
		return b, nil // another caller confirmed it at the same time
	}
	return a, err
}

// confirmed returns the appointment that a request has become.
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

// Decline closes a request and frees its time. If tell is true, the patient gets an email. Declining a request again
// changes nothing.
//
// Errors: store.ErrNotFound, *LapsedError.
func (rq *Requests) Decline(ctx context.Context, id string, actor record.Actor, tell bool,
	once *record.Once) (store.BookingRequest, error) {
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
				return err // the request has become an appointment
			}
		} else if err != nil {
			return err
		} else if r, err = tx.BookingRequest(ctx, id); err != nil { // the request may have a proposed time by now
			return err
		} else if err := rq.record(ctx, tx, record.ActionRequestDeclined, &r, actor, now, mail); err != nil {
			return err
		}
		return once.Remember(ctx, tx, r, now)
	})
	if err != nil {
		return r, err
	}
	if told {
		rq.outbound.Enqueue(mail...)
	}
	rq.releaseHold(ctx, &r)
	return r, nil
}

// ReleaseErased releases the holds of the requests in open that were deleted because their person was erased.
func (rq *Requests) ReleaseErased(ctx context.Context, open []store.BookingRequest) {
	for i := range open {
		r := &open[i]
		if _, err := rq.store.BookingRequest(ctx, r.ID); errors.Is(err, store.ErrNotFound) {
			rq.releaseHold(ctx, r)
		} else if err != nil {
			rq.log.Warn("failed to check whether a request was erased; its hold may remain until it expires", "request",
				r.ID, "error", err)
		}
	}
}

// releaseHold releases the hold of a closed request.
func (rq *Requests) releaseHold(ctx context.Context, r *store.BookingRequest) {
	if err := rq.booking.ReleaseRequestHold(ctx, r.SpecialistID, record.SpelledOwner(r.HoldOwner)); err != nil {
		rq.log.Warn("failed to release the hold of a closed request; it expires on its own", "request", r.ID,
			"error", err)
	}
}

// HoldAll holds the times of the open requests again after a restart.
func (rq *Requests) HoldAll(ctx context.Context) error {
	open, err := rq.List(ctx)
	if err != nil {
		return fmt.Errorf("booking requests: %w", err)
	}
	for i := range open {
		rq.restoreHold(ctx, &open[i])
	}
	return nil
}

// restoreHold holds the time of an open request again if its hold is missing. A failure is only logged.
func (rq *Requests) restoreHold(ctx context.Context, r *store.BookingRequest) {
	if _, _, err := rq.holdTime(ctx, r); err != nil {
		rq.log.Warn("failed to restore the hold of a booking request", "request", r.ID, "error", err)
	}
}

package message

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/outbound"
	"holdfast/store"
)

// Emails to people on the waiting list: one with the link to confirm an entry, one saying that the entry is on the
// list, one with an offer, and one saying that an offered time can no longer be held. MailProposal proposes a new time
// to the patient of a displaced appointment.
const (
	MailWaitlist  = "waitlist_confirm"
	MailWaiting   = "waitlist_joined"
	MailOffer     = "waitlist_offer"
	MailOfferGone = "waitlist_withdrawn"
	MailProposal  = "proposal"
)

// WaitlistMail returns the email that an entry or its offer requires; o can be nil. It returns no email if this server
// sends none or the person has no address. For an offer or a proposal, it also returns a text message if the person
// receives text messages. The messages are sent at due and are no longer useful after until.
func (ms *Messages) WaitlistMail(e *store.WaitlistEntry, o *store.WaitlistOffer, name string,
	at, due, until time.Time) []booking.Promise {
	var calls []booking.Promise
	if name == MailOffer || name == MailProposal {
		calls = ms.offerSMS(e, o, name, at, due, until)
	}
	if ms.transport.Mailer == nil || e.Patient.Email == "" {
		return calls
	}
	a := waitingAs(e, o)
	op := ms.outbound.NewOperation(store.Email, &a, at)
	op.NextAttemptAt, op.Deadline = due, until
	op.Payload, _ = json.Marshal(mailPayload{Notice: name}) // encoding strings cannot fail
	return append([]booking.Promise{{Operation: op, Notice: name}}, calls...)
}

// waitingAs returns the appointment that an offer would become. Without an offer, it returns an appointment without a
// time for the entry.
func waitingAs(e *store.WaitlistEntry, o *store.WaitlistOffer) store.Appointment {
	a := store.Appointment{ID: e.ID, AppointmentTypeID: e.AppointmentTypeID, Patient: e.Patient, Locale: e.Locale,
		CreatedAt: e.CreatedAt}
	if o != nil {
		a.ID, a.SpecialistID, a.CreatedAt = o.ID, o.SpecialistID, o.CreatedAt
		a.SlotStart, a.SlotEnd = o.SlotStart, o.SlotEnd
	}
	return a
}

// ConfirmWithin is how long an entry can be confirmed with the link in its email, counted from the entry's creation.
const ConfirmWithin = 24 * time.Hour

// waitlistLinkLife is how long the link in an entry's email works, counted from the entry's creation.
const waitlistLinkLife = 366 * 24 * time.Hour

// WaitlistToken signs the link for an entry or, if o is not nil, for its offer.
func (ms *Messages) WaitlistToken(e *store.WaitlistEntry, o *store.WaitlistOffer) string {
	a := waitingAs(e, o)
	if o == nil {
		a.SlotEnd = e.CreatedAt.Add(waitlistLinkLife)
	}
	return ms.booking.ManageToken(&a)
}

// deliverWaitlistMail writes one email based on the current state of its entry and its offer, and sends it.
func (ms *Messages) deliverWaitlistMail(ctx context.Context, op *store.Operation, name string) outbound.Outcome {
	e, o, err := ms.waitingOf(ctx, op.AppointmentID, name)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notNeeded("the waiting-list entry was deleted")
	case err != nil:
		return unread(ctx)
	case e.Patient.Email == "" || !e.EndedAt.IsZero() || name == MailWaitlist && e.Status != store.WaitlistUnconfirmed:
		return notNeeded("the waiting-list entry is closed")
	case (name == MailOffer || name == MailProposal) && o.Status != store.OfferOpen:
		return notNeeded("the offer has ended")
	}
	if wait := ms.untilFinal(ctx, &e); wait != nil {
		return *wait
	}
	if err := ms.CheckSender(); err != nil {
		return senderless(err)
	}
	about, a, link, times := &ms.clinic.Schedule().Clinic, waitingAs(&e, o), "", mailTimes{
		until: e.CreatedAt.Add(ConfirmWithin), was: e.Displaced.SlotStart,
		sooner: e.AppointmentID != "" && e.AbsenceID == ""}
	if t := ms.clinic.Current().Types[a.AppointmentTypeID]; o == nil && t != nil && !e.Wish.SlotStart.IsZero() {
		a.SlotStart, times.session = e.Wish.SlotStart, true
		a.SlotEnd = a.SlotStart.Add(time.Duration(t.DurationMinutes) * time.Minute)
	}
	if o != nil {
		a.Place, times.until = ms.clinic.Current().PlaceAt(a.SpecialistID, a.SlotStart), o.ExpiresAt
	}
	token := ms.WaitlistToken(&e, o)
	if name == MailProposal {
		of, end := ms.displaced(ctx, &e)
		if end != nil {
			return *end
		}
		// the patient may have changed since the absence was recorded
		token, e.Patient = ms.booking.ManageToken(of), of.Patient
		if e.Patient.Email == "" {
			return notNeeded("the patient no longer has an email address")
		}
	}
	if base := ms.clinic.LinkURL(); base != "" {
		link = base + "/manage#" + token
	}
	m := ms.mailTo(op, &e.Patient)
	language := ms.lettersFor(a.Locale, about.Locale).Tag
	ms.write(&m, name, &a, link, ms.clinic.Settings().MailTexts[name][language], times)
	return ms.mailed(op, ms.transport.Mailer.Send(ctx, m))
}

// untilFinal returns the outcome of a message about an entry or its offer while the last change to the entry's
// appointment can still be undone. If that change is undone, the entry and the offer stay valid. untilFinal returns nil
// if the message does not have to wait.
func (ms *Messages) untilFinal(ctx context.Context, e *store.WaitlistEntry) *outbound.Outcome {
	if e.AppointmentID == "" {
		return nil
	}
	a, err := ms.store.Appointment(ctx, e.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return new(unread(ctx))
	}
	if at, is := ms.undoableUntil(ctx, a); is {
		return &outbound.Outcome{End: outbound.Deferred, At: at, Detail: waitsForUndo}
	}
	return nil
}

// displaced returns the appointment that a proposal is about. Its link also lets the patient choose another time or
// cancel. end is the outcome if there is no such appointment.
func (ms *Messages) displaced(ctx context.Context, e *store.WaitlistEntry) (of *store.Appointment,
	end *outbound.Outcome) {
	a, err := ms.store.Appointment(ctx, e.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !e.Displaced.From(&a):
		return nil, new(notNeeded("the appointment was moved or cancelled"))
	case err != nil:
		return nil, new(unread(ctx))
	case !ms.clinic.Current().HasBlock(a.SpecialistID, e.AbsenceID):
		return nil, new(notNeeded("the absence was deleted"))
	}
	return &a, nil
}

// isDisplaced reports whether an absence displaces an appointment from its current time, so that a reminder for it
// would be wrong. It returns false if the absence has been deleted, or if the database cannot be read.
func (ms *Messages) isDisplaced(ctx context.Context, a *store.Appointment) bool {
	entries, err := ms.store.DisplacedEntries(ctx, "", a.ID)
	if err != nil {
		ms.log.Warn("failed to check whether an appointment is displaced", "appointment", a.ID, "error", err)
	}
	return slices.ContainsFunc(entries, func(e store.WaitlistEntry) bool {
		return e.Displaced.From(a) && ms.clinic.Current().HasBlock(a.SpecialistID, e.AbsenceID)
	})
}

// waitingOf reads the subject of an email: an entry, or an offer and its entry.
func (ms *Messages) waitingOf(ctx context.Context, id, name string) (e store.WaitlistEntry,
	o *store.WaitlistOffer, err error) {
	if name == MailOffer || name == MailOfferGone || name == MailProposal {
		offer, err := ms.store.WaitlistOffer(ctx, id)
		if err != nil {
			return e, nil, err
		}
		o, id = &offer, offer.EntryID
	}
	e, err = ms.store.WaitlistEntry(ctx, id)
	return e, o, err
}

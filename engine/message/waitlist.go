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

// Emails to people on the waiting list: the one with the link to confirm an entry, that the entry is on the list, an
// offer, and that an offered time can no longer be held. MailProposal proposes a new time to the patient of a displaced
// appointment.
const (
	MailWaitlist  = "waitlist_confirm"
	MailWaiting   = "waitlist_joined"
	MailOffer     = "waitlist_offer"
	MailOfferGone = "waitlist_withdrawn"
	MailProposal  = "proposal"
)

// WaitlistMail returns the email that an entry or its offer requires; o can be nil. It returns none if this server
// sends no email or the person has no address. About an offer or a proposal, it also returns a text message if the
// person receives them. The messages are sent at due, and are useless after until.
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
	op.Payload, _ = json.Marshal(mailPayload{Notice: name}) // writing to a string cannot fail
	return append([]booking.Promise{{Operation: op, Notice: name}}, calls...)
}

// waitingAs returns the appointment that an offer would become. Without an offer, it returns one for the entry,
// without a time.
func waitingAs(e *store.WaitlistEntry, o *store.WaitlistOffer) store.Appointment {
	a := store.Appointment{ID: e.ID, AppointmentTypeID: e.AppointmentTypeID, Patient: e.Patient, Locale: e.Locale,
		CreatedAt: e.CreatedAt}
	if o != nil {
		a.ID, a.SpecialistID, a.CreatedAt = o.ID, o.SpecialistID, o.CreatedAt
		a.SlotStart, a.SlotEnd = o.SlotStart, o.SlotEnd
	}
	return a
}

// waitlistLinkLife is how long the link in an entry's email works after the entry was created.
const waitlistLinkLife = 366 * 24 * time.Hour

// WaitlistToken signs the link of an entry, or of its offer if o is not nil.
func (ms *Messages) WaitlistToken(e *store.WaitlistEntry, o *store.WaitlistOffer) string {
	a := waitingAs(e, o)
	if o == nil {
		a.SlotEnd = e.CreatedAt.Add(waitlistLinkLife)
	}
	return ms.booking.ManageToken(&a)
}

// deliverWaitlistMail writes one email from the current state of its entry and its offer, and sends it.
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
	if err := ms.CheckSender(); err != nil {
		return senderless(err)
	}
	about, a, link, times := &ms.clinic.Schedule().Clinic, waitingAs(&e, o), "", mailTimes{was: e.Displaced.SlotStart}
	if o != nil {
		a.Place, times.until = ms.clinic.Current().PlaceAt(a.SpecialistID, a.SlotStart), o.ExpiresAt
	}
	token := ms.WaitlistToken(&e, o)
	if name == MailProposal {
		of, end := ms.displaced(ctx, &e)
		if end != nil {
			return *end
		}
		token, e.Patient = ms.booking.ManageToken(of), of.Patient // it may have changed since the absence was recorded
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

// displaced returns the appointment that a proposal is about. Its link also lets the patient choose another time or
// cancel. end is the outcome of a message without that appointment.
func (ms *Messages) displaced(ctx context.Context, e *store.WaitlistEntry) (of *store.Appointment,
	end *outbound.Outcome) {
	a, err := ms.store.Appointment(ctx, e.AppointmentID)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !e.Displaced.From(&a):
		return nil, new(notNeeded("the appointment was moved or cancelled"))
	case err != nil:
		return nil, new(unread(ctx))
	}
	return &a, nil
}

// isDisplaced reports whether an absence displaces an appointment from its time, so that a reminder of it would be
// wrong. It returns false if the absence was deleted, or if the database cannot be read.
func (ms *Messages) isDisplaced(ctx context.Context, a *store.Appointment) bool {
	entries, err := ms.store.DisplacedEntries(ctx, "", a.ID)
	if err != nil {
		ms.log.Warn("failed to check whether an appointment is displaced", "appointment", a.ID, "error", err)
	}
	blocks := ms.clinic.Current().Blocks[a.SpecialistID]
	return slices.ContainsFunc(entries, func(e store.WaitlistEntry) bool {
		return e.Displaced.From(a) &&
			slices.ContainsFunc(blocks, func(b store.Block) bool { return b.ID == e.AbsenceID })
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

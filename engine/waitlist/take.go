package waitlist

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

// offer writes an offer of a held time. It returns ErrOffered if the entry or the time already has an offer, or the
// entry has ended.
func (w *Waitlist) offer(ctx context.Context, e *store.WaitlistEntry, h holds.Hold, owner holds.Owner, until time.Time,
	actor record.Actor, once *record.Once) (store.WaitlistOffer, error) {
	now := record.Now()
	o := store.WaitlistOffer{
		ID: record.NewID(), EntryID: e.ID, AppointmentTypeID: e.AppointmentTypeID, SpecialistID: h.SpecialistID,
		Seat: h.Seat, HoldOwner: owner.String(), Status: store.OfferOpen, SlotStart: h.SlotStart, SlotEnd: h.SlotEnd,
		CreatedAt: now, ExpiresAt: until,
	}
	mail := w.Messages.WaitlistMail(e, &o, message.MailOffer, now, now.Add(quiet), until)
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		is, err := tx.WaitlistEntry(ctx, e.ID)
		if err != nil {
			return err
		}
		open, err := tx.OpenWaitlistOffers(ctx)
		if err != nil {
			return err
		}
		if is.Status != store.WaitlistWaiting ||
			slices.ContainsFunc(open, func(x store.WaitlistOffer) bool { return meets(&x, &o) }) {
			return ErrOffered
		}
		if err := tx.InsertWaitlistOffer(ctx, o); err != nil {
			return err
		}
		if err := auditOffer(ctx, tx, now, actor, record.ActionWaitlistOffered, &o); err != nil {
			return err
		}
		if err := booking.WritePromises(ctx, tx, now, mail...); err != nil {
			return err
		}
		return once.Remember(ctx, tx, o, now)
	})
	if errors.Is(err, store.ErrDuplicate) {
		err = ErrOffered
	}
	if err != nil {
		return o, err
	}
	w.Outbound.Enqueue(mail...)
	return o, nil
}

// meets reports whether two offers overlap on one specialist. Different seats of the same session do not overlap.
func meets(a, b *store.WaitlistOffer) bool {
	if a.SpecialistID != b.SpecialistID || !a.SlotStart.Before(b.SlotEnd) || !b.SlotStart.Before(a.SlotEnd) {
		return false
	}
	return a.AppointmentTypeID != b.AppointmentTypeID || !a.SlotStart.Equal(b.SlotStart) || a.Seat == b.Seat
}

// OfferByHand holds a free time for an entry and offers it, regardless of the order of the list. Notice and horizon do
// not apply, because the desk makes the offer. If the desk names a specialist, the place of the entry does not apply.
//
// Errors: store.ErrNotFound, ErrOffered, *EndedError, *ValidationError (too little time remains), and those of
// booking.HoldForRequest.
func (w *Waitlist) OfferByHand(ctx context.Context, entryID, specialistID string, start time.Time, actor record.Actor,
	once *record.Once) (store.WaitlistOffer, error) {
	var m record.Mistakes
	if record.CheckStart(&m, start); specialistID != "" {
		record.CheckID(&m, "specialistId", specialistID)
	}
	if err := m.Err(); err != nil {
		return store.WaitlistOffer{}, err
	}
	x, err := w.WaitingOf(ctx, entryID)
	switch {
	case err != nil:
		return store.WaitlistOffer{}, err
	case x.Status != store.WaitlistWaiting:
		return store.WaitlistOffer{}, &EndedError{string(x.Status)}
	case x.Offer() != nil:
		return store.WaitlistOffer{}, ErrOffered
	}
	until, long := Until(w.Clinic.Zone(), w.Clinic.Settings().Waitlist.Keeps(), start, record.Now())
	if !long {
		return store.WaitlistOffer{},
			record.Invalid("slotStartDate", "is too soon to be offered; book it directly instead")
	}
	owner, place := record.NewOwner(), ""
	if specialistID == "" {
		place = wantedPlace(w.Clinic.Current(), &x.Wish)
	}
	h, err := w.Booking.HoldForRequest(ctx,
		booking.RequestedSlot{AppointmentTypeID: x.AppointmentTypeID, SpecialistID: specialistID, Place: place,
			Start: start}, owner, until.Add(passing))
	if err != nil {
		return store.WaitlistOffer{}, err
	}
	o, err := w.offer(ctx, &x.WaitlistEntry, h, owner, until, actor, once)
	if err != nil {
		w.Booking.Release(ctx, h, holds.ReasonReleased)
	}
	return o, err
}

// Accept books the offered time, on the same path as every booking, and takes the person off the list. If the entry
// wants an earlier time for an appointment, Accept moves the appointment instead. If the offer has already been
// accepted, Accept returns its appointment again.
//
// Errors: store.ErrNotFound, *EndedError (including when the time could not be held), and those of booking.Book and
// booking.Reschedule.
func (w *Waitlist) Accept(ctx context.Context, id string, actor record.Actor,
	once *record.Once) (store.Appointment, error) {
	o, err := w.offerOf(ctx, id)
	if err != nil {
		return store.Appointment{}, err
	}
	x, err := w.WaitingOf(ctx, o.EntryID)
	if err != nil {
		return store.Appointment{}, err
	}
	switch now := record.Now(); {
	case o.Status == store.OfferBooked:
		if actor == manageLink && now.Sub(o.EndedAt) > repeats {
			return store.Appointment{}, &EndedError{string(store.OfferBooked)}
		}
		return w.accepted(ctx, &x.WaitlistEntry, &o, once)
	case o.Status != store.OfferOpen:
		return store.Appointment{}, &EndedError{string(o.Status)}
	case !now.Before(o.ExpiresAt):
		return store.Appointment{}, &EndedError{string(store.OfferLapsed)}
	}
	h, err := w.holdOf(ctx, &o, o.ExpiresAt)
	if lost(err) {
		if err := w.withdraw(ctx, &o, false); err != nil {
			return store.Appointment{}, err
		}
		return store.Appointment{}, &EndedError{string(store.OfferWithdrawn)}
	}
	if err != nil {
		return store.Appointment{}, err
	}
	a, err := w.take(ctx, &x.WaitlistEntry, &o, h, actor, once)
	if err == nil {
		return a, nil
	}
	err = w.endOf(ctx, &o, err)
	var ended *EndedError
	if errors.As(err, &ended) && ended.As == string(store.OfferBooked) {
		return w.accepted(ctx, &x.WaitlistEntry, &o, once) // a second click booked it at the same time
	}
	return a, err
}

// endOf returns why an offer could not be taken. If the offer ended in the meantime, its hold was released, so the
// error about the hold is only a consequence.
func (w *Waitlist) endOf(ctx context.Context, o *store.WaitlistOffer, err error) error {
	if errors.As(err, new(*EndedError)) || errors.Is(err, record.ErrNotConfirmed) {
		return err
	}
	if is, unread := w.Store.WaitlistOffer(ctx, o.ID); unread == nil && is.Status != store.OfferOpen {
		return &EndedError{string(is.Status)}
	}
	return err
}

// take books the time that an offer holds, or moves the entry's appointment to it.
func (w *Waitlist) take(ctx context.Context, e *store.WaitlistEntry, o *store.WaitlistOffer, h holds.Hold,
	actor record.Actor, once *record.Once) (a store.Appointment, err error) {
	keeper := record.SpelledOwner(o.HoldOwner)
	var others []store.WaitlistOffer // other offers to the same person, whose times must be handed on
	defer func() {
		if err == nil {
			for _, other := range others {
				w.end(other)
			}
		}
	}()
	admit := func(ctx context.Context, tx store.Tx) (err error) {
		others, err = w.admit(ctx, tx, e, o, actor)
		return err
	}
	if e.AppointmentID == "" {
		return w.Booking.Book(ctx, booking.Request{
			AppointmentTypeID: o.AppointmentTypeID, HoldID: h.ID, Owner: keeper, Patient: e.Patient, Intake: e.Intake,
			Locale: e.Locale, Source: store.SourceWeb, Actor: actor, Once: once,
			Confirms: &booking.Confirmation{RequestID: o.ID, Owner: e.Owner, IgnoreCooldown: true}, Admit: admit,
		})
	}
	return w.Booking.Reschedule(ctx, booking.RescheduleRequest{
		ID: e.AppointmentID, HoldID: h.ID, Owner: keeper, Actor: actor, Once: once,
		Admit: func(ctx context.Context, tx store.Tx, a *store.Appointment) error {
			if e.AbsenceID != "" && !e.Displaced.From(a) {
				return &EndedError{string(store.OfferWithdrawn)} // the appointment has since been moved
			}
			if e.AbsenceID == "" && !o.SlotStart.Before(a.SlotStart) {
				// the appointment has since been moved to an earlier time
				return &EndedError{string(store.OfferWithdrawn)}
			}
			if e.AbsenceID == "" && !booking.SameAddress(a.Patient.Email, e.Patient.Email) {
				// see settled: the link is in another person's mailbox
				return &EndedError{string(store.OfferWithdrawn)}
			}
			return admit(ctx, tx)
		},
	})
}

// admit ends an offer as booked, in the transaction of the booking. It also ends all entries of the person for the
// type, and returns their other open offers. For a displaced appointment, admit ends only the entry of that
// appointment.
func (w *Waitlist) admit(ctx context.Context, tx store.Tx, e *store.WaitlistEntry, o *store.WaitlistOffer,
	actor record.Actor) (others []store.WaitlistOffer, err error) {
	now := record.Now()
	if err := endOffer(ctx, tx, o, store.OfferBooked, now); err != nil {
		return nil, err
	}
	live, err := tx.WaitlistEntries(ctx)
	if err != nil {
		return nil, err
	}
	if e.AbsenceID != "" {
		live = []store.WaitlistEntry{*e}
	}
	for i := range live {
		x := &live[i]
		if x.ID != e.ID &&
			(x.AppointmentTypeID != e.AppointmentTypeID || !samePerson(x, e) ||
				store.Fold(x.Patient.Name) != store.Fold(e.Patient.Name)) {
			continue
		}
		ended, err := w.dropEntry(ctx, tx, x, store.WaitlistBooked, actor, now)
		if err != nil {
			return nil, err
		}
		others = append(others, ended...)
	}
	action := record.ActionWaitlistOfferAccepted
	if e.AbsenceID != "" {
		action = record.ActionAbsenceTimeAccepted
	}
	return others, auditOffer(ctx, tx, now, actor, action, o)
}

// repeats is how long the link of an accepted offer still returns the appointment, for a patient who did not receive
// the first response. After that, the mailbox with the link may no longer be the patient's. The link in the
// appointment's own email opens the appointment.
const repeats = time.Minute

// manageLink is the actor for changes made with the link in an email.
const manageLink record.Actor = "manage"

// accepted returns the appointment that an accepted offer has booked or moved.
func (w *Waitlist) accepted(ctx context.Context, e *store.WaitlistEntry, o *store.WaitlistOffer,
	once *record.Once) (a store.Appointment, err error) {
	id := o.ID
	if e.AppointmentID != "" {
		id = e.AppointmentID
	}
	if a, err = w.Booking.Appointment(ctx, id); err != nil || once == nil {
		return a, err
	}
	return a, w.Store.Write(ctx, func(tx store.Tx) error { return once.Remember(ctx, tx, a, record.Now()) })
}

// Decline ends an offer and hands its time on. The entry continues to wait, except that the entry of a displaced
// appointment ends. Declining a declined offer changes nothing. Errors: store.ErrNotFound, *EndedError.
func (w *Waitlist) Decline(ctx context.Context, id string, actor record.Actor,
	once *record.Once) (store.WaitlistOffer, error) {
	o, err := w.offerOf(ctx, id)
	if err != nil {
		return o, err
	}
	now, declined := record.Now(), false
	err = w.Store.Write(ctx, func(tx store.Tx) error {
		e, err := tx.WaitlistEntry(ctx, o.EntryID)
		if err != nil {
			return err
		}
		action := record.ActionWaitlistOfferDeclined
		if e.AbsenceID != "" {
			action = record.ActionAbsenceTimeDeclined
		}
		err = endOffer(ctx, tx, &o, store.OfferDeclined, now)
		var ended *EndedError
		if declined = err == nil; errors.As(err, &ended) && ended.As == string(store.OfferDeclined) {
			err = nil
		} else if err == nil {
			err = auditOffer(ctx, tx, now, actor, action, &o)
		}
		if err != nil {
			return err
		}
		if e.AbsenceID != "" && e.EndedAt.IsZero() {
			if _, err := w.dropEntry(ctx, tx, &e, store.WaitlistRemoved, actor, now); err != nil {
				return err
			}
		}
		o.Status = store.OfferDeclined
		return once.Remember(ctx, tx, o, now)
	})
	if err == nil && declined {
		w.end(o)
	}
	return o, err
}

func (w *Waitlist) offerOf(ctx context.Context, id string) (store.WaitlistOffer, error) {
	if !record.ValidID(id) {
		return store.WaitlistOffer{}, store.ErrNotFound
	}
	return w.Store.WaitlistOffer(ctx, id)
}

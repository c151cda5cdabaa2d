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

// # Displaced appointments
//
// If a specialist is absent, the displaced patients also get offers: new times for their appointments. The entry of
// such an offer names the absence and is not on the waiting list. It gets a single offer and ends with that offer.
// Hold, expiry, acceptance and erasure work as they do for every offer.

// Displacement is an appointment that cannot take place, and the time that is proposed instead.
type Displacement struct {
	AbsenceID   string
	Appointment store.Appointment
	By          store.DisplacedBy // DisplacedAsk or DisplacedCall
	// SpecialistID and Start are the proposed time. If Start is zero, no time is proposed: the patient chooses one with
	// the appointment's link, or the desk finds one on the phone.
	SpecialistID string
	Start        time.Time
	Until        time.Time // when the proposal expires
	Actor        record.Actor
}

// displacedAudit is the audit record of a displaced appointment. It contains no personal data.
type displacedAudit struct {
	AbsenceID     string    `json:"absenceId"`
	By            string    `json:"by"`
	SpecialistID  string    `json:"specialistId,omitempty"`
	SlotStartDate time.Time `json:"slotStartDate,omitzero"`
}

// displacedEntry returns the entry for an appointment that an absence displaces.
func (w *Waitlist) displacedEntry(absenceID string, a *store.Appointment, by store.DisplacedBy, now time.Time) store.WaitlistEntry {
	e := store.WaitlistEntry{
		ID: record.NewID(), AppointmentTypeID: a.AppointmentTypeID, AppointmentID: a.ID, Owner: a.Owner,
		AbsenceID: absenceID, Displaced: store.Displaced{SpecialistID: a.SpecialistID, SlotStart: a.SlotStart, By: by},
		Status:  store.WaitlistWaiting,
		Wish:    store.WaitlistWish{From: store.DateOf(a.SlotStart), To: store.DateOf(a.SlotStart)},
		Patient: a.Patient, Intake: a.Intake, Locale: a.Locale, CreatedAt: now,
	}
	if by != store.DisplacedCall {
		e.Displaced.Channel = w.Messages.Channel(a)
	}
	return e
}

func auditDisplaced(ctx context.Context, tx store.Tx, now time.Time, actor record.Actor, e *store.WaitlistEntry,
	specialistID string, start time.Time) error {
	return record.Audit(ctx, tx, now, actor, record.ActionAppointmentDisplaced, "appointment:"+e.AppointmentID, "", nil,
		displacedAudit{e.AbsenceID, string(e.Displaced.By), specialistID, start})
}

// RecordMove records, in the transaction of a move, that the desk has moved a displaced appointment.
func (w *Waitlist) RecordMove(ctx context.Context, tx store.Tx, absenceID string, a *store.Appointment,
	actor record.Actor) error {
	now := record.Now()
	e := w.displacedEntry(absenceID, a, store.DisplacedMove, now)
	e.Status, e.EndedAt = store.WaitlistBooked, now
	if err := tx.InsertWaitlistEntry(ctx, e); err != nil {
		return err
	}
	return auditDisplaced(ctx, tx, now, actor, &e, "", time.Time{})
}

// Displace records that an appointment is displaced. It holds the proposed time. To ask the patient, it queues an
// email, which is sent once the change can no longer be undone. If the absence has already displaced the appointment,
// Displace changes nothing. It replaces an open proposal that another absence made for the appointment. If the patient
// may have received that proposal, it ends only once the new absence can no longer be undone.
//
// Errors: record.ErrNotConfirmed, message.ErrNoMail (to ask a patient who cannot get emails), and those of
// booking.HoldInstead.
func (w *Waitlist) Displace(ctx context.Context, d Displacement) error {
	a, now := &d.Appointment, record.Now()
	before, err := w.Store.DisplacedEntries(ctx, "", a.ID)
	if err != nil ||
		slices.ContainsFunc(before, func(e store.WaitlistEntry) bool { return e.AbsenceID == d.AbsenceID }) {
		return err
	}
	if d.By == store.DisplacedAsk && !w.Messages.CanWrite(a) {
		return message.ErrNoMail
	}
	e := w.displacedEntry(d.AbsenceID, a, d.By, now)
	if d.Start.IsZero() {
		// The entry ends immediately, because no offer exists that could end it.
		e.Status, e.EndedAt = store.WaitlistLapsed, now
		return w.writeDisplaced(ctx, &e, nil, before, d.Actor)
	}
	owner := record.NewOwner()
	old, err := w.replacedOffer(ctx, before, now)
	if err != nil {
		return err
	}
	h, err := w.Booking.HoldInstead(ctx, booking.RequestedSlot{
		AppointmentTypeID: a.AppointmentTypeID, SpecialistID: d.SpecialistID, Start: d.Start,
	}, owner, record.SpelledOwner(old.HoldOwner), old.SpecialistID, d.Until.Add(passing))
	if err != nil {
		return err
	}
	o := store.WaitlistOffer{
		ID: record.NewID(), EntryID: e.ID, AppointmentTypeID: e.AppointmentTypeID, SpecialistID: h.SpecialistID,
		Seat: h.Seat, HoldOwner: owner.String(), Status: store.OfferOpen, SlotStart: h.SlotStart, SlotEnd: h.SlotEnd,
		CreatedAt: now, ExpiresAt: d.Until,
	}
	err = w.writeDisplaced(ctx, &e, &o, before, d.Actor)
	if err != nil {
		w.keepOffer(context.WithoutCancel(ctx), &old, &h)
	}
	if errors.Is(err, store.ErrDuplicate) {
		err = store.ErrSlotTaken // offered to another patient
	}
	return err
}

// endsNow reports whether a new absence ends the entry of an earlier one immediately, because its patient has not been
// asked yet. Otherwise a round ends the entry: see isReplaced.
func endsNow(e *store.WaitlistEntry, now time.Time) bool {
	return e.EndedAt.IsZero() && now.Sub(e.CreatedAt) < quiet
}

// replacedOffer returns the open offer of the earlier entries that a new absence ends immediately, or the zero offer.
func (w *Waitlist) replacedOffer(ctx context.Context, before []store.WaitlistEntry,
	now time.Time) (store.WaitlistOffer, error) {
	for i := range before {
		if !endsNow(&before[i], now) {
			continue
		}
		offers, err := w.Store.WaitlistOffers(ctx, before[i].ID)
		if err != nil {
			return store.WaitlistOffer{}, err
		}
		for _, o := range offers {
			if o.Status == store.OfferOpen {
				return o, nil
			}
		}
	}
	return store.WaitlistOffer{}, nil
}

// keepOffer holds the time of an open offer again after a new proposal that replaced its hold was not written, and ends
// the hold of the new one.
func (w *Waitlist) keepOffer(ctx context.Context, old *store.WaitlistOffer, proposed *holds.Hold) {
	if old.ID != "" {
		_, err := w.Booking.HoldInstead(ctx, booking.RequestedSlot{
			AppointmentTypeID: old.AppointmentTypeID, SpecialistID: old.SpecialistID, Start: old.SlotStart,
			Length: old.SlotEnd.Sub(old.SlotStart),
		}, record.SpelledOwner(old.HoldOwner), proposed.Owner, proposed.SpecialistID, old.ExpiresAt.Add(passing))
		if err != nil {
			w.Logger.Warn("failed to restore the hold of a proposal", "offer", old.ID, "error", err)
		}
	}
	w.Booking.Release(ctx, *proposed, holds.ReasonReleased)
}

// writeDisplaced writes the entry for a displaced appointment, its offer if there is one, and its email. before
// contains the entries for earlier absences.
func (w *Waitlist) writeDisplaced(ctx context.Context, e *store.WaitlistEntry, o *store.WaitlistOffer,
	before []store.WaitlistEntry, actor record.Actor) error {
	now := e.CreatedAt
	var mail []booking.Promise
	var replaced []store.WaitlistOffer
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		mail, replaced = nil, nil
		a, err := tx.Appointment(ctx, e.AppointmentID)
		if err != nil {
			return err
		}
		if !e.Displaced.From(&a) {
			return record.ErrNotConfirmed
		}
		for i := range before {
			if !endsNow(&before[i], now) {
				continue
			}
			ended, err := w.dropEntry(ctx, tx, &before[i], store.WaitlistRemoved, actor, now)
			if err != nil {
				return err
			}
			replaced = append(replaced, ended...)
		}
		if err := tx.InsertWaitlistEntry(ctx, *e); err != nil {
			return err
		}
		var at time.Time
		var with string
		if o != nil {
			at, with = o.SlotStart, o.SpecialistID
			if err := tx.InsertWaitlistOffer(ctx, *o); err != nil {
				return err
			}
		}
		switch {
		case e.Displaced.By != store.DisplacedAsk:
		case o != nil:
			mail = w.Messages.WaitlistMail(e, o, message.MailProposal, now, now.Add(quiet), o.ExpiresAt)
		default:
			mail = w.Messages.MustMoveMail(&a, now, now.Add(quiet))
		}
		if err := auditDisplaced(ctx, tx, now, actor, e, with, at); err != nil {
			return err
		}
		return booking.WritePromises(ctx, tx, now, mail...)
	})
	if err != nil {
		return err
	}
	for _, ended := range replaced {
		w.end(ended)
	}
	w.Outbound.Enqueue(mail...)
	return nil
}

// Displaced lists the entries of an absence, or of all absences if absenceID is empty, with their offers.
func (w *Waitlist) Displaced(ctx context.Context, absenceID string) ([]Waiting, error) {
	entries, err := w.Store.DisplacedEntries(ctx, absenceID, "")
	if err != nil {
		return nil, err
	}
	offers, err := w.offersOf(ctx, entries)
	all := make([]Waiting, len(entries))
	for i, e := range entries {
		all[i] = Waiting{e, offers[e.ID]}
	}
	return all, err
}

// isAbsent reports whether the absence of an entry still exists. If it has been undone or its block has been deleted,
// the appointment takes place as booked.
func (w *Waitlist) isAbsent(e *store.WaitlistEntry) bool {
	return w.Clinic.Current().HasBlock(e.Displaced.SpecialistID, e.AbsenceID)
}

// isReplaced reports whether a later absence also displaces the appointment of an entry, and can no longer be undone.
func (w *Waitlist) isReplaced(ctx context.Context, e *store.WaitlistEntry, a *store.Appointment) (bool, error) {
	if e.AbsenceID == "" {
		return false, nil
	}
	entries, err := w.Store.DisplacedEntries(ctx, "", a.ID)
	return slices.ContainsFunc(entries, func(x store.WaitlistEntry) bool {
		return x.CreatedAt.After(e.CreatedAt) && x.Displaced.By != store.DisplacedMove && x.Displaced.From(a) &&
			time.Since(x.CreatedAt) >= quiet && w.isAbsent(&x)
	}), err
}

// ProposalFor returns the latest entry of a displaced appointment with its offers. It returns store.ErrNotFound if no
// absence displaces the appointment from its current time.
func (w *Waitlist) ProposalFor(ctx context.Context, a *store.Appointment) (Waiting, error) {
	entries, err := w.Store.DisplacedEntries(ctx, "", a.ID)
	if err != nil {
		return Waiting{}, err
	}
	for _, e := range slices.Backward(entries) {
		if e.Displaced.From(a) && w.isAbsent(&e) {
			offers, err := w.Store.WaitlistOffers(ctx, e.ID)
			return Waiting{e, offers}, err
		}
	}
	return Waiting{}, store.ErrNotFound
}

// AcceptedProposal returns the proposal that gave a displaced appointment its current time, or nil if there is none.
func (w *Waitlist) AcceptedProposal(ctx context.Context, a *store.Appointment) (*store.WaitlistOffer, error) {
	entries, err := w.Store.DisplacedEntries(ctx, "", a.ID)
	if err != nil || a.Status != store.Confirmed {
		return nil, err
	}
	for _, e := range slices.Backward(entries) {
		offers, err := w.Store.WaitlistOffers(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		for i := range offers {
			o := &offers[i]
			if o.Status == store.OfferBooked && o.SpecialistID == a.SpecialistID && o.SlotStart.Equal(a.SlotStart) {
				return o, nil
			}
		}
	}
	return nil, nil
}

// WithdrawDisplaced withdraws the proposals of an absence whose emails have not been sent yet, and those emails. The
// held times are offered to other entries or released.
//
// Errors: booking.ErrUndoLate if one of the emails has been sent.
func (w *Waitlist) WithdrawDisplaced(ctx context.Context, absenceID string, actor record.Actor) error {
	now := record.Now()
	var released []store.WaitlistOffer
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		released = nil
		entries, err := tx.DisplacedEntries(ctx, absenceID, "")
		if err != nil {
			return err
		}
		for i := range entries {
			e := &entries[i]
			switch {
			case e.Displaced.By == store.DisplacedMove:
			case now.Sub(e.CreatedAt) >= quiet:
				return booking.ErrUndoLate
			case !e.EndedAt.IsZero():
				if ok, err := w.Outbound.Withdraw(ctx, tx, e.AppointmentID, e.CreatedAt, false); err != nil {
					return err
				} else if !ok {
					return booking.ErrUndoLate
				}
			default:
				ended, err := w.dropEntry(ctx, tx, e, store.WaitlistRemoved, actor, now)
				if err != nil {
					return err
				}
				released = append(released, ended...)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range released {
		w.end(o)
	}
	return nil
}

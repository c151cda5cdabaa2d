package waitlist

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/store"
)

const (
	// sweep is the time between rounds if no signal starts one earlier.
	sweep = 15 * time.Second
	// idle is the time between rounds while the list is empty. A new entry starts a round.
	idle = time.Hour
	// passing is how long a time stays held after its offer ends, so that it can pass to the next
	// entry.
	passing = 30 * time.Second
	// quiet is the delay of an offer's email: until then, the change that freed the time can still be undone.
	quiet = booking.UndoTime + 4*time.Second
)

// system is the actor of automatic offers in the audit log.
const system record.Actor = "system"

// Run runs rounds until ctx is done: when something has changed, when an offer expires, and at regular intervals.
func (w *Waitlist) Run(ctx context.Context) {
	for {
		next, err := w.round(ctx)
		if err != nil && ctx.Err() == nil {
			w.Logger.Warn("failed to process the waiting list; retrying in 15 seconds", "error", err)
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-w.woken:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// HoldAll holds the times of the open offers again after a restart.
func (w *Waitlist) HoldAll(ctx context.Context) error {
	open, err := w.Store.OpenWaitlistOffers(ctx)
	if err != nil {
		return fmt.Errorf("the waiting list: %w", err)
	}
	return w.keep(ctx, open, record.Now())
}

// round processes the whole waiting list once. It returns the time until the next round.
func (w *Waitlist) round(ctx context.Context) (next time.Duration, err error) {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return sweep, ctx.Err()
	}
	now := record.Now()
	open, err := w.Store.OpenWaitlistOffers(ctx)
	if err != nil {
		return sweep, err
	}
	lapsed := slices.DeleteFunc(slices.Clone(open), func(o store.WaitlistOffer) bool { return now.Before(o.ExpiresAt) })
	live := slices.DeleteFunc(open, func(o store.WaitlistOffer) bool { return !now.Before(o.ExpiresAt) })
	for i := range lapsed {
		if err := w.lapse(ctx, &lapsed[i], now); err != nil {
			return sweep, err
		}
	}
	if err := w.keep(ctx, live, now); err != nil {
		return sweep, err
	}
	if err := w.endSettledSooner(ctx, now); err != nil {
		return sweep, err
	}
	ended := w.takeEnded()
	r, err := w.queue(ctx, now)
	if err != nil {
		for i := range ended {
			w.releaseHold(ctx, &ended[i])
		}
		return sweep, err
	}
	for i := range ended {
		if err := r.handOn(ctx, &ended[i]); err != nil {
			for _, o := range ended[i+1:] {
				w.end(o)
			}
			return sweep, err
		}
	}
	if err := r.offerAll(ctx); err != nil {
		return sweep, err
	}
	next = sweep
	if len(live) == 0 && len(r.entries) == 0 {
		next = idle
	}
	if len(live) > 0 {
		next = max(min(next, live[0].ExpiresAt.Sub(now)), time.Millisecond)
	}
	return next, nil
}

// endSettledSooner ends, once a minute, the settled entries of patients who wait for an earlier time. Otherwise these
// entries would stay on the list until a suitable time becomes free.
func (w *Waitlist) endSettledSooner(ctx context.Context, now time.Time) error {
	if now.Sub(w.checkedAt) < time.Minute {
		return nil
	}
	entries, err := w.Store.WaitlistEntries(ctx)
	if err != nil {
		return err
	}
	for i := range entries {
		if e := &entries[i]; e.AppointmentID != "" && e.AbsenceID == "" {
			if _, err := w.endSettled(ctx, e, now); err != nil {
				return err
			}
		}
	}
	w.checkedAt = now
	return nil
}

// lapse ends an expired offer. If it is the last of maxUnanswered consecutive ones, or proposes a new time for a
// displaced appointment, lapse also ends its entry.
func (w *Waitlist) lapse(ctx context.Context, o *store.WaitlistOffer, now time.Time) error {
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		if err := tx.EndWaitlistOffer(ctx, o.ID, store.OfferLapsed, now); err != nil {
			return err
		}
		if err := auditOffer(ctx, tx, now, system, record.ActionWaitlistOfferLapsed, o); err != nil {
			return err
		}
		e, err := tx.WaitlistEntry(ctx, o.EntryID)
		if err != nil {
			return err
		}
		offers, err := tx.WaitlistOffers(ctx, o.EntryID)
		if err != nil || e.AbsenceID == "" && unanswered(offers) < maxUnanswered || !e.EndedAt.IsZero() {
			return err
		}
		_, err = w.dropEntry(ctx, tx, &e, store.WaitlistLapsed, system, now)
		return err
	})
	switch {
	case err == nil:
		w.end(*o)
	case errors.Is(err, store.ErrNotFound): // it has already ended
		return nil
	}
	return err
}

// keep makes sure that the times of open offers are held. If a time can no longer be held, keep withdraws its offer and
// notifies the person. If an entry is settled, keep ends the entry together with its offer. It checks for settled
// entries after each change of an appointment or of the list, and once a minute.
func (w *Waitlist) keep(ctx context.Context, open []store.WaitlistOffer, now time.Time) error {
	settle := w.stale.Swap(false) || now.Sub(w.checkedAt) >= time.Minute
	for i := range open {
		o := &open[i]
		if !now.Before(o.ExpiresAt) {
			continue
		}
		if settle {
			e, err := w.Store.WaitlistEntry(ctx, o.EntryID)
			over := false
			switch {
			case err == nil:
				over, err = w.endSettled(ctx, &e, now)
			case errors.Is(err, store.ErrNotFound): // erased just now
				err = nil
			}
			if err != nil {
				w.stale.Store(true)
				return err
			}
			if over {
				continue
			}
		}
		if _, err := w.holdOf(ctx, o, o.ExpiresAt); lost(err) {
			if err := w.withdraw(ctx, o, true); err != nil && !errors.As(err, new(*EndedError)) {
				return err
			}
		} else if err != nil {
			w.Logger.Warn("failed to look up the hold of an offer", "offer", o.ID, "error", err)
		}
	}
	return nil
}

// endSettled ends an entry if it is settled, and reports whether it did so.
func (w *Waitlist) endSettled(ctx context.Context, e *store.WaitlistEntry, now time.Time) (bool, error) {
	done, _, err := w.settled(ctx, e, now)
	if err != nil || done == "" {
		return false, err
	}
	return true, w.over(ctx, e, done, now)
}

// holdOf returns the hold of an offer. If there is none, holdOf takes a new one. If the slots of the type have changed,
// the offered time may no longer be bookable; lost returns true for the resulting error.
func (w *Waitlist) holdOf(ctx context.Context, o *store.WaitlistOffer, until time.Time) (holds.Hold, error) {
	return w.Booking.HoldForRequest(ctx,
		booking.RequestedSlot{AppointmentTypeID: o.AppointmentTypeID, SpecialistID: o.SpecialistID, Start: o.SlotStart},
		record.SpelledOwner(o.HoldOwner), until.Add(passing))
}

// lost reports whether an error means that a time is taken or is no longer bookable.
func lost(err error) bool {
	return errors.Is(err, store.ErrSlotTaken) || errors.As(err, new(*holds.HeldError)) ||
		errors.As(err, new(*availability.NotBookableError)) || errors.Is(err, record.ErrNoAppointmentType) ||
		errors.As(err, new(*record.ValidationError))
}

// withdraw ends an offer whose time cannot be held. If tell is true, and the email about the offer may have been sent,
// withdraw notifies the person. It returns *EndedError if the offer has already ended.
func (w *Waitlist) withdraw(ctx context.Context, o *store.WaitlistOffer, tell bool) error {
	now := record.Now()
	var mail []booking.Promise
	err := w.Store.Write(ctx, func(tx store.Tx) error {
		if err := endOffer(ctx, tx, o, store.OfferWithdrawn, now); err != nil {
			return err
		}
		e, err := tx.WaitlistEntry(ctx, o.EntryID)
		if err != nil {
			return err
		}
		mail = nil
		tell := tell && now.Sub(o.CreatedAt) >= quiet // earlier than that, the email about the offer has not been sent
		if e.AbsenceID != "" {
			if _, err := w.dropEntry(ctx, tx, &e, store.WaitlistLapsed, system, now); err != nil {
				return err
			}
			if a, err := tx.Appointment(ctx, e.AppointmentID); err != nil {
				return err
			} else if tell && e.Displaced.By == store.DisplacedAsk && e.Displaced.From(&a) {
				mail = w.Messages.MustMoveMail(&a, now, now)
			}
		} else if tell {
			mail = w.Messages.WaitlistMail(&e, o, message.MailOfferGone, now, now, now.Add(confirmWithin))
		}
		if err := auditOffer(ctx, tx, now, system, record.ActionWaitlistOfferWithdrawn, o); err != nil {
			return err
		}
		return booking.WritePromises(ctx, tx, now, mail...)
	})
	if err != nil {
		return err
	}
	w.Outbound.Enqueue(mail...)
	w.releaseHold(ctx, o)
	return nil
}

// endOffer is like EndWaitlistOffer, but returns an *EndedError with the final status if the offer has already ended.
func endOffer(ctx context.Context, tx store.Tx, o *store.WaitlistOffer, to store.OfferStatus, now time.Time) error {
	err := tx.EndWaitlistOffer(ctx, o.ID, to, now)
	if errors.Is(err, store.ErrNotFound) {
		is, err := tx.WaitlistOffer(ctx, o.ID)
		if err != nil {
			return err
		}
		return &EndedError{string(is.Status)}
	}
	return err
}

// releaseHold releases the hold of an offer.
func (w *Waitlist) releaseHold(ctx context.Context, o *store.WaitlistOffer) {
	if err := w.Booking.ReleaseRequestHold(ctx, o.SpecialistID, record.SpelledOwner(o.HoldOwner)); err != nil {
		w.Logger.Warn("failed to release the hold of an offer; it expires on its own", "offer", o.ID, "error", err)
	}
}

// ReleaseErased hands on the times of those offers in open that no longer exist because their person was erased.
func (w *Waitlist) ReleaseErased(ctx context.Context, open []store.WaitlistOffer) {
	for i := range open {
		if _, err := w.Store.WaitlistOffer(ctx, open[i].ID); errors.Is(err, store.ErrNotFound) {
			w.end(open[i])
		}
	}
}

// BeforeUndo withdraws the offers that hold one of the given times and have not been emailed yet, so that the change
// that freed the times can be undone. This includes offers with other specialists that hold the same room. Until the
// caller calls done, this node makes no offers. Otherwise it could offer the times again before the undo claims them.
func (w *Waitlist) BeforeUndo(ctx context.Context, times ...holds.Span) (done func()) {
	select {
	case w.turn <- struct{}{}:
		done = func() { <-w.turn }
	case <-ctx.Done():
		return func() {}
	}
	open, err := w.Store.OpenWaitlistOffers(ctx)
	if err != nil {
		w.Logger.Warn("failed to read the offers for a time", "error", err)
	}
	for i := range open {
		o := &open[i]
		if time.Since(o.CreatedAt) >= quiet || !w.inTheWay(ctx, o, times) {
			continue
		}
		if err := w.withdraw(ctx, o, false); err != nil {
			w.Logger.Warn("failed to withdraw an offer during an undo", "offer", o.ID, "error", err)
		}
	}
	return done
}

// inTheWay reports whether an offer holds any of these times. The room of an offer is recorded only in its hold.
func (w *Waitlist) inTheWay(ctx context.Context, o *store.WaitlistOffer, times []holds.Span) bool {
	near := slices.DeleteFunc(slices.Clone(times), func(x holds.Span) bool {
		return !o.SlotStart.Before(x.BusyEnd) || !x.BusyStart.Before(o.SlotEnd)
	})
	if len(near) == 0 {
		return false
	}
	uses := []string{o.SpecialistID}
	if t := w.Clinic.Current().Types[o.AppointmentTypeID]; t != nil && len(t.Needs) > 0 {
		kept, err := w.Booking.Holds(ctx)
		if err != nil {
			w.Logger.Warn("failed to read the room of an offer", "offer", o.ID, "error", err)
		}
		for i := range kept {
			if h := &kept[i]; h.Owner.String() == o.HoldOwner && h.SlotStart.Equal(o.SlotStart) {
				uses = append(uses, h.Resources.List()...)
			}
		}
	}
	return slices.ContainsFunc(near, func(x holds.Span) bool { return slices.Contains(uses, x.SpecialistID) })
}

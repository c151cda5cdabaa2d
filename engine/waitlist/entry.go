package waitlist

import (
	"context"
	"errors"
	"slices"
	"time"

	"holdfast/engine/availability"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/message"
	"holdfast/engine/record"
	"holdfast/engine/request"
	"holdfast/holds"
	"holdfast/store"
)

// maxWait is the maximum number of days from today to the last day of an entry.
const maxWait = 366

// JoinRequest describes a new entry.
type JoinRequest struct {
	AppointmentTypeID string
	Wish              store.WaitlistWish
	Patient           store.Patient
	Said              clinic.Said
	Locale            string
	Actor             record.Actor
	Once              *record.Once

	// From is the origin of a visitor, and Client is the visitor's client. If From is nil, the desk is adding the entry
	// for a person.
	From   *request.Visitor
	Client holds.ClientID
	// Sooner is the appointment for which the patient wants an earlier time. The patient opened it with its link, or
	// the desk opened it. The entry gets the patient and the type of this appointment.
	Sooner *store.Appointment
}

// Join puts a person on the waiting list. A visitor must confirm the entry with the link in its email, unless it is for
// an earlier time of an appointment that the visitor opened with its link. r.Once saves a store.WaitlistEntry.
//
// Errors: *ValidationError, record.ErrNoAppointmentType, record.ErrNotConfirmed, record.ErrVisit, ErrOff, ErrFull,
// *availability.NotBookableError, *request.LimitError.
func (w *Waitlist) Join(ctx context.Context, r JoinRequest) (store.WaitlistEntry, error) {
	if r.Sooner != nil && r.Sooner.VisitID != "" { // an offer is for one person only
		return store.WaitlistEntry{}, record.ErrVisit
	}
	e, err := w.entryOf(&r)
	if err != nil {
		return e, err
	}
	now := e.CreatedAt
	notice := message.MailWaiting
	if e.Status == store.WaitlistUnconfirmed {
		notice = message.MailWaitlist
	}
	mail := w.Messages.WaitlistMail(&e, nil, notice, now, now, now.Add(confirmWithin))
	var replaced []store.WaitlistOffer
	err = w.Store.Write(ctx, func(tx store.Tx) error {
		if r.From != nil && !r.From.Unlimited {
			if err := w.Requests.Count(ctx, tx, "waitlist", &e.Patient, r.From, now); err != nil {
				return err
			}
		}
		live, err := tx.WaitlistEntries(ctx)
		if err != nil {
			return err
		}
		var others []store.WaitlistEntry
		if others, replaced, err = w.replace(ctx, tx, live, &e, r.Actor); err != nil {
			return err
		}
		if !hasRoom(others, &e, r.From != nil) {
			return ErrFull
		}
		if err := tx.InsertWaitlistEntry(ctx, e); err != nil {
			return err
		}
		if err := auditEntry(ctx, tx, now, r.Actor, record.ActionWaitlistJoined, &e, e.Status); err != nil {
			return err
		}
		if err := booking.WritePromises(ctx, tx, now, mail...); err != nil {
			return err
		}
		return r.Once.Remember(ctx, tx, e, now)
	})
	if err != nil {
		return store.WaitlistEntry{}, err
	}
	for _, o := range replaced {
		w.end(o)
	}
	w.Outbound.Enqueue(mail...)
	return e, nil
}

// replace ends the live entries for the same appointment as a new entry, which replaces them. It returns the other
// entries, and the offers that ended.
func (w *Waitlist) replace(ctx context.Context, tx store.Tx, live []store.WaitlistEntry, e *store.WaitlistEntry,
	actor record.Actor) (others []store.WaitlistEntry, ended []store.WaitlistOffer, err error) {
	for i := range live {
		x := &live[i]
		if e.AppointmentID == "" || x.AppointmentID != e.AppointmentID {
			others = append(others, *x)
			continue
		}
		offers, err := w.dropEntry(ctx, tx, x, store.WaitlistRemoved, actor, e.CreatedAt)
		if err != nil {
			return nil, nil, err
		}
		ended = append(ended, offers...)
	}
	return others, ended, nil
}

// hasRoom reports whether the list takes a new entry next to the others. Unconfirmed entries from the public do not
// count toward the limit of confirmed entries.
func hasRoom(others []store.WaitlistEntry, e *store.WaitlistEntry, public bool) bool {
	unconfirmed, same := 0, 0
	for i := range others {
		switch x := &others[i]; {
		case x.Status == store.WaitlistUnconfirmed:
			unconfirmed++
		case x.Status == store.WaitlistWaiting && samePerson(x, e):
			same++
		}
	}
	return len(others)-unconfirmed < maxLive && (!public || unconfirmed < maxUnconfirmed && same < maxPerContact)
}

// entryOf completes and checks a new entry.
func (w *Waitlist) entryOf(r *JoinRequest) (store.WaitlistEntry, error) {
	s, now := w.Clinic.Current(), record.Now()
	public := r.From != nil
	e := store.WaitlistEntry{
		ID: record.NewID(), AppointmentTypeID: r.AppointmentTypeID, Wish: r.Wish, Status: store.WaitlistWaiting,
		Patient: r.Patient, Locale: r.Locale, CreatedAt: now,
	}
	if a := r.Sooner; a != nil {
		switch {
		case a.Status != store.Confirmed:
			return e, record.ErrNotConfirmed
		case !a.SlotStart.After(now):
			return e, &availability.NotBookableError{Reason: availability.ReasonTooSoon}
		}
		e.AppointmentTypeID, e.AppointmentID, e.Patient, e.Intake, e.Owner, e.Locale = a.AppointmentTypeID, a.ID,
			a.Patient, a.Intake, a.Owner, a.Locale
		if last := store.DateOf(a.SlotStart.In(s.Zone)); e.Wish.To == (store.Date{}) || last.Before(e.Wish.To) {
			e.Wish.To = last
		}
	}
	if public && !w.Open() {
		return e, ErrOff
	}
	t, ok := s.Types[e.AppointmentTypeID]
	if !ok || public && r.Sooner == nil && t.Page.DeskOnly {
		return e, record.ErrNoAppointmentType
	}
	if !t.Active { // no time of this type can be held, so no offer would ever come
		return e, &availability.NotBookableError{Reason: availability.ReasonInactive}
	}
	var m record.Mistakes
	if r.Sooner == nil {
		var required []string
		if public {
			record.CheckClient(&m, r.Client)
			record.CheckPublicName(&m, "patient.name", r.Patient.Name)
			required = append(required, w.Clinic.Settings().RequiredFields...)
			required, e.Owner, e.Status = append(required, "email"), r.Client.Owner().String(),
				store.WaitlistUnconfirmed
		}
		record.CheckLocale(&m, e.Locale)
		record.NormalizePatient(&m, &e.Patient, required, now.In(s.Zone))
		if !public && e.Patient.Email == "" && e.Patient.Phone == "" {
			m.Add("patient.phone", "give a phone number or an email address")
		}
		e.Intake = clinic.CheckIntake(&m, &s.Settings, t, &r.Said, public, now)
	}
	checkWish(&m, &e.Wish, t, store.DateOf(now.In(s.Zone)), now)
	if at := e.Wish.SlotStart; !at.IsZero() {
		e.Wish.From, e.Wish.To = store.DateOf(at.In(s.Zone)), store.DateOf(at.In(s.Zone))
	}
	return e, m.Err()
}

// checkWish checks the wish of a new entry. A first day in the past becomes today.
func checkWish(m *record.Mistakes, wish *store.WaitlistWish, t *store.AppointmentType, today store.Date,
	now time.Time) {
	for _, id := range wish.SpecialistIDs {
		if !t.IsServedBy(id) {
			m.Add("specialistIds", "no specialist with the id %q serves this appointment type", id)
		}
	}
	if wish.Latest != 0 && wish.Latest <= wish.Earliest {
		m.Add("latest", "must be later than earliest")
	}
	if !wish.SlotStart.IsZero() {
		record.CheckStart(m, wish.SlotStart)
		if !wish.SlotStart.After(now) {
			m.Add("slotStartDate", "is past")
		}
		if today.DaysUntil(store.DateOf(wish.SlotStart)) > maxWait {
			m.Add("slotStartDate", "at most %d days ahead", maxWait)
		}
		return
	}
	if wish.From.Before(today) {
		wish.From = today
	}
	switch {
	case wish.To == (store.Date{}):
		m.Add("to", "enter the last suitable day")
	case wish.To.Before(wish.From):
		m.Add("to", "must not be before from or in the past")
	case today.DaysUntil(wish.To) > maxWait:
		m.Add("to", "at most %d days ahead", maxWait)
	}
}

// List returns the live entries in their order, and the entries that ended most recently, newest first. ended is the
// maximum number of ended entries. Each entry includes its offers.
func (w *Waitlist) List(ctx context.Context, ended int) (live, over []Waiting, err error) {
	entries, err := w.Store.WaitlistEntries(ctx)
	if err != nil {
		return nil, nil, err
	}
	past, err := w.Store.EndedWaitlistEntries(ctx, ended)
	if err != nil {
		return nil, nil, err
	}
	offers, err := w.offersOf(ctx, slices.Concat(entries, past))
	if err != nil {
		return nil, nil, err
	}
	with := func(list []store.WaitlistEntry) []Waiting {
		all := make([]Waiting, len(list))
		for i, e := range list {
			all[i] = Waiting{e, offers[e.ID]}
		}
		return all
	}
	return with(entries), with(past), nil
}

// offersOf reads the offers of entries. The result maps the id of an entry to its offers.
func (w *Waitlist) offersOf(ctx context.Context,
	entries []store.WaitlistEntry) (map[string][]store.WaitlistOffer, error) {
	ids := make([]string, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	list, err := w.Store.WaitlistOffers(ctx, ids...)
	of := make(map[string][]store.WaitlistOffer)
	for _, o := range list {
		of[o.EntryID] = append(of[o.EntryID], o)
	}
	return of, err
}

// WaitingBy returns the entry that the link in an email opens. If the link belongs to an offer, WaitingBy returns the
// offer too. Errors: record.ErrUnauthorized, store.ErrNotFound.
func (w *Waitlist) WaitingBy(ctx context.Context, token string) (Waiting, *store.WaitlistOffer, error) {
	id, err := w.Booking.TokenID(token)
	if err != nil {
		return Waiting{}, nil, err
	}
	o, err := w.Store.WaitlistOffer(ctx, id)
	about := &o
	switch {
	case errors.Is(err, store.ErrNotFound):
		about = nil
	case err != nil:
		return Waiting{}, nil, err
	default:
		id = o.EntryID
	}
	x, err := w.WaitingOf(ctx, id)
	return x, about, err
}

// WaitingOf returns an entry with its offers. Errors: store.ErrNotFound.
func (w *Waitlist) WaitingOf(ctx context.Context, id string) (Waiting, error) {
	if !record.ValidID(id) {
		return Waiting{}, store.ErrNotFound
	}
	e, err := w.Store.WaitlistEntry(ctx, id)
	if err != nil {
		return Waiting{}, err
	}
	offers, err := w.Store.WaitlistOffers(ctx, id)
	return Waiting{e, offers}, err
}

// Confirm confirms an entry that a visitor created. If the entry is already confirmed, Confirm changes nothing.
// Errors: store.ErrNotFound, *EndedError.
func (w *Waitlist) Confirm(ctx context.Context, id string, actor record.Actor,
	once *record.Once) (store.WaitlistEntry, error) {
	var e store.WaitlistEntry
	now := record.Now()
	err := w.Store.Write(ctx, func(tx store.Tx) (err error) {
		if e, err = tx.WaitlistEntry(ctx, id); err != nil {
			return err
		}
		switch e.Status {
		case store.WaitlistWaiting:
			return once.Remember(ctx, tx, e, now)
		case store.WaitlistUnconfirmed:
		default:
			return &EndedError{string(e.Status)}
		}
		e.Status = store.WaitlistWaiting
		if err := tx.MoveWaitlistEntry(ctx, id, store.WaitlistUnconfirmed, store.WaitlistWaiting, now); err != nil {
			return err
		}
		if err := auditEntry(ctx, tx, now, actor, record.ActionWaitlistConfirmed, &e, e.Status); err != nil {
			return err
		}
		return once.Remember(ctx, tx, e, now)
	})
	return e, err
}

// Leave removes an entry from the list and withdraws its open offer. It does not change an entry that has ended.
// Errors: store.ErrNotFound.
func (w *Waitlist) Leave(ctx context.Context, id string, actor record.Actor,
	once *record.Once) (store.WaitlistEntry, error) {
	var e store.WaitlistEntry
	var ended []store.WaitlistOffer
	now := record.Now()
	err := w.Store.Write(ctx, func(tx store.Tx) (err error) {
		if e, err = tx.WaitlistEntry(ctx, id); err != nil {
			return err
		}
		ended = nil
		if e.EndedAt.IsZero() {
			if ended, err = w.dropEntry(ctx, tx, &e, store.WaitlistRemoved, actor, now); err != nil {
				return err
			}
			e.Status, e.EndedAt = store.WaitlistRemoved, now
		}
		return once.Remember(ctx, tx, e, now)
	})
	if err != nil {
		return e, err
	}
	for _, o := range ended {
		w.end(o)
	}
	return e, nil
}

// dropEntry ends an entry and withdraws its open offer in a transaction. It returns the withdrawn offer. After the
// commit, the caller must pass that offer to end.
func (w *Waitlist) dropEntry(ctx context.Context, tx store.Tx, e *store.WaitlistEntry, to store.WaitlistStatus,
	actor record.Actor, now time.Time) (ended []store.WaitlistOffer, err error) {
	if err := tx.MoveWaitlistEntry(ctx, e.ID, e.Status, to, now); err != nil {
		return nil, err
	}
	if e.AbsenceID == "" || to != store.WaitlistBooked { // there, the accepted offer has its own audit entry
		if err := auditEntry(ctx, tx, now, actor, record.Action("waitlist."+string(to)), e, to); err != nil {
			return nil, err
		}
	}
	offers, err := tx.WaitlistOffers(ctx, e.ID)
	for i := range offers {
		if o := &offers[i]; o.Status == store.OfferOpen {
			if err := tx.EndWaitlistOffer(ctx, o.ID, store.OfferWithdrawn, now); err != nil {
				return nil, err
			}
			ended = append(ended, *o)
		}
	}
	return ended, err
}

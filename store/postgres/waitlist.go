package postgres

import (
	"context"
	"strings"
	"time"

	"holdfast/store"
)

const waitlistColumns = `id, appointment_type_id, client_id, appointment_id, wish, status, patient_name, patient_email, patient_phone, patient_birth_date, notes,
	intake, locale, created_at, ended_at`

func scanWaitlistEntry(r *row) store.WaitlistEntry {
	return store.WaitlistEntry{
		ID: r.text(), AppointmentTypeID: r.text(), Owner: r.text(), AppointmentID: r.text(), Wish: store.Unpacked[store.WaitlistWish](r.text()),
		Status:  store.WaitlistStatus(r.text()),
		Patient: store.Patient{Name: r.text(), Email: r.text(), Phone: r.text(), BirthDate: r.text(), Notes: r.text()},
		Intake:  store.Unpacked[store.Intake](r.text()), Locale: r.text(), CreatedAt: r.time(), EndedAt: r.time(),
	}
}

func (r reads) WaitlistEntry(ctx context.Context, id string) (store.WaitlistEntry, error) {
	return one(ctx, r, scanWaitlistEntry, `SELECT `+waitlistColumns+` FROM waitlist_entries WHERE id = $1`, id)
}

func (r reads) WaitlistEntries(ctx context.Context) ([]store.WaitlistEntry, error) {
	return list(ctx, r, scanWaitlistEntry, `SELECT `+waitlistColumns+` FROM waitlist_entries WHERE ended_at IS NULL ORDER BY created_at, id`)
}

func (r reads) EndedWaitlistEntries(ctx context.Context, limit int) ([]store.WaitlistEntry, error) {
	return list(ctx, r, scanWaitlistEntry,
		`SELECT `+waitlistColumns+` FROM waitlist_entries WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, id DESC LIMIT $1`, limit)
}

func (t *tx) InsertWaitlistEntry(_ context.Context, e store.WaitlistEntry) error {
	t.changed(store.Change{Noun: store.NounWaitlist, ID: e.ID})
	return t.run(`INSERT INTO waitlist_entries (`+waitlistColumns+`, patient_search) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
		e.ID, e.AppointmentTypeID, e.Owner, e.AppointmentID, store.Packed(e.Wish), string(e.Status),
		e.Patient.Name, e.Patient.Email, e.Patient.Phone, e.Patient.BirthDate, e.Patient.Notes,
		e.Intake.Packed(), e.Locale, e.CreatedAt, orNull(e.EndedAt), store.SearchText(e.Patient))
}

func (t *tx) MoveWaitlistEntry(_ context.Context, id string, from, to store.WaitlistStatus, at time.Time) error {
	if to == store.WaitlistWaiting {
		at = time.Time{}
	}
	t.changed(store.Change{Noun: store.NounWaitlist, ID: id})
	return t.mustChange(`UPDATE waitlist_entries SET status = $1, ended_at = $2 WHERE id = $3 AND status = $4`, string(to), orNull(at), id, string(from))
}

const offerColumns = `id, entry_id, appointment_type_id, specialist_id, seat, hold_owner, status, slot_start, slot_end, created_at, expires_at, ended_at`

func scanWaitlistOffer(r *row) store.WaitlistOffer {
	return store.WaitlistOffer{
		ID: r.text(), EntryID: r.text(), AppointmentTypeID: r.text(), SpecialistID: r.text(), Seat: r.int(), HoldOwner: r.text(),
		Status: store.OfferStatus(r.text()), SlotStart: r.time(), SlotEnd: r.time(), CreatedAt: r.time(), ExpiresAt: r.time(), EndedAt: r.time(),
	}
}

func (r reads) WaitlistOffer(ctx context.Context, id string) (store.WaitlistOffer, error) {
	return one(ctx, r, scanWaitlistOffer, `SELECT `+offerColumns+` FROM waitlist_offers WHERE id = $1`, id)
}

func (r reads) OpenWaitlistOffers(ctx context.Context) ([]store.WaitlistOffer, error) {
	return list(ctx, r, scanWaitlistOffer, `SELECT `+offerColumns+` FROM waitlist_offers WHERE status = 'open' ORDER BY expires_at, id`)
}

func (r reads) WaitlistOffers(ctx context.Context, entryIDs ...string) ([]store.WaitlistOffer, error) {
	return list(ctx, r, scanWaitlistOffer, `SELECT `+offerColumns+` FROM waitlist_offers WHERE entry_id = ANY(string_to_array($1, ',')) ORDER BY created_at, id`, strings.Join(entryIDs, ","))
}

func (t *tx) InsertWaitlistOffer(_ context.Context, o store.WaitlistOffer) error {
	t.changed(store.Change{Noun: store.NounWaitlist, ID: o.EntryID})
	return t.run(`INSERT INTO waitlist_offers (`+offerColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		o.ID, o.EntryID, o.AppointmentTypeID, o.SpecialistID, o.Seat, o.HoldOwner, string(o.Status), o.SlotStart, o.SlotEnd, o.CreatedAt, o.ExpiresAt, orNull(o.EndedAt))
}

func (t *tx) EndWaitlistOffer(_ context.Context, id string, to store.OfferStatus, at time.Time) error {
	t.changed(store.Change{Noun: store.NounWaitlist})
	return t.mustChange(`UPDATE waitlist_offers SET status = $1, ended_at = $2 WHERE id = $3 AND status = 'open'`, string(to), at, id)
}

func (t *tx) ForgetWaitlist(ctx context.Context, before time.Time, limit int) (int, error) {
	ids, err := list(ctx, t.reads, (*row).text,
		`SELECT id FROM waitlist_entries WHERE ended_at < $1 ORDER BY ended_at, id LIMIT $2`, before, limit)
	if err != nil {
		return 0, err
	}
	return len(ids), t.dropWaitlistEntries(ids)
}

func (t *tx) dropWaitlistEntries(ids []string) error {
	for _, id := range ids {
		if err := t.run(`DELETE FROM waitlist_offers WHERE entry_id = $1`, id); err != nil {
			return err
		}
		if err := t.run(`DELETE FROM waitlist_entries WHERE id = $1`, id); err != nil {
			return err
		}
		t.changed(store.Change{Noun: store.NounWaitlist, ID: id})
	}
	return nil
}

// eraseWaitlist removes a person from the waiting list, with what was offered. Entries are few, so they are looked through as a
// whole. It answers how many went, and the ids that mails speak of: of the entries and their offers.
func (t *tx) eraseWaitlist(ctx context.Context, p store.Person, known []store.Identity) (n int, ids []string, err error) {
	var entries []string
	switch {
	case len(p.Of) > 0:
		type waiting struct {
			id string
			of store.Identity
		}
		var all []waiting
		all, err = list(ctx, t.reads, func(r *row) waiting { return waiting{r.text(), scanIdentity(r)} }, `SELECT id, `+identityColumns+` FROM waitlist_entries`)
		for _, x := range all {
			if x.of.IsOneOf(p, known) {
				entries = append(entries, x.id)
			}
		}
	case p.Owner != "":
		entries, err = list(ctx, t.reads, (*row).text, `SELECT id FROM waitlist_entries WHERE client_id = $1 AND client_id <> ''`, p.Owner)
	case p.Email != "":
		entries, err = list(ctx, t.reads, (*row).text, `SELECT id FROM waitlist_entries WHERE strpos(patient_search, $1) > 0`, "\n"+store.Fold(p.Email)+"\n")
	case store.Digits(p.Phone) != "":
		line := "\n" + store.Digits(p.Phone)
		entries, err = list(ctx, t.reads, (*row).text, `SELECT id FROM waitlist_entries WHERE right(patient_search, $1::int) = $2`, len(line), line)
	}
	if err != nil {
		return 0, nil, err
	}
	offers, err := t.WaitlistOffers(ctx, entries...)
	if err != nil {
		return 0, nil, err
	}
	ids = append(ids, entries...)
	for i := range offers {
		ids = append(ids, offers[i].ID)
	}
	return len(entries), ids, t.dropWaitlistEntries(entries)
}

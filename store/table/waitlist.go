package table

import (
	"context"
	"slices"
	"time"

	"holdfast/store"
)

var waitlistEntries = nounOf[store.WaitlistEntry]("waitlist_entries", "id",
	derived("patient_search", func(e *store.WaitlistEntry) any { return store.SearchText(e.Patient) }),
)

var waitlistOffers = nounOf[store.WaitlistOffer]("waitlist_offers", "id")

// WaitlistEntry implements store.WaitlistReader.
func (r Reads) WaitlistEntry(ctx context.Context, id string) (store.WaitlistEntry, error) {
	return waitlistEntries.one(ctx, r.source, `WHERE id = ?`, id)
}

// WaitlistEntries implements store.WaitlistReader.
func (r Reads) WaitlistEntries(ctx context.Context) ([]store.WaitlistEntry, error) {
	return waitlistEntries.list(ctx, r.source, `WHERE ended_at IS NULL AND absence_id = '' ORDER BY created_at, id`)
}

// EndedWaitlistEntries implements store.WaitlistReader.
func (r Reads) EndedWaitlistEntries(ctx context.Context, limit int) ([]store.WaitlistEntry, error) {
	const latest = `WHERE ended_at IS NOT NULL AND absence_id = '' ORDER BY ended_at DESC, id DESC LIMIT +?`
	return waitlistEntries.list(ctx, r.source, latest, limit)
}

// DisplacedEntries implements store.WaitlistReader.
func (r Reads) DisplacedEntries(ctx context.Context, absenceID, appointmentID string) ([]store.WaitlistEntry, error) {
	const matching = `WHERE absence_id <> '' AND (? = '' OR absence_id = ?) AND (? = '' OR appointment_id = ?) ORDER BY created_at, id`
	return waitlistEntries.list(ctx, r.source, matching, absenceID, absenceID, appointmentID, appointmentID)
}

// InsertWaitlistEntry implements store.WaitlistWriter.
func (t *Tx) InsertWaitlistEntry(_ context.Context, e store.WaitlistEntry) error {
	t.to.Changed(store.Change{Noun: store.NounWaitlist, ID: e.ID})
	return t.run(waitlistEntries.insert, waitlistEntries.values(&e)...)
}

// MoveWaitlistEntry implements store.WaitlistWriter.
func (t *Tx) MoveWaitlistEntry(_ context.Context, id string, from, to store.WaitlistStatus, at time.Time) error {
	if to == store.WaitlistWaiting {
		at = time.Time{}
	}
	t.to.Changed(store.Change{Noun: store.NounWaitlist, ID: id})
	return t.mustChange(`UPDATE waitlist_entries SET status = ?, ended_at = ? WHERE id = ? AND status = ?`,
		string(to), orNull(at), id, string(from))
}

// WaitlistOffer implements store.WaitlistReader.
func (r Reads) WaitlistOffer(ctx context.Context, id string) (store.WaitlistOffer, error) {
	return waitlistOffers.one(ctx, r.source, `WHERE id = ?`, id)
}

// OpenWaitlistOffers implements store.WaitlistReader.
func (r Reads) OpenWaitlistOffers(ctx context.Context) ([]store.WaitlistOffer, error) {
	return waitlistOffers.list(ctx, r.source, `WHERE status = 'open' ORDER BY expires_at, id`)
}

// WaitlistOffers implements store.WaitlistReader.
func (r Reads) WaitlistOffers(ctx context.Context, entryIDs ...string) ([]store.WaitlistOffer, error) {
	if len(entryIDs) == 0 {
		return nil, nil
	}
	list, err := jsonOf(entryIDs)
	if err != nil {
		return nil, err
	}
	return waitlistOffers.list(ctx, r.source, `WHERE entry_id IN ({each}(?)) ORDER BY created_at, id`, list)
}

// InsertWaitlistOffer implements store.WaitlistWriter.
func (t *Tx) InsertWaitlistOffer(_ context.Context, o store.WaitlistOffer) error {
	t.to.Changed(store.Change{Noun: store.NounWaitlist, ID: o.EntryID})
	return t.run(waitlistOffers.insert, waitlistOffers.values(&o)...)
}

// EndWaitlistOffer implements store.WaitlistWriter.
func (t *Tx) EndWaitlistOffer(_ context.Context, id string, to store.OfferStatus, at time.Time) error {
	t.to.Changed(store.Change{Noun: store.NounWaitlist})
	return t.mustChange(`UPDATE waitlist_offers SET status = ?, ended_at = ? WHERE id = ? AND status = 'open'`,
		string(to), at, id)
}

// ForgetWaitlist implements store.WaitlistWriter.
func (t *Tx) ForgetWaitlist(ctx context.Context, before time.Time, limit int) (int, error) {
	ids, err := list(ctx, t.source, Row.Text,
		`SELECT id FROM waitlist_entries WHERE ended_at < ? ORDER BY ended_at, id LIMIT +?`, before, limit)
	if err != nil {
		return 0, err
	}
	return len(ids), t.deleteWaitlistEntries(ids)
}

func (t *Tx) deleteWaitlistEntries(ids []string) error {
	for _, id := range ids {
		if err := t.run(`DELETE FROM waitlist_offers WHERE entry_id = ?`, id); err != nil {
			return err
		}
		if err := t.run(`DELETE FROM waitlist_entries WHERE id = ?`, id); err != nil {
			return err
		}
		t.to.Changed(store.Change{Noun: store.NounWaitlist, ID: id})
	}
	return nil
}

// eraseWaitlist removes a person's entries and their offers. It returns the number of entries, and the ids of the
// entries and offers, because emails refer to those ids.
func (t *Tx) eraseWaitlist(
	ctx context.Context, p store.Person, known []store.Identity,
) (n int, ids []string, err error) {
	entries, offers, err := waitedBy(ctx, t.source, p, known)
	if err != nil {
		return 0, nil, err
	}
	return len(entries), slices.Concat(entries, offers), t.deleteWaitlistEntries(entries)
}

// waitedBy returns the ids of a person's entries and of the offers to them.
func waitedBy(
	ctx context.Context, s Source, p store.Person, known []store.Identity,
) (entries, offers []string, err error) {
	if entries, err = rowsOf(ctx, s, waitlistEntries.name, p, known); err != nil {
		return nil, nil, err
	}
	all, err := NewReads(s).WaitlistOffers(ctx, entries...)
	for i := range all {
		offers = append(offers, all[i].ID)
	}
	return entries, offers, err
}

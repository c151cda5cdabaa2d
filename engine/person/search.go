package person

import (
	"context"
	"slices"
	"time"

	"holdfast/store"
)

// MaxFound is the maximum number of people in one result.
const MaxFound = 50

// Found is a person in a search result: the identity as spelled in the newest appointment.
type Found = store.FoundPerson

// Find searches for people by any part of a name, a phone number, an email address or a date of birth, or by several of
// these together (store.ParsePersonQuery). Names are folded (accents, ß and ss, ü and ue) and can contain one or two
// typing errors. Phone numbers are compared without punctuation and prefixes. Exact matches come before similar ones.
// Within each group, the newest come first.
//
// Find uses the index. While the index lacks many appointments, for example after an upgrade, only one search runs at a
// time.
func (pe *People) Find(ctx context.Context, query, specialistID string, limit int) (found []Found, err error) {
	q := store.ParsePersonQuery(query, time.Now())
	if pe.index.rest.Load() > longSearch {
		release, err := pe.takeTurn(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	limit = min(max(limit, 1), MaxFound)
	err = pe.store.FindPeople(ctx, q, specialistID, func(f Found) (more bool) {
		found, more = join(found, f, limit)
		return more
	})
	return found, err
}

// takeTurn waits until no other call is reading every appointment.
func (pe *People) takeTurn(ctx context.Context) (release func(), err error) {
	select {
	case pe.turn <- struct{}{}:
		return func() { <-pe.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// joined merges the spellings of one person.
func joined(found []Found, limit int) (all []Found) {
	more := true
	for i := 0; more && i < len(found); i++ {
		all, more = join(all, found[i], limit)
	}
	return all
}

// join adds a spelling to the people, or merges it with one of them if the data itself identifies both as the same
// person (store.Identity.Is). It returns false if adding the spelling would exceed the maximum number of people.
func join(all []Found, f Found, limit int) ([]Found, bool) {
	i := slices.IndexFunc(all, func(o Found) bool { return o.Is(&f.Identity) })
	switch {
	case i < 0 && len(all) == limit:
		return all, false
	case i < 0:
		return append(all, f), true
	}
	o := &all[i]
	o.Appointments += f.Appointments
	if f.Last.After(o.Last) {
		o.Identity, o.AppointmentID, o.Last = f.Identity, f.AppointmentID, f.Last
	}
	return all, true
}

package person

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"holdfast/engine/record"
	"holdfast/store"
)

// Erasure describes what erasing the person in an appointment would cover. It also lists the other people who share an
// email address or a phone number with that person.
type Erasure struct {
	Of      []store.Identity // the person's spellings in appointments and links, newest first
	Coming  int              // confirmed appointments that have not ended; they stay booked
	Past    int
	Notes   int
	Links   int
	Sharing []Found // newest first
}

// PlanErasure returns what erasing the person in an appointment would delete. It reads every appointment, which only
// one call at a time is allowed to do.
//
// Errors: store.ErrNotFound, *ValidationError if the person has already been erased.
func (pe *People) PlanErasure(ctx context.Context, appointmentID string) (Erasure, error) {
	h, err := pe.History(ctx, appointmentID, Viewer{})
	if err != nil {
		return Erasure{}, err
	}
	all := slices.Concat(h.Coming, h.Past)
	if len(h.Of) == 0 || h.Of[0].Name == "" {
		return Erasure{}, record.Invalid("appointmentId", "the patient of this appointment was erased")
	}
	x := Erasure{Notes: len(h.Notes), Links: len(h.Links)}
	sort.SliceStable(all, func(i, j int) bool { return all[j].SlotStart.Before(all[i].SlotStart) })
	for i := range all {
		x.Of = append(x.Of, all[i].Patient.Identity())
	}
	x.Of = distinct(append(x.Of, h.Of...))
	if h.Of[0].BirthDate == "" && len(birthDates(x.Of)) > 1 { // because History shows every possible match
		x.Of = slices.DeleteFunc(x.Of, func(o store.Identity) bool {
			linked := slices.ContainsFunc(h.Links, func(l store.PersonLink) bool { return l.A == o || l.B == o })
			return o.BirthDate != "" && !linked
		})
	}
	people, err := pe.everybody(ctx)
	if err != nil {
		return Erasure{}, err
	}
	x.Of = spellings(x.Of, people)
	now := time.Now()
	for i := range people {
		f := &people[i]
		switch {
		case slices.Contains(x.Of, f.Identity):
			x.Coming, x.Past = x.Coming+f.coming(now), x.Past+f.Appointments-f.coming(now)
		case slices.ContainsFunc(x.Of, func(o store.Identity) bool { return shares(&o, &f.Identity) }):
			x.Sharing = append(x.Sharing, f.Found)
		}
	}
	x.Sharing = newestFirst(x.Sharing)
	return x, nil
}

// spellings adds the other spellings of a person, and then the other spellings of those. A spelling without a date of
// birth matches spellings with one only if all of them have the same date. Two dates can belong to two people, such as
// a mother and her daughter.
func spellings(of []store.Identity, people []spelled) []store.Identity {
	for known := 0; known != len(of); {
		known = len(of)
		born, fits := birthDates(of), []store.Identity{}
		for i := range people {
			who := people[i].Identity
			switch {
			case !slices.ContainsFunc(of, func(o store.Identity) bool { return o == who || o.Is(&who) }):
			case who.BirthDate == "" || slices.Contains(born, who.BirthDate):
				of = distinct(append(of, who))
			case len(born) == 0:
				fits = append(fits, who)
			}
		}
		if len(birthDates(fits)) == 1 {
			of = distinct(append(of, fits...))
		}
	}
	return of
}

// birthDates returns the known dates of birth, without duplicates.
func birthDates(of []store.Identity) (all []string) {
	for i := range of {
		if born := of[i].BirthDate; born != "" && !slices.Contains(all, born) {
			all = append(all, born)
		}
	}
	return all
}

// Holders returns the people with an appointment that contains this email address or phone number, newest first. If it
// returns several people, they share it.
func (pe *People) Holders(ctx context.Context, p store.Person) (all []Found, err error) {
	people, err := pe.everybody(ctx)
	for i := range people {
		if people[i].IsOneOf(store.Person{Email: p.Email, Phone: p.Phone}, nil) {
			all = append(all, people[i].Found)
		}
	}
	return newestFirst(all), err
}

// spelled is one spelling, with all appointments that use it.
type spelled struct {
	Found
	starts []time.Time
}

func (s *spelled) coming(now time.Time) (n int) {
	for _, start := range s.starts {
		if start.After(now) {
			n++
		}
	}
	return n
}

// everybody reads the patients of all appointments.
func (pe *People) everybody(ctx context.Context) (all []spelled, err error) {
	release, err := pe.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	at := make(map[store.Identity]int)
	err = pe.store.Patients(ctx, "", func(p store.PatientAt) {
		i, ok := at[p.Identity]
		if !ok {
			i = len(all)
			at[p.Identity] = i
			all = append(all, spelled{Found: Found{Identity: p.Identity}})
		}
		f := &all[i]
		f.starts = append(f.starts, p.SlotStart)
		f.Add(p.AppointmentID, p.SlotStart)
	})
	return all, err
}

// shares reports whether two identities have an email address or a phone number in common.
func shares(a, b *store.Identity) bool {
	number := store.Digits(a.Phone)
	return a.Email != "" && store.Fold(a.Email) == store.Fold(b.Email) ||
		number != "" && number == store.Digits(b.Phone)
}

// newestFirst merges the spellings of one person, and sorts the people by their latest appointments, newest first.
func newestFirst(found []Found) []Found {
	sort.Slice(found, func(i, j int) bool {
		a, b := &found[i], &found[j]
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.AppointmentID, b.AppointmentID)) < 0
	})
	return joined(found, len(found))
}

func distinct(list []store.Identity) (all []store.Identity) {
	for _, i := range list {
		if i.Name != "" && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	return all
}

package booking

import (
	"context"
	"slices"
	"time"

	"holdfast/store"
)

// maxNamesakes is how many pages of appointments History reads of those with the person's name in theirs.
const maxNamesakes = 20

// History is what one person has had and will have at the clinic. It is derived from the appointments each time: a person is not
// remembered anywhere else.
type History struct {
	Coming    []store.Appointment // confirmed and not over, the next one first
	Past      []store.Appointment // what is over or was cancelled, the latest first
	NoShows   int                 // of the past ones, those that nobody came to
	Cancelled int
}

// History finds the appointments of the person an appointment is for, that one included. Somebody is the same person who has the
// same name, and the same date of birth, phone number or mail address; a name alone is nobody, and a family's phone number
// is several people. Two dates of birth are two people, whatever else is alike. store.ErrNotFound.
func (bk *Booking) History(ctx context.Context, id, specialistID string) (History, error) {
	a, err := bk.store.Appointment(ctx, id)
	if err != nil {
		return History{}, err
	}
	var h History
	now := time.Now()
	all := []store.Appointment{a}
	if a.Patient.Name != "" {
		all = nil
		f := store.AppointmentFilter{Query: a.Patient.Name, SpecialistID: specialistID, Limit: 500}
		for range maxNamesakes {
			list, next, err := bk.store.Appointments(ctx, f)
			if err != nil {
				return History{}, err
			}
			all = append(all, list...)
			if f.Cursor = next; next == "" {
				break
			}
		}
	}
	for _, x := range all {
		switch {
		case x.ID != a.ID && !samePerson(&a.Patient, &x.Patient):
		case x.Status == store.Confirmed && x.SlotEnd.After(now):
			h.Coming = append(h.Coming, x)
		default:
			h.Past = append(h.Past, x)
			if x.Status == store.Cancelled {
				h.Cancelled++
			} else if x.Attendance == store.NoShow {
				h.NoShows++
			}
		}
	}
	slices.Reverse(h.Past)
	return h, nil
}

// samePerson reports whether two appointments are for one and the same.
func samePerson(a, b *store.Patient) bool {
	switch {
	case store.Fold(a.Name) != store.Fold(b.Name):
		return false
	case a.BirthDate != "" && b.BirthDate != "":
		return a.BirthDate == b.BirthDate
	case a.Email != "" && SameAddress(a.Email, b.Email):
		return true
	}
	number := store.Digits(a.Phone)
	return number != "" && number == store.Digits(b.Phone)
}

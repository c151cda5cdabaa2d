package referee

import (
	"fmt"
	"time"
)

// Row is an appointment in the database.
type Row struct {
	Span
	ID        string
	Overbook  bool
	Cancelled bool
	Name      string // of the patient
	Answer    string // to the type's question
}

// Recorded judges rows of the database: each must equal the acknowledged appointment, and no two may conflict. If all
// is set, rows contains every row in the database, and no acknowledged appointment may be missing.
func (r *Referee) Recorded(rows []Row, all bool) error {
	seen := make(map[string]bool, len(rows))
	for _, row := range rows {
		seen[row.ID] = true
		a := r.Appointments[row.ID]
		if a == nil {
			return fmt.Errorf("the database has an appointment that no client has booked: %s %s", row.ID, row.Span)
		}
		if a.Span != row.Span || a.Overbook != row.Overbook || a.Cancelled != row.Cancelled {
			return fmt.Errorf("the acknowledged appointment is %s, but the database has %s, overbook %t, cancelled %t", a, row.Span,
				row.Overbook, row.Cancelled)
		}
		switch {
		case a.Erased && row.Name != "":
			return fmt.Errorf("the person of %s was erased, but it has a name", a)
		case !a.Erased && a.Name != "" && row.Name != a.Name:
			return fmt.Errorf("%s has another name than it was booked with", a)
		case a.Erased && row.Answer != "":
			return fmt.Errorf("the person of %s was erased, but it has an answer", a)
		case !a.Erased && a.Answer != "" && row.Answer != a.Answer:
			return fmt.Errorf("%s was booked with the answer %q, but the database has %q", a, a.Answer, row.Answer)
		}
	}
	if all {
		for id, a := range r.Appointments {
			if !seen[id] {
				return fmt.Errorf("acknowledged and lost: %s", a)
			}
		}
	}
	var confirmed []Row
	for _, row := range rows {
		if !row.Cancelled && !row.Overbook {
			confirmed = append(confirmed, row)
		}
	}
	// last contains, by specialist and room, the rows that may still conflict with a later row. The rows are ordered by
	// start.
	last := map[string][]Row{}
	for _, row := range confirmed {
		of := []string{row.Specialist}
		if room := r.Types[row.Type].Room; room != "" {
			of = append(of, "room "+room)
		}
		for _, whose := range of {
			var kept []Row
			for _, before := range last[whose] {
				if r.Collide(before.Span, row.Span) {
					return fmt.Errorf("double booking in the database: %s %s and %s %s", before.ID, before.Span, row.ID,
						row.Span)
				}
				if before.End.Add(24 * time.Hour).After(row.Start) {
					kept = append(kept, before)
				}
			}
			last[whose] = append(kept, row)
		}
	}
	return nil
}

// Slot is one line of a listing.
type Slot struct {
	Start       time.Time
	Available   int
	Specialists []string
}

// Offers judges the listing of one specialist's slots of a type, at one place or at any, for a number of days from a
// local date onward: every slot that is listed as free must be bookable, and every bookable slot must be listed.
func (r *Referee) Offers(kind, specialist, place, client string, from time.Time, days int, list []Slot,
	now time.Time) error {
	said := map[int64]Slot{}
	for i, s := range list {
		if i > 0 && !list[i-1].Start.Before(s.Start) {
			return fmt.Errorf("the listing of %s by %s is out of order at %s", kind, specialist, s.Start)
		}
		said[s.Start.Unix()] = s
	}
	for day := range days {
		date := from.AddDate(0, 0, day)
		for _, start := range r.Starts(kind, specialist, date.Year(), date.Month(), date.Day()) {
			s := r.SpanOf(kind, specialist, start)
			listed, is := said[start.Unix()]
			delete(said, start.Unix())
			if notice := start.Sub(now) - time.Duration(r.Types[kind].Notice)*time.Minute; notice > -2*time.Second &&
				notice < 2*time.Second {
				continue // the slot is about to leave the list
			}
			free, certain := 0, true
			if at, _ := r.PlaceOf(s); r.Offered(s, now) && (place == "" || at == place) {
				for _, seat := range r.FreeSeats(s, "") {
					s.Seat = seat
					held, sure := r.HeldByOther(s, client, now)
					certain = certain && sure
					if !held {
						free++
					}
				}
			}
			switch {
			case !certain:
			case free != listed.Available:
				return fmt.Errorf("%s of %s at %s is listed (%t) with %d free, but %d are free", kind, specialist,
					start.Format(time.RFC3339), is, listed.Available, free)
			case is && free > 0 && (len(listed.Specialists) != 1 || listed.Specialists[0] != specialist):
				return fmt.Errorf("%s at %s is listed as free with %v, want %s", kind, start.Format(time.RFC3339),
					listed.Specialists, specialist)
			}
		}
	}
	for _, s := range said {
		return fmt.Errorf("%s of %s at %s is listed, but is not a start within the hours", kind, specialist,
			s.Start.Format(time.RFC3339))
	}
	return nil
}

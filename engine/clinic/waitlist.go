package clinic

import (
	"cmp"
	"time"

	"holdfast/engine/record"
)

// Waitlist configures how the server offers newly free times to waiting patients. The zero value of each field is its
// default.
type Waitlist struct {
	DeskOnly     bool `json:"deskOnly,omitempty"`     // the booking page does not offer the waiting list
	OfferMinutes int  `json:"offerMinutes,omitempty"` // how long an offer holds its time; default 30
}

const maxOfferMinutes = 24 * 60

// Keeps returns how long an offer holds its time.
func (w Waitlist) Keeps() time.Duration {
	return time.Duration(cmp.Or(w.OfferMinutes, 30)) * time.Minute
}

func checkWaitlist(m *record.Mistakes, w *Waitlist) {
	if w.OfferMinutes != 0 && (w.OfferMinutes < 5 || w.OfferMinutes > maxOfferMinutes) {
		m.Add("waitlist.offerMinutes", "must be 5 to %d minutes, or 0 for the default", maxOfferMinutes)
	}
}

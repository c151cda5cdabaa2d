package clinic

import (
	"cmp"
	"time"

	"holdfast/engine/record"
)

// Waitlist is how times that become free are offered to those who wait for them. The zero value of each field is its default.
type Waitlist struct {
	DeskOnly     bool `json:"deskOnly,omitempty"`     // the booking page does not ask who wants to wait
	OfferMinutes int  `json:"offerMinutes,omitempty"` // how long a time is kept for whom it is offered to; default 30
}

const maxOfferMinutes = 24 * 60

// Keeps is how long a time is kept for whom it is offered to.
func (w Waitlist) Keeps() time.Duration {
	return time.Duration(cmp.Or(w.OfferMinutes, 30)) * time.Minute
}

func checkWaitlist(m *record.Mistakes, w *Waitlist) {
	if w.OfferMinutes != 0 && (w.OfferMinutes < 5 || w.OfferMinutes > maxOfferMinutes) {
		m.Add("waitlist.offerMinutes", "must be 5 to %d minutes, or 0 for the default", maxOfferMinutes)
	}
}

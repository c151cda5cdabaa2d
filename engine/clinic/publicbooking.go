package clinic

import (
	"cmp"
	"time"

	"holdfast/engine/record"
)

// PublicBookings bound what people without a sign-in or a key book in any one hour. A zero number is its default. What is past
// the limits, and everything where Confirm is set, is a request: it is an appointment once it was confirmed from its mail, or by
// the desk.
type PublicBookings struct {
	Confirm        bool `json:"confirm,omitempty"`
	PerNetwork     int  `json:"perNetwork,omitempty"`     // from one IPv4 address or IPv6 /64; default 10
	PerEmail       int  `json:"perEmail,omitempty"`       // with one e-mail address; default 3
	PerPhone       int  `json:"perPhone,omitempty"`       // with one phone number; default 3
	ConfirmMinutes int  `json:"confirmMinutes,omitempty"` // how long a request keeps its time; default 30
}

const (
	maxPublicBookings = 10_000
	maxConfirmMinutes = 48 * 60
)

// WithDefaults is p with every number set.
func (p PublicBookings) WithDefaults() PublicBookings {
	p.PerNetwork, p.PerEmail, p.PerPhone = cmp.Or(p.PerNetwork, 10), cmp.Or(p.PerEmail, 3), cmp.Or(p.PerPhone, 3)
	p.ConfirmMinutes = cmp.Or(p.ConfirmMinutes, 30)
	return p
}

// Keeps is how long a request keeps its time.
func (p PublicBookings) Keeps() time.Duration {
	return time.Duration(p.WithDefaults().ConfirmMinutes) * time.Minute
}

func checkPublicBookings(m *record.Mistakes, p *PublicBookings) {
	for _, x := range []struct {
		field string
		n     int
	}{{"perNetwork", p.PerNetwork}, {"perEmail", p.PerEmail}, {"perPhone", p.PerPhone}} {
		if x.n < 0 || x.n > maxPublicBookings {
			m.Add("publicBookings."+x.field, "must be 1 to %d bookings an hour, or 0 for the default", maxPublicBookings)
		}
	}
	if p.ConfirmMinutes != 0 && (p.ConfirmMinutes < 5 || p.ConfirmMinutes > maxConfirmMinutes) {
		m.Add("publicBookings.confirmMinutes", "must be 5 to %d minutes, or 0 for the default", maxConfirmMinutes)
	}
}

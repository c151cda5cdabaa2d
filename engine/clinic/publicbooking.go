package clinic

import (
	"cmp"
	"time"

	"holdfast/engine/record"
)

// PublicBookings limits how many appointments people without a sign-in or an API key can book per hour. A value of 0
// means the default. A booking over the limits becomes a request. With Confirm, every public booking becomes a request.
// A request becomes an appointment when the patient confirms it from the email, or when the desk confirms it.
type PublicBookings struct {
	Confirm        bool `json:"confirm,omitempty"`
	PerNetwork     int  `json:"perNetwork,omitempty"`     // bookings from one IPv4 address or IPv6 /64; default 10
	PerEmail       int  `json:"perEmail,omitempty"`       // bookings with one email address; default 3
	PerPhone       int  `json:"perPhone,omitempty"`       // bookings with one phone number; default 3
	ConfirmMinutes int  `json:"confirmMinutes,omitempty"` // how long a request holds its time; default 30
}

const (
	maxPublicBookings = 10_000
	maxConfirmMinutes = 48 * 60
)

// WithDefaults returns p with the defaults filled in.
func (p PublicBookings) WithDefaults() PublicBookings {
	p.PerNetwork, p.PerEmail, p.PerPhone = cmp.Or(p.PerNetwork, 10), cmp.Or(p.PerEmail, 3), cmp.Or(p.PerPhone, 3)
	p.ConfirmMinutes = cmp.Or(p.ConfirmMinutes, 30)
	return p
}

// Keeps returns how long a request holds its time.
func (p PublicBookings) Keeps() time.Duration {
	return time.Duration(p.WithDefaults().ConfirmMinutes) * time.Minute
}

func checkPublicBookings(m *record.Mistakes, p *PublicBookings) {
	for _, x := range []struct {
		field string
		n     int
	}{{"perNetwork", p.PerNetwork}, {"perEmail", p.PerEmail}, {"perPhone", p.PerPhone}} {
		if x.n < 0 || x.n > maxPublicBookings {
			m.Add("publicBookings."+x.field, "must be 1 to %d bookings an hour, or 0 for the default",
				maxPublicBookings)
		}
	}
	if p.ConfirmMinutes != 0 && (p.ConfirmMinutes < 5 || p.ConfirmMinutes > maxConfirmMinutes) {
		m.Add("publicBookings.confirmMinutes", "must be 5 to %d minutes, or 0 for the default", maxConfirmMinutes)
	}
}

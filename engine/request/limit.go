package request

import (
	"context"
	"strings"
	"time"

	"holdfast/engine/booking"
	"holdfast/engine/record"
	"holdfast/store"
)

// Window is the period over which public bookings are counted. Older counts are deleted.
const Window = time.Hour

// LimitError reports that a limit on public bookings, requests or waiting-list entries has been reached. A booking
// fails with it only if it cannot become a request. By names what was counted.
type LimitError struct {
	By    string    // network, email or phone
	Until time.Time // from then on, the limit allows another one
}

func (e *LimitError) Error() string { return "too many bookings by " + e.By }

// counted is one of the keys by which a booking is counted.
type counted struct {
	by, key string
	most    int
}

// countedBy lists the keys by which a booking is counted, leaving out unknown ones.
func (rq *Requests) countedBy(p *store.Patient, from *Visitor) []counted {
	limits := rq.clinic.Settings().PublicBookings.WithDefaults()
	network := ""
	if from.Network.IsValid() {
		network = from.Network.String()
	}
	var all []counted
	for _, x := range []struct {
		by, text string
		most     int
	}{
		{"network", network, limits.PerNetwork},
		{"email", strings.ToLower(strings.TrimSpace(p.Email)), limits.PerEmail},
		{"phone", digits(p.Phone), limits.PerPhone},
	} {
		if x.text != "" {
			all = append(all, counted{x.by, x.by + "/" + rq.booking.Keys().Name(x.by+" "+x.text), x.most})
		}
	}
	return all
}

// Count counts a booking, a request or another limited public action by network and by the patient's email address and
// phone number. If a limit has been reached, Count counts nothing and returns a *LimitError.
func (rq *Requests) Count(ctx context.Context, tx store.Tx, what string, p *store.Patient, from *Visitor,
	now time.Time) error {
	all := rq.countedBy(p, from)
	if err := over(ctx, tx, what, all, now); err != nil {
		return err
	}
	for _, c := range all {
		if err := tx.AddTally(ctx, what+"/"+c.key, now); err != nil {
			return err
		}
	}
	return nil
}

// over returns the *LimitError for the exceeded limit that ends last, or nil.
func over(ctx context.Context, r store.Reader, what string, all []counted, now time.Time) error {
	var limit *LimitError
	for _, c := range all {
		n, first, err := r.Tally(ctx, what+"/"+c.key, now.Add(-Window))
		if err != nil {
			return err
		}
		if until := first.Add(Window); n >= c.most && (limit == nil || until.After(limit.Until)) {
			limit = &LimitError{c.by, until}
		}
	}
	if limit == nil {
		return nil
	}
	return limit
}

// admitBooking counts a booking in its transaction. It returns errAsk if the booking is over the limits and can become
// a request.
func (rq *Requests) admitBooking(ctx context.Context, tx store.Tx, r *booking.Request, from *Visitor) error {
	now := record.Now()
	err := rq.Count(ctx, tx, "booking", &r.Patient, from, now)
	if _, full := err.(*LimitError); !full || !rq.messages.MailsLinks() {
		return err // without links in emails, the patient could not confirm a request
	}
	if err := over(ctx, tx, "request", rq.countedBy(&r.Patient, from), now); err != nil {
		return err
	}
	return errAsk
}

// mayAsk checks whether a booking can become a request, before a hold is taken for it. Errors: *ValidationError,
// *LimitError.
func (rq *Requests) mayAsk(ctx context.Context, r *booking.Request, from *Visitor, approval bool) error {
	switch email := strings.TrimSpace(r.Patient.Email); {
	case approval:
		if email == "" && strings.TrimSpace(r.Patient.Phone) == "" {
			return record.Invalid("patient.email", "give an email address or a phone number: the clinic replies there")
		}
	case rq.messages.MailsLinks() && email == "":
		return record.Invalid("patient.email", "is required: you confirm this booking by email")
	}
	if from.Unlimited {
		return nil
	}
	return over(ctx, rq.store, "request", rq.countedBy(&r.Patient, from), record.Now())
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

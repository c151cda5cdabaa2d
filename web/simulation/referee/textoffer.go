package referee

import (
	"fmt"
	"strings"
	"time"
)

// OfferedTime is a row of the database: a time that is offered to an entry of the waiting list, or proposed for an
// appointment that an absence displaces.
type OfferedTime struct {
	Span
	ID, Entry   string
	Appointment string // that is displaced; empty means an offer of the waiting list
	By          string // how the patient of a displaced appointment learns of it: ask or call
	Created     time.Time
	Expires     time.Time
	Ended       time.Time // zero means open
}

const (
	// An offer's message is sent once the change that freed the time can no longer be undone.
	offerQuiet = 12 * time.Second
	// enoughOfferHealth is the time without failures within which the message about an offer must arrive. It is less
	// than for other messages, because an offer ends after half an hour.
	enoughOfferHealth = 12 * time.Minute
	// No message about an offer of the waiting list is sent at night. After the end of the day, a late message is still
	// sent for some minutes.
	offersBegin, offersEnd = 7 * time.Hour, 21 * time.Hour
)

// WaitsAt records that an entry of the waiting list gets text messages at a number.
func (r *Referee) WaitsAt(entry, number string) { r.waiting[entry] = number }

// OffersAre passes the rows of all offers and proposals to the referee.
func (r *Referee) OffersAre(list []OfferedTime) { r.offered = list }

// Away records that an absence displaces an appointment, so that its patient gets no reminder.
func (r *Referee) Away(id string) {
	if x := r.texts[id]; x != nil {
		x.displaced = true
	}
}

// MovesAsked records how many messages the patient of a displaced appointment may get that ask for another time.
func (r *Referee) MovesAsked(id string, most int) { r.mustMove[id] = most }

func (o *OfferedTime) kind() string {
	if o.Appointment != "" {
		return "proposal"
	}
	return "waitlist_offer"
}

// hasNumber reports whether the person of an offer may have had a number at an instant.
func (r *Referee) hasNumber(o *OfferedTime, number string, at time.Time) bool {
	if o.Appointment == "" {
		return r.waiting[o.Entry] == number
	}
	x := r.texts[o.Appointment]
	if x == nil {
		return false
	}
	for i := range x.numbers {
		if n := &x.numbers[i]; n.value == number && n.appliedAt(at) {
			return true
		}
	}
	return false
}

// judgeOffer judges a message about an offer or a proposal. The offer must be open, and it must be too late to undo the
// change that led to it. The message must name its time and its end. There is at most one message about each offer.
func (r *Referee) judgeOffer(t *Text, what, when string) error {
	until := textForms[t.form].FindStringSubmatch(t.Body)[2]
	var found *OfferedTime
	for i := range r.offered {
		o := &r.offered[i]
		ended := o.Ended
		if ended.IsZero() {
			ended = o.Expires
		}
		end := o.Expires.In(r.Specialists[o.Specialist].Zone).Format("Mon 2 Jan, 15:04")
		if o.kind() == t.kind && o.By != "call" && r.names(&o.Span, when) && strings.HasPrefix(until, end) &&
			!t.At.Before(o.Created.Add(offerQuiet)) && !t.At.After(ended.Add(textUnderWay)) &&
			r.hasNumber(o, t.To, t.At) && (found == nil || r.offerTexts[o.ID] < r.offerTexts[found.ID]) {
			found = o
		}
	}
	if found == nil {
		return fmt.Errorf("%s is about no open offer to this patient", what)
	}
	t.offer, t.entry, t.about = found.ID, found.Entry, r.texts[found.Appointment]
	r.received = append(r.received, *t)
	if !t.Settled {
		return nil
	}
	local := t.At.In(r.Zone)
	clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
	if t.kind == "waitlist_offer" && (clock < offersBegin || clock >= quietBegins) {
		return fmt.Errorf("%s is an offer at night", what)
	}
	if r.offerTexts[found.ID]++; r.offerTexts[found.ID] > 1 {
		return fmt.Errorf("%s is message number %d about one offer", what, r.offerTexts[found.ID])
	}
	return nil
}

// OfferTextsDue checks, once no message is pending, that the person of each offer that was open for long enough has got
// a text message.
func (r *Referee) OfferTextsDue(now time.Time, health func(from, until time.Time) time.Duration,
	isUndecided func(id, kind string) bool) error {
	for i := range r.offered {
		o := &r.offered[i]
		number := r.waiting[o.Entry]
		due := r.offerDue(o)
		if x := r.texts[o.Appointment]; o.Appointment != "" {
			if o.By != "ask" || x == nil || x.loose || len(x.numbers) != 1 || x.numbers[0].certain.After(o.Created) {
				continue
			}
			if number = x.numbers[0].value; !x.numbers[0].until.IsZero() {
				continue
			}
		}
		until := earliest(o.Ended, o.Expires, now)
		if number == "" || r.offerTexts[o.ID] > 0 || health(due, until) < enoughOfferHealth ||
			isUndecided(o.ID, o.kind()) {
			continue
		}
		return fmt.Errorf("no text message about the %s of %s, which ended at %s, went to %s; it was due at %s",
			o.kind(),
			o.Span, until.In(r.Zone).Format(time.DateTime), number, due.In(r.Zone).Format(time.DateTime))
	}
	return nil
}

// offerDue returns when the message about an offer is due: at night, in the morning.
func (r *Referee) offerDue(o *OfferedTime) time.Time {
	due := o.Created.Add(offerQuiet + 2*time.Second)
	local := due.In(r.Zone)
	begin := Wall(r.Zone, local.Year(), local.Month(), local.Day(), int(offersBegin/time.Minute))
	end := Wall(r.Zone, local.Year(), local.Month(), local.Day(), int(offersEnd/time.Minute))
	switch {
	case o.Appointment != "":
	case due.Before(begin):
		return begin
	case !due.Before(end):
		return Wall(r.Zone, local.Year(), local.Month(), local.Day()+1, int(offersBegin/time.Minute))
	}
	return due
}

// LastOffer returns the last judged message about an offer of the waiting list that is still open, and the entry. It
// returns nil if there is none.
func (r *Referee) LastOffer(now time.Time) (t *Text, entry string) {
	for i := len(r.received) - 1; i >= 0; i-- {
		t := &r.received[i]
		if t.kind != "waitlist_offer" || !t.Taken {
			continue
		}
		for _, o := range r.offered {
			if o.ID == t.offer && o.Ended.IsZero() && o.Expires.Sub(now) > About {
				return t, t.entry
			}
		}
		return nil, ""
	}
	return nil, ""
}

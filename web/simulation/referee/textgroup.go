package referee

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// batch is a change that several appointments of one number have in common: a series or a visit was booked, moved or
// cancelled. The number gets a single text message about all of them.
type batch struct {
	kind    string // confirmation, reschedule or cancellation
	members []*texting
	from    time.Time
	settled int // how many messages about it the server must not send again
}

// groupForms match the program's text messages about several appointments.
var groupForms = map[string]*regexp.Regexp{
	"confirmation": regexp.MustCompile(`^Harbour Cl[a-z]*: (\d+) appointments are booked, the first on ([^.]*)\.`),
	"reschedule":   regexp.MustCompile(`^Harbour Cl[a-z]*: (\d+) appointments have new times, the first: ([^.]*)\.`),
	"cancellation": regexp.MustCompile(`^Harbour Cl[a-z]*: (\d+) appointments were cancelled, the first on ([^.]*)\.$`),
}

// groupKind returns the name of the messages about several appointments in the delivery log.
func groupKind(kind string) string { return "series_" + kind }

// changed is a change that a review has found. It counts as a change of its own until it becomes part of a batch.
type changed struct {
	x    *texting
	kind string
}

// ReviewTogether reviews appointments that were changed in one step since the last review. If several of them have one
// number, it expects a single message about them.
func (r *Referee) ReviewTogether(ids []string, now time.Time) {
	from := r.reviewed
	found := r.review(now)
	byNumber := map[string]*batch{}
	for _, id := range ids {
		for _, c := range found {
			if c.x.id != id || r.Number(id) == "" {
				continue
			}
			key := c.kind + r.Number(id)
			if byNumber[key] == nil {
				byNumber[key] = &batch{kind: c.kind, from: from}
			}
			byNumber[key].members = append(byNumber[key].members, c.x)
		}
	}
	for _, key := range sortedKeys(byNumber) {
		if b := byNumber[key]; len(b.members) > 1 {
			r.batches = append(r.batches, b)
			for _, x := range b.members {
				x.join(b)
			}
		}
	}
}

// join counts the last change of an appointment as part of a batch.
func (x *texting) join(b *batch) {
	switch b.kind {
	case "confirmation":
		x.booked = b
	case "reschedule":
		x.moves--
		x.movedIn[len(x.times)-1] = b
	case "cancellation":
		x.cancels--
		x.cancelledIn = b
	}
}

// Visit records the appointments of a visit. Of those with the same number, only the first one gets reminders.
func (r *Referee) Visit(ids []string) {
	for _, id := range ids {
		if x := r.texts[id]; x != nil {
			x.visit = ids
		}
	}
}

// isRemindedWith reports whether an earlier appointment of the same visit has this number at an instant, so that an
// appointment with this start gets no reminder. It also reports whether that is certain.
func (r *Referee) isRemindedWith(x *texting, start time.Time, number string, at time.Time) (is, certain bool) {
	certain = true
	for _, id := range x.visit {
		o := r.texts[id]
		if o == nil || o == x {
			continue
		}
		may, must := o.at(number, at)
		for _, s := range may {
			if s.Start.Before(start) {
				is = true
				certain = certain && must != nil && must.Start.Before(start) && !o.displaced
			}
		}
	}
	return is, is && certain
}

// at returns the times that an appointment with a number may have had at an instant or shortly before it, and the one
// that it certainly had, or nil if that is not certain.
func (x *texting) at(number string, at time.Time) (may []*Span, must *Span) {
	hasNumber, isSure := false, false
	for i := range x.numbers {
		n := &x.numbers[i]
		if n.value == number && n.appliedAt(at) {
			hasNumber = true
			isSure = isSure || !at.Before(n.certain.Add(textUnderWay)) && i == len(x.numbers)-1
		}
	}
	if !hasNumber {
		return nil, nil
	}
	for i := range x.times {
		t := &x.times[i]
		if t.appliedAt(at) {
			may = append(may, &t.value)
			if isSure && !x.loose && i == len(x.times)-1 && !at.Before(t.certain.Add(textUnderWay)) &&
				(x.cancelled.from.IsZero() || x.cancelled.from.After(at)) {
				must = &t.value
			}
		}
	}
	return may, must
}

// matchGroup returns the batch that a message about several appointments is about, and one of its appointments whose
// time the message names.
func (r *Referee) matchGroup(t *Text, n int, when string) (found *batch, first *texting) {
	for _, b := range r.batches {
		if b.kind != t.group || t.At.Before(b.from) {
			continue
		}
		if x := r.covers(b, t, n, when); x != nil && (found == nil || b.settled < found.settled) {
			found, first = b, x
		}
	}
	return found, first
}

// covers reports whether a message may be about a batch: it must name the first of the appointments that have its
// number, and count them. It returns that first appointment. Appointments that have ended do not count.
func (r *Referee) covers(b *batch, t *Text, n int, when string) (first *texting) {
	var start time.Time
	least, most := 0, 0
	isFirst := true
	for _, x := range b.members {
		may, must := x.at(t.To, t.At)
		if b.kind == "cancellation" {
			may, must = x.cancelledAt(t.To, t.At)
		}
		counts := false
		for _, s := range may {
			if !s.End.After(t.At.Add(-textUnderWay)) {
				continue
			}
			counts = true
			if r.names(s, when) && (first == nil || s.Start.Before(start)) {
				first, start = x, s.Start
			}
		}
		if counts {
			most++
		}
		if must != nil && must.End.After(t.At) {
			least++
		}
	}
	for _, x := range b.members {
		_, must := x.at(t.To, t.At)
		if b.kind == "cancellation" {
			_, must = x.cancelledAt(t.To, t.At)
		}
		isFirst = isFirst && (must == nil || !must.End.After(t.At) || !must.Start.Before(start))
	}
	if first == nil || !isFirst || n < max(2, least) || n > most {
		return nil
	}
	return first
}

// cancelledAt is like at, for the time of a cancelled appointment.
func (x *texting) cancelledAt(number string, at time.Time) (may []*Span, must *Span) {
	c := &x.cancelled
	if c.from.IsZero() || at.Before(c.from) {
		return nil, nil
	}
	for i := range x.numbers {
		if n := &x.numbers[i]; n.value == number && n.appliedAt(at) {
			may = []*Span{&c.value}
			if i == len(x.numbers)-1 && !x.loose && !at.Before(n.certain.Add(textUnderWay)) {
				must = &c.value
			}
		}
	}
	return may, must
}

// judgeGroup judges a message about several appointments. Each change may lead to one such message for each number.
func (r *Referee) judgeGroup(t *Text, what string) error {
	m := groupForms[t.group].FindStringSubmatch(t.Body)
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	b, first := r.matchGroup(t, n, m[2])
	if b == nil {
		return fmt.Errorf("%s is about no such change of several appointments of this patient", what)
	}
	t.about, t.batch = first, b
	r.received = append(r.received, *t)
	if !t.Settled {
		return nil
	}
	if b.settled++; b.settled > 1 {
		return fmt.Errorf("%s is message number %d about the same %s of several appointments", what, b.settled, b.kind)
	}
	return nil
}

// unsettled counts the batches of a kind with this number about which no message has arrived. If only one appointment
// of a batch is left, its message is worded like that about one appointment.
func (r *Referee) unsettled(kind, number string) (n int) {
	for _, b := range r.batches {
		if b.kind != kind || b.settled > 0 {
			continue
		}
		for _, x := range b.members {
			if x.hadNumber(number) {
				n++
				break
			}
		}
	}
	return n
}

func (x *texting) hadNumber(number string) bool {
	for i := range x.numbers {
		if x.numbers[i].value == number {
			return true
		}
	}
	return false
}

// groupDue checks that the message about a batch has arrived at the number of an appointment. If the others have got
// other numbers since, the message may have gone to one of those.
func (r *Referee) groupDue(b *batch, x *texting, s *Span, due, until time.Time,
	health func(from, until time.Time) time.Duration, isUndecided func(id, kind string) bool) error {
	number := r.Number(x.id)
	same := 0
	for _, o := range b.members {
		if r.Number(o.id) == number && o.numbers[len(o.numbers)-1].certain.Before(due.Add(time.Second)) {
			same++
		}
	}
	last := x.numbers[len(x.numbers)-1]
	if number == "" || last.certain.After(due) || 2*same <= len(b.members) {
		return nil
	}
	for i := range r.received {
		t := &r.received[i]
		if t.Settled && t.To == number && !t.At.Before(b.from) && !t.At.After(until.Add(textUnderWay)) &&
			(t.batch == b || t.kind == b.kind && r.names(s, textForms[t.form].FindStringSubmatch(t.Body)[1])) {
			return nil
		}
	}
	if health(due, until) < enoughHealth {
		return nil
	}
	for _, o := range b.members {
		if isUndecided(o.id, groupKind(b.kind)) {
			return nil
		}
	}
	return fmt.Errorf("no text message (%s) about %s of %s went to %s; it was due at %s", groupKind(b.kind), x.id, s,
		number, due.In(r.Zone).Format(time.DateTime))
}

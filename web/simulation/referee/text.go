package referee

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Text is a request that the SMS gateway has received.
type Text struct {
	To, Body string
	At       time.Time
	Settled  bool // the server must not send it again, because the gateway did not decline it temporarily
	Taken    bool // the gateway accepted it

	about  *texting
	kind   string
	form   string // the key in textForms: the kind, and what a move has changed
	group  string // of a message about several appointments: the kind of the change
	batch  *batch // that such a message is about
	offer  string // the id of the offer or proposal that it is about
	entry  string // of that offer
	counts bool   // it has been matched to an expected message
}

// texting is the referee's record of one appointment whose patient can get text messages.
type texting struct {
	id      string
	numbers []lasting[string]
	times   []lasting[Span] // the last one is current if its until is zero
	created time.Time
	// the changes that a message may report
	moves, cancels int
	loose          bool // changed by concurrent requests, so the referee does not know the number of changes
	cancelled      lasting[Span]
	displaced      bool // an absence has displaced it at least once
	overbook       bool // at the last review
	// the changes that it has in common with other appointments
	booked, cancelledIn *batch
	movedIn             map[int]*batch // by index in times
	visit               []string       // the appointments of its visit
}

// lasting is a value that applied for some time. It may have applied as early as from, it certainly applied from the
// instant certain onward, and it ended at until.
type lasting[T any] struct {
	value       T
	from, until time.Time // a zero until means that it still applies
	certain     time.Time
}

// appliedAt reports whether a value may have applied at an instant. A message takes up to textUnderWay to reach the
// gateway, and the referee records a change up to one action late.
func (l *lasting[T]) appliedAt(at time.Time) bool {
	return !at.Before(l.from) && (l.until.IsZero() || !at.After(l.until.Add(textUnderWay)))
}

const (
	textUnderWay = 45 * time.Second
	oneSegment   = 160 // characters of the GSM alphabet; the clinic's texts contain no others
	// A reminder that was sent just before the quiet hours may arrive later by the duration of a request.
	quietBegins, quietEnds = 21*time.Hour + 16*time.Minute, 8 * time.Hour
	// enoughHealth is the time without failures within which every message that is due must arrive.
	enoughHealth = 30 * time.Minute
)

// reminderLeads lists how long before the start the clinic sends each reminder.
var reminderLeads = []time.Duration{48 * time.Hour, 2 * time.Hour}

// textForms match the program's text messages. The clinic's name may be shortened. There are four texts about a move.
var textForms = map[string]*regexp.Regexp{
	"confirmation": regexp.MustCompile(`^Harbour Cl[a-z]*: your appointment is on ([^.]*)\.`),
	"reschedule":   regexp.MustCompile(`^Harbour Cl[a-z]*: new time for your appointment: ([^.]*)\.`),
	"reschedule_kept": regexp.MustCompile(
		`^Harbour Cl[a-z]*: your appointment on ([^.]*) has changed \(same time\)\.`),
	"reschedule_place": regexp.MustCompile(
		`^Harbour Cl[a-z]*: new time and place for your appointment: ([^.]*)\.`),
	"reschedule_kept_place": regexp.MustCompile(
		`^Harbour Cl[a-z]*: new place for your appointment on ([^.]*) \(same time\)\.`),
	"cancellation": regexp.MustCompile(`^Harbour Cl[a-z]*: your appointment on ([^.]*) was cancelled\.$`),
	"reminder": regexp.MustCompile(
		`^Harbour Cl[a-z]*: reminder of your (?:appointment|\d+ appointments, the first) on ([^.]*)\.`),
	"must_move": regexp.MustCompile(`^Harbour Cl[a-z]*: your appointment on ([^.]*) has to be moved\.`),
	"proposal":  regexp.MustCompile(`^Harbour Cl[a-z]*: we propose ([^.]*)\. Held until ([^.]*)\.`),
	"waitlist_offer": regexp.MustCompile(
		`^Harbour Cl[a-z]*: ([^.]*) is free\. Held for you until ([^.]*)\.`),
}

var textLink = regexp.MustCompile(
	` (?:(?:Change or cancel|New time|Reply|Book): )?https://book\.clinic\.example/m#(\S+)$`)

// Link returns the token of the link in a text message, or "" if there is none.
func (t *Text) Link() string {
	if m := textLink.FindStringSubmatch(t.Body); m != nil {
		return m[1]
	}
	return ""
}

// About returns the id of the appointment that a judged message is about, or "" if that is not certain.
func (t *Text) About() string {
	if t.about == nil {
		return ""
	}
	return t.about.id
}

// Agrees records that, since an instant, the patient of an appointment gets text messages at a number. An empty number
// means no text messages. The server acknowledged this at now.
func (r *Referee) Agrees(id, number string, since, now time.Time) {
	x := r.texts[id]
	if x == nil {
		if number == "" {
			return
		}
		x = &texting{id: id, created: since, movedIn: map[int]*batch{}}
		r.texts[id] = x
	}
	if n := len(x.numbers); n > 0 {
		if x.numbers[n-1].value == number {
			return
		}
		x.numbers[n-1].until = now
	}
	x.numbers = append(x.numbers, lasting[string]{value: number, from: since, certain: now})
}

// Number returns the number that text messages about an appointment are sent to, or "" if there is none.
func (r *Referee) Number(id string) string {
	x := r.texts[id]
	if x == nil || len(x.numbers) == 0 {
		return ""
	}
	return x.numbers[len(x.numbers)-1].value
}

// Loosen records that concurrent requests have changed an appointment, so that the referee does not count its messages.
func (r *Referee) Loosen(id string) {
	if x := r.texts[id]; x != nil {
		x.loose = true
	}
}

// ReviewTexts records how the appointments whose patients get text messages have changed since the last review.
func (r *Referee) ReviewTexts(now time.Time) { r.review(now) }

// review is like ReviewTexts, and returns the changes.
func (r *Referee) review(now time.Time) (found []changed) {
	for _, id := range sortedKeys(r.texts) {
		x := r.texts[id]
		a := r.Appointments[id]
		if a == nil {
			continue
		}
		if a.Erased {
			r.Agrees(id, "", now, now)
		}
		if r.Proposals[id] != nil {
			x.displaced = true
		}
		last := len(x.times) - 1
		since := r.reviewed
		if last < 0 {
			x.overbook = a.Overbook
			x.times = append(x.times, lasting[Span]{value: a.Span, from: x.created, certain: now})
			last = 0
			found = append(found, changed{x, "confirmation"})
		}
		wasCancelled, was := !x.cancelled.from.IsZero(), &x.times[last]
		switch {
		case a.Cancelled && !wasCancelled:
			was.until = now
			x.cancels++
			found = append(found, changed{x, "cancellation"})
			x.cancelled = lasting[Span]{value: a.Span, from: since, certain: now}
		case !a.Cancelled && wasCancelled: // an undo in another action, or concurrent requests
			x.cancelled, x.loose = lasting[Span]{}, true
			x.times = append(x.times, lasting[Span]{value: a.Span, from: since, certain: now})
		case a.Cancelled || sameTime(was.value, a.Span) && x.overbook == a.Overbook:
		default: // an overbooked appointment that gets a regular place at its time also gets a new link
			was.until = now
			x.moves++
			found = append(found, changed{x, "reschedule"})
			x.times = append(x.times, lasting[Span]{value: a.Span, from: since, certain: now})
		}
		x.overbook = a.Overbook
	}
	r.reviewed = now
	return found
}

func sameTime(a, b Span) bool { return a.Start.Equal(b.Start) && a.Specialist == b.Specialist }

// Texted judges a message that the gateway received before the last review. Only patients who have agreed may get one,
// at their own number. The message must be about a time that their appointment had then. It must fit into one segment
// and contain no type, specialist or reason. It must not arrive more often than the change or the reminder that it
// reports. No reminder may arrive at night.
func (r *Referee) Texted(t Text) error {
	what := fmt.Sprintf("the text message to %s at %s, %q,", t.To, t.At.In(r.Zone).Format(time.DateTime), t.Body)
	known := slices.ContainsFunc(sortedKeys(r.texts), func(id string) bool {
		return slices.ContainsFunc(r.texts[id].numbers, func(n lasting[string]) bool {
			return n.value == t.To && n.appliedAt(t.At)
		})
	})
	for _, number := range r.waiting {
		known = known || number == t.To
	}
	if !known {
		return fmt.Errorf("%s went to a number without consent", what)
	}
	if n := len([]rune(t.Body)); n > oneSegment {
		return fmt.Errorf("%s has %d characters", what, n)
	}
	text, _, _ := strings.Cut(t.Body, " https://")
	for _, secret := range r.secrets() {
		if strings.Contains(strings.ToLower(text), secret) {
			return fmt.Errorf("%s contains %q", what, secret)
		}
	}
	when := ""
	for name, form := range textForms {
		if m := form.FindStringSubmatch(t.Body); m != nil {
			t.kind, t.form, when = name, name, m[1]
		}
	}
	if strings.HasPrefix(t.form, "reschedule") {
		t.kind = "reschedule"
	}
	for kind, form := range groupForms {
		if form.MatchString(t.Body) {
			t.kind, t.group = groupKind(kind), kind
		}
	}
	if t.kind == "" {
		return fmt.Errorf("%s is none of the clinic's texts", what)
	}
	if (t.Link() == "") != (t.kind == "cancellation" || t.group == "cancellation") {
		return fmt.Errorf("%s has the wrong link", what)
	}
	switch {
	case t.group != "":
		return r.judgeGroup(&t, what)
	case t.kind == "waitlist_offer", t.kind == "proposal":
		return r.judgeOffer(&t, what, when)
	}
	var about []*texting
	for _, id := range sortedKeys(r.texts) {
		x := r.texts[id]
		for i := range x.numbers {
			if n := &x.numbers[i]; n.value == t.To && n.appliedAt(t.At) {
				if r.hadTime(x, &t, when) && r.hasMoved(x, &t, when) {
					about = append(about, x)
				}
				break
			}
		}
	}
	if len(about) == 0 {
		return fmt.Errorf("%s is about no appointment of this patient; its appointments are%s", what, r.accountOf(t.To))
	}
	if len(about) == 1 {
		t.about = about[0]
	}
	r.received = append(r.received, t)
	if !t.Settled {
		return nil
	}
	local := t.At.In(r.Zone)
	clock := time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute
	if t.kind == "reminder" && (clock >= quietBegins || clock < quietEnds) {
		return fmt.Errorf("%s is a reminder at night", what)
	}
	return r.onlyOnce(&t, what, when)
}

// onlyOnce returns an error if a number has received more messages of one kind than the changes and the reminders of
// its appointments required.
func (r *Referee) onlyOnce(t *Text, what, when string) error {
	got, required, isLoose := 0, 0, false
	for i := range r.received {
		other := &r.received[i]
		same := other.kind == t.kind && other.To == t.To && other.Settled
		if same && (t.kind != "reminder" || strings.Contains(other.Body, when)) {
			got++
		}
	}
	for _, id := range sortedKeys(r.texts) {
		x := r.texts[id]
		if !slices.ContainsFunc(x.numbers, func(n lasting[string]) bool { return n.value == t.To }) {
			continue
		}
		isLoose = isLoose || x.loose
		switch t.kind {
		case "confirmation":
			if x.booked == nil {
				required++
			}
		case "reschedule":
			required += x.moves
		case "cancellation":
			required += x.cancels
		case "reminder":
			for start := range x.starts() {
				_, isCovered := r.isRemindedWith(x, time.Unix(start, 0), t.To, t.At)
				if r.isAbout(x, start, when) && !isCovered {
					required += len(r.reminders(time.Unix(start, 0), x.created, t.At.Add(time.Second)))
				}
			}
		case "must_move":
			required += r.mustMove[id]
		}
	}
	required += r.unsettled(t.kind, t.To)
	if got > required && !(isLoose && t.kind != "reminder" && t.kind != "confirmation") {
		return fmt.Errorf("%s is the %d. %s to this number, and %d were due; its appointments are%s", what, got, t.kind,
			required, r.accountOf(t.To))
	}
	return nil
}

// accountOf describes the appointments that have ever had a number, for the message about a violation.
func (r *Referee) accountOf(number string) string {
	var b strings.Builder
	for _, id := range sortedKeys(r.texts) {
		x := r.texts[id]
		if !x.hadNumber(number) {
			continue
		}
		fmt.Fprintf(&b, " %s (%d moves, %d cancellations; at", id, x.moves, x.cancels)
		for i := range x.times {
			at := &x.times[i]
			fmt.Fprintf(&b, " %s from %s to %s", at.value, at.from.Format(time.TimeOnly),
				at.until.Format(time.TimeOnly))
			if m := x.movedIn[i]; m != nil {
				fmt.Fprintf(&b, " with %d others, about which %d messages arrived", len(m.members)-1, m.settled)
			}
		}
		b.WriteString(")")
	}
	return b.String()
}

// starts returns the starts that an appointment has had.
func (x *texting) starts() map[int64]bool {
	starts := map[int64]bool{}
	for i := range x.times {
		starts[x.times[i].value.Start.Unix()] = true
	}
	return starts
}

// isAbout reports whether the text names this start, which is or was a start of the appointment.
func (r *Referee) isAbout(x *texting, start int64, when string) bool {
	for i := range x.times {
		if s := &x.times[i].value; s.Start.Unix() == start && r.names(s, when) {
			return true
		}
	}
	return false
}

// reminders returns when the reminders are due for an appointment that has had this start since the instant from. It
// omits those that are due after until.
func (r *Referee) reminders(start, from, until time.Time) (dues []time.Time) {
	for _, lead := range reminderLeads {
		due := start.Add(-lead).In(r.Zone)
		day := due.Day()
		if due.Hour() < 8 {
			day--
		}
		if due.Hour() < 8 || due.Hour() >= 21 {
			due = Wall(r.Zone, due.Year(), due.Month(), day, 21*60)
		}
		if due.After(from.Add(time.Hour)) && !due.After(until) && !slices.ContainsFunc(dues, due.Equal) {
			dues = append(dues, due)
		}
	}
	return dues
}

// secrets returns the words that no text message may contain.
func (r *Referee) secrets() []string {
	words := []string{"flu", "allergy", "hurts", "jo "}
	for id := range r.Types {
		words = append(words, id)
	}
	for id := range r.Specialists {
		words = append(words, "dr "+id)
	}
	return words
}

// TextsDue checks, once no message is pending, that every message that was due has arrived. health returns how long the
// gateway and the server worked between two instants. isUndecided reports whether the desk must decide on a message of
// the given kind, because the message may have been sent. The server must not send such a message again.
func (r *Referee) TextsDue(now time.Time, health func(from, until time.Time) time.Duration,
	isUndecided func(id, kind string) bool) error {
	for _, id := range sortedKeys(r.texts) {
		x := r.texts[id]
		if x.loose {
			continue
		}
		for i := range x.times {
			at := &x.times[i]
			kinds := []string{"reschedule", "confirmation"}
			until := earliest(at.until, at.value.End, now, at.certain.Add(24*time.Hour))
			var b *batch
			if b = x.movedIn[i]; i == 0 {
				b = x.booked
			}
			var err error
			if b != nil {
				err = r.groupDue(b, x, &at.value, at.certain, until, health, isUndecided)
			} else {
				err = r.textDue(x, kinds, &at.value, at.from, at.certain, until, health, isUndecided)
			}
			if err != nil {
				return err
			}
			if x.displaced {
				continue // a reminder would be wrong, because the specialist is away at that time
			}
			awake := func(from, until time.Time) time.Duration { return r.awake(from, until, health) }
			for _, due := range r.reminders(at.value.Start, at.certain, earliest(at.until, at.value.Start, now)) {
				if is, _ := r.isRemindedWith(x, at.value.Start, r.Number(id), due); is {
					continue
				}
				if err := r.textDue(x, []string{"reminder"}, &at.value, due.Add(-time.Second), due,
					earliest(at.until, at.value.Start, now), awake, isUndecided); err != nil {
					return err
				}
			}
		}
		if c := &x.cancelled; !c.from.IsZero() {
			until := earliest(c.value.End, now, c.certain.Add(24*time.Hour))
			var err error
			if x.cancelledIn != nil {
				err = r.groupDue(x.cancelledIn, x, &c.value, c.certain, until, health, isUndecided)
			} else {
				err = r.textDue(x, []string{"cancellation"}, &c.value, c.from, c.certain, until, health, isUndecided)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// awake returns how long the gateway and the server worked outside the quiet hours, between two instants. In the first
// 15 minutes of the quiet hours, the server still sends the night's reminders. It needs less time for them, so these
// minutes count twice.
func (r *Referee) awake(from, until time.Time, health func(from, until time.Time) time.Duration) (d time.Duration) {
	for from.Before(until) {
		local := from.In(r.Zone)
		night := Wall(r.Zone, local.Year(), local.Month(), local.Day(), 21*60)
		ends := night.Add(15 * time.Minute)
		morning := Wall(r.Zone, local.Year(), local.Month(), local.Day(), 8*60)
		switch {
		case from.Before(morning):
			from = morning
		case from.Before(night):
			to := earliest(night, until)
			d, from = d+health(from, to), to
		case from.Before(ends):
			to := earliest(ends, until)
			d, from = d+2*health(from, to), to
		default:
			from = Wall(r.Zone, local.Year(), local.Month(), local.Day()+1, 8*60)
		}
	}
	return d
}

// textDue checks that a message of one of these kinds, which was due between due and until, has arrived.
func (r *Referee) textDue(x *texting, kinds []string, s *Span, from, due, until time.Time,
	health func(from, until time.Time) time.Duration, isUndecided func(id, kind string) bool) error {
	number := ""
	for i := range x.numbers {
		n := &x.numbers[i]
		if !n.until.IsZero() && n.until.Before(until) && n.until.After(from) || n.certain.After(from) && i > 0 &&
			n.certain.Before(until) {
			return nil // the number or the consent changed in the meantime
		}
		if n.appliedAt(due) {
			number = n.value
		}
	}
	if number == "" {
		return nil
	}
	for i := range r.received {
		t := &r.received[i]
		if !slices.Contains(kinds, t.kind) {
			continue
		}
		m := textForms[t.form].FindStringSubmatch(t.Body)
		if t.Settled && !t.counts && t.To == number && r.names(s, m[1]) &&
			!t.At.Before(from) && !t.At.After(until.Add(textUnderWay)) {
			t.counts = true
			return nil
		}
	}
	if health(due, until) < enoughHealth {
		return nil
	}
	for _, kind := range kinds {
		if isUndecided(x.id, kind) {
			return nil
		}
	}
	return fmt.Errorf("no text message (%s) about %s of %s went to %s; it was due at %s", kinds[0], x.id, s, number,
		due.In(r.Zone).Format(time.DateTime))
}

// earliest returns the earliest of the times that are not zero.
func earliest(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// TextKinds counts the judged requests to the gateway by kind.
func (r *Referee) TextKinds() map[string]int {
	kinds := map[string]int{}
	for i := range r.received {
		kinds[r.received[i].kind]++
	}
	return kinds
}

// LastText returns the last judged message that has a link and is about one appointment, or nil if there is none.
func (r *Referee) LastText() *Text {
	for i := len(r.received) - 1; i >= 0; i-- {
		if t := &r.received[i]; t.Taken && t.about != nil && t.Link() != "" {
			return t
		}
	}
	return nil
}

// IsCurrent reports whether a judged message was written after the last change to its appointment.
func (r *Referee) IsCurrent(t *Text) bool {
	x := t.about
	if x == nil || len(x.times) == 0 || x.loose || r.Number(x.id) != t.To {
		return false
	}
	last := &x.times[len(x.times)-1]
	return x.cancelled.from.IsZero() && t.At.After(last.certain)
}

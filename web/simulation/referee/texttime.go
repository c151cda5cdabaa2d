package referee

import "strings"

// hadTime reports whether a message contains a time that its appointment may have had when the message arrived.
func (r *Referee) hadTime(x *texting, t *Text, when string) bool {
	if t.kind == "cancellation" {
		c := &x.cancelled
		return x.loose || !c.from.IsZero() && !t.At.Before(c.from) && r.names(&c.value, when)
	}
	for i := range x.times {
		if at := &x.times[i]; at.appliedAt(t.At) && r.names(&at.value, when) {
			return true
		}
	}
	return x.loose
}

// hasMoved reports whether an appointment was moved as a text message says: to the same start, or to another place. A
// message that was delayed until after further moves combines them, so the appointment may have been moved from any of
// its earlier times. hasMoved returns true for other messages, and if the referee does not know the moves. The place of
// a time outside the hours counts as another place.
func (r *Referee) hasMoved(x *texting, t *Text, when string) bool {
	if t.form == t.kind || x.loose {
		return true
	}
	for i := range x.times {
		is := &x.times[i].value
		if !x.times[i].appliedAt(t.At) || !r.names(is, when) {
			continue
		}
		to, isKnown := r.PlaceOf(*is)
		for j := range i {
			was := &x.times[j].value
			from, wasKnown := r.PlaceOf(*was)
			isElsewhere := from != to || !wasKnown || !isKnown
			if was.Start.Equal(is.Start) == strings.Contains(t.form, "kept") &&
				(isElsewhere || !strings.Contains(t.form, "place")) {
				return true
			}
		}
	}
	return false
}

// names reports whether a text message contains the time of a span, in its specialist's zone.
func (r *Referee) names(s *Span, when string) bool {
	zone := r.Specialists[s.Specialist].Zone
	rest, found := strings.CutPrefix(when, s.Start.In(zone).Format("Mon 2 Jan, 15:04"))
	if zone.String() != r.Zone.String() {
		city := zone.String()[strings.LastIndex(zone.String(), "/")+1:]
		return found && (strings.HasSuffix(rest, " ("+zone.String()+")") ||
			strings.HasSuffix(rest, " ("+strings.ReplaceAll(city, "_", " ")+")"))
	}
	return found && !strings.Contains(rest, "(")
}

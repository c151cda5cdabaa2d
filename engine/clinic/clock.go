package clinic

import "time"

// Clock formats the wall-clock time of t, such as 09:30. If the same wall-clock time occurs twice, Clock adds the zone:
// 02:30 CEST, then 02:30 CET an hour later.
func Clock(t time.Time) string {
	if zone := ZoneIfRepeated(t); zone != "" {
		return t.Format("15:04 ") + zone
	}
	return t.Format("15:04")
}

// ZoneIfRepeated returns the abbreviation of the zone of t, such as CEST, if the wall-clock time of t occurs twice. It
// returns an empty string for all other times.
func ZoneIfRepeated(t time.Time) string {
	zone, offset := t.Zone()
	for _, away := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, other := t.Add(away).Zone()
		// If the other offset applies at this instant, the wall clock shows the same time twice.
		again := t.Add(time.Duration(offset-other) * time.Second)
		if _, then := again.Zone(); other != offset && then == other {
			return zone
		}
	}
	return ""
}

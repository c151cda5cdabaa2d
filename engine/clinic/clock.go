package clinic

import "time"

// Clock formats the wall-clock time of t, such as 09:30. If the same wall-clock time occurs twice, Clock adds the zone:
// 02:30 CEST, then 02:30 CET an hour later.
func Clock(t time.Time) string {
	_, offset := t.Zone()
	for _, away := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, other := t.Add(away).Zone()
		// If the other offset applies at this instant, the wall clock shows the same time twice.
		again := t.Add(time.Duration(offset-other) * time.Second)
		if _, then := again.Zone(); other != offset && then == other {
			return t.Format("15:04 MST")
		}
	}
	return t.Format("15:04")
}

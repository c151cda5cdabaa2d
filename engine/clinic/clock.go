package clinic

import "time"

// Clock is the time of day that a wall shows, such as 09:30, with its zone where the wall shows it twice: 02:30 CEST, and an hour later
// 02:30 CET.
func Clock(t time.Time) string {
	_, offset := t.Zone()
	for _, away := range []time.Duration{-3 * time.Hour, 3 * time.Hour} {
		_, other := t.Add(away).Zone()
		again := t.Add(time.Duration(offset-other) * time.Second) // shows the same, if the other offset counts then
		if _, then := again.Zone(); other != offset && then == other {
			return t.Format("15:04 MST")
		}
	}
	return t.Format("15:04")
}

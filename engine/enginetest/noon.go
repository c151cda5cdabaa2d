// Package enginetest has the fixtures that the tests of the engine, and of the packages above it, share.
package enginetest

import "time"

// Noon returns 12:00 in zone, the given number of days after today there. Fixtures start at noon, because slots that
// a test counts from the current hour would be on another date in the evening than in the morning. Two days after
// today is 36 to 60 hours ahead in UTC, so a test can go half a day in either direction without leaving the date or
// reaching the present. Call Noon once and reuse the result: midnight may pass during the test.
func Noon(zone *time.Location, days int) time.Time {
	y, m, d := time.Now().In(zone).Date()
	return time.Date(y, m, d+days, 12, 0, 0, 0, zone)
}

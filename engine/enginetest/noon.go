// Package enginetest contains the fixtures shared by the tests of the engine and of the packages above it.
package enginetest

import "time"

// Noon returns 12:00 in zone, the given number of days after today there. Fixtures start at noon because slots counted
// from the current hour would fall on different dates in the morning and in the evening. Two days after today is 36 to
// 60 hours ahead in UTC, so a test can go half a day in either direction without leaving the date or reaching the
// present. Call Noon once and reuse the result, because midnight might pass during the test.
func Noon(zone *time.Location, days int) time.Time {
	y, m, d := time.Now().In(zone).Date()
	return time.Date(y, m, d+days, 12, 0, 0, 0, zone)
}

// Package enginetest is what the tests of the engine, and of everything above it, set up alike.
package enginetest

import "time"

// Noon is 12:00 on the wall of zone, days after today there. Fixtures stand at noon because a test that counts its
// slots from the running hour ends on another date in the evening than in the morning. Two days after today are 36 to
// 60 hours ahead in UTC, so a test may go half a day either way without leaving the date or meeting the present. Ask
// once and keep the answer: midnight may pass during the test.
func Noon(zone *time.Location, days int) time.Time {
	y, m, d := time.Now().In(zone).Date()
	return time.Date(y, m, d+days, 12, 0, 0, 0, zone)
}

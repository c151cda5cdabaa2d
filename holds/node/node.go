// Package node is what the backends of several processes have in common, whatever they keep the live state in: the form in
// which holds and events are written there, the sweep of what lapses, and whether the events of the others are heard.
package node

import "time"

// Milliseconds rounds up, so that nothing that lasts lasts no time.
func Milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Instant is a time as it is kept, in Unix milliseconds; 0 is never.
func Instant(unixMilli int64) time.Time {
	if unixMilli == 0 {
		return time.Time{}
	}
	return time.UnixMilli(unixMilli).UTC()
}

// Unix is the inverse of Instant.
func Unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Package node contains the code shared by the backends that serve several processes, whichever server stores their
// live state: the format of stored holds and events, the sweep for expired holds, and the tracking of whether events
// from other nodes are being received.
package node

import "time"

// Milliseconds rounds up, so that a positive duration never becomes 0.
func Milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

// Instant converts a stored time in Unix milliseconds to UTC; 0 is the zero time.
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

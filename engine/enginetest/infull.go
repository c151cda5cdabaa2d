package enginetest

import "testing"

// InFull reports whether a test is to do all that it can: repeat what proves a point as often as that takes, or live through days
// of virtual time. Under the race detector, which makes everything about ten times as slow, it is to do a part of it. `make test`
// runs every test that asks once more without the detector; it finds them by this call.
func InFull() bool { return !raceDetector }

// OnlyInFull skips a test of which no part is worth the while under the race detector: days of virtual time, in which the same
// things happen again and again.
func OnlyInFull(t *testing.T) {
	t.Helper()
	if !InFull() {
		t.Skip("days of virtual time: run without the race detector")
	}
}

package cli

import (
	"math"
	"testing"
)

// TestStreamsLeaveDescriptorsForBookings whatever the limit of the process is.
func TestStreamsLeaveDescriptorsForBookings(t *testing.T) {
	for files, want := range map[uint64]int{0: 1, 64: 1, 100: 36, 256: 192, 1024: 768, 20_000: 15_000, math.MaxUint64: 1_000_000} {
		if got := roomForStreams(files); got != want {
			t.Errorf("%d descriptors: got room for %d streams, want %d", files, got, want)
		}
	}
	const limit = 10
	if got := streamsWithin(limit); got != limit {
		t.Errorf("a limit that fits: got %d, want %d", got, limit)
	}
}

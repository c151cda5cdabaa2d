package message

import (
	"testing"
	"time"
)

// TestCooldownEndsOnTime: an operation that waits for the end of a pause is not due earlier, even though the queue and
// the clinic's clock count whole milliseconds.
func TestCooldownEndsOnTime(t *testing.T) {
	var r rests
	began := time.Date(2026, 11, 23, 9, 0, 0, 123_400_000, time.UTC)
	wait := r.rest("https://books.example", began, 10*time.Second)
	for _, now := range []time.Time{began, began.Add(wait - 1), began.Add(wait - 300*time.Microsecond),
		began.Add(wait - time.Millisecond)} {
		due := now.Truncate(time.Millisecond).Add(r.left("https://books.example", now)).Truncate(time.Millisecond)
		if !due.After(now) {
			t.Errorf("at %s it is due at %s, which is immediately", now.Format(time.StampNano),
				due.Format(time.StampNano))
		}
	}
	if left := r.left("https://books.example", began.Add(wait)); left > 0 {
		t.Errorf("at the end of the rest, %s of it remain", left)
	}
}

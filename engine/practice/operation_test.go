package practice

import (
	"testing"
	"time"
)

// TestDeadlineLeavesTimeBeforeStart: a write is too late 15 minutes before the start, or after half the time between
// the booking and the start if that is later.
func TestDeadlineLeavesTimeBeforeStart(t *testing.T) {
	booked := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]time.Duration{24 * time.Hour: 24*time.Hour - 15*time.Minute,
		time.Hour: 45 * time.Minute, 10 * time.Minute: 5 * time.Minute} {
		if got := deadlineOf(booked.Add(ahead), booked).Sub(booked); got != want {
			t.Errorf("booked %s before the start: got %s, want %s", ahead, got, want)
		}
	}
}

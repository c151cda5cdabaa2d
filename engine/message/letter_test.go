package message

import (
	"testing"
	"time"

	"holdfast/engine/words"
	"holdfast/store"
)

// TestEmailNamesZoneOfDoubledHour: when the clocks go back, two appointments an hour apart read differently, and
// neither seems to end before it begins.
func TestEmailNamesZoneOfDoubledHour(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for hour, want := range map[int]string{
		-1: "Sunday 25 October 2026, 01:30 to 02:00 CEST",
		0:  "Sunday 25 October 2026, 02:30 CEST to 02:00 CET",
		1:  "Sunday 25 October 2026, 02:30 CET to 03:00",
	} {
		start := time.Date(2026, 10, 25, 0, 30, 0, 0, time.UTC).Add(time.Duration(hour) * time.Hour)
		if got := (letters{words.Embedded().Find("en")}).when(&store.Appointment{SlotStart: start,
			SlotEnd: start.Add(30 * time.Minute)}, berlin, berlin); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

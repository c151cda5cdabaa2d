package booking

import (
	"testing"

	"holdfast/store"
)

// TestSlotKeySeparatesPooledList checks that a specialist with the id "pooled" has a cache entry of its own.
func TestSlotKeySeparatesPooledList(t *testing.T) {
	t.Parallel()
	day := store.Date{Year: 2026, Month: 11, Day: 23}
	pooled := slotKey("checkup", "", "", day, day.AddDays(1), 1)
	if named := slotKey("checkup", "pooled", "", day, day.AddDays(1), 1); named == pooled {
		t.Errorf("the pooled list and the list of the specialist have the same key %q", named)
	}
}

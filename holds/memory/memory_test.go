package memory_test

import (
	"testing"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/memory"
)

func open(_ testing.TB, booked func(holds.Hold) bool) holds.Backend {
	return memory.New(memory.Options{Booked: booked, WatchQueue: 1024})
}

func TestBackend(t *testing.T) {
	holdstest.Run(t, holdstest.Harness{Open: open, Virtual: true})
}

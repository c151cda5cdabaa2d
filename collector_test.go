package main

import "testing"

// TestHeapGrowsWhileBusy: only a busy process with a small heap lets it grow to busyHeap before a collection.
func TestHeapGrowsWhileBusy(t *testing.T) {
	for _, x := range []struct {
		name              string
		collections, live uint64
		before, want      int
	}{
		{"idle", 0, 8 << 20, 100, 100},
		{"one collection a second", 5, 8 << 20, 100, 100},
		{"becomes busy", 6, 8 << 20, 100, 300},
		{"stays busy, although it collects less often", 1, 8 << 20, 300, 300},
		{"becomes idle", 0, 8 << 20, 300, 100},
		{"a heap that reaches the size by doubling", 50, 16 << 20, 300, 100},
		{"a larger heap", 50, 500 << 20, 300, 100},
		{"a tiny heap", 50, 0, 100, 800},
	} {
		if got := heapGrowth(x.collections, x.live, x.before); got != x.want {
			t.Errorf("%s: got %d %%, want %d %%", x.name, got, x.want)
		}
	}
}

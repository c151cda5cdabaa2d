package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// busyHeap is the size that the heap of a busy server reaches before it is collected.
	busyHeap = 32 << 20
	// collectorEvery is the interval at which the process adapts to its load.
	collectorEvery = 5 * time.Second
	usualGrowth    = 100 // Go's default, in percent of the live heap
)

// paceCollector makes garbage collections rarer while the process is busy. By default, Go collects the heap whenever it
// has doubled. A clinic's live heap is a few megabytes, so a server under load collected it several times a second,
// which took a tenth of its processor time. A heap that reaches busyHeap by doubling is collected as usual, and so is
// that of an idle server. An operator who sets GOGC decides instead.
func paceCollector() {
	if os.Getenv("GOGC") != "" {
		return
	}
	read := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/heap/live:bytes"}}
	before, growth := uint64(0), usualGrowth
	for range time.Tick(collectorEvery) {
		metrics.Read(read)
		count := read[0].Value.Uint64()
		if g := heapGrowth(count-before, read[1].Value.Uint64(), growth); g != growth {
			growth = g
			debug.SetGCPercent(g)
		}
		before = count
	}
}

// heapGrowth returns the percentage by which the live heap, in bytes, may grow before the next collection. collections
// is their number within collectorEvery, and before the percentage at that time. A process is busy from the time at
// which it collects more than once a second until it does not collect at all.
func heapGrowth(collections, live uint64, before int) int {
	isBusy := collections > uint64(collectorEvery/time.Second) || collections > 0 && before > usualGrowth
	if !isBusy || live >= busyHeap/2 {
		return usualGrowth
	}
	return int((busyHeap - live) * 100 / max(live, 4<<20))
}

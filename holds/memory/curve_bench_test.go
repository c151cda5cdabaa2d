package memory

import (
	"flag"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

var mostHolds = flag.Int("holds", 1000, "how many holds BenchmarkCurveOfHolds goes up to, by tens")

// BenchmarkCurveOfHolds measures a claim and its release with a growing number of live holds, fifty per specialist, for
// one client and for 32. It also measures the memory per hold, and the delay of the last event when all holds expire at
// once.
func BenchmarkCurveOfHolds(b *testing.B) {
	for n := 1000; n <= max(*mostHolds, 1000); n *= 10 {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				before, began := inUse(), time.Now()
				// If a million expire together, a watcher with the default queue is cut off before the last event.
				t := New(Options{WatchQueue: max(2*n, 500_000)})
				lapseAtOnce(b, t, n, 3*time.Second+time.Duration(n)*50*time.Microsecond, func() {
					b.ReportMetric(float64(n)/time.Since(began).Seconds(), "fill/s")
					b.ReportMetric(float64(inUse()-before)/float64(n), "B/hold")
					took := claimAmong(b, t, n, 1, 50_000)
					b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "claim-ns")
					b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "claim-p99-ns")
					began = time.Now()
					took = claimAmong(b, t, n, 32, 5000)
					b.ReportMetric(float64(len(took))/time.Since(began).Seconds(), "claims-32/s")
				})
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// claimAmong makes concurrent clients claim and release holds on one specialist after another. It returns the sorted
// durations of all claims with their releases.
func claimAmong(b *testing.B, t *Backend, holds, clients, each int) []time.Duration {
	specialists := holds / perSpecialist
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := wish("", 500+i, name(holds+i))
			took[i] = make([]time.Duration, each)
			for k := range each {
				c.SpecialistID = fmt.Sprintf("specialist-%d", k*7919%specialists)
				began := time.Now()
				claimRelease(b, t, c)
				took[i][k] = time.Since(began)
			}
		})
	}
	all.Wait()
	sorted := slices.Concat(took...)
	slices.Sort(sorted)
	return sorted
}

// inUse returns the heap size after garbage collection.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse
}

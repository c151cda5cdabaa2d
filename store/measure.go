package store

import (
	"sync/atomic"
	"time"
)

// DurationBounds holds the upper bounds of the buckets of Durations. Durations also counts longer ones.
var DurationBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond,
	500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 10 * time.Second,
}

// Durations counts durations. The zero value is ready to use. It is safe for concurrent use.
type Durations struct {
	buckets [len(DurationBounds) + 1]atomic.Uint64 // the last bucket has no upper bound
	sum     atomic.Int64
}

// Observe counts one duration.
func (d *Durations) Observe(took time.Duration) {
	i := 0
	for i < len(DurationBounds) && took > DurationBounds[i] {
		i++
	}
	d.buckets[i].Add(1)
	d.sum.Add(int64(took))
}

// DurationCounts holds the counts of a Durations at one instant.
type DurationCounts struct {
	Within [len(DurationBounds)]uint64 // number of durations up to and including the bound with the same index
	Count  uint64
	Sum    time.Duration
}

// Counts returns the counts. A concurrent Observe may be included in one of the numbers and not yet in another.
func (d *Durations) Counts() (c DurationCounts) {
	for i := range d.buckets {
		c.Count += d.buckets[i].Load()
		if i < len(c.Within) {
			c.Within[i] = c.Count
		}
	}
	c.Sum = time.Duration(d.sum.Load())
	return c
}

// Measurements holds what a backend has measured since it was opened.
type Measurements struct {
	Writes   DurationCounts // Write, from the call to its return: the wait for a turn, the transaction and its commit
	Commits  DurationCounts // the commit of each batch, until it is durable
	Bytes    int64          // size of the database, without its log; 0 if unknown
	LogBytes int64          // size of the write-ahead log
}

// Measured is an optional interface of a Store that collects measurements. A caller must work without it.
type Measured interface {
	// Measurements reads only memory and the file system: it never waits for a write.
	Measurements() Measurements
}

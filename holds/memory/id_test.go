package memory

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

var pattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func TestIDsAreVersion7AndNameTheirPlace(t *testing.T) {
	var g ids
	b := &Backend{shards: make([]shard, 256)}
	at := time.Date(2026, 11, 23, 9, 0, 0, 123_456_789, time.UTC)
	for _, want := range []place{placeAt(0, 0), placeAt(255, 0), placeAt(7, 1<<24-1), placeAt(63, 4711)} {
		id := g.next(at, want)
		if !pattern.MatchString(id) {
			t.Errorf("got %s, want a UUID of version 7", id)
		}
		if ms, err := strconv.ParseInt(id[0:8]+id[9:13], 16, 64); err != nil || ms != at.UnixMilli() {
			t.Errorf("got the millisecond %d, %v of %s, want %d", ms, err, id, at.UnixMilli())
		}
		if got, ok := b.placeIn(id); !ok || got != want {
			t.Errorf("got place %d, %v of %s, want %d", got, ok, id, want)
		}
	}
}

func TestIDsOfTwoBackendsDiffer(t *testing.T) {
	var one, other ids
	one.open()
	other.open()
	at := time.Now()
	if a, b := one.next(at, 7), other.next(at, 7); a == b {
		t.Errorf("got %s twice", a)
	}
}

func TestHexWritesEveryDigit(t *testing.T) {
	for i := range 8 {
		for d := range uint64(16) {
			n := uint64(0x8a91_0f7c)&^(0xf<<(4*i)) | d<<(4*i)
			var got [8]byte
			if hex(got[:], n); string(got[:]) != fmt.Sprintf("%08x", n) {
				t.Errorf("got %s, want %08x", got, n)
			}
		}
	}
}

func TestIDsRiseDespiteClockSteps(t *testing.T) {
	var g ids
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	var last string
	for i, step := range []time.Duration{0, 0, 1, time.Millisecond, -time.Hour, -time.Hour, 2 * time.Hour} {
		at = at.Add(step)
		id := g.next(at, 0)
		if id <= last {
			t.Errorf("id %d: got %s after %s, want a greater one", i, id, last)
		}
		last = id
	}
}

func TestConcurrentIDsDiffer(t *testing.T) {
	var g ids
	var mu sync.Mutex
	var all []string
	var making sync.WaitGroup
	for range 8 {
		making.Go(func() {
			for range 1000 {
				id := g.next(time.Unix(0, 0), 0)
				mu.Lock()
				all = append(all, id)
				mu.Unlock()
			}
		})
	}
	making.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 8000 {
		t.Errorf("got %d different ids, want 8000", n)
	}
}

package timed

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestEveryRunsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 35*time.Second)
		defer cancel()
		began, calls := time.Now(), 0
		Every(ctx, 10*time.Second, func(now time.Time) {
			if calls++; now.Sub(began) != time.Duration(calls)*10*time.Second {
				t.Errorf("call %d was due %s after the start", calls, now.Sub(began))
			}
		})
		if since := time.Since(began); calls != 3 || since != 35*time.Second {
			t.Errorf("%d calls in %s, want 3 in 35 s", calls, since)
		}
	})
}

func TestEverySkipsMissedTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		calls := 0
		Every(ctx, 10*time.Second, func(time.Time) { calls++; time.Sleep(25 * time.Second) })
		if calls != 3 { // at 10, 35 and 60 seconds
			t.Errorf("%d calls, want 3", calls)
		}
	})
}

func TestMapKeepsEntriesForTTL(t *testing.T) {
	start := time.Unix(0, 0)
	for _, keep := range []time.Duration{time.Second, time.Minute} {
		m := NewMap[int, int](keep, 1000)
		step := keep / 7
		for n := range 100 {
			now := start.Add(time.Duration(n) * step)
			m.Put(n, n, now)
			for k := range n + 1 {
				_, known := m.Get(k)
				switch age := time.Duration(n-k) * step; {
				case age < keep && !known:
					t.Fatalf("the entry was deleted after %s, want it to stay for %s", age, keep)
				case age > 2*keep+step && known:
					t.Fatalf("the entry is still there after %s, want it deleted after twice %s", age, keep)
				}
			}
		}
		if m.Put(-1, 0, start.Add(time.Hour)); len(m.new)+len(m.old) != 1 {
			t.Errorf("%d entries after an hour without a Put, want 1", len(m.new)+len(m.old))
		}
	}
}

func TestMapIsBounded(t *testing.T) {
	m := NewWeighedMap(time.Hour, 100, func(key string, _ int) int { return len(key) })
	now := time.Unix(0, 0)
	for n := range 10_000 {
		m.Put(string(make([]byte, n%30)), n, now)
		if m.weighs > 100 || m.weighs < 0 {
			t.Fatalf("the weight of the newer half is %d of 100", m.weighs)
		}
	}
	if m.Put(string(make([]byte, 101)), 1, now); m.weighs > 100 {
		t.Errorf("an entry over the weight limit was stored: %d", m.weighs)
	}
}

func TestMapStoresFirstValue(t *testing.T) {
	m, now := NewMap[string, int](time.Minute, 10), time.Unix(0, 0)
	if !m.PutFirst("a", 1, now) || m.PutFirst("a", 2, now.Add(59*time.Second)) {
		t.Error("the first use of a key counts, and no second one within a minute")
	}
	m.Update("a", now, func(v int) (int, bool) { return v + 5, true })
	m.Update("a", now, func(int) (int, bool) { return 0, false })
	if v, ok := m.Get("a"); v != 6 || !ok {
		t.Errorf("got %d, want 6", v)
	}
	if m.Clear(); !m.PutFirst("a", 1, now) {
		t.Error("a key remains after all were deleted")
	}
}

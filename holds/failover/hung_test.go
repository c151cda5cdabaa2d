package failover

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/holds"
)

// TestHungPrimaryKeepsNoCallWaiting makes each call of the return to the primary hang, one at a time. While it hangs,
// the fallback grants a hold, and after the return the primary has that hold too.
func TestHungPrimaryKeepsNoCallWaiting(t *testing.T) {
	t.Parallel()
	const most = 20 // the maximum number of calls during the return
	var hung atomic.Int64
	t.Run("calls", func(t *testing.T) {
		for nth := range int64(most) {
			t.Run(fmt.Sprint(nth+1), func(t *testing.T) {
				t.Parallel()
				if returnWithHungCall(t, nth+1) {
					hung.Add(1)
				}
			})
		}
	})
	if n := hung.Load(); n < 6 || n == most {
		t.Errorf("%d calls during the return hung, want at least 6 and all of them", n)
	}
}

// returnWithHungCall makes the nth call of the return to the primary hang, and reports whether there was an nth call.
func returnWithHungCall(t *testing.T, nth int64) bool {
	primary := newFlaky(nil)
	primary.strike(true)
	b := open(t, primary, nil)
	t.Cleanup(func() { _ = b.Close() })
	want := []string{claim(t, b, wish("ada", amal)).ID, claim(t, b, wish("bob", bela)).ID}
	span := wish("cyd", amal).Span
	if _, err := b.Select(t.Context(), amal, span); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Deselect(t.Context(), bela); err != nil {
		t.Fatal(err)
	}
	if err := b.SetLoads(t.Context(), map[string]int{"ada": 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Online(t.Context(), "ada", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Load(t.Context(), "ada", 1); err != nil {
		t.Fatal(err)
	}
	arrived, resume := make(chan struct{}), make(chan struct{})
	var calls atomic.Int64
	primary.meet(func() {
		if calls.Add(1) == nth {
			close(arrived)
			<-resume
		}
	})
	primary.strike(false)
	hangs := false
	for limit := time.Now().Add(10 * time.Minute); !hangs && b.Alone() && time.Now().Before(limit); {
		select {
		case <-arrived:
			hangs = true
		case <-time.After(5 * time.Millisecond):
		}
	}
	if hangs {
		given := make(chan holds.Hold, 1)
		go func() {
			if h, err := b.Claim(t.Context(), wish("dan", amal)); err == nil {
				given <- h
			}
		}()
		select {
		case h := <-given:
			want = append(want, h.ID)
		case <-time.After(30 * time.Second):
			t.Errorf("a claim waits while call %d during the return to the primary hangs", nth)
		}
	}
	close(resume)
	mode(t, b, primary.Mode())
	list, err := primary.List(t.Context())
	if err != nil || len(list) != len(want) {
		t.Errorf("in the primary: got %+v, %v, want the %d holds %v", list, err, len(want), want)
	}
	if p, err := primary.Present(t.Context(), "ada"); err != nil || !p.Online || p.Load != 2 {
		t.Errorf("in the primary: got %+v, %v, want ada online with a load of 2", p, err)
	}
	return hangs
}

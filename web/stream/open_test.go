package stream

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLeasesAreBounded: the init frame contains the lease, and the stream ends when the lease expires or at most a
// tenth earlier.
func TestLeasesAreBounded(t *testing.T) {
	for _, c := range []struct{ asked, want time.Duration }{
		{0, DefaultLease}, {time.Minute, time.Minute}, {MaxLease, MaxLease}, {MaxLease + time.Millisecond, MaxLease},
		{30 * 24 * time.Hour, MaxLease},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newStreams(t, Options{})
			r, began := s.listen("checkup", "", c.asked), time.Now()
			var init struct{ LeaseMs int64 }
			_, data, _ := strings.Cut(r.upTo("init").text, "data: ")
			if err := json.Unmarshal([]byte(data), &init); err != nil || init.LeaseMs != c.want.Milliseconds() {
				t.Errorf("with %s requested, the lease is %d ms, want %d (%v)", c.asked, init.LeaseMs, c.want.Milliseconds(), err)
			}
			end := r.upTo("end")
			lived := time.Since(began)
			if end.Reason != string(endLeaseExpired) || lived < c.want*9/10 || lived > c.want+time.Second {
				t.Errorf("with %s requested, the stream ended after %s with %s, want at most %s and lease-expired", c.asked,
					lived, end.Reason, c.want)
			}
		})
	}
}

package cli

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// The nodes of a storm can have a clock that steps: .ci/steppable builds the test binary with a time.Now that adds the
// number of seconds in the file that TEST_CLOCK_SHIFT names. No other program on the machine sees that clock. The
// monotonic clock is not affected, just as when an operator or NTP sets a clock.

func (s *storm) clock(node int) string { return filepath.Join(s.clocks, fmt.Sprint("node", node)) }

// step sets the clock of a node, and waits until the node uses it.
func (s *storm) step(node int, by time.Duration) {
	if err := os.WriteFile(s.clock(node), fmt.Appendf(nil, "%d\n", int(by.Seconds())), 0o600); err != nil {
		s.Error(err)
	}
	for began := time.Now(); time.Since(began) < neverAfter; <-time.After(50 * time.Millisecond) {
		reply, err := s.http.Get(s.base(node) + "/readyz")
		if err != nil {
			continue
		}
		reply.Body.Close()
		shown, err := http.ParseTime(reply.Header.Get("Date"))
		if err == nil && (time.Until(shown)-by).Abs() < 5*time.Second {
			return
		}
	}
	s.Errorf("node %d does not have a clock that is %v ahead: build the test with .ci/steppable", node, by)
}

func (s *storm) ofClocks() []fault {
	back := func(node int) { s.step(node, 0) }
	by := func(d time.Duration) func(int) { return func(node int) { s.step(node, d) } }
	const lasts = 3 * time.Second
	return []fault{
		{"a node's clock is 10 min ahead", one, by(10 * time.Minute), back, lasts, false},
		{"a node's clock is 10 min behind", one, by(-10 * time.Minute), back, lasts, false},
		{"a node's clock is 2 s ahead", one, by(2 * time.Second), back, lasts, false},
	}
}

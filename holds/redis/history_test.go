package redis

import (
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/redis/redistest"
)

// TestHistoriesUnderFaults: whatever happens to the server and the connections to it, the results from two nodes could
// also come from calls that run one at a time.
func TestHistoriesUnderFaults(t *testing.T) {
	t.Parallel()
	holdstest.RunFaulty(t, holdstest.Faulty{Server: func(t testing.TB) (func() holds.Backend, []holdstest.Fault) {
		s := redistest.Start(t, redistest.Programs(t)[0])
		line := s.Proxy(t)
		return func() holds.Backend {
				return open(t, s, Options{URL: line.URL(), Timeout: 300 * time.Millisecond})
			}, []holdstest.Fault{
				{Name: "killed, and started empty", Strike: s.Kill, End: s.Restart, Empties: true},
				{Name: "frozen", Strike: s.Freeze, End: s.Thaw},
				{Name: "cut off", Strike: func() { line.Away(true) }, End: func() { line.Away(false) }},
				{Name: "unheard", Strike: func() { line.Mute(true) }, End: func() { line.Mute(false) }},
				{Name: "answers get lost", Strike: func() { line.LoseEvery(3) }, End: func() { line.LoseEvery(0) }},
				{Name: "late", Strike: func() { line.Delay(200 * time.Millisecond) }, End: func() { line.Delay(0) }},
			}
	}})
}

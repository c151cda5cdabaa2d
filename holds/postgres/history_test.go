package postgres

import (
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/holdstest"
	"holdfast/holds/node/nodetest"
	"holdfast/store/postgres/postgrestest"
)

// TestHistoriesUnderFaults: whatever happens to the server and the connections to it, the results from two nodes could
// also come from calls that run one at a time.
func TestHistoriesUnderFaults(t *testing.T) {
	t.Parallel()
	if cluster == nil {
		t.Skip("SKIPPED:", absent)
	}
	holdstest.RunFaulty(t, holdstest.Faulty{Server: func(t testing.TB) (func() holds.Backend, []holdstest.Fault) {
		own, err := postgrestest.Start() // a separate server, because it crashes
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(own.Stop)
		direct, err := url.Parse(own.Create(t))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		line := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), own.Socket())
		q := direct.Query()
		q.Set("host", dir)
		direct.RawQuery = q.Encode()
		node := func() holds.Backend {
			return open(t, direct.String(), Options{Timeout: 500 * time.Millisecond})
		}
		return node, []holdstest.Fault{
			{Name: "crashed", Strike: own.Crash, Empties: true, End: func() {
				if err := own.Run(); err != nil {
					t.Error(err)
				}
			}},
			{Name: "cut off", Strike: func() { line.Away(true) }, End: func() { line.Away(false) }},
			{Name: "unheard", Strike: func() { line.Mute(true) }, End: func() { line.Mute(false) }},
			{Name: "answers get lost", Strike: func() { line.LoseEvery(7) }, End: func() { line.LoseEvery(0) }},
			{Name: "late", Strike: func() { line.Delay(350 * time.Millisecond) }, End: func() { line.Delay(0) }},
		}
	}})
}

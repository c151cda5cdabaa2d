package cli

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/node/nodetest"
	"holdfast/store/postgres/postgrestest"
)

// TestNodeCutFromDatabaseLeavesNothingProcessing cuts one of two nodes off from PostgreSQL for 3 s during deliveries.
// The call that is in progress ends during the cut, so its outcome cannot be stored at first. Afterwards every
// operation is completed, and each appointment is upstream once.
func TestNodeCutFromDatabaseLeavesNothingProcessing(t *testing.T) {
	t.Parallel() // it waits for separate processes
	var slow atomic.Bool
	slow.Store(true)
	fake := upstreamtest.New(upstreamtest.Options{Decide: func(call upstreamtest.Call) upstreamtest.Step {
		if call.Procedure == "SetAppointment" && slow.Load() {
			return upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: time.Second}
		}
		return upstreamtest.Step{}
	}})
	practice := httptest.NewServer(fake)
	defer practice.Close()
	server, err := postgrestest.Start()
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	t.Cleanup(server.Stop)
	direct := server.Create(t)
	dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	link := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), server.Socket())
	u, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	c := newNodesOf(t, 2, practice, direct, func(node int) []string {
		if node == 0 {
			return []string{"--database", u.String()}
		}
		return nil
	})
	const bookings = 8
	for n := range bookings {
		if status, body := bookAt(t, c.all[0].base, n); status != 201 {
			t.Fatalf("booking %d: got %d %s", n, status, body)
		}
	}
	counts := func(node int) string {
		_, body := get(t, c.all[node].base+"/v1/queue-status?limit=1", longEnough)
		_, counts, _ := strings.Cut(body, `"pending"`)
		counts, _, _ = strings.Cut(counts, `,"scheduled"`)
		return counts
	}
	eventually(t, "a delivery is in progress", func() bool { return strings.Contains(counts(1), `"processing":1`) })
	link.Away(true)
	<-time.After(3 * time.Second)
	link.Away(false)
	slow.Store(false)
	want := fmt.Sprintf(`:0,"processing":0,"completed":%d,"failed":0`, bookings)
	for node := range c.all {
		eventually(t, "every operation is completed", func() bool { return counts(node) == want })
	}
	if s := fake.Score(); s.Appointments != bookings || s.Duplicates != 0 {
		t.Errorf("upstream: got %+v, want %d appointments and no duplicate", s, bookings)
	}
}

package cli

import (
	"fmt"
	"net/http"
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

// newCutNodes starts several nodes. The first reaches PostgreSQL through a link that the test controls, and the others
// reach it directly. If there is a practice system, all of them write to it.
func newCutNodes(t *testing.T, count int, practice *httptest.Server) (*nodes, *nodetest.Proxy) {
	t.Helper()
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
	return newNodesOf(t, count, practice, direct, func(node int) []string {
		if node == 0 {
			return []string{"--database", u.String()}
		}
		return nil
	}), link
}

// TestNodeCutFromDatabaseLeavesNothingProcessing cuts one of two nodes off from PostgreSQL for 3 s during deliveries.
// The call that is in progress ends during the cut, so its outcome cannot be stored at first. Afterwards every
// operation is completed, and each appointment exists upstream exactly once.
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
	c, link := newCutNodes(t, 2, practice)
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
		t.Errorf("practice system: got %+v, want %d appointments and no duplicate", s, bookings)
	}
}

// TestStreamsOutliveCutFromDatabase cuts one of two nodes off from PostgreSQL, which carries the events between nodes
// without Redis. Afterwards a page on each node shows every booking. Bookings made during the cut are in the list that
// the page reads when its stream reconnects, and later ones arrive as events.
func TestStreamsOutliveCutFromDatabase(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c, link := newCutNodes(t, 2, nil)
	bases := []string{c.all[0].base, c.all[1].base}
	s := &storm{T: t, http: &http.Client{Timeout: 12 * time.Second}, bases: bases}
	pages := []*page{s.open(0), s.open(1)}
	shows := func(n int) {
		t.Helper()
		for _, p := range pages {
			eventually(t, fmt.Sprintf("booking %d is on the page at node %d", n, p.node), func() bool {
				p.mu.Lock()
				defer p.mu.Unlock()
				return p.loaded && !p.free[slotAt(n)] && p.free[slotAt(n+1)]
			})
		}
	}
	book := func(node, n int) {
		t.Helper()
		eventually(t, "a booking is answered", func() bool {
			status, body := bookAt(t, bases[node], n)
			if status != http.StatusCreated && status != http.StatusServiceUnavailable {
				t.Fatalf("booking %d: got %d %s", n, status, body)
			}
			return status == http.StatusCreated
		})
	}
	book(0, 0)
	shows(0)
	link.Away(true)
	eventually(t, "the node that is cut off refuses streams", func() bool {
		return strings.Contains(c.all[0].stderr.String(), "live streams refused until")
	})
	book(1, 1)
	link.Away(false)
	shows(1)
	eventually(t, "the node is ready again", func() bool {
		status, body := get(t, bases[0]+"/readyz", "")
		return status == http.StatusOK && !strings.Contains(body, "liveStreams")
	})
	for n := 2; n < 6; n++ { // these arrive as events
		book(n%2, n)
		shows(n)
	}
}

// TestRepeatAtOtherNodeFindsItsBooking sends a booking without a client id to a node that is waiting for PostgreSQL.
// Before the response, it repeats the booking on another node with the same key. The other node either asks the client
// to wait or books the time itself, and both requests get the same response. The hold of the first request never makes
// the repeat fail.
func TestRepeatAtOtherNodeFindsItsBooking(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c, link := newCutNodes(t, 2, nil)
	book := func(node, n int) (status int, body string) {
		return posted(t, c.all[node].base+"/v1/appointment-types/checkup/book", map[string]any{
			"slotStartDate": slotAt(n), "patient": map[string]any{"name": "Jo Doe", "phone": "030 1234567"},
		}, map[string]string{"Idempotency-Key": fmt.Sprint("one-key-", n), "Authorization": "Bearer " + longEnough})
	}
	if status, body := book(0, 0); status != http.StatusCreated { // opens the connections
		t.Fatalf("got %d %s", status, body)
	}
	early := 0
	link.Delay(200 * time.Millisecond)
	for n := 1; n <= 3; n++ {
		type answer struct {
			status int
			body   string
		}
		first := make(chan answer, 1)
		go func() {
			status, body := book(0, n)
			first <- answer{status, body}
		}()
		for isHeld := false; !isHeld && len(first) == 0; {
			_, list := get(t, c.all[1].base+"/v1/appointment-types/checkup/timeslots?from="+slotAt(n)[:10]+"&to="+
				slotAt(n + 48)[:10], "")
			isHeld = strings.Contains(list, `"held":1`)
		}
		var repeated answer
		for repeated.status != http.StatusCreated {
			repeated.status, repeated.body = book(1, n)
			if repeated.status != http.StatusCreated && !strings.Contains(repeated.body, "idempotency_in_flight") {
				t.Fatalf("the repeat of booking %d: got %d %s, want an answer with Retry-After", n, repeated.status, repeated.body)
			}
		}
		early += 1 - len(first)
		if got := <-first; got.status != http.StatusCreated || got.body != repeated.body {
			t.Errorf("booking %d: got %d %s at first and %s for the repeat, want the same answer", n, got.status, got.body, repeated.body)
		}
	}
	if early == 0 {
		t.Error("no repeat was answered before its first request: the test proves nothing")
	}
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/redis/redistest"
)

// nodes are several servers, each in a process of its own, on one PostgreSQL, one Redis and one practice system.
type nodes struct {
	t      *testing.T
	shared []string                // flags that all are started with
	own    func(node int) []string // more flags, of one node; nil: none
	dirs   []string
	all    []*server
}

// newNodes starts so many with the clinic of openClinic and one secret.key. With a practice system they write to it.
func newNodes(t *testing.T, n int, practice *httptest.Server) *nodes {
	t.Helper()
	return newNodesWith(t, n, practice, "--redis", redistest.Start(t, redistest.Programs(t)[0]).URL())
}

// newNodesWith is newNodes with these flags in place of a Redis.
func newNodesWith(t *testing.T, n int, practice *httptest.Server, flags ...string) *nodes {
	t.Helper()
	return newNodesOn(t, n, practice, postgresURL(t), flags...)
}

// newNodesOn is newNodesWith on this database.
func newNodesOn(t *testing.T, n int, practice *httptest.Server, url string, flags ...string) *nodes {
	t.Helper()
	return newNodesOf(t, n, practice, url, nil, flags...)
}

// newNodesOf is newNodesOn with more flags for each node.
func newNodesOf(t *testing.T, n int, practice *httptest.Server, url string, own func(node int) []string,
	flags ...string) *nodes {
	t.Helper()
	c := &nodes{t: t, shared: append([]string{"--database", url}, flags...), own: own}
	c.shared = append(c.shared, "--listen", "127.0.0.1:0", "--rate-limit", "off", "--admin-key-file",
		write(t, longEnough))
	if practice != nil {
		c.shared = append(c.shared, "--upstream-url", practice.URL+"/GetData.ashx", "--upstream-client-id", "c",
			"--upstream-user", "u",
			"--upstream-password", "p", "--upstream-spacing", "20ms", "--upstream-retry-delay", "1ms",
			"--upstream-timeout", "2s",
			"--upstream-quarantine", "3s", "--queue-backoff", "10ms", "--queue-max-attempts", "1000")
	}
	file := filepath.Join(t.TempDir(), "clinic.json")
	writeJSON(t, file, openClinic(t))
	for i := range n {
		c.dirs = append(c.dirs, filepath.Join(t.TempDir(), fmt.Sprintf("node%d", i)))
		if i == 0 {
			must(t, "import", "--data", c.dirs[0], "--database", url, file)
		} else if err := os.MkdirAll(c.dirs[i], 0o700); err != nil {
			t.Fatal(err)
		} else if key, err := os.ReadFile(filepath.Join(c.dirs[0], secretFile)); err != nil {
			t.Fatal(err)
		} else if err := os.WriteFile(filepath.Join(c.dirs[i], secretFile), key, 0o600); err != nil {
			t.Fatal(err)
		}
		c.all = append(c.all, nil)
		c.start(i)
	}
	return c
}

// start starts a node that does not run.
func (c *nodes) start(i int) {
	c.t.Helper()
	var own []string
	if c.own != nil {
		own = c.own(i)
	}
	c.all[i] = started(c.t, slices.Concat([]string{"serve", "--data", c.dirs[i]}, c.shared, own)...)
}

// bookAt books a check-up, n half hours after noon in two days, and returns the status.
func bookAt(t *testing.T, base string, n int) (int, string) {
	t.Helper()
	return posted(t, base+"/v1/appointment-types/checkup/book", map[string]any{
		"clientId":      fmt.Sprintf("a-client-secret-%08d", n),
		"slotStartDate": enginetest.Noon(time.UTC, 2).Add(time.Duration(n) * 30 * time.Minute).Format(time.RFC3339),
		"patient":       map[string]any{"name": "Jo Doe", "phone": "030 1234567"},
	}, nil)
}

// TestTwoNodesServeOneClinic: each node sees the bookings of the other and refuses its held times, and both are
// ready.
func TestTwoNodesServeOneClinic(t *testing.T) {
	t.Parallel()
	c := newNodes(t, 2, nil)
	areOneClinic(t, c, "redis")
	alone := command(t, nil, "", "serve", "--data", filepath.Join(t.TempDir(), "third"), "--database", c.shared[1],
		"--listen", "127.0.0.1:0")
	if alone.code != 1 {
		t.Errorf("a third node without --redis: exit code %d, want 1", alone.code)
	}
	contains(t, "a third node without --redis", alone.stderr, "another node is serving from this database", "--redis")
}

// TestTwoNodesFormCluster tests the same without Redis.
func TestTwoNodesFormCluster(t *testing.T) {
	t.Parallel()
	areOneClinic(t, newNodesWith(t, 2, nil), "postgres")
}

func areOneClinic(t *testing.T, c *nodes, mode string) {
	t.Helper()
	a, b := c.all[0], c.all[1]
	both := func() bool { return storageModeOf(t, a.base) == mode && storageModeOf(t, b.base) == mode }
	eventually(t, "both are ready", both)
	if status, body := bookAt(t, a.base, 1); status != http.StatusCreated {
		t.Fatalf("got %d %s, want 201", status, body)
	}
	if status, body := bookAt(t, b.base, 1); status != http.StatusCreated && !strings.Contains(body, "taken") {
		t.Errorf("the same time at another node: got %d %s, want it refused", status, body)
	}
	// A node of which Redis was not heard for a moment holds elsewhere meanwhile; then it is asked about the next time of the day.
	away := func() int {
		return strings.Count(a.stderr.String()+b.stderr.String(), "live state moved to the fallback")
	}
	for n := 2; ; n++ {
		eventually(t, "both are ready", both)
		before := away()
		if status, _, body := holdAt(t, a.base, "a-holding-client-0001", n); status != http.StatusCreated {
			t.Fatalf("got %d %s, want 201", status, body)
		}
		status, _, body := holdAt(t, b.base, "another-client-000001", n)
		if status == http.StatusConflict && strings.Contains(body, "slot_held") {
			return
		}
		if both() && away() == before || n > 8 {
			t.Fatalf("a hold of what another node's client holds: got %d %s, want slot_held", status, body)
		}
	}
}

// TestOperationsOfKilledNodeAreDelivered: another node delivers each operation once, although the killed node had
// started them.
func TestOperationsOfKilledNodeAreDelivered(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	fake := upstreamtest.New(upstreamtest.Options{Decide: func(call upstreamtest.Call) upstreamtest.Step {
		if call.Procedure == "SetAppointment" && arrived.Add(1) == 3 {
			// the node is killed while it waits for this answer
			return upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: time.Second}
		}
		return upstreamtest.Step{}
	}})
	practice := httptest.NewServer(fake)
	defer practice.Close()
	c := newNodes(t, 2, practice)
	const bookings = 12
	for n := range bookings {
		if status, body := bookAt(t, c.all[0].base, n); status != http.StatusCreated {
			t.Fatalf("booking %d: got %d %s", n, status, body)
		}
	}
	eventually(t, "some are written", func() bool { return arrived.Load() >= 3 })
	if err := c.all[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	c.all[0].ended(t)
	done := func() bool {
		_, body := get(t, c.all[1].base+"/v1/queue-status?limit=1", longEnough)
		return strings.Contains(body, `"pending":0,"processing":0,"completed":12,"failed":0`)
	}
	began, tick := time.Now(), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for !done() {
		if <-tick.C; time.Since(began) > time.Minute { // the lease of what was in hand lapses first
			_, body := get(t, c.all[1].base+"/v1/queue-status", longEnough)
			t.Fatalf("the queue is not worked off: %s", body)
		}
	}
	if s := fake.Score(); s.Appointments != bookings || s.Duplicates != 0 {
		t.Errorf("upstream: got %+v, want %d appointments and no duplicate", s, bookings)
	}
}

// bookWithKey books like bookAt, so that it can be repeated; an error if nobody answers.
func bookWithKey(base string, n int) (status int, err error) {
	body := fmt.Sprintf(`{"clientId":"a-client-secret-%08d","slotStartDate":%q,"patient":{"name":"Jo Doe","phone":"030 1234567"}}`,
		n, enginetest.Noon(time.UTC, 2).Add(time.Duration(n)*30*time.Minute).Format(time.RFC3339))
	r, err := http.NewRequest(http.MethodPost, base+"/v1/appointment-types/checkup/book", strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", fmt.Sprintf("booking-of-the-test-%08d", n))
	client := http.Client{Timeout: 20 * time.Second}
	reply, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, reply.Body)
	return reply.StatusCode, errors.Join(err, reply.Body.Close())
}

// TestRollingRestartRefusesNoRequest restarts one node after the other while clients book through any node that
// answers, as behind a load balancer.
func TestRollingRestartRefusesNoRequest(t *testing.T) {
	t.Parallel()
	c := newNodes(t, 2, nil)
	var mu sync.Mutex
	bases := []string{c.all[0].base, c.all[1].base}
	var stop atomic.Bool
	var next, booked atomic.Int32
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				n := int(next.Add(1))
				done := false
				for try := 0; try < 20 && !done; try++ { // the same request at the next node, as nginx does where nobody listens
					mu.Lock()
					base := bases[(n+try)%2]
					mu.Unlock()
					if base == "" {
						continue
					}
					status, err := bookWithKey(base, n)
					switch {
					case err != nil, status == http.StatusBadGateway:
					case status == http.StatusCreated:
						done = true
					default:
						t.Errorf("booking %d: got %d, want 201", n, status)
						done = true
					}
				}
				if !done {
					t.Errorf("booking %d was answered by nobody", n)
				}
				booked.Add(1)
			}
		})
	}
	for i := range c.all {
		eventually(t, "people book", func() bool { return booked.Load() > int32(40*(i+1)) })
		mu.Lock()
		bases[i] = "" // its health check fails, and nobody is sent there any more
		mu.Unlock()
		if err := c.all[i].Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := c.all[i].ended(t); code != 0 {
			t.Errorf("node %d ended with %d: %s", i, code, c.all[i].stderr)
		}
		c.start(i)
		mu.Lock()
		bases[i] = c.all[i].base
		mu.Unlock()
	}
	stop.Store(true)
	all.Wait()
	seen := map[string]bool{}
	for _, a := range appointments(t, c.all[0].base, longEnough) {
		seen[a.ID] = true
	}
	if len(seen) != int(next.Load()) {
		t.Errorf("%d appointments, want %d", len(seen), next.Load())
	}
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
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

// nodes are several servers, each in a separate process, on one PostgreSQL, one Redis and one practice system.
type nodes struct {
	t      *testing.T
	shared []string                // flags for all nodes
	own    func(node int) []string // returns additional flags for one node; nil if there are none
	dirs   []string
	all    []*server
	// the program that start runs from now on; empty means this one
	program string
}

// newNodes starts n nodes with the clinic of openClinic and one secret.key. If there is a practice system, they
// write to it.
func newNodes(t *testing.T, n int, practice *httptest.Server) *nodes {
	t.Helper()
	return newNodesWith(t, n, practice, "--redis", redistest.Start(t, redistest.Programs(t)[0]).URL())
}

// newNodesWith is like newNodes, with these flags instead of a Redis.
func newNodesWith(t *testing.T, n int, practice *httptest.Server, flags ...string) *nodes {
	t.Helper()
	return newNodesOn(t, n, practice, postgresURL(t), flags...)
}

// newNodesOn is like newNodesWith, on this database.
func newNodesOn(t *testing.T, n int, practice *httptest.Server, url string, flags ...string) *nodes {
	t.Helper()
	return newNodesOf(t, n, practice, url, nil, flags...)
}

// newNodesOf is like newNodesOn, with additional flags for each node.
func newNodesOf(t *testing.T, n int, practice *httptest.Server, url string, own func(node int) []string,
	flags ...string) *nodes {
	t.Helper()
	return newNodesFrom(t, "", n, practice, url, own, flags...)
}

// newNodesFrom is like newNodesOf, but runs the given program file; empty means this program. Without a URL, there is
// one node, on SQLite.
func newNodesFrom(t *testing.T, program string, n int, practice *httptest.Server, url string,
	own func(node int) []string, flags ...string) *nodes {
	t.Helper()
	c := &nodes{t: t, own: own, program: program}
	database := []string{}
	if url != "" {
		database = []string{"--database", url}
	}
	c.shared = slices.Concat(database, flags, []string{"--listen", "127.0.0.1:0", "--rate-limit", "off",
		"--admin-key-file", write(t, longEnough)})
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
			c.run(slices.Concat([]string{"import", "--data", c.dirs[0]}, database, []string{file})...)
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

// run runs a command of the nodes' program, which must succeed.
func (c *nodes) run(args ...string) {
	c.t.Helper()
	if c.program == "" {
		must(c.t, args...)
	} else if said, err := exec.Command(c.program, args...).CombinedOutput(); err != nil {
		c.t.Fatalf("%s %v: %v: %s", c.program, args, err, said)
	}
}

// start starts a node that is not running.
func (c *nodes) start(i int) {
	c.t.Helper()
	var own []string
	if c.own != nil {
		own = c.own(i)
	}
	args := slices.Concat([]string{"serve", "--data", c.dirs[i]}, c.shared, own)
	if c.program != "" {
		c.all[i] = startedFrom(c.t, c.program, nil, args...)
		return
	}
	c.all[i] = started(c.t, args...)
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

// TestTwoNodesServeOneClinic: each node refuses times that are booked or held on the other node, and both nodes are
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

// TestTwoNodesFormCluster tests the same as TestTwoNodesServeOneClinic, without Redis.
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
		t.Errorf("the same time at another node: got %d %s, want an error", status, body)
	}
	// While a node cannot reach Redis, it holds times in the fallback. If that happens, the test tries the next time of
	// the day.
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
			t.Fatalf("a time that another node's client holds: got %d %s, want slot_held", status, body)
		}
	}
}

// TestOperationsOfKilledNodeAreDelivered: a node is killed during deliveries. Another node delivers each operation, and
// each appointment exists upstream once.
func TestOperationsOfKilledNodeAreDelivered(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	fake := upstreamtest.New(upstreamtest.Options{Decide: func(call upstreamtest.Call) upstreamtest.Step {
		if call.Procedure == "SetAppointment" && arrived.Add(1) == 3 {
			// the node is killed while it waits for this response
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
		if <-tick.C; time.Since(began) > 10*time.Minute { // the lease of the running operations expires first
			_, body := get(t, c.all[1].base+"/v1/queue-status", longEnough)
			t.Fatalf("the queue is not empty: %s", body)
		}
	}
	if s := fake.Score(); s.Appointments != bookings || s.Duplicates != 0 {
		t.Errorf("practice system: got %+v, want %d appointments and no duplicate", s, bookings)
	}
}

// bookWithKey is like bookAt, but it sends a key, so that the request can be repeated. It returns an error if there is
// no response.
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

// rollingClients are clients that book one time after another. Like clients of a load balancer, they use any node that
// is not about to stop.
type rollingClients struct {
	*nodes
	mu           sync.Mutex
	bases        []string
	stop         atomic.Bool
	next, booked atomic.Int32
	all          sync.WaitGroup
}

func (c *nodes) clients() *rollingClients {
	r := &rollingClients{nodes: c}
	for _, node := range c.all {
		r.bases = append(r.bases, node.base)
	}
	for range 4 {
		r.all.Go(func() {
			for !r.stop.Load() {
				r.book(int(r.next.Add(1)))
				r.booked.Add(1)
			}
		})
	}
	return r
}

// book repeats the request on the next node if a node does not respond, or responds with 502 or 503. A node that
// starts, stops or waits for the database may do so. The key makes the repeat safe.
func (r *rollingClients) book(n int) {
	for began := time.Now(); time.Since(began) < neverAfter; <-time.After(10 * time.Millisecond) {
		for try := range r.bases {
			r.mu.Lock()
			base := r.bases[(n+try)%len(r.bases)]
			r.mu.Unlock()
			if base == "" {
				continue
			}
			status, err := bookWithKey(base, n)
			if err != nil || status == http.StatusBadGateway || status == http.StatusServiceUnavailable {
				continue
			}
			if status != http.StatusCreated {
				r.t.Errorf("booking %d: got %d, want 201", n, status)
			}
			return
		}
	}
	r.t.Errorf("booking %d had no answer in %v", n, neverAfter)
}

// more waits for more bookings.
func (r *rollingClients) more(bookings int32) {
	r.t.Helper()
	before := r.booked.Load()
	eventually(r.t, "people book", func() bool { return r.booked.Load() > before+bookings })
}

// leave stops a node: its health check fails first, so the clients no longer use it.
func (r *rollingClients) leave(node int) {
	r.t.Helper()
	r.mu.Lock()
	r.bases[node] = ""
	r.mu.Unlock()
	if err := r.nodes.all[node].Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if code := r.nodes.all[node].ended(r.t); code != 0 {
		r.t.Errorf("node %d ended with %d: %s", node, code, r.nodes.all[node].stderr)
	}
}

// enter starts a node for the clients.
func (r *rollingClients) enter(node int) {
	r.t.Helper()
	r.start(node)
	r.mu.Lock()
	r.bases[node] = r.nodes.all[node].base
	r.mu.Unlock()
}

// end stops the clients and compares their bookings with the appointments.
func (r *rollingClients) end() {
	r.t.Helper()
	r.stop.Store(true)
	r.all.Wait()
	seen := map[string]bool{}
	for _, a := range appointments(r.t, r.nodes.all[0].base, longEnough) {
		seen[a.ID] = true
	}
	if len(seen) != int(r.next.Load()) {
		r.t.Errorf("%d appointments, want %d", len(seen), r.next.Load())
	}
}

// TestRollingRestartRefusesNoRequest restarts one node after the other while clients book.
func TestRollingRestartRefusesNoRequest(t *testing.T) {
	t.Parallel()
	r := newNodes(t, 2, nil).clients()
	for i := range r.nodes.all {
		r.more(40)
		r.leave(i)
		r.enter(i)
	}
	r.end()
}

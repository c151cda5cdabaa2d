package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis/redistest"
	"holdfast/store/postgres/postgrestest"
)

// TestTwoNodesUnderFaults runs a clinic on two or more nodes during one fault after another. Patients, the desk and
// agents book, cancel, hold, list and join the waiting list on any node. If a request gets no response, they repeat it
// with its key. No acknowledged write is lost or doubled, no client loses its own time, and every refusal gives its
// reason. The queue ends up empty, every webhook arrives in order, every open page equals its list, and the memory of a
// node stays flat. At the end PostgreSQL fails over to its standby.
//
// An ordinary run includes two faults and only patients. A storm is longer and includes all clients:
//
//	HOLDFAST_FAULTS=120       the number of faults, one every 30 s
//	HOLDFAST_STORM_EVERY=10s  the time between them
//	HOLDFAST_STORM_NODES=3    the number of nodes, 2 by default
//	HOLDFAST_STORM_REDIS=off  without Redis
//	HOLDFAST_STORM_KINDS=RE   only the faults whose name matches
//	HOLDFAST_STORM_SEED=7     the seed of the order of the faults, their victims and the clients
//	HOLDFAST_STORM_CLOCKS=on  with steps of one node's clock; the test binary is that of .ci/steppable
//	HOLDFAST_STORM_LOG=FILE   the progress, while the storm is on
//	HOLDFAST_STORM_RESULTS=FILE  the recoveries of several storms; the table of each has those of the earlier ones too
//
// Storms with consecutive seeds continue each other: together they strike every kind of fault equally often.
func TestTwoNodesUnderFaults(t *testing.T) {
	if os.Getenv("HOLDFAST_STORM_CLOCKS") != "on" { // each process gets the file of its clock from the environment
		t.Parallel() // it waits for separate processes
	}
	faults, every := 2, 3*time.Second
	if os.Getenv("HOLDFAST_FAULTS") != "" {
		faults = numberOf(t, "HOLDFAST_FAULTS", faults)
		var err error
		if every, err = time.ParseDuration(cmp.Or(os.Getenv("HOLDFAST_STORM_EVERY"), "30s")); err != nil {
			t.Fatal(err)
		}
	}
	s := newStorm(t)
	s.load(func() {
		random := rand.New(rand.NewPCG(s.seed, 1))
		struck := (s.seed - 1) * uint64(faults) // the faults of the storms with the seeds before this one
		for n := range faults {
			f := &s.faults[s.kindOf(struck+uint64(n))]
			<-time.After(every / 2)
			before := s.answered.Load()
			victim := f.victim(random, len(s.nodes.all))
			s.goesOn(f.name, victim, f.losesHolds)
			f.strike(victim)
			s.struck++
			<-time.After(f.lasts)
			f.end(victim)
			s.recover(fmt.Sprintf("fault %d at node %d", n, victim), f.name, before)
			s.goesOn("", -1, false)
			<-time.After(max(0, every/2-f.lasts))
			s.look(n*3 < faults)
		}
		before := s.answered.Load()
		s.goesOn("failover of PostgreSQL to its standby", -1, !s.withRedis)
		s.primary.Crash()
		if err := s.standby.Promote(); err != nil {
			t.Error(err)
		}
		s.recover("the end", s.fault, before)
		s.goesOn("", -1, false)
	})
	s.check()
}

// kindOf returns the kind of the n-th fault. The faults come in rounds: every kind occurs once in a round, and each
// round has a different random order.
func (s *storm) kindOf(n uint64) int {
	kinds := uint64(len(s.faults))
	return rand.New(rand.NewPCG(n/kinds, 1)).Perm(len(s.faults))[n%kinds]
}

// goesOn records the fault that begins now. victim is the affected node, or -1 for all nodes.
func (s *storm) goesOn(fault string, victim int, losesHolds bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.losesHolds {
		s.holdsLost = time.Now()
	}
	s.fault, s.faultBegan, s.victim, s.losesHolds = fault, time.Now(), victim, losesHolds
}

// fault is a temporary failure, on one node or on all of them.
type fault struct {
	name        string
	at          place
	strike, end func(node int)
	lasts       time.Duration
	losesHolds  bool // the storage of the holds crashes, so held times are free
}

// place is the scope of a fault.
type place int

const (
	all   place = iota // all nodes, or the servers that they share
	one                // any node
	first              // the node that is never killed
	other              // any node except the first, so that it can be killed
)

func (f *fault) victim(random *rand.Rand, nodes int) int {
	switch f.at {
	case one:
		return random.IntN(nodes)
	case first:
		return 0
	case other:
		return 1 + random.IntN(nodes-1)
	}
	return -1
}

// line contains the links of one node to Redis and to PostgreSQL.
type line struct {
	redis  *redistest.Proxy // nil without Redis
	record *nodetest.Proxy
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{T: t, http: &http.Client{Timeout: 12 * time.Second}, began: time.Now(), early: map[string]float64{},
		latest: map[string]float64{},
		waited: map[string]time.Duration{}, recovered: map[string][]time.Duration{}, victim: -1, hooks: newHooks(t),
		court: court{given: map[int]turn{}}, reported: map[string]bool{}}
	count := numberOf(t, "HOLDFAST_STORM_NODES", 2)
	s.isLong = os.Getenv("HOLDFAST_FAULTS") != ""
	s.seed = uint64(numberOf(t, "HOLDFAST_STORM_SEED", int(time.Now().UnixNano()&(1<<31-1))+1))
	s.withRedis = os.Getenv("HOLDFAST_STORM_REDIS") != "off"
	var err error
	if s.primary, err = postgrestest.Start(); err != nil {
		t.Skip("SKIPPED:", err)
	}
	t.Cleanup(s.primary.Stop)
	name, err := url.Parse(s.primary.Create(t))
	if err != nil {
		t.Fatal(err)
	}
	if s.standby, err = s.primary.Standby(true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.standby.Stop)
	q := name.Query()
	q.Set("target_session_attrs", "read-write")
	databaseAt := func(dir string) string {
		q.Set("host", dir+","+filepath.Dir(s.standby.Socket()))
		name.RawQuery = q.Encode()
		return name.String()
	}
	var redis *redistest.Server
	if s.withRedis {
		redis = redistest.Start(t, redistest.Programs(t)[0])
	}
	for range count {
		dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		l := &line{record: nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), s.primary.Socket())}
		if redis != nil {
			l.redis = redis.Proxy(t)
		}
		s.lines, s.urls = append(s.lines, l), append(s.urls, databaseAt(dir))
	}
	s.practice = upstreamtest.New(upstreamtest.Options{Decide: func(upstreamtest.Call) upstreamtest.Step {
		if s.silent.Load() {
			return upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: 3 * time.Second}
		}
		return upstreamtest.Step{}
	}})
	practice := httptest.NewServer(s.practice)
	t.Cleanup(practice.Close)
	if !s.isLong {
		practice = nil
	}
	if os.Getenv("HOLDFAST_STORM_CLOCKS") == "on" {
		s.clocks = t.TempDir()
	}
	s.nodes = newNodesOf(t, count, practice, databaseAt(filepath.Dir(s.primary.Socket())), func(node int) []string {
		if s.clocks != "" {
			t.Setenv("TEST_CLOCK_SHIFT", s.clock(node)) // clock of the next process
		}
		flags := []string{"--database", s.urls[node], "--webhook-allow-private"}
		if l := s.lines[node]; l.redis != nil {
			flags = append(flags, "--redis", l.redis.URL())
		}
		return flags
	})
	for _, node := range s.nodes.all {
		s.bases = append(s.bases, node.base)
	}
	if s.isLong {
		s.prepare()
	}
	s.faults = append(s.ofNodes(), s.ofPostgres()...)
	if s.clocks != "" {
		s.faults = append(s.faults, s.ofClocks()...)
	}
	if redis != nil {
		s.faults = append(s.faults, s.ofRedis(redis)...)
	}
	wanted := regexp.MustCompile(cmp.Or(os.Getenv("HOLDFAST_STORM_KINDS"), "."))
	s.faults = slices.DeleteFunc(s.faults, func(f fault) bool { return !wanted.MatchString(f.name) })
	return s
}

// prepare registers the webhook and identifies the agents' patient.
func (s *storm) prepare() {
	if status, answer := s.send(http.MethodPut, s.base(0)+"/v1/settings", longEnough, "", map[string]any{
		"webhooks": []map[string]any{{"id": "storm", "url": s.hooks.server.URL}},
	}); status != http.StatusOK {
		s.Fatalf("the webhook: got %d %v", status, answer)
	}
	s.patient = postAgent(s.T, s.base(0), "/v1/agent/patients",
		map[string]any{"firstName": "Jane", "lastName": "Roe", "sessionId": "storm"})
}

func (s *storm) signal(node int, sig syscall.Signal) {
	if err := s.nodes.all[node].Process.Signal(sig); err != nil {
		s.Error(err)
	}
}

func (s *storm) begin(node int) {
	s.nodes.start(node)
	s.at(node, s.nodes.all[node].base)
}

// each calls do for one node, or for all if node is -1.
func (s *storm) each(node int, do func(l *line)) {
	for i, l := range s.lines {
		if node < 0 || i == node {
			do(l)
		}
	}
}

func (s *storm) record(do func(p *nodetest.Proxy)) func(int) {
	return func(node int) { s.each(node, func(l *line) { do(l.record) }) }
}

func (s *storm) redis(do func(p *redistest.Proxy)) func(int) {
	return func(node int) { s.each(node, func(l *line) { do(l.redis) }) }
}

func (s *storm) run(node int) {
	if err := s.primary.Run(); err != nil {
		s.Error(err)
	}
}

func (s *storm) ofNodes() []fault {
	stop := func(node int, sig syscall.Signal) {
		s.at(node, "")
		s.signal(node, sig)
		s.nodes.all[node].ended(s.T)
	}
	freeze, thaw := func(node int) {
		s.signal(node, syscall.SIGSTOP)
	}, func(node int) { s.signal(node, syscall.SIGCONT) }
	return []fault{
		{"a node is killed", other, func(n int) { stop(n, syscall.SIGKILL) }, s.begin, time.Second, false},
		{"a node is stopped and started", other, func(n int) { stop(n, syscall.SIGTERM) }, s.begin, time.Second, false},
		{"a node is frozen for 7 s", first, freeze, thaw, 7 * time.Second, false},
		{"a node pauses for 250 ms", one, freeze, thaw, 250 * time.Millisecond, false},
		{"a node pauses for 1 s", one, freeze, thaw, time.Second, false},
		{"the practice-management system answers late", all, func(int) {
			s.silent.Store(true)
		}, func(int) { s.silent.Store(false) }, 3 * time.Second, false},
		{"the receiver of webhooks refuses", all, func(int) {
			s.hooks.refuses.Store(true)
		}, func(int) { s.hooks.refuses.Store(false) }, 3 * time.Second, false},
	}
}

func (s *storm) ofPostgres() []fault {
	away := func(on bool) func(int) { return s.record(func(p *nodetest.Proxy) { p.Away(on) }) }
	mute := func(on bool) func(int) { return s.record(func(p *nodetest.Proxy) { p.Mute(on) }) }
	delay := func(by time.Duration) func(int) { return s.record(func(p *nodetest.Proxy) { p.Delay(by) }) }
	lose := func(nth int) func(int) { return s.record(func(p *nodetest.Proxy) { p.LoseEvery(nth) }) }
	const lasts = 3 * time.Second
	faults := []fault{
		{"PostgreSQL crashes", all, func(int) { s.primary.Crash() }, s.run, time.Second, !s.withRedis},
		{"PostgreSQL is cut off from all nodes", all, away(true), away(false), lasts, false},
		{"no answer of PostgreSQL reaches any node", all, mute(true), mute(false), lasts, false},
		{"answers of PostgreSQL to all nodes get lost", all, lose(40), lose(0), lasts, false},
		{"one node is cut off from PostgreSQL", one, away(true), away(false), lasts, false},
		{"no answer of PostgreSQL reaches one node", one, mute(true), mute(false), lasts, false},
		{"PostgreSQL is 0.3 s late for one node", one, delay(300 * time.Millisecond), delay(0), lasts, false},
		{"answers of PostgreSQL to one node get lost", one, lose(40), lose(0), lasts, false},
		{"connections of one node to PostgreSQL break", one, s.record(func(p *nodetest.Proxy) {
			p.Cut()
		}), func(int) {}, 0, false},
		{"PostgreSQL crashes and a node is killed", other, func(n int) {
			s.at(n, "")
			s.signal(n, syscall.SIGKILL)
			s.nodes.all[n].ended(s.T)
			s.primary.Crash()
		}, func(n int) { s.run(n); s.begin(n) }, time.Second, !s.withRedis},
	}
	return faults
}

func (s *storm) ofRedis(server *redistest.Server) []fault {
	away := func(on bool) func(int) { return s.redis(func(p *redistest.Proxy) { p.Away(on) }) }
	mute := func(on bool) func(int) { return s.redis(func(p *redistest.Proxy) { p.Mute(on) }) }
	delay := func(by time.Duration) func(int) { return s.redis(func(p *redistest.Proxy) { p.Delay(by) }) }
	lose := func(nth int) func(int) { return s.redis(func(p *redistest.Proxy) { p.LoseEvery(nth) }) }
	const lasts = 3 * time.Second
	return []fault{
		{"Redis is killed and returns empty", all, func(int) {
			server.Kill()
		}, func(int) { server.Restart() }, 2 * time.Second, false},
		{"Redis is frozen", all, func(int) { server.Freeze() }, func(int) { server.Thaw() }, lasts, false},
		{"Redis is emptied", all, func(int) { server.Flush() }, func(int) {}, 0, false},
		{"Redis is cut off from all nodes", all, away(true), away(false), lasts, false},
		{"Redis is 0.5 s late", all, delay(500 * time.Millisecond), delay(0), lasts, false},
		{"no answer of Redis reaches any node", all, mute(true), mute(false), lasts, false},
		{"one node is cut off from Redis", one, away(true), away(false), lasts, false},
		{"no answer of Redis reaches one node", one, mute(true), mute(false), lasts, false},
		{"Redis is 0.5 s late for one node", one, delay(500 * time.Millisecond), delay(0), lasts, false},
		{"answers of Redis to one node get lost", one, lose(40), lose(0), lasts, false},
		{"connections of one node to Redis break", one, s.redis(func(p *redistest.Proxy) {
			p.Cut()
		}), func(int) {}, 0, false},
		{"one node is cut off from Redis and PostgreSQL", one, func(n int) {
			s.lines[n].redis.Away(true)
			s.lines[n].record.Away(true)
		},
			func(n int) { s.lines[n].redis.Away(false); s.lines[n].record.Away(false) }, lasts, false},
		{"a node pauses while another leaves Redis", first, func(n int) {
			s.signal(n, syscall.SIGSTOP)
			s.lines[1].redis.Away(true)
		},
			func(n int) { s.signal(n, syscall.SIGCONT); s.lines[1].redis.Away(false) }, 500 * time.Millisecond, false},
		{"Redis and a node are killed", other, func(n int) {
			s.at(n, "")
			server.Kill()
			s.signal(n, syscall.SIGKILL)
			s.nodes.all[n].ended(s.T)
		}, func(n int) { server.Restart(); s.begin(n) }, 2 * time.Second, false},
	}
}

// recover waits until the nodes accept bookings again and report that they are ready.
func (s *storm) recover(after, fault string, before int64) {
	began, tick := time.Now(), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	noted := false
	for s.answered.Load() < before+3 || !s.well() {
		if <-tick.C; time.Since(began) > slowAfter && !noted {
			noted = true
			s.note("%s, %s: not as before %v later; %d bookings since then; %s", after, fault, slowAfter,
				s.answered.Load()-before, s.states())
		}
		if time.Since(began) > neverAfter {
			for i, node := range s.nodes.all {
				text := node.stderr.String()
				s.Logf("node %d logged: %s", i, text[max(0, len(text)-20_000):])
			}
			s.Fatalf("%s, %s: the nodes have not recovered after %v", after, fault, neverAfter)
		}
	}
	took := time.Since(began)
	s.countSlow(took)
	s.recovered[fault] = append(s.recovered[fault], took)
	s.note("%s, %s: recovered after %v; %s", after, fault, took.Round(10*time.Millisecond), s.court.String())
}

// note logs the progress, also in the file HOLDFAST_STORM_LOG: the log of a parallel test appears only when the test
// ends.
func (s *storm) note(format string, values ...any) {
	line := fmt.Sprintf("%6.1f s: ", time.Since(s.began).Seconds()) + fmt.Sprintf(format, values...)
	s.Log(line)
	if name := os.Getenv("HOLDFAST_STORM_LOG"); name != "" {
		if f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err == nil {
			fmt.Fprintln(f, line)
			f.Close()
		}
	}
}

func (s *storm) well() bool {
	want := "postgres"
	if s.withRedis {
		want = "redis"
	}
	for i := range s.nodes.all {
		status, answer := s.send(http.MethodGet, s.base(i)+"/readyz", "", "", nil)
		if status != http.StatusOK || answer["storageMode"] != want {
			return false
		}
	}
	return true
}

// states returns the readiness that each node reports, and the end of its log.
func (s *storm) states() string {
	var b strings.Builder
	for i, node := range s.nodes.all {
		status, answer := s.send(http.MethodGet, s.base(i)+"/readyz", "", "", nil)
		log := node.stderr.String()
		fmt.Fprintf(&b, "\nnode %d: %d %v\n%s", i, status, answer, log[max(0, len(log)-2000):])
	}
	return b.String()
}

// table returns the recovery times after each kind of fault, as rows of a Markdown table.
func (s *storm) table() string {
	if err := s.addEarlier(os.Getenv("HOLDFAST_STORM_RESULTS")); err != nil {
		s.Error(err)
	}
	var b strings.Builder
	b.WriteString("\n| fault | times | recovered after, median | at most | longest wait on the other nodes |\n" +
		"|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(s.recovered)) {
		all := slices.Sorted(slices.Values(s.recovered[name]))
		round := func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s |\n", name, len(all), round(all[len(all)/2]), round(all[len(all)-1]),
			round(s.waited[name]))
	}
	return b.String()
}

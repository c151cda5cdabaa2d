package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis/redistest"
	"holdfast/store/postgres/postgrestest"
)

// TestTwoNodesUnderFaults is a clinic on two nodes while one thing after another goes wrong: people book times of their own and
// times that others want, cancel, hold and look, at either node, and repeat under their key what was not answered. Nothing that was
// acknowledged is lost or doubled, nobody is told that their own time is taken, refusals say what they are, and the memory
// of a node stays flat. At the end PostgreSQL fails over to its standby.
//
// Two faults go by, some seconds apart; HOLDFAST_FAULTS is another number of them, and then one comes every 30 seconds.
func TestTwoNodesUnderFaults(t *testing.T) {
	t.Parallel() // it waits for processes of its own
	faults, every := 2, 3*time.Second
	if text := os.Getenv("HOLDFAST_FAULTS"); text != "" {
		var err error
		if faults, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		every = 30 * time.Second
	}
	s := newStorm(t)
	s.load(func() {
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		var order []int
		for n := range faults {
			if len(order) == 0 {
				order = random.Perm(len(s.faults))
			}
			fault := s.faults[order[0]]
			order = order[1:]
			<-time.After(every / 2)
			before := s.answered.Load()
			s.goesOn(fault.name)
			fault.strike()
			<-time.After(fault.lasts)
			fault.end()
			s.recover(fmt.Sprintf("fault %d (%s)", n, fault.name), before)
			<-time.After(max(0, every/2-fault.lasts))
			s.look(n*3 < faults)
		}
		before := s.answered.Load()
		s.goesOn("the failover")
		s.primary.Crash()
		if err := s.standby.Promote(); err != nil {
			t.Error(err)
		}
		s.recover("the failover of PostgreSQL", before)
	})
	s.check()
}

// goesOn says what goes wrong from now on.
func (s *storm) goesOn(fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// fault is something that goes wrong for a while.
type fault struct {
	name        string
	strike, end func()
	lasts       time.Duration
}

func newStorm(t *testing.T) *storm {
	t.Helper()
	s := &storm{T: t, http: &http.Client{Timeout: 12 * time.Second}, began: time.Now(), early: map[string]float64{}, latest: map[string]float64{}, waited: map[string]time.Duration{}}
	redis := redistest.Start(t, redistest.Programs(t)[0])
	live := redis.Proxy(t)
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
	dir, err := os.MkdirTemp("", "holdfast-line-") // t.TempDir() is too long for the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	record := nodetest.Start(t, filepath.Join(dir, ".s.PGSQL.5432"), s.primary.Socket())
	q := name.Query()
	q.Set("host", dir+","+filepath.Dir(s.standby.Socket()))
	q.Set("target_session_attrs", "read-write")
	name.RawQuery = q.Encode()
	s.nodes = newNodesOn(t, 2, nil, name.String(), "--redis", live.URL())
	s.bases = []string{s.nodes.all[0].base, s.nodes.all[1].base}

	signal := func(node int, sig syscall.Signal) func() {
		return func() {
			if err := s.nodes.all[node].Process.Signal(sig); err != nil {
				t.Error(err)
			}
		}
	}
	on := func(switched func(bool), on bool) func() { return func() { switched(on) } }
	s.faults = []fault{
		{"a node is killed", func() { s.at(1, ""); signal(1, syscall.SIGKILL)(); s.nodes.all[1].ended(t) }, func() { s.nodes.start(1); s.at(1, s.nodes.all[1].base) }, time.Second},
		{"a node is frozen", signal(0, syscall.SIGSTOP), signal(0, syscall.SIGCONT), 7 * time.Second},
		{"Redis is killed and comes back empty", redis.Kill, redis.Restart, 2 * time.Second},
		{"Redis is frozen", redis.Freeze, redis.Thaw, 3 * time.Second},
		{"Redis is cut off", on(live.Away, true), on(live.Away, false), 3 * time.Second},
		{"Redis is half a second late", func() { live.Delay(500 * time.Millisecond) }, func() { live.Delay(0) }, 3 * time.Second},
		{"Redis is not heard", on(live.Mute, true), on(live.Mute, false), 3 * time.Second},
		{"PostgreSQL crashes", s.primary.Crash, func() {
			if err := s.primary.Run(); err != nil {
				t.Error(err)
			}
		}, time.Second},
		{"PostgreSQL is cut off", on(record.Away, true), on(record.Away, false), 3 * time.Second},
		{"PostgreSQL is not heard", on(record.Mute, true), on(record.Mute, false), 3 * time.Second},
		{"answers of PostgreSQL get lost", func() { record.LoseEvery(40) }, func() { record.LoseEvery(0) }, 3 * time.Second},
	}
	return s
}

// recover waits until people book again and both nodes say that all is well.
func (s *storm) recover(after string, before int64) {
	began, tick := time.Now(), time.NewTicker(50*time.Millisecond)
	defer tick.Stop()
	for s.answered.Load() < before+3 || !s.well(0) || !s.well(1) {
		if <-tick.C; time.Since(began) > time.Minute {
			for i, node := range s.nodes.all {
				s.Logf("node %d said: %s", i, node.stderr)
			}
			s.Fatalf("%s: a minute later it is not as before", after)
		}
	}
	s.Logf("%6.1f s: %s: as before after %v", time.Since(s.began).Seconds(), after, time.Since(began).Round(10*time.Millisecond))
}

func (s *storm) well(node int) bool {
	status, answer := s.send(http.MethodGet, s.base(node)+"/readyz", "", "", nil)
	return status == http.StatusOK && answer["storageMode"] == "redis"
}

package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/token"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/web/simulation/referee"
)

// life is one simulated clinic while it runs.
type life struct {
	seed     uint64
	base     string // directory of all its houses
	houses   int
	keys     *token.Keyring
	outside  *upstreamtest.Server
	receiver *receiver
	gateway  *gateway
	*house
	*referee.Referee

	began    time.Time
	requests int
	clients  []string
	manage   map[string]string // manage links, by appointment
	readers  []*reader
	wishes   []*wish           // agents' bookings that the server acknowledged
	mailed   map[string]string // addresses that must get an email, by appointment
	online   map[string]time.Time
	// the last restart, or the end of the last full disk; for some minutes after that, specialists without heartbeats
	// may still be online
	shaken  time.Time
	checked time.Time // the last check of every row
	mia     *colleague
	lea     signedIn
	line    []string                  // the entries of the waiting list, in the order of joining
	waiters map[string]map[string]any // the people who wait, by entry
	visits  [][]string                // the appointments of each visit, in the order of its people
	inVisit map[string]bool
	// the recorded absences, and the last one that displaced each appointment
	absences    map[string]*absence
	allAbsences []*absence
	displacedBy map[string]string
	phones      map[string]string // the numbers of patients who have ever agreed to text messages, by appointment
	trouble     []span            // periods during which the gateway or the server did not work
	openedLink  string            // the token of the last text message whose link was opened
	openedOffer string            // the same, for offers of the waiting list
	mu          sync.Mutex        // guards the records of concurrent requests
	counts      map[string]int
}

// failure is a violated guarantee, and the time of the violation.
type failure struct {
	action action // the last one
	after  time.Duration
	err    error
}

func (f *failure) Error() string {
	return fmt.Sprintf("action %d, %q, after %.1f virtual days: %v", f.action.n, f.action.kind, f.after.Hours()/24,
		f.err)
}

// live runs a plan and returns the first violated guarantee, or nil.
func live(t *testing.T, seed uint64, plan []action) (broken *failure, counts map[string]int) {
	base := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := &life{seed: seed, base: base, manage: map[string]string{}, mailed: map[string]string{},
			online: map[string]time.Time{}, inVisit: map[string]bool{}, counts: map[string]int{},
			absences: map[string]*absence{}, displacedBy: map[string]string{}, phones: map[string]string{},
			waiters: map[string]map[string]any{}}
		counts = l.counts
		start, _ := begins(seed)
		time.Sleep(time.Until(start))
		l.began = start
		last := action{n: -1, kind: "the opening"}
		broke := func(err error) bool {
			if err != nil {
				broken = &failure{last, time.Since(l.began), err}
			}
			return err != nil
		}
		if broke(l.open()) {
			l.leave()
			return
		}
		for _, a := range plan {
			time.Sleep(a.pause)
			last = a
			l.counts[a.kind]++
			if broke(l.act(a)) {
				l.leave()
				return
			}
		}
		last.kind = "the end"
		broke(l.end())
		l.leave()
	})
	return broken, counts
}

// open starts the server and imports the clinic.
func (l *life) open() (err error) {
	l.keys = token.Generate(time.Now())
	c := newClinic(l.seed)
	l.Referee = referee.New(c)
	fate := rand.New(rand.NewPCG(l.seed, 3))
	l.outside = upstreamtest.New(upstreamtest.Options{
		Zone: c.Zone, WritesPerMinute: 5, Decide: func(call upstreamtest.Call) upstreamtest.Step {
			return decide(fate, call)
		},
		Columns: []upstreamtest.Column{{ScheduleViewGUID: viewGUID, ScheduleColumnGUID: columnGUID,
			Weekdays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}},
	})
	l.receiver, l.gateway = newReceiver(l.seed), newGateway(l.seed)
	for n := range 9 {
		l.clients = append(l.clients, fmt.Sprintf("client-of-the-simulation-%d", n))
	}
	if l.house, err = openHouse(l.nextDir(), l.keys, l.outside, l.receiver, l.gateway); err != nil {
		return err
	}
	a, err := l.do(&request{method: "POST", path: "/v1/import", body: file(c), admin: true})
	if err == nil && a.status != 200 {
		err = fmt.Errorf("import: %d %s", a.status, a.raw)
	}
	if err == nil {
		err = l.newSecret(fate)
	}
	return err
}

func (l *life) nextDir() string {
	l.houses++
	dir := filepath.Join(l.base, fmt.Sprint(l.houses))
	_ = os.MkdirAll(dir, 0o700) // Open fails if it is missing
	return dir
}

// act runs one action, and then checks everything.
func (l *life) act(a action) error {
	r := rand.New(rand.NewPCG(a.dice, 5))
	for _, k := range kinds {
		if k.name != a.kind {
			continue
		}
		if err := k.do(l, r); err != nil {
			return err
		}
	}
	synctest.Wait()
	if l.faults.isOff() {
		if err := l.revive(); err != nil {
			return err
		}
	}
	return l.check()
}

// revive starts the server again after a power cut, on the files as they were when the power was cut.
func (l *life) revive() error {
	synctest.Wait()
	l.closeReaders()
	l.trouble = append(l.trouble, span{l.faults.offAt, time.Now()})
	into := l.nextDir()
	if err := l.kill(into); err != nil {
		return err
	}
	return l.reopen(into)
}

// reopen starts the server on the files of a house that has ended. The holds of that house were in memory and are lost,
// except those of proposals, which the server creates again.
func (l *life) reopen(dir string) (err error) {
	l.closeReaders()
	maps.DeleteFunc(l.Holds, func(_ string, h *referee.Hold) bool { return !h.IsProposal })
	l.shaken = time.Now()
	time.Sleep(time.Duration(1+l.houses%7) * time.Second)
	l.house, err = openHouse(dir, l.keys, l.outside, l.receiver, l.gateway)
	return err
}

// end waits until everything has settled and checks everything.
func (l *life) end() error {
	if err := l.settle(); err != nil {
		return err
	}
	if err := l.checkRows(true); err != nil {
		return err
	}
	found, err := l.engine.Differences(context.Background())
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("memory differs from the database: %v", found)
	}
	if err == nil {
		err = errors.Join(l.checkOutside(), l.checkMail(), l.checkHooks(), l.checkTextsDue())
	}
	return errors.Join(err, l.store.Check(context.Background()))
}

// leave closes everything that is open, so that the bubble can end.
func (l *life) leave() {
	defer l.receiver.close()
	defer l.gateway.close()
	if l.house == nil {
		return
	}
	l.closeReaders()
	l.stop()
	_ = l.close()
}

// do sends a request with one idempotency key until it gets a definite response. It retries after a lost reply, and
// while the disk is full or the server is stopped.
func (l *life) do(r *request) (*reply, error) {
	l.requests++
	if r.method == "POST" && r.key == "" {
		r.key = fmt.Sprintf("key-%d-%d", l.seed, l.requests)
	}
	for range 40 {
		a, err := l.asks(r)
		if err == nil && (a.status < 500 && a.code != "idempotency_in_flight" ||
			strings.Contains(a.raw, `"llm_guidance"`) && !l.faults.isOff()) {
			return a, nil // a response to an agent that the practice-management system is unreachable is also definite
		}
		if err == nil && !l.faults.isOff() && a.status != 503 && a.status != 507 {
			return nil, fmt.Errorf("%s %s: %d %s", r.method, r.path, a.status, a.raw)
		}
		synctest.Wait()
		if l.faults.isOff() {
			if err := l.revive(); err != nil {
				return nil, err
			}
		}
		time.Sleep(3 * time.Second)
	}
	return nil, fmt.Errorf("%s %s got no answer", r.method, r.path)
}

// again repeats a request that has received a response, and expects the same one.
func (l *life) again(q *request, first *reply) error {
	second, err := l.do(q)
	if err == nil && (second.status != first.status || second.raw != first.raw) {
		err = fmt.Errorf("%s %s got %d %s, and its repeat %d %s", q.method, q.path, first.status, first.raw,
			second.status, second.raw)
	}
	return err
}

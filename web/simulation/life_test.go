package simulation

import (
	"context"
	"errors"
	"fmt"
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

// life is one simulated clinic while it is lived through.
type life struct {
	seed     uint64
	base     string // directory of all its houses
	houses   int
	keys     *token.Keyring
	outside  *upstreamtest.Server
	receiver *receiver
	*house
	*referee.Referee

	began    time.Time
	requests int
	clients  []string
	manage   map[string]string // manage links, by appointment
	readers  []*reader
	wishes   []*wish           // what agents were told is booked
	mailed   map[string]string // addresses that a mail was promised to, by appointment
	online   map[string]time.Time
	shaken   time.Time // after a restart everybody has a whole period again, and after a full disk who could not be written off
	checked  time.Time // the last look at every row
	mia      *colleague
	lea      signedIn
	line     []string   // the entries of the waiting list, in the order in which they came
	visits   [][]string // the appointments of each, in the order in which the people come
	inVisit  map[string]bool
	mu       sync.Mutex // guards what requests at once note
	counts   map[string]int
}

// failure is a promise that was broken, and when.
type failure struct {
	action action // the last one
	after  time.Duration
	err    error
}

func (f *failure) Error() string {
	return fmt.Sprintf("action %d, %q, after %.1f virtual days: %v", f.action.n, f.action.kind, f.after.Hours()/24, f.err)
}

// live lives through a plan and returns the first broken promise, or nil.
func live(t *testing.T, seed uint64, plan []action) (broken *failure, counts map[string]int) {
	base := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		l := &life{seed: seed, base: base, manage: map[string]string{}, mailed: map[string]string{}, online: map[string]time.Time{}, inVisit: map[string]bool{}, counts: map[string]int{}}
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

// open opens the clinic.
func (l *life) open() (err error) {
	l.keys = token.Generate(time.Now())
	c := newClinic(l.seed)
	l.Referee = referee.New(c)
	fate := rand.New(rand.NewPCG(l.seed, 3))
	l.outside = upstreamtest.New(upstreamtest.Options{
		Zone: c.Zone, WritesPerMinute: 5, Decide: func(call upstreamtest.Call) upstreamtest.Step { return decide(fate, call) },
		Columns: []upstreamtest.Column{{ScheduleViewGUID: viewGUID, ScheduleColumnGUID: columnGUID, Weekdays: []time.Weekday{0, 1, 2, 3, 4, 5, 6}}},
	})
	l.receiver = newReceiver(l.seed)
	for n := range 9 {
		l.clients = append(l.clients, fmt.Sprintf("client-of-the-simulation-%d", n))
	}
	if l.house, err = openHouse(l.nextDir(), l.keys, l.outside, l.receiver); err != nil {
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
	_ = os.MkdirAll(dir, 0o700) // Open says so if it is not there
	return dir
}

// act does one action, and then checks everything.
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

// revive starts the server again after its power was cut, on what the disk has.
func (l *life) revive() error {
	synctest.Wait()
	l.closeReaders()
	into := l.nextDir()
	if err := l.kill(into); err != nil {
		return err
	}
	return l.reopen(into)
}

// reopen opens the files of a house that ended. Holds were in its memory.
func (l *life) reopen(dir string) (err error) {
	l.closeReaders()
	clear(l.Holds)
	l.shaken = time.Now()
	time.Sleep(time.Duration(1+l.houses%7) * time.Second)
	l.house, err = openHouse(dir, l.keys, l.outside, l.receiver)
	return err
}

// end lets everything settle and looks at all there is.
func (l *life) end() error {
	if err := l.settle(); err != nil {
		return err
	}
	if err := l.checkRows(true); err != nil {
		return err
	}
	found, err := l.engine.Differences(context.Background())
	if err == nil && len(found) > 0 {
		err = fmt.Errorf("memory is not the database: %v", found)
	}
	if err == nil {
		err = errors.Join(l.checkOutside(), l.checkMail(), l.checkHooks())
	}
	return errors.Join(err, l.store.Check(context.Background()))
}

// leave closes what is open, so that the bubble can end.
func (l *life) leave() {
	defer l.receiver.close()
	if l.house == nil {
		return
	}
	l.closeReaders()
	l.stop()
	_ = l.close()
}

// do sends a request until it is answered for certain, under one key: a reply that is lost, a full disk and a server that went down
// meanwhile are what repeats are for.
func (l *life) do(r *request) (*reply, error) {
	l.requests++
	if r.method == "POST" && r.key == "" {
		r.key = fmt.Sprintf("key-%d-%d", l.seed, l.requests)
	}
	for range 40 {
		a, err := l.asks(r)
		if err == nil && (a.status < 500 && a.code != "idempotency_in_flight" || strings.Contains(a.raw, `"llm_guidance"`) && !l.faults.isOff()) {
			return a, nil // to an agent it is also said for certain that the practice system is out of reach
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
	return nil, fmt.Errorf("%s %s was never answered", r.method, r.path)
}

// again repeats a request that was answered, and wants the same answer.
func (l *life) again(q *request, first *reply) error {
	second, err := l.do(q)
	if err == nil && (second.status != first.status || second.raw != first.raw) {
		err = fmt.Errorf("%s %s was answered %d %s, and its repeat %d %s", q.method, q.path, first.status, first.raw, second.status, second.raw)
	}
	return err
}

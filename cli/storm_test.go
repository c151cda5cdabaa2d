package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store/postgres/postgrestest"
)

// storm holds the clinic's nodes, the faults, and the responses that the clients received.
type storm struct {
	*testing.T
	nodes            *nodes
	lines            []*line
	urls             []string // the database URL of each node
	primary, standby *postgrestest.Server
	withRedis        bool
	// the directory of the files that set the nodes' clocks; empty means that the clocks do not step
	clocks   string
	seed     uint64 // seed of the order of the faults, their victims and the clients
	isLong   bool   // includes series, visits, the waiting list, agents, webhooks and open pages too
	practice *upstreamtest.Server
	patient  map[string]any // the agents' patient, with its token
	silent   atomic.Bool    // the practice-management system responds late
	hooks    *hooks
	pages    []*page
	court    court
	faults   []fault
	http     *http.Client
	began    time.Time

	mu    sync.Mutex
	bases []string // addresses of the nodes; empty while a node is down

	answered      atomic.Int64 // bookings
	next, holder  atomic.Int64
	waiting       atomic.Int64 // entries of the waiting list
	refusals      sync.Map     // status and code: *atomic.Int64
	told          sync.Map     // key of a booking: wanted
	early, latest map[string]float64
	longest       time.Duration
	struck        int
	// the attempts that were running when watchQueue last read the queue, with the time when each was first seen; the
	// longest of all attempts; the attempts that are already reported
	attempts       map[string]time.Time
	longestAttempt time.Duration
	reported       map[string]bool
	slow           atomic.Int64 // responses and recoveries that took longer than slowAfter
	fault          string       // the active fault; empty between two faults
	faultBegan     time.Time
	victim         int       // the affected node, or -1 for all
	losesHolds     bool      // the fault loses holds
	holdsLost      time.Time // the end of the last fault that lost holds
	// by fault: the longest time that an unaffected node took to respond
	waited    map[string]time.Duration
	recovered map[string][]time.Duration
}

// wanted is a booking that a client wants, and the response that it received.
type wanted struct {
	slot      int
	id        string // set when the booking is acknowledged; empty for an agent's booking
	cancelled bool
}

// On a busy machine, steps are slow, which violates no guarantee. The test counts steps that take longer than
// slowAfter, and fails only if a step has not finished after neverAfter.
const (
	slowAfter  = time.Minute
	neverAfter = 10 * time.Minute
)

const (
	contended  = 1000   // slots that several clients want
	holdsFrom  = 14_000 // slots that are only held
	heldByMany = 16_990 // slots that several clients hold in turn
	slotsEnd   = 17_000
)

// at records the address of a node; empty while it is not running.
func (s *storm) at(node int, base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bases[node] = base
}

// base returns the address of a node, or of the next one that is running.
func (s *storm) base(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.bases {
		if base := s.bases[(n+i)%len(s.bases)]; base != "" {
			return base
		}
	}
	return ""
}

// load runs all clients until do returns.
func (s *storm) load(do func()) {
	over := make(chan struct{})
	var all sync.WaitGroup
	clients := uint64(1)
	often := func(every time.Duration, call func(random *rand.Rand)) {
		clients++
		random := rand.New(rand.NewPCG(s.seed, clients))
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				case <-time.After(every/2 + rand.N(every)):
					call(random)
				}
			}
		})
	}
	for range 3 {
		often(time.Second, func(*rand.Rand) { s.book(contended+int(s.next.Add(1)), false) })
		often(time.Second, func(r *rand.Rand) { s.book(r.IntN(contended), true) })
		often(time.Second, s.hold)
		often(time.Second/2, s.holdInTurn)
	}
	often(time.Second, func(r *rand.Rand) {
		from := enginetest.Noon(time.UTC, 2+r.IntN(300))
		s.send(http.MethodGet, s.base(r.IntN(len(s.bases)))+"/v1/appointment-types/checkup/timeslots?from="+
			from.Format(time.DateOnly)+"&to="+from.AddDate(0, 0, 6).Format(time.DateOnly), "", "", nil)
	})
	if s.isLong {
		often(3*time.Second, func(*rand.Rand) { s.series() })
		often(3*time.Second, func(*rand.Rand) { s.visit() })
		often(3*time.Second, func(*rand.Rand) { s.wish() })
		often(2*time.Second, func(*rand.Rand) { s.agent() })
		often(time.Second, s.watchQueue)
		for node := range s.nodes.all {
			s.pages = append(s.pages, s.open(node))
		}
	}
	defer all.Wait()
	defer close(over)
	do()
}

func slotAt(n int) string {
	return enginetest.Noon(time.UTC, 2).Add(time.Duration(n) * 30 * time.Minute).Format(time.RFC3339)
}

// book books a slot, and repeats the request with the same key until there is a response. Sometimes it cancels the
// booking.
func (s *storm) book(slot int, shared bool) {
	n := s.answered.Load() + int64(slot)<<32
	key := fmt.Sprintf("booking-%d-%d-%d", slot, n, rand.Int64())
	w := wanted{slot: slot}
	s.told.Store(key, w)
	began := time.Now()
	for try := 0; time.Since(began) < neverAfter; try++ {
		status, answer := s.send(http.MethodPost, s.base(slot+try)+"/v1/appointment-types/checkup/book", "", key,
			map[string]any{
				"clientId": "a-client-secret-" + key, "slotStartDate": slotAt(slot),
				"patient": map[string]any{"name": "Jo Doe", "phone": "030 1234567"},
			})
		switch {
		case status == http.StatusCreated:
			s.answered.Add(1)
			made, _ := answer["appointment"].(map[string]any)
			w.id, _ = made["id"].(string)
			s.told.Store(key, w)
			if took := time.Since(began); took > 0 {
				s.mu.Lock()
				s.longest = max(s.longest, took)
				s.mu.Unlock()
				s.countSlow(took)
			}
			if rand.IntN(4) == 0 {
				s.cancel(key, w)
			}
			return
		case status == http.StatusConflict && answer["code"] != "idempotency_in_flight":
			if !shared {
				s.Errorf("slot %d, which no other client requests: got %v", slot, answer)
			}
			s.told.Delete(key)
			return
		case status != 0 && status != http.StatusServiceUnavailable && status != http.StatusConflict:
			s.Errorf("slot %d: got %d %v", slot, status, answer)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	s.Errorf("slot %d was not booked in %v", slot, neverAfter)
}

// cancel cancels a booked appointment, and repeats that until there is a response.
func (s *storm) cancel(key string, w wanted) {
	for try, began := 0, time.Now(); time.Since(began) < neverAfter; try++ {
		status, answer := s.send(http.MethodPost, s.base(w.slot+try)+"/v1/appointments/"+w.id+"/cancel", longEnough,
			"cancel-"+key, map[string]any{})
		switch {
		case status == http.StatusOK:
			w.cancelled = true
			s.told.Store(key, w)
			return
		case status != 0 && status != http.StatusServiceUnavailable && answer["code"] != "idempotency_in_flight":
			s.Errorf("cancelling an appointment: got %d %v", status, answer)
			return
		}
		<-time.After(100 * time.Millisecond)
	}
	s.Errorf("appointment %s was not cancelled in %v", w.id, neverAfter)
}

// hold holds a slot that no other client wants, and renews the hold on random nodes. Then it releases the hold or lets
// it expire.
func (s *storm) hold(random *rand.Rand) {
	n := s.holder.Add(1)
	slot := holdsFrom + int(n)%(heldByMany-holdsFrom)
	client := fmt.Sprintf("a-holding-client-%08d", n)
	for i := range 4 {
		status, answer := s.send(http.MethodPost, s.base(i+int(n))+"/v1/holds", "", "",
			map[string]any{"appointmentTypeId": "checkup", "clientId": client, "slotStartDate": slotAt(slot)})
		if status != 0 && status/100 != 2 && status != http.StatusServiceUnavailable {
			s.Errorf("a hold of slot %d for its own client, for the %d. time: got %d %v", slot, i+1, status, answer)
		}
		if id, _ := answer["holdId"].(string); id != "" && i == 3 && random.IntN(2) == 0 {
			s.send(http.MethodDelete, s.base(i)+"/v1/holds", "", "", map[string]any{"holdId": id, "clientId": client})
		}
		<-time.After(300 * time.Millisecond)
	}
}

// send sends a request and returns the status, or 0 without a response. A refusal by the server must give its reason.
func (s *storm) send(method, address, key, idempotency string, body any) (int, map[string]any) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			s.Error(err)
		}
		content = bytes.NewReader(raw)
	}
	r, err := http.NewRequest(method, address, content)
	if err != nil {
		s.Error(err)
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if idempotency != "" {
		r.Header.Set("Idempotency-Key", idempotency)
	}
	began := time.Now()
	reply, err := s.http.Do(r)
	s.wait(address, began)
	if err != nil {
		s.count("no answer")
		return 0, nil
	}
	defer reply.Body.Close()
	raw, err := io.ReadAll(reply.Body)
	if err != nil {
		s.count("half an answer")
		return 0, nil
	}
	var answer map[string]any
	err = json.Unmarshal(raw, &answer)
	if reply.StatusCode >= 500 {
		detail, _ := answer["detail"].(string)
		// a response in the agents' form
		isAgents := strings.HasPrefix(r.URL.Path, "/v1/agent/") && answer["error_type"] != nil
		if !isAgents && (err != nil || reply.StatusCode != http.StatusServiceUnavailable || detail == "" ||
			reply.Header.Get("Retry-After") == "") {
			s.Errorf("%s %s: got %d %s, want a 503 with the action to take", method, r.URL.Path, reply.StatusCode, raw)
		}
		s.count(fmt.Sprint(reply.StatusCode, " ", answer["code"]))
	}
	return reply.StatusCode, answer
}

// wait records the time that a client waited for a response during a fault on another node. The request began at began.
func (s *storm) wait(address string, began time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "" || s.victim >= 0 && s.bases[s.victim] != "" && strings.HasPrefix(address, s.bases[s.victim]) {
		return
	}
	if began.Before(s.faultBegan) { // the previous fault caused the earlier part of the wait
		began = s.faultBegan
	}
	s.waited[s.fault] = max(s.waited[s.fault], time.Since(began).Round(time.Millisecond))
}

// countSlow counts steps that took longer than slowAfter.
func (s *storm) countSlow(took time.Duration) {
	if took > slowAfter {
		s.slow.Add(1)
	}
}

func (s *storm) count(what string) {
	n, _ := s.refusals.LoadOrStore(what, new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// look records the memory of the node that is never killed: the maximum in the first third of the test, and the maximum
// after that.
func (s *storm) look(early bool) {
	reply, err := s.http.Get(s.base(0) + "/metrics")
	if err != nil {
		s.Error(err)
		return
	}
	defer reply.Body.Close()
	most := s.latest
	if early {
		most = s.early
	}
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if name == "holdfast_heap_bytes" || name == "process_resident_memory_bytes" || name == "go_goroutines" {
			value, _ := strconv.ParseFloat(text, 64)
			if strings.HasSuffix(name, "bytes") {
				value /= 1e6
			}
			most[strings.ReplaceAll(name, "bytes", "MB")] = max(most[strings.ReplaceAll(name, "bytes", "MB")], value)
		}
	}
}

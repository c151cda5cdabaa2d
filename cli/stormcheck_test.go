package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/enginetest"
)

// hooks is the webhook receiver. It stores the first arrival of each webhook.
type hooks struct {
	server  *httptest.Server
	refuses atomic.Bool

	mu       sync.Mutex
	byID     map[string]bool
	types    map[string][]string // by appointment, in the order of arrival
	repeated int                 // repeats of an id, after the node was cut off before it stored the response
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{byID: map[string]bool{}, types: map[string][]string{}}
	h.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Type string
			Data struct{ AppointmentID string }
		}
		if raw, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(raw, &body) != nil || h.refuses.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if id := r.Header.Get("webhook-id"); h.byID[id] {
			h.repeated++
		} else {
			h.byID[id] = true
			h.types[body.Data.AppointmentID] = append(h.types[body.Data.AppointmentID], body.Type)
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(h.server.Close)
	return h
}

// page is an open page on one node. It shows the first week, and reconnects when its stream ends.
type page struct {
	*storm
	node int

	mu     sync.Mutex
	free   map[string]bool // free starts, from the list and then from the events
	loaded bool
	opened int
	held   map[string]bool     // starts that an offer of the waiting list holds, so that lists leave them out
	events map[string][]string // by start, since the last list
	stop   context.CancelFunc
	over   chan struct{}
}

func (s *storm) open(node int) *page {
	ctx, stop := context.WithCancel(context.Background())
	p := &page{storm: s, node: node, stop: stop, over: make(chan struct{})}
	s.Cleanup(p.close)
	go func() {
		defer close(p.over)
		for ctx.Err() == nil {
			p.follow(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	return p
}

func (p *page) close() {
	p.stop()
	<-p.over
}

// follow opens a stream, reads the list once the stream is connected, and applies the events until the stream ends. It
// closes a stream that sends nothing for 40 s, which is longer than the time between two pings.
func (p *page) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	base := p.base(p.node)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("%s/v1/holds/stream?appointmentTypeId=checkup&clientId=a-page-of-the-storm-%d", base, p.node), nil)
	if err != nil {
		p.Error(err)
		return
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer reply.Body.Close()
	p.mu.Lock()
	p.held = map[string]bool{}
	p.mu.Unlock()
	silent := time.AfterFunc(40*time.Second, cancel)
	defer silent.Stop()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		silent.Reset(40 * time.Second)
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		var event struct{ Type, SlotStartDate string }
		if !ok || json.Unmarshal([]byte(text), &event) != nil {
			continue
		}
		switch event.Type {
		case "connected": // events that arrive during the request wait in the connection
			free, err := p.week(base)
			if err != nil {
				return
			}
			p.mu.Lock()
			p.free, p.loaded, p.events = free, true, map[string][]string{}
			p.opened++
			p.mu.Unlock()
		case "hold", "release":
			p.mu.Lock()
			p.held[event.SlotStartDate] = event.Type == "hold"
			p.mu.Unlock()
		case "confirm", "cancel":
			p.mu.Lock()
			if start := event.SlotStartDate; start < p.until() {
				p.held[start] = false
				p.events[start] = append(p.events[start], event.Type)
				if event.Type == "cancel" {
					p.free[start] = true
				} else {
					delete(p.free, start)
				}
			}
			p.mu.Unlock()
		case "end":
			return
		}
	}
}

// until returns the end of the week that the page shows.
func (p *page) until() string {
	return enginetest.Noon(time.UTC, 9).Truncate(24 * time.Hour).Format(time.RFC3339)
}

// week lists the free starts of the week that the pages show.
func (s *storm) week(base string) (map[string]bool, error) {
	free, err := s.freeAt(base, 2, 9)
	noon := slotAt(0) // starts before it are not booked
	maps.DeleteFunc(free, func(start string, _ bool) bool { return start < noon })
	return free, err
}

// freeAt lists the starts that are neither booked nor closed, from day from up to, but not including, day to.
func (s *storm) freeAt(base string, from, to int) (map[string]bool, error) {
	day := func(n int) string { return enginetest.Noon(time.UTC, n).Format(time.DateOnly) }
	reply, err := s.http.Get(base + "/v1/appointment-types/checkup/timeslots?from=" + day(from) + "&to=" + day(to))
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	var list struct {
		Slots []struct {
			Start           string
			Available, Held int
		}
	}
	if err := json.NewDecoder(reply.Body).Decode(&list); err != nil || reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the list: %d, %w", reply.StatusCode, err)
	}
	free := map[string]bool{}
	for _, slot := range list.Slots {
		if slot.Available+slot.Held > 0 {
			free[slot.Start] = true
		}
	}
	return free, nil
}

// check compares the responses that clients received with the appointments, the nodes with each other, and the pages
// with their lists. It also compares the webhooks and the practice-management system with the appointments.
func (s *storm) check() {
	t := s.T
	s.checkQueue()
	list := appointments(t, s.base(0), longEnough)
	slices.SortFunc(list, func(a, b here) int { return a.SlotStartDate.Compare(b.SlotStartDate) })
	byID, confirmed := map[string]here{}, map[string]here{}
	var before here
	for _, a := range list {
		if byID[a.ID] = a; a.Status != "confirmed" {
			continue
		}
		confirmed[a.SlotStartDate.UTC().Format(time.RFC3339)] = a
		if before.SlotEndDate.After(a.SlotStartDate) {
			t.Errorf("%s and %s overlap", before.ID, a.ID)
		}
		before = a
	}
	left := maps.Clone(byID)
	acknowledged := 0
	s.told.Range(func(key, value any) bool {
		w := value.(wanted)
		a, there := byID[w.id]
		if w.id == "" && strings.HasPrefix(key.(string), "agent-") {
			a, there = confirmed[slotAt(w.slot)]
		}
		want := map[bool]string{true: "cancelled", false: "confirmed"}[w.cancelled]
		if acknowledged++; !there || a.Status != want || a.SlotStartDate.Format(time.RFC3339) != slotAt(w.slot) {
			t.Errorf("the answer for %s was %s, but it is %q at %v", key, want, a.Status, a.SlotStartDate)
		}
		delete(left, a.ID)
		return true
	})
	for id, a := range left {
		t.Errorf("%s at %v exists, but no client got an answer about it", id, a.SlotStartDate)
	}
	if s.isLong {
		s.checkHooks(list)
		s.checkQueue()
	}
	s.checkNodes(list)
	s.checkPages()
	if score := s.practice.Score(); score.Duplicates != 0 {
		t.Errorf("practice system: got %+v, want no duplicate", score)
	}
	for _, overlap := range s.court.overlaps {
		t.Error(overlap)
	}
	refused := map[string]int64{}
	s.refusals.Range(func(what, n any) bool { refused[what.(string)] = n.(*atomic.Int64).Load(); return true })
	s.note("%d bookings acknowledged, the longest after %v; %d entries of the waiting list; %d holds; refusals %v",
		acknowledged, s.longest.Round(time.Millisecond), s.waiting.Load(), s.holder.Load(), refused)
	s.note("seed %d, %d faults struck; %d answers and recoveries took longer than %v", s.seed, s.struck, s.slow.Load(),
		slowAfter)
	s.note("%s; the longest attempt was seen for %v", &s.court, s.longestAttempt.Round(time.Second))
	t.Log(s.table())
	for name, value := range s.early {
		t.Logf("%s of the node that was never killed: at most %.1f in the first third, %.1f after it", name, value,
			s.latest[name])
		if s.latest[name] > 1.5*value+20 {
			t.Errorf("%s increased from %.1f to %.1f", name, value, s.latest[name])
		}
	}
	for _, p := range s.pages {
		p.close()
	}
	for _, node := range s.nodes.all {
		if err := node.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if code := node.ended(t); code != 0 {
			t.Errorf("a node ended with %d: %s", code, node.stderr)
		}
	}
	contains(t, "verify", must(t, "verify", "--data", s.nodes.dirs[0], "--database", s.urls[0]), "intact")
}

// checkQueue waits until the queue has no operation of any kind that is pending or processing.
func (s *storm) checkQueue() {
	body := ""
	noted := time.Now().Add(slowAfter)
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		_, body = get(s.T, s.base(0)+"/v1/queue-status?limit=5&kind=all", longEnough)
		if strings.Contains(body, `"pending":0,"processing":0`) {
			break
		}
		if time.Now().After(noted) {
			noted = time.Now().Add(slowAfter)
			_, left := get(s.T, s.base(0)+"/v1/queue-status?limit=3&status=pending&kind=all", longEnough)
			s.note("the queue is not empty yet: %s", left)
		}
		if time.Since(began) > neverAfter {
			s.Errorf("the queue is not empty %v after the last fault: %s", neverAfter, body)
			break
		}
	}
	s.note("the queue at the end: %s", body[:min(len(body), 100)])
	_, failed := get(s.T, s.base(0)+"/v1/queue-status?limit=20&status=failed&kind=all", longEnough)
	if !strings.Contains(failed, `"failed":0,`) {
		s.note("the operations that failed: %s", failed)
	}
}

// checkNodes compares the appointments and the free times of all nodes.
func (s *storm) checkNodes(list []here) {
	places := 0
	for from := 2; from < 350; from += 7 {
		first, err := s.freeAt(s.base(0), from, from+7)
		if err != nil {
			s.Error(err)
			continue
		}
		for node := 1; node < len(s.nodes.all); node++ {
			same := func() bool { // an offer of the waiting list may begin or end between two lists
				a, errA := s.freeAt(s.base(0), from, from+7)
				b, errB := s.freeAt(s.base(node), from, from+7)
				return errA == nil && errB == nil && maps.Equal(a, b)
			}
			for began := time.Now(); !same(); <-time.After(100 * time.Millisecond) {
				if time.Since(began) > neverAfter {
					s.Errorf("node %d lists the week from day %d differently from the first node", node, from)
					break
				}
			}
			places += len(first)
		}
		for _, a := range list {
			if start := a.SlotStartDate.UTC().Format(time.RFC3339); a.Status == "confirmed" && first[start] {
				s.Errorf("the list contains %s, which is booked", start)
			}
		}
	}
	read := func(node int) map[string]here {
		byID := map[string]here{}
		for _, a := range appointments(s.T, s.base(node), longEnough) {
			byID[a.ID] = a
		}
		return byID
	}
	for node := 1; node < len(s.nodes.all); node++ {
		a, b := read(0), read(node)
		for began := time.Now(); !maps.Equal(a, b); a, b = read(0), read(node) { // a delivery may end between two lists
			if time.Since(began) > neverAfter {
				s.Errorf("the appointments of node %d differ from the first node's: got %+v, want %+v", node, b, a)
				break
			}
			<-time.After(100 * time.Millisecond)
		}
	}
	s.note("%d listed times are the same on all nodes", places)
}

// checkPages compares each open page with the list of its node.
func (s *storm) checkPages() {
	for _, p := range s.pages {
		difference := ""
		same := func() bool {
			list, err := s.week(s.base(p.node))
			if err != nil {
				return false
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			difference = ""
			for _, start := range slices.Sorted(maps.Keys(list)) {
				if !p.free[start] && !p.held[start] {
					difference += fmt.Sprint(" -", start, p.events[start])
				}
			}
			for _, start := range slices.Sorted(maps.Keys(p.free)) {
				if !list[start] && !p.held[start] {
					difference += fmt.Sprint(" +", start, p.events[start])
				}
			}
			return p.loaded && difference == ""
		}
		for began := time.Now(); !same(); <-time.After(100 * time.Millisecond) {
			if time.Since(began) > neverAfter {
				s.Errorf("the page at node %d differs from its API: %s", p.node, difference)
				break
			}
		}
		s.note("the page at node %d was opened %d times and has %d free times", p.node, p.opened, len(p.free))
	}
}

// checkHooks compares the webhooks with the appointments: each event once, and in order. It waits, because a node may
// not yet have queued all operations that it committed before a fault.
func (s *storm) checkHooks(list []here) {
	noted := time.Now().Add(slowAfter)
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		wrong := s.hooks.compare(list)
		if len(wrong) > 0 && time.Now().After(noted) {
			noted = time.Now().Add(slowAfter)
			s.note("the webhooks differ from the appointments: %s", wrong[0])
		}
		if len(wrong) > 0 && time.Since(began) < neverAfter {
			continue
		}
		for _, one := range wrong {
			s.Error(one)
		}
		break
	}
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.note("%d webhooks arrived, %d of them again with the same id", len(s.hooks.byID), s.hooks.repeated)
}

// compare returns the differences between the webhooks that arrived and those that the appointments require. If a node
// is killed while it adds a patient upstream, a person must review that operation, and one upstream.needs_review
// arrives.
func (h *hooks) compare(list []here) (wrong []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	left := maps.Clone(h.types)
	for _, a := range list {
		want := []string{"appointment.created"}
		if a.Status == "cancelled" {
			want = append(want, "appointment.cancelled")
		}
		reviews := 0
		got := slices.DeleteFunc(slices.Clone(h.types[a.ID]), func(kind string) bool {
			if kind == "upstream.needs_review" {
				reviews++
			}
			return kind == "upstream.completed" || kind == "upstream.needs_review"
		})
		if !slices.Equal(got, want) || reviews > 1 || reviews == 0 && a.UpstreamState == "needs_review" {
			wrong = append(wrong, fmt.Sprintf("webhooks of %s, which is %s and upstream %q: got %v, want %v", a.ID,
				a.Status, a.UpstreamState, h.types[a.ID], want))
		}
		delete(left, a.ID)
	}
	for id, kinds := range left {
		wrong = append(wrong, fmt.Sprintf("webhooks %v of %s, which does not exist", kinds, id))
	}
	return wrong
}

// TestStormComparesWebhooks: the comparison accepts an operation that a person must review, and finds each difference.
func TestStormComparesWebhooks(t *testing.T) {
	const created, cancelled = "appointment.created", "appointment.cancelled"
	const completed, review = "upstream.completed", "upstream.needs_review"
	for name, c := range map[string]struct {
		status, upstream string
		arrived          []string
		isWrong          bool
	}{
		"written upstream":          {"confirmed", "confirmed", []string{created, completed}, false},
		"to be reviewed":            {"confirmed", "needs_review", []string{created, review}, false},
		"reviewed and cancelled":    {"cancelled", "cancelled", []string{created, review, cancelled}, false},
		"no webhook":                {"confirmed", "confirmed", nil, true},
		"wrong order":               {"cancelled", "", []string{cancelled, created}, true},
		"announced twice":           {"confirmed", "confirmed", []string{created, created, completed}, true},
		"review announced twice":    {"confirmed", "needs_review", []string{created, review, review}, true},
		"review not announced":      {"confirmed", "needs_review", []string{created}, true},
		"webhook of another status": {"confirmed", "failed", []string{created, "upstream.failed"}, true},
	} {
		h := &hooks{types: map[string][]string{"a": c.arrived}}
		wrong := h.compare([]here{{ID: "a", Status: c.status, UpstreamState: c.upstream}})
		if (len(wrong) > 0) != c.isWrong {
			t.Errorf("%s: got %q, want a difference: %v", name, wrong, c.isWrong)
		}
	}
}

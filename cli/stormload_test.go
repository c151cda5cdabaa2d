package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/upstream"
)

// until repeats a request with one key on one node after another until it gets a response, and returns the response.
func (s *storm) until(what, path, key, credential string, body map[string]any) (int, map[string]any) {
	n := rand.IntN(len(s.bases))
	for try, began := 0, time.Now(); time.Since(began) < neverAfter; try++ {
		status, answer := s.send(http.MethodPost, s.base(n+try)+path, credential, key, body)
		if status != 0 && status != http.StatusServiceUnavailable && answer["code"] != "idempotency_in_flight" {
			s.countSlow(time.Since(began))
			return status, answer
		}
		<-time.After(100 * time.Millisecond)
	}
	s.Errorf("%s had no answer in %v", what, neverAfter)
	return 0, nil
}

// group records the appointments of a series or a visit.
func (s *storm) group(key string, slot, people, status int, answer map[string]any) {
	list, _ := answer["appointments"].([]any)
	if status == 0 {
		return
	}
	if status != http.StatusCreated || len(list) != people {
		s.Errorf("%s at slot %d: got %d %v", key, slot, status, answer)
		return
	}
	for i := range list {
		made, _ := list[i].(map[string]any)
		id, _ := made["id"].(string)
		s.told.Store(fmt.Sprint(key, "/", i), wanted{slot: slot + i, id: id})
	}
}

// series books three separate times for one patient.
func (s *storm) series() {
	slot := contended + int(s.next.Add(3)) - 2
	var times []map[string]any
	for i := range 3 {
		times = append(times, map[string]any{"slotStartDate": slotAt(slot + i)})
	}
	key := fmt.Sprint("series-", slot)
	status, answer := s.until(key, "/v1/series", key, longEnough, map[string]any{
		"appointmentTypeId": "checkup", "times": times, "patient": map[string]any{"name": "Jo Doe",
			"phone": "030 1234567"},
	})
	s.group(key, slot, 3, status, answer)
}

// visit books two people one after the other.
func (s *storm) visit() {
	slot := contended + int(s.next.Add(2)) - 1
	if strings.HasSuffix(slotAt(slot), "T23:30:00Z") { // the second would begin on the next day
		return
	}
	var people []map[string]any
	for i := range 2 {
		people = append(people, map[string]any{"appointmentTypeId": "checkup", "name": fmt.Sprint("Jo Doe ", i)})
	}
	key := fmt.Sprint("visit-", slot)
	status, answer := s.until(key, "/v1/visits", key, longEnough, map[string]any{
		"slotStartDate": slotAt(slot), "people": people, "contact": map[string]any{"phone": "030 1234567"},
	})
	s.group(key, slot, 2, status, answer)
}

// wish adds an entry to the waiting list, for a day in the contended range. The entry gets an offer when an appointment
// on that day is cancelled.
func (s *storm) wish() {
	n := s.waiting.Add(1)
	day := enginetest.Noon(time.UTC, 3+int(n)%15).Format(time.DateOnly)
	status, answer := s.until("an entry", "/v1/appointment-types/checkup/waitlist", fmt.Sprint("entry-", n), longEnough,
		map[string]any{
			"patient": map[string]any{"name": "Jo Doe", "email": fmt.Sprintf("jo%d@example.org", n),
				"phone": "030 1234567"}, "from": day, "to": day,
		})
	if status != 0 && status/100 != 2 {
		s.Errorf("an entry of the waiting list: got %d %v", status, answer)
	}
}

// identify identifies the patient of the agents, and returns it with its token.
func (s *storm) identify() map[string]any {
	_, patient := s.until("the patient", "/v1/agent/patients", "", longEnough,
		map[string]any{"firstName": "Jane", "lastName": "Roe", "sessionId": "storm"})
	return patient
}

// agent books a separate time in the way an agent does, through the practice-management system. The patient's token
// expires after 15 minutes, or earlier on a node whose clock is ahead.
func (s *storm) agent() {
	slot := contended + int(s.next.Add(1))
	key := fmt.Sprint("agent-", slot)
	start, err := time.Parse(time.RFC3339, slotAt(slot))
	if err != nil {
		s.Error(err)
		return
	}
	for try := 0; ; try++ {
		status, answer := s.until(key, "/v1/agent/appointments", fmt.Sprint(key, "-", try), longEnough,
			with(s.patient, map[string]any{
				"startTime": upstream.FormatTime(start, time.UTC), "minutes": 30, "childName": key,
				"scheduleColumnGUID":  "66666666-7777-4888-8999-000000000000",
				"appointmentTypeGUID": "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff",
			}))
		switch {
		case status == http.StatusUnauthorized && answer["error_type"] == "BOOKING_AUTH_EXPIRED" && try < 100:
			s.patient = s.identify()
			continue
		case status == 0:
		case status/100 == 2: // 202: the queue writes it upstream later
			s.told.Store(key, wanted{slot: slot})
		default:
			s.Errorf("%s: got %d %v", key, status, answer)
		}
		return
	}
}

// attemptEnds is the maximum duration of one attempt of an operation. It is the sum of the longest call
// (--upstream-timeout), the lease of a lost node, the time until the next check of the other nodes, and the longest
// fault. The sum is tripled because the machine may be busy.
const attemptEnds = 3 * (15*time.Second + queueLease + 5*time.Second + 7*time.Second)

// watchQueue records how long each operation has been in its current attempt. Only one client calls it.
func (s *storm) watchQueue(random *rand.Rand) {
	began := time.Now()
	status, answer := s.send(http.MethodGet, s.base(random.IntN(len(s.bases)))+
		"/v1/queue-status?kind=all&status=processing&limit=500", longEnough, "", nil)
	if status != http.StatusOK {
		return
	}
	list, _ := answer["operations"].([]any)
	before := s.attempts
	s.attempts = map[string]time.Time{}
	for _, one := range list {
		op, _ := one.(map[string]any)
		attempt := fmt.Sprint(op["id"], " of kind ", op["kind"], ", attempt ", op["attempts"])
		first, isKnown := before[attempt]
		if !isKnown {
			first = time.Now()
		}
		took := began.Sub(first)
		if s.longestAttempt = max(s.longestAttempt, took); took > attemptEnds && !s.reported[attempt] {
			s.reported[attempt] = true
			s.Errorf("operation %s has been processing for %v, want at most %v", attempt, took, attemptEnds)
		}
		s.attempts[attempt] = first
	}
}

// holdInTurn holds one of a few slots that several clients want, and releases it.
func (s *storm) holdInTurn(random *rand.Rand) {
	slot := heldByMany + random.IntN(slotsEnd-heldByMany)
	client := fmt.Sprintf("a-client-in-turn-%016x", random.Uint64())
	base := s.base(random.IntN(len(s.bases)))
	began := time.Now()
	_, answer := s.send(http.MethodPost, base+"/v1/holds", "", "",
		map[string]any{"appointmentTypeId": "checkup", "clientId": client, "slotStartDate": slotAt(slot)})
	id, _ := answer["holdId"].(string)
	if id == "" {
		return
	}
	s.court.gives(slot, id, began)
	<-time.After(time.Duration(random.IntN(1500)) * time.Millisecond)
	s.court.ends(slot, id, s.excused(began))
	for try := range 20 {
		if status, _ := s.send(http.MethodDelete, s.base(try)+"/v1/holds", "", "",
			map[string]any{"holdId": id, "clientId": client}); status != 0 && status < 500 {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

// excused reports whether a fault since then has lost the holds, because their storage crashed.
func (s *storm) excused(since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.losesHolds || since.Before(s.holdsLost)
}

// court judges the acknowledged holds: two clients must never hold one slot at the same time.
type court struct {
	mu       sync.Mutex
	given    map[int]turn // by slot
	holds    int
	overlaps []string
	lost     int // overlaps after a crash of the storage of the holds, which frees held times
}

type turn struct {
	id    string
	until time.Time // a hold lasts longer, so differences between the servers' clocks do not matter
	other string    // the hold that another client received at the same time
}

// gives records a hold that was requested at began.
func (c *court) gives(slot int, id string, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds++
	if g, held := c.given[slot]; held && g.id != id && time.Now().Before(g.until) {
		g.other = id
		c.given[slot] = g
		return
	}
	c.given[slot] = turn{id: id, until: began.Add(10 * time.Second)}
}

// ends records that the client is about to release its hold.
func (c *court) ends(slot int, id string, excused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.given[slot]
	if g.id != id {
		return
	}
	delete(c.given, slot)
	switch {
	case g.other == "":
	case excused:
		c.lost++
	default:
		c.overlaps = append(c.overlaps, fmt.Sprintf("slot %d was given as %s while %s was held", slot, g.other, id))
	}
}

// String returns the counts.
func (c *court) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("%d holds in turn, %d overlap, %d after a crash of their storage", c.holds, len(c.overlaps),
		c.lost)
}

package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
)

// frozen is a set of nodes one of which the test freezes, like a machine that its host suspends: the process does
// nothing, and its connections stay open.
type frozen struct {
	*nodes
	fake *upstreamtest.Server
}

func newFrozen(t *testing.T, count int, decide func(upstreamtest.Call) upstreamtest.Step, flags ...string) *frozen {
	t.Helper()
	fake := upstreamtest.New(upstreamtest.Options{Decide: decide})
	practice := httptest.NewServer(fake)
	t.Cleanup(practice.Close)
	own := func(int) []string { return flags } // after the shared flags, so these take precedence
	return &frozen{newNodesOf(t, count, practice, postgresURL(t), own), fake}
}

func (c *frozen) signal(node int, sig syscall.Signal) {
	c.t.Helper()
	if err := c.all[node].Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
}

// within waits until ok returns true. On an idle machine, the lease of a lost node and the age limit of its operations
// take 15 to 60 s.
func (c *frozen) within(what string, ok func() bool) {
	c.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	const limit = 4 * time.Minute
	for began := time.Now(); !ok(); <-tick.C {
		if time.Since(began) > limit {
			_, queue := get(c.t, c.all[len(c.all)-1].base+"/v1/queue-status?kind=all", longEnough)
			c.t.Fatalf("not within %v: %s; the queue: %s", limit, what, queue)
		}
	}
}

// isDone reports whether a node shows only completed operations in the queue, and the practice-management system has
// confirmed this number of appointments. An agent's booking that is written immediately is never in the queue.
func (c *frozen) isDone(node, bookings int) bool {
	_, body := get(c.t, c.all[node].base+"/v1/queue-status?limit=1", longEnough)
	var counts struct{ Total, Completed int }
	if json.Unmarshal([]byte(body), &counts) != nil || counts.Completed != counts.Total {
		return false
	}
	list := appointments(c.t, c.all[node].base, longEnough)
	return len(list) == bookings && !slices.ContainsFunc(list, func(a here) bool { return a.UpstreamState != "confirmed" })
}

// TestFrozenNodeWritesOnce: a node is frozen while an agent's booking waits for its turn at the practice-management
// system. Another node writes the booking and responds to its own agents in the meantime. When the frozen node resumes,
// it writes nothing more.
func TestFrozenNodeWritesOnce(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c := newFrozen(t, 2, nil, "--upstream-spacing", "8s")
	patient := postAgent(t, c.all[0].base, "/v1/agent/patients",
		map[string]any{"firstName": "Jane", "lastName": "Roe", "sessionId": "frozen"})
	bookings := 0
	book := func(node int) {
		t.Helper()
		bookings++
		start, err := time.Parse(time.RFC3339, slotAt(bookings))
		if err != nil {
			t.Error(err)
		}
		status, body := posted(t, c.all[node].base+"/v1/agent/appointments", with(patient, map[string]any{
			"startTime": upstream.FormatTime(start, time.UTC), "minutes": 30, "childName": fmt.Sprint("Child ", bookings),
			"scheduleColumnGUID":  "66666666-7777-4888-8999-000000000000",
			"appointmentTypeGUID": "bbbbbbbb-cccc-4ddd-8eee-ffffffffffff",
		}), bearer(longEnough))
		if status/100 != 2 { // 202: the queue writes it later
			t.Errorf("an agent's booking at node %d: got %d %s", node, status, body)
		}
	}
	written := func() int { return c.fake.Score().Writes }
	waits := false
	for try := 0; !waits && try < 10; try++ { // on a busy machine its turn may come before the freeze
		book(0)
		c.within("the first booking is written", func() bool { return written() == bookings })
		answered := make(chan struct{})
		go func() { defer close(answered); book(0) }()
		c.within("the second booking waits for its turn", func() bool {
			return len(appointments(t, c.all[1].base, longEnough)) == 2*(try+1)
		})
		c.signal(0, syscall.SIGSTOP)
		if waits = written() < bookings; waits {
			book(1)
			c.within("another node writes all", func() bool { return written() >= bookings })
			c.signal(0, syscall.SIGCONT)
		} else {
			c.signal(0, syscall.SIGCONT)
		}
		<-answered
	}
	if !waits {
		t.Fatal("the node never stopped during an agent's turn")
	}
	book(0) // its turn comes after the write that the node must not repeat
	c.within("all bookings are confirmed", func() bool { return c.isDone(1, bookings) })
	if s := c.fake.Score(); s.Writes != bookings || s.Appointments != bookings || s.Duplicates != 0 {
		t.Errorf("practice system: got %+v, want each of %d bookings written once", s, bookings)
	}
}

// TestFrozenNodeKeepsNothingProcessing: a node is frozen during a call. When its lease expires, another node takes the
// operation over and completes it. When the frozen node resumes, it changes nothing.
func TestFrozenNodeKeepsNothingProcessing(t *testing.T) {
	t.Parallel() // it waits for separate processes
	c := newFrozen(t, 1, func(call upstreamtest.Call) upstreamtest.Step {
		if call.Procedure == "SetAppointment" {
			return upstreamtest.Step{Outcome: upstreamtest.Slow, Delay: time.Second}
		}
		return upstreamtest.Step{}
	})
	const bookings = 4
	for n := range bookings {
		if status, body := bookAt(t, c.all[0].base, n); status != http.StatusCreated {
			t.Fatalf("booking %d: got %d %s", n, status, body)
		}
	}
	c.within("a call is in progress", func() bool { return c.fake.Score().Writes == 1 })
	c.signal(0, syscall.SIGSTOP)
	began := time.Now()
	c.dirs, c.all = append(c.dirs, withKey(t, c.dirs[0])), append(c.all, nil)
	c.start(1)
	c.within("the other node completes every operation", func() bool { return c.isDone(1, bookings) })
	t.Logf("no operation was processing %v after the freeze; a call takes 2 s, and a lease %v",
		time.Since(began).Round(time.Second), queueLease)
	c.signal(0, syscall.SIGCONT)
	c.within("the node that was frozen agrees", func() bool { return c.isDone(0, bookings) })
	want := appointments(t, c.all[1].base, longEnough)
	c.within("it is ready", func() bool {
		status, _ := get(t, c.all[0].base+"/readyz", "")
		return status == http.StatusOK
	})
	c.signal(0, syscall.SIGTERM) // it ends after the outcome of its call
	if code := c.all[0].ended(t); code != 0 {
		t.Errorf("the frozen node ended with %d: %s", code, c.all[0].stderr)
	}
	if s := c.fake.Score(); s.Appointments != bookings || s.Duplicates != 0 {
		t.Errorf("practice system: got %+v, want %d appointments and no duplicate", s, bookings)
	}
	if got := appointments(t, c.all[1].base, longEnough); !slices.Equal(got, want) || len(got) != bookings {
		t.Errorf("after the node resumed: got %+v, want %+v", got, want)
	}
	for _, a := range want {
		if a.UpstreamState != "confirmed" || a.SlotStartDate.Before(enginetest.Noon(time.UTC, 1)) {
			t.Errorf("got %+v, want it confirmed by the practice-management system", a)
		}
	}
}

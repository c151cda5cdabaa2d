package postgres

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"holdfast/store"
	"holdfast/store/storetest"
)

// callers book on several nodes without a pause, each at different times, and record the outcomes.
type callers struct {
	nodes []*Store
	over  chan struct{}
	wg    sync.WaitGroup

	mu                    sync.Mutex
	acknowledged, unknown map[string]bool // by the appointment's id
	refused               int             // number of bookings for which nothing was written
}

// call starts eight callers.
func call(t *testing.T, nodes []*Store) *callers {
	t.Helper()
	c := &callers{nodes: nodes, over: make(chan struct{}), acknowledged: map[string]bool{}, unknown: map[string]bool{}}
	for worker := range 8 {
		c.wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-c.over:
					return
				default:
				}
				a := booking(fmt.Sprintf("s%d", worker%4), (worker/4*100_000+i)*30, (worker/4*100_000+i+1)*30)
				err := insert(nodes[worker%2], a)
				c.mu.Lock()
				switch {
				case err == nil:
					c.acknowledged[a.ID] = true
				case !errors.Is(err, store.ErrUnavailable):
					t.Errorf("worker %d: %v", worker, err)
				case isUnknown(err):
					c.unknown[a.ID] = true
				default:
					c.refused++
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

// known returns how many bookings have been acknowledged.
func (c *callers) known() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acknowledged)
}

// end stops the callers and closes the nodes. Before that, it checks on every node that all acknowledged appointments
// exist, and that no refused appointment exists.
func (c *callers) end(t *testing.T) {
	t.Helper()
	close(c.over)
	c.wg.Wait()
	last := int64(0)
	for _, s := range c.nodes {
		last = max(last, s.LastChange())
	}
	for _, s := range c.nodes {
		await(t, s, last)
		list, err := list(t.Context(), s.reads, (*row).Text, `SELECT id FROM appointments`)
		if err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, id := range list {
			if there[id] = true; !c.acknowledged[id] && !c.unknown[id] {
				t.Errorf("%s is in the database, although its caller got ErrUnavailable", id)
			}
		}
		for id := range c.acknowledged {
			if !there[id] {
				t.Errorf("%s was acknowledged and is missing", id)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for _, s := range c.nodes {
		storetest.Verify(t, s)
	}
	t.Logf("%d acknowledged, %d refused, %d unknown", len(c.acknowledged), c.refused, len(c.unknown))
}

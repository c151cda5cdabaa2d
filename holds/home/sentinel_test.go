package home

import (
	"fmt"
	"testing"
	"time"

	"holdfast/holds"
	"holdfast/holds/node/nodetest"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
)

// TestSentinelPromotionIsFollowed: the primary Redis dies and a Sentinel promotes its replica. Two nodes serve from
// PostgreSQL until then and from the promoted Redis afterwards, with all holds, without manual intervention.
func TestSentinelPromotionIsFollowed(t *testing.T) {
	t.Parallel()
	url := database(t)
	s := redistest.StartWatched(t, redistest.Programs(t)[0])
	var nodes []*Backend
	logs := []*nodetest.Log{new(nodetest.Log), new(nodetest.Log)}
	for i, log := range logs {
		b := openWith(t, s.URL(), url, redis.Options{}, Options{Logger: log.Logger()})
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("node %d:\n%s", i, log)
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		nodes = append(nodes, b)
		awaitMode(t, b, "redis")
	}
	a, b := nodes[0], nodes[1]
	w := watch(t, b)
	made := []holds.Hold{claim(t, a, wish("ada", amal)), claim(t, b, wish("bob", bela))}
	for range made {
		w.next(holds.EventHold)
	}
	s.Kill()
	awaitMode(t, a, "fallback")
	awaitMode(t, b, "fallback")
	during := claim(t, a, wish("cora", amal))
	if e := w.next(holds.EventHold); e.HoldID != during.ID {
		t.Errorf("got %+v on the other node, want the hold %s", e, during.ID)
	}
	release(t, b, made[1])
	began := time.Now()
	s.Promote()
	t.Logf("promoted after %v", time.Since(began))
	awaitMode(t, a, "redis")
	awaitMode(t, b, "redis")
	t.Logf("both nodes are there after %v", time.Since(began))
	for n, node := range nodes {
		for _, want := range []holds.Hold{made[0], during} {
			if got := claim(t, node, wish(want.SpecialistID, amal)); got.ID != want.ID {
				t.Errorf("node %d: its own client got %s, want %s", n, got.ID, want.ID)
			}
			refused(t, node, wish(want.SpecialistID, bela))
		}
		if list, err := answered(t, func() ([]holds.Hold, error) {
			return node.List(t.Context())
		}); err != nil || len(list) != 2 {
			t.Errorf("node %d: got %s, %v, want two holds", n, fmt.Sprint(list), err)
		}
	}
	after := claim(t, a, wish("bob", amal))
	if e := w.next(holds.EventHold); e.HoldID != after.ID {
		t.Errorf("got %+v, want the hold %s as an event of the promoted server", e, after.ID)
	}
}

package home

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"holdfast/holds"
)

// past waits until every node has entered an epoch after this one.
func (x *nodes) past(t *testing.T, epoch uint64) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for _, b := range x.of {
		for b.entered() <= epoch {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatalf("got epoch %d, want one after %d", b.entered(), epoch)
			}
		}
	}
}

// entered returns the epoch under which a node serves.
func (b *Backend) entered() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.term.epoch
}

// carried is how much a hold's remaining hour may change on a busy machine, over several changes of home.
const carried = 30 * time.Second

// all waits until every node is in a mode.
func (x *nodes) all(t *testing.T, mode string) {
	t.Helper()
	for _, b := range x.of {
		awaitMode(t, b, mode)
	}
}

// TestNodeWithoutRedisMovesAll cuts one node off from Redis: all nodes move to PostgreSQL together, so no time is ever
// granted to two clients, and all holds stay valid.
func TestNodeWithoutRedisMovesAll(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	a, b := x.of[0], x.of[1]
	before := claim(t, a, wish("ada", amal))
	others := claim(t, b, wish("bob", bela))
	x.links[0].Away(true)
	refused(t, a, wish("bob", amal))
	refused(t, b, wish("ada", bela))
	x.all(t, "fallback")
	for _, n := range x.of {
		for _, want := range []holds.Hold{before, others} {
			got, err := answered(t, func() (holds.Hold, error) { return n.Hold(t.Context(), want.ID) })
			if err != nil || got.MaxExpiresAt.Sub(want.MaxExpiresAt).Abs() > carried {
				t.Errorf("got %+v, %v, want %+v", got, err, want)
			}
		}
	}
	during := claim(t, a, wish("cora", amal))
	x.links[0].Away(false)
	x.all(t, "redis")
	for _, n := range x.of {
		list, err := answered(t, func() ([]holds.Hold, error) { return n.List(t.Context()) })
		if err != nil || len(list) != 3 || list[2].ID != during.ID {
			t.Errorf("after the return: got %+v, %v, want three holds", list, err)
		}
	}
	release(t, b, before)
}

// TestHoldsSurviveTheirRedis kills Redis while two nodes use it, starts it empty, and empties it again during use.
func TestHoldsSurviveTheirRedis(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	a, b := x.of[0], x.of[1]
	w := watch(t, b)
	before := claim(t, a, wish("ada", amal))
	w.next(holds.EventHold)
	x.redis.Kill()
	x.all(t, "fallback")
	during := claim(t, a, wish("bob", amal))
	if e := w.next(holds.EventHold); e.HoldID != during.ID {
		t.Errorf("got %+v on the other node, want the hold %s", e, during.ID)
	}
	gone := claim(t, b, wish("cora", bela))
	release(t, a, gone)
	if e := w.next(holds.EventRelease); e.HoldID != gone.ID {
		t.Errorf("got %+v, want the release of %s", e, gone.ID)
	}
	x.redis.Restart()
	x.all(t, "redis")
	x.holds(t, before, during)
	emptied := b.entered()
	x.redis.Flush()
	refused(t, b, wish("ada", bela))
	x.past(t, emptied)
	x.all(t, "redis")
	x.holds(t, before, during)
}

// holds checks that every node lists exactly these holds, with their maximum lifetimes.
func (x *nodes) holds(t *testing.T, want ...holds.Hold) {
	t.Helper()
	for i, n := range x.of {
		list, err := answered(t, func() ([]holds.Hold, error) { return n.List(t.Context()) })
		if err != nil || len(list) != len(want) {
			t.Fatalf("node %d: got %+v, %v, want %d holds", i, list, err, len(want))
		}
		for j := range want {
			if list[j].ID != want[j].ID || list[j].MaxExpiresAt.Sub(want[j].MaxExpiresAt).Abs() > carried {
				t.Errorf("node %d: got %+v, want %+v", i, list[j], want[j])
			}
		}
	}
}

// TestSlowCopyToRedisIsNotRestarted: copying all holds to Redis takes longer than another node waits for the copy to
// begin. The other node waits for it: if each restarted the other's copy, neither would ever finish.
func TestSlowCopyToRedisIsNotRestarted(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	for _, link := range x.links {
		link.Away(true)
	}
	x.all(t, "fallback")
	const many = 160 // in 10 rounds of 16 calls at the same time
	for i := range many {
		claim(t, x.of[i%2], wish(fmt.Sprintf("specialist-%d", i), amal))
	}
	for _, link := range x.links {
		link.Delay(100 * time.Millisecond)
		link.Away(false)
	}
	x.all(t, "redis")
	for _, link := range x.links {
		link.Delay(0)
	}
	for i, n := range x.of {
		list, err := answered(t, func() ([]holds.Hold, error) { return n.List(t.Context()) })
		if err != nil || len(list) != many {
			t.Errorf("node %d: got %d holds, %v, want %d", i, len(list), err, many)
		}
	}
}

// TestPresenceIsSharedWithoutRedis: a specialist who goes offline on one node is offline on all nodes, with or without
// Redis.
func TestPresenceIsSharedWithoutRedis(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	a, b := x.of[0], x.of[1]
	for _, id := range []string{"ada", "bob"} {
		if _, err := answered(t, func() (bool, error) { return a.Online(t.Context(), id, 3) }); err != nil {
			t.Fatal(err)
		}
	}
	online := func(b *Backend, want ...string) {
		t.Helper()
		list, err := answered(t, func() ([]holds.Present, error) { return b.Everyone(t.Context()) })
		if err != nil || len(list) != len(want) {
			t.Fatalf("in mode %s: got %+v, %v, want %v", b.Mode(), list, err, want)
		}
		for i := range want {
			if list[i].SpecialistID != want[i] {
				t.Errorf("in mode %s: got %+v, want %v", b.Mode(), list, want)
			}
		}
	}
	online(b, "ada", "bob")
	x.links[1].Away(true)
	x.all(t, "fallback")
	online(b, "ada", "bob")
	if changed, err := answered(t, func() (bool, error) {
		return a.Offline(t.Context(), "bob")
	}); !changed || err != nil {
		t.Errorf("got %v, %v, want a change", changed, err)
	}
	if n, err := answered(t, func() (int, error) { return b.Load(t.Context(), "ada", 2) }); n != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", n, err)
	}
	online(b, "ada")
	x.links[1].Away(false)
	x.all(t, "redis")
	online(a, "ada")
	if p, err := answered(t, func() (holds.Present, error) {
		return a.Present(t.Context(), "ada")
	}); err != nil || p.Load != 2 || p.Max != 3 {
		t.Errorf("got %+v, %v, want a load of 2 of 3", p, err)
	}
}

// TestPresenceSurvivesItsRedis kills Redis while two nodes use it, so that no node can read it afterwards. Specialists
// stay online with their capacity, their load and their last heartbeat, which determines when they go offline.
func TestPresenceSurvivesItsRedis(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	a, b := x.of[0], x.of[1]
	do := func(call func() error) {
		t.Helper()
		if _, err := answered(t, func() (struct{}, error) { return struct{}{}, call() }); err != nil {
			t.Fatal(err)
		}
	}
	come := func(b *Backend, id string, max int) {
		t.Helper()
		do(func() error { _, err := b.Online(t.Context(), id, max); return err })
	}
	come(a, "ada", 3)
	come(b, "bob", 2)
	come(a, "cleo", 1)
	come(b, "dora", 1)
	do(func() error { _, err := a.Load(t.Context(), "ada", 2); return err })
	x.everyone(t, "ada", "bob", "cleo", "dora")
	do(func() error { return b.Beat(t.Context(), "ada") })
	w := watch(t, a)
	do(func() error { _, err := b.Offline(t.Context(), "cleo"); return err })
	do(func() error {
		return b.Publish(t.Context(), holds.Event{Kind: holds.EventPresence, Span: holds.Span{SpecialistID: "cleo"},
			Reason: "offline"})
	})
	w.next(holds.EventPresence)
	do(func() error { _, err := b.Deactivate(t.Context(), "dora"); return err })
	began := time.Now()
	silent := func(b *Backend, id string, since time.Duration) {
		b.ledger.amend(id, func(p *holds.Present) { p.HeartbeatAt = began.Add(-since) })
	}
	silent(a, "ada", 3*time.Hour)
	silent(b, "ada", time.Hour)
	silent(b, "bob", 2*time.Hour)
	x.redis.Kill()
	x.all(t, "fallback")
	x.everyone(t, "ada", "bob")
	for _, want := range []holds.Present{
		{SpecialistID: "ada", Max: 3, Load: 2, HeartbeatAt: began.Add(-time.Hour)}, // the later one of two nodes
		{SpecialistID: "bob", Max: 2, HeartbeatAt: began.Add(-2 * time.Hour)},
	} {
		got, err := answered(t, func() (holds.Present, error) { return a.Present(t.Context(), want.SpecialistID) })
		if err != nil || !got.Online || got.Max != want.Max || got.Load != want.Load ||
			got.HeartbeatAt.Sub(want.HeartbeatAt).Abs() > carried {
			t.Errorf("got %+v, %v, want %+v online", got, err, want)
		}
	}
	if gone, err := answered(t, func() (bool, error) {
		return b.OfflineUnheard(t.Context(), "bob", 90*time.Minute)
	}); !gone || err != nil {
		t.Errorf("got %v, %v, want the specialist offline who sent no heartbeat for 2 h", gone, err)
	}
	x.everyone(t, "ada")
	x.redis.Restart()
	x.all(t, "redis")
	x.everyone(t, "ada")
}

// everyone checks that every node lists exactly these specialists as online.
func (x *nodes) everyone(t *testing.T, want ...string) {
	t.Helper()
	for i, n := range x.of {
		list, err := answered(t, func() ([]holds.Present, error) { return n.Everyone(t.Context()) })
		got := make([]string, 0, len(list))
		for i := range list {
			got = append(got, list[i].SpecialistID)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("node %d, in mode %s: got %v, %v online, want %v", i, n.Mode(), got, err, want)
		}
	}
}

// TestRestoredDatabaseOvertakesRedis: Redis has a later epoch than the database, as after a restore or after the
// promotion of a standby that lacks the last decisions.
func TestRestoredDatabaseOvertakesRedis(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	before := claim(t, x.of[0], wish("ada", amal))
	x.redis.Set("holdfast:epoch", "900")
	refused(t, x.of[1], wish("ada", bela))
	x.past(t, 900)
	during := claim(t, x.of[1], wish("bob", amal))
	x.redis.Set("holdfast:epoch", "2000") // and again, perhaps during the return
	x.past(t, 2000)
	x.all(t, "redis")
	x.holds(t, before, during)
}

// TestReplacedRedisIsFilledAgain: during a return, Redis is opened for the new epoch, and replaced by its replica
// before the database learns of it. The nodes do not serve from it, and make a new decision.
func TestReplacedRedisIsFilledAgain(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	for _, link := range x.links {
		link.Away(true)
	}
	x.all(t, "fallback")
	before := claim(t, x.of[0], wish("ada", amal))
	next := x.of[0].entered() + 1
	x.redis.Set("holdfast:epoch:server", "another")
	x.redis.Set("holdfast:epoch", strconv.FormatUint(next, 10))
	for _, link := range x.links {
		link.Away(false)
	}
	x.past(t, next)
	x.all(t, "redis")
	x.holds(t, before)
}

// TestDepartedNodeDelaysNoCall closes a node while Redis is unavailable: the others do not wait for its
// lease.
func TestDepartedNodeDelaysNoCall(t *testing.T) {
	t.Parallel()
	x := start(t, 2)
	before := claim(t, x.of[0], wish("ada", amal))
	if err := x.of[1].Close(); err != nil {
		t.Fatal(err)
	}
	x.redis.Kill()
	got, err := answered(t, func() (holds.Hold, error) { return x.of[0].Claim(t.Context(), wish("ada", amal)) })
	if err != nil || got.ID != before.ID {
		t.Errorf("got %+v, %v, want this client's hold %s", got, err, before.ID)
	}
}

package presence_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/holds"
	"holdfast/store"
)

// These tests check the sweeps: what a heartbeat costs, which specialists go offline and which must not, and which
// errors are repaired.

func TestHeartbeatsWriteOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 10 {
			ids = append(ids, fmt.Sprintf("s%02d", i))
		}
		c := newOnCall(t, presence.Options{}, ids...)
		c.online(ids...)
		before := c.counted.writes.Load()
		began := time.Now()
		beats := 0
		for range 185 {
			time.Sleep(time.Second)
			for range 100 {
				for _, id := range ids {
					if err := c.Presence.Beat(t.Context(), id); err != nil {
						t.Fatal(err)
					}
					beats++
				}
			}
		}
		synctest.Wait()
		writes, mirrors := c.counted.writes.Load()-before, c.counted.mirrors.Load()
		if writes != 3 || mirrors != 3 {
			t.Errorf("%d heartbeats in %v made %d writes, %d of them mirrors; want 3, all mirrors", beats,
				time.Since(began), writes, mirrors)
		}
		all, err := c.Store.PresenceMirrors(t.Context())
		if err != nil || len(all) != 10 {
			t.Fatalf("got %d mirrored specialists, %v", len(all), err)
		}
		for _, m := range all {
			if age := began.Add(180 * time.Second).Sub(m.LastHeartbeatAt); age < 0 || age > 2*time.Second {
				t.Errorf("the mirrored heartbeat of %s was %v old", m.SpecialistID, age)
			}
		}
	})
}

func TestFailedSweepKeepsSpecialistsOnline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada", "bea")
		c.online("ada", "bea")
		c.moody.fails.Store(true)
		asked := c.moody.asked.Load()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := c.moody.asked.Load() - asked; n < 20 {
			t.Fatalf("%d reads of the live state in 10 minutes; the sweeps do not run", n)
		}
		c.wantOnline("ada", "bea")
		if err := c.Presence.Beat(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		c.moody.fails.Store(false)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		c.wantOnline("ada") // after the outage, the server can tell which specialists sent no heartbeat throughout
	})
}

func TestAutoOffline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada", "bea")
		c.online("ada", "bea")
		events := c.Events(holds.EventPresence)
		c.beating(89*time.Second, "bea")
		c.wantOnline("ada", "bea")
		c.beating(31*time.Second, "bea")
		c.wantOnline("bea")
		if got, want := enginetest.Said(events()), []string{"ada offline"}; !slices.Equal(got, want) {
			t.Errorf("the streams received %v, want %v", got, want)
		}
		log, err := c.Store.PresenceLog(t.Context(), "ada", 10)
		if err != nil || len(log) != 2 || log[0].Change != "auto_offline" || log[1].Change != "online" {
			t.Errorf("the log says %+v, %v; want online, then auto_offline", log, err)
		}
		p, err := c.Presence.Of(t.Context(), "ada")
		if err != nil || p.Online || p.LastOfflineAt.IsZero() || p.Max != 3 {
			t.Errorf("got %+v, %v; want offline since an instant, with room for 3", p, err)
		}
		if err := c.Presence.Beat(t.Context(), "ada"); !errors.Is(err, holds.ErrOffline) {
			t.Errorf("a heartbeat of an offline specialist: got %v, want ErrOffline", err)
		}
	})
}

// TestLongRestartKeepsSpecialistsOnline: a server that is down for longer than the stale period receives no heartbeats.
// After the restart, each specialist who was online has a new stale period. A specialist who does not send a heartbeat
// during it goes offline, and reconciliation does not delay that.
func TestLongRestartKeepsSpecialistsOnline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada", "bea")
		c.online("ada", "bea")
		c.stop()
		time.Sleep(95 * time.Second)
		again := startOnCall(t, c.Store, presence.Options{Reconcile: 20 * time.Second})
		if list, err := again.Presence.Available(t.Context(), 0); err != nil || len(list) != 2 {
			t.Errorf("available: got %v, %v; want both", list, err)
		}
		again.beating(85*time.Second, "ada")
		again.wantOnline("ada", "bea")
		again.beating(40*time.Second, "ada")
		again.wantOnline("ada")
	})
}

func TestHeartbeatDuringSweepCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{Mirror: time.Hour}, "ada", "bea")
		c.online("ada", "bea")
		time.Sleep(61 * time.Second) // two sweeps have passed; at the third sweep, both heartbeats are too old
		beat := func() {
			if err := c.Presence.Beat(context.Background(), "ada"); err != nil {
				t.Error(err)
			}
		}
		c.moody.after.Store(&beat)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		c.wantOnline("ada")
	})
}

func TestOnlineSurvivesNextSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.online("ada")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		c.wantOnline()
		time.Sleep(29*time.Second + 999*time.Millisecond) // a moment before a sweep
		c.online("ada")
		time.Sleep(31 * time.Second)
		synctest.Wait()
		c.wantOnline("ada")
	})
}

func TestOptionalHeartbeatsKeepOnline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		off, on := false, true
		c.settings(func(s *clinic.Settings) { s.RequirePing = &off })
		c.online("ada")
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		c.wantOnline("ada")
		if list, err := c.Presence.Available(t.Context(), 0); err != nil || len(list) != 1 {
			t.Errorf("available: got %v, %v; want ada", list, err)
		}
		c.settings(func(s *clinic.Settings) { s.RequirePing = &on })
		time.Sleep(31 * time.Second)
		synctest.Wait()
		c.wantOnline()
	})
}

func TestStaleAfterChangesWhileRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.settings(func(s *clinic.Settings) { s.StaleAfterSeconds = 600 })
		c.online("ada")
		time.Sleep(9 * time.Minute)
		synctest.Wait()
		c.wantOnline("ada")
		c.settings(func(s *clinic.Settings) { s.StaleAfterSeconds = 60 })
		if list, _ := c.Presence.Available(t.Context(), 0); len(list) != 0 {
			t.Errorf("available after the change: got %v, want none", list)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		c.wantOnline()
	})
}

func TestReconcileRepairsDrift(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{Reconcile: 20 * time.Second}, "ada", "bea", "cy", "dov", "eli")
		c.online("ada", "bea", "cy", "dov")
		c.mustAccept(c.request(1).ID, "ada")
		c.mustAccept(c.request(2).ID, "ada")
		events := c.Events(holds.EventPresence)
		plant := func(_ any, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		plant(c.Holds.Load(t.Context(), "ada", -1))
		plant(c.Holds.Load(t.Context(), "bea", 3))
		plant(c.Holds.Offline(t.Context(), "cy"))
		plant(c.Holds.Deactivate(t.Context(), "dov"))
		plant(c.Holds.Online(t.Context(), "eli", 9))
		plant(nil, c.Holds.SetMax(t.Context(), "ada", 1))
		time.Sleep(21 * time.Second)
		synctest.Wait()
		c.wantOnline("ada", "bea", "cy", "dov")
		c.wantLoads(map[string]int{"ada": 2, "bea": 0, "cy": 0, "dov": 0, "eli": 0})
		if p, _ := c.Holds.Present(t.Context(), "ada"); p.Max != 3 {
			t.Errorf("the capacity of ada: got %d, want 3", p.Max)
		}
		if list, _ := c.Presence.Available(t.Context(), 0); len(list) != 4 {
			t.Errorf("available: got %v, want four", list)
		}
		got := enginetest.Said(events())
		slices.Sort(got)
		if want := []string{"cy online", "dov activated", "dov online", "eli offline"}; !slices.Equal(got, want) {
			t.Errorf("the streams received %v, want %v", got, want)
		}
		time.Sleep(20 * time.Second)
		if got := enginetest.Said(events()); len(got) != 0 {
			t.Errorf("without a difference, the streams received %v", got)
		}
	})
}

func TestReconcileDuringSessions(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{Reconcile: time.Millisecond}, "ada", "bea", "cy", "dov")
	done := make(chan error)
	for i, id := range []string{"ada", "bea", "cy", "dov"} {
		c.online(id)
		go func() { done <- c.comeAndGo(i, id) }()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func (c *onCall) comeAndGo(n int, id string) error {
	ctx := context.Background()
	for range 60 {
		s, err := c.Presence.RequestSession(ctx, enginetest.Client(n), presence.SessionRequest{}, nil)
		if err != nil {
			return err
		}
		for _, step := range []struct {
			change func() (store.Session, error)
			load   int
		}{
			{func() (store.Session, error) { return c.Presence.AcceptSession(ctx, s.ID, id) }, 1},
			{func() (store.Session, error) { return c.Presence.EndSession(ctx, s.ID, "") }, 0},
		} {
			if _, err := step.change(); err != nil {
				return err
			}
			if p, err := c.Holds.Present(ctx, id); err != nil || p.Load != step.load {
				return fmt.Errorf("the load of %s: got %d, %v; want %d", id, p.Load, err, step.load)
			}
		}
	}
	return nil
}

func TestNewStorageIsSeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.online("ada")
		fallback := "fallback"
		c.moody.called.Store(&fallback)
		// the live state now in use does not contain ada
		if _, err := c.Holds.Offline(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		c.wantOnline("ada")
		mirrored := c.counted.mirrors.Load()
		time.Sleep(time.Hour)
		synctest.Wait()
		c.wantOnline("ada")
		if n := c.counted.mirrors.Load() - mirrored; n != 0 {
			t.Errorf("a single node mirrored heartbeats %d times", n)
		}
		c.moody.called.Store(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		c.wantOnline()
	})
}

// TestNewStorageIsSeededBeforeItIsRead: another storage, which does not contain ada, is now in use, and a reader does
// not wait for the next sweep.
func TestNewStorageIsSeededBeforeItIsRead(t *testing.T) {
	for name, sees := range map[string]func(ctx context.Context, c *onCall) bool{
		"heartbeat": func(ctx context.Context, c *onCall) bool { return c.Presence.Beat(ctx, "ada") == nil },
		"count": func(ctx context.Context, c *onCall) bool {
			n, err := c.Presence.Beacon(ctx)
			return n == 1 && err == nil
		},
		"online": func(ctx context.Context, c *onCall) bool {
			list, err := c.Presence.Online(ctx)
			return len(list) == 1 && err == nil
		},
		"available": func(ctx context.Context, c *onCall) bool {
			list, err := c.Presence.Available(ctx, 0)
			return len(list) == 1 && err == nil
		},
		"status": func(ctx context.Context, c *onCall) bool {
			s, err := c.Presence.Of(ctx, "ada")
			return s.Online && err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newOnCall(t, presence.Options{}, "ada")
				c.online("ada")
				if _, err := c.Holds.Offline(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				}
				another := "another"
				c.moody.epoch.Store(&another)
				if !sees(t.Context(), c) {
					t.Error("ada is offline immediately after the change of storage, want online")
				}
			})
		})
	}
}

// TestEmptiedStorageIsSeeded: a database that crashed has a new epoch and no specialists online.
func TestEmptiedStorageIsSeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.online("ada")
		if _, err := c.Holds.Offline(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		another := "another"
		c.moody.epoch.Store(&another)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		c.wantOnline("ada")
	})
}

package presence_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/cli/clitest"
	"holdfast/engine"
	"holdfast/engine/account"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/presence"
	"holdfast/engine/record"
	"holdfast/holds"
	"holdfast/holds/memory"
	"holdfast/store"
	"holdfast/store/sqlite"
)

// These tests check presence: the specialists who can take a session now. It does not need a database write per
// heartbeat, and recovers from any failure. The engine, database and live state are real; two wrappers around them
// count calls and make them fail.

// countingStore counts the transactions, and the statements in them that mirror heartbeats.
type countingStore struct {
	store.Store
	writes, mirrors, sessions atomic.Int64
}

func (s *countingStore) Sessions(ctx context.Context, f store.SessionFilter) ([]store.Session, error) {
	s.sessions.Add(1)
	return s.Store.Sessions(ctx, f)
}

func (s *countingStore) Write(ctx context.Context, fn func(store.Tx) error) error {
	s.writes.Add(1)
	return s.Store.Write(ctx, func(tx store.Tx) error { return fn(countingTx{tx, s}) })
}

type countingTx struct {
	store.Tx
	of *countingStore
}

func (t countingTx) MirrorHeartbeats(ctx context.Context, beats map[string]time.Time) error {
	t.of.mirrors.Add(1)
	return t.Tx.MirrorHeartbeats(ctx, beats)
}

// moodyHolds is a live state for tests: it can fail to list the online specialists, or report another mode.
type moodyHolds struct {
	holds.Backend
	fails  atomic.Bool
	asked  atomic.Int64
	called atomic.Pointer[string]
	epoch  atomic.Pointer[string]
	after  atomic.Pointer[func()] // runs once Everyone has returned
}

func (m *moodyHolds) Everyone(ctx context.Context) ([]holds.Present, error) {
	m.asked.Add(1)
	if m.fails.Load() {
		return nil, holds.ErrUnavailable
	}
	everyone, err := m.Backend.Everyone(ctx)
	if after := m.after.Swap(nil); after != nil {
		(*after)()
	}
	return everyone, err
}

func (m *moodyHolds) Alone() bool { return m.Mode() == "fallback" }

func (m *moodyHolds) Mode() string {
	if mode := m.called.Load(); mode != nil {
		return *mode
	}
	return m.Backend.Mode()
}

func (m *moodyHolds) Epoch() string {
	if epoch := m.epoch.Load(); epoch != nil {
		return *epoch
	}
	return m.Backend.Epoch()
}

// onCall is a clinic whose specialists can take up to 3 sessions at a time.
type onCall struct {
	*enginetest.TestClinic
	counted *countingStore
	moody   *moodyHolds
	stop    func() // stops its background work; idempotent
}

func newOnCall(t testing.TB, o presence.Options, specialists ...string) *onCall {
	t.Helper()
	db := enginetest.Database(t)
	c := startOnCall(t, db, o)
	priorities := map[string]int{}
	for _, id := range specialists {
		priorities[id] = 1
	}
	f := enginetest.ClinicFile(priorities)
	for i := range f.Specialists {
		f.Specialists[i].MaxSessions = 3
	}
	if _, err := c.Clinic.Import(context.Background(), "system", f); err != nil {
		t.Fatal(err)
	}
	return c
}

// startOnCall starts an engine with an empty live state on an existing database, as after a restart.
func startOnCall(t testing.TB, db *sqlite.Store, o presence.Options) *onCall {
	t.Helper()
	live := memory.New(memory.Options{Booked: booking.Booked(db)})
	counted, moody := &countingStore{Store: db}, &moodyHolds{Backend: live}
	e, err := engine.New(context.Background(), engine.Options{Store: counted, Holds: moody, Presence: o})
	if err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Run(run)
	}()
	stop := sync.OnceFunc(func() {
		cancel()
		<-done
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return &onCall{&enginetest.TestClinic{Engine: e, T: t, Store: db, Holds: live, Start: enginetest.Noon(time.UTC, 2)},
		counted, moody, stop}
}

func (c *onCall) online(specialists ...string) {
	c.T.Helper()
	for _, id := range specialists {
		if _, err := c.Presence.GoOnline(context.Background(), id); err != nil {
			c.T.Fatalf("%s goes online: %v", id, err)
		}
	}
}

// beating sends the specialists' heartbeats every 20 seconds for the given duration.
func (c *onCall) beating(long time.Duration, specialists ...string) {
	c.T.Helper()
	for end := time.Now().Add(long); time.Now().Before(end); {
		time.Sleep(min(20*time.Second, time.Until(end)))
		for _, id := range specialists {
			if err := c.Presence.Beat(context.Background(), id); err != nil {
				c.T.Fatalf("the heartbeat of %s: %v", id, err)
			}
		}
	}
	synctest.Wait()
}

// wantOnline fails the test unless exactly these specialists are online, in the live state and in the database.
func (c *onCall) wantOnline(want ...string) {
	c.T.Helper()
	everyone, err := c.Holds.Everyone(context.Background())
	if err != nil {
		c.T.Fatal(err)
	}
	mirrors, err := c.Store.PresenceMirrors(context.Background())
	if err != nil {
		c.T.Fatal(err)
	}
	var live, mirrored []string
	for _, p := range everyone {
		live = append(live, p.SpecialistID)
	}
	for _, m := range mirrors {
		if m.Online && !m.Deactivated {
			mirrored = append(mirrored, m.SpecialistID)
		}
	}
	if !slices.Equal(live, want) {
		c.T.Errorf("online in the live state: got %v, want %v", live, want)
	}
	if !slices.Equal(mirrored, want) {
		c.T.Errorf("online in the database: got %v, want %v", mirrored, want)
	}
}

func (c *onCall) wantLoads(want map[string]int) {
	c.T.Helper()
	for id, load := range want {
		live, err := c.Holds.Present(context.Background(), id)
		if err != nil || live.Load != load {
			c.T.Errorf("the live load of %s: got %d, %v; want %d", id, live.Load, err, load)
		}
	}
	durable, err := c.Store.Loads(context.Background())
	if err != nil {
		c.T.Fatal(err)
	}
	for id, load := range want {
		if durable[id] != load {
			c.T.Errorf("the sessions of %s in the database: got %d, want %d", id, durable[id], load)
		}
	}
}

func (c *onCall) settings(edit func(*clinic.Settings)) {
	c.T.Helper()
	if _, err := c.Clinic.UpdateSettings(context.Background(), "system", edit); err != nil {
		c.T.Fatal(err)
	}
}

// TestOnlineIsIdempotent: a specialist who is online goes online again. Nothing is written or published, but the
// heartbeat is renewed.
func TestOnlineIsIdempotent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		events := c.Events(holds.EventPresence)
		c.online("ada")
		time.Sleep(time.Minute)
		c.online("ada")
		if got, want := enginetest.Said(events()), []string{"ada online"}; !slices.Equal(got, want) {
			t.Errorf("the streams received %v, want %v", got, want)
		}
		if log, _ := c.Store.PresenceLog(t.Context(), "ada", 10); len(log) != 1 {
			t.Errorf("the log says %+v, want one line", log)
		}
		if p, _ := c.Presence.Of(t.Context(), "ada"); time.Since(p.HeartbeatAt) > time.Second {
			t.Errorf("the heartbeat is %v old", time.Since(p.HeartbeatAt))
		}
		for range 2 {
			if _, err := c.Presence.GoOffline(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := enginetest.Said(events()), []string{"ada offline"}; !slices.Equal(got, want) {
			t.Errorf("the streams received %v, want %v", got, want)
		}
	})
}

func TestRestartKeepsOnline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada", "bea", "cy")
		c.online("ada", "bea")
		s := c.request(1)
		c.mustAccept(s.ID, "ada")
		c.beating(70*time.Second, "ada", "bea")
		before, err := c.Presence.Of(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		c.stop()
		time.Sleep(5 * time.Second)
		again := startOnCall(t, c.Store, presence.Options{})
		again.wantOnline("ada", "bea")
		again.wantLoads(map[string]int{"ada": 1, "bea": 0, "cy": 0})
		after, err := again.Presence.Of(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		if after.HeartbeatAt.Before(before.HeartbeatAt) {
			t.Errorf("the heartbeat changed from %v to %v", before.HeartbeatAt, after.HeartbeatAt)
		}
		if list, err := again.Presence.Available(t.Context(), 0); err != nil || len(list) != 2 ||
			list[0].SpecialistID != "bea" {
			t.Errorf("available: got %v, %v; want bea, who has fewer sessions, then ada", list, err)
		}
		again.beating(3*time.Minute, "ada", "bea")
		again.wantOnline("ada", "bea")
	})
}

// TestRestartAfterOnline: the heartbeat created by going online is stored durably immediately, not only at the next
// mirror update.
func TestRestartAfterOnline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		c.online("ada")
		c.stop()
		again := startOnCall(t, c.Store, presence.Options{})
		again.wantOnline("ada")
		if list, err := again.Presence.Available(t.Context(), 0); err != nil || len(list) != 1 {
			t.Errorf("available: got %v, %v; want ada", list, err)
		}
		time.Sleep(31 * time.Second) // after the first sweep
		synctest.Wait()
		again.wantOnline("ada")
	})
}

// TestDeactivateSetsOfflineAndSignsOut: deactivating a specialist takes them offline and signs their user out.
func TestDeactivateSetsOfflineAndSignsOut(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]func(c *onCall) error{
		"changed": func(c *onCall) error {
			_, err := c.Clinic.UpdateSpecialist(c.T.Context(), "system", "ada", func(p *store.Specialist) {
				p.Active = false
			})
			return err
		},
		"imported": func(c *onCall) error {
			f := enginetest.ClinicFile(map[string]int{"ada": 1})
			f.Specialists[0].Active = false
			_, err := c.Clinic.Import(c.T.Context(), "system", f)
			return err
		},
		"archived": func(c *onCall) error { return c.Clinic.ArchiveSpecialist(c.T.Context(), "system", "ada") },
	} {
		t.Run(name, func(t *testing.T) {
			c := newOnCall(t, presence.Options{}, "ada", "bea")
			_, err := c.Account.CreateUser(t.Context(), "system", account.NewUser{
				Email: "ada@example.org", Name: "Ada", Role: store.RoleSpecialist, SpecialistID: "ada",
				Password: enginetest.GoodPassword,
			})
			if err != nil {
				t.Fatal(err)
			}
			secret, _, err := c.Account.SignIn(t.Context(),
				account.Credentials{Email: "ada@example.org", Password: enginetest.GoodPassword})
			if err != nil {
				t.Fatal(err)
			}
			c.online("ada", "bea")
			events := c.Events(holds.EventPresence)
			if err := off(c); err != nil {
				t.Fatal(err)
			}
			c.wantOnline("bea")
			if got, want := enginetest.Said(events()), []string{"ada deactivated"}; !slices.Equal(got, want) {
				t.Errorf("the streams received %v, want %v", got, want)
			}
			if _, err := c.Account.SignedIn(t.Context(), secret); !errors.Is(err, record.ErrUnauthorized) {
				t.Errorf("the sign-in: got %v, want ErrUnauthorized", err)
			}
			want := holds.ErrDeactivated
			if name == "archived" {
				want = store.ErrNotFound
			}
			if err := c.Presence.Beat(t.Context(), "ada"); !errors.Is(err, want) {
				t.Errorf("a heartbeat: got %v, want %v", err, want)
			}
			if _, err := c.Presence.GoOnline(t.Context(), "ada"); !errors.Is(err, want) {
				t.Errorf("going online: got %v, want %v", err, want)
			}
			if log, _ := c.Store.PresenceLog(t.Context(), "ada", 1); len(log) != 1 || log[0].Change != "deactivated" {
				t.Errorf("the log says %+v, want deactivated", log)
			}
			again := startOnCall(t, c.Store, presence.Options{})
			again.wantOnline("bea")
		})
	}
}

func TestActivateAllowsOnline(t *testing.T) {
	t.Parallel()
	c := newOnCall(t, presence.Options{}, "ada")
	for _, active := range []bool{false, true} {
		if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) {
			p.Active = active
		}); err != nil {
			t.Fatal(err)
		}
	}
	c.wantOnline()
	c.online("ada")
	c.wantOnline("ada")
	p, err := c.Presence.Of(t.Context(), "ada")
	if err != nil || p.Deactivated {
		t.Errorf("got %+v, %v", p, err)
	}
}

// TestActivateRestoresOnline: reactivating a specialist restores their online flag, with or without a restart in
// between. A specialist who went offline in the meantime stays offline.
func TestActivateRestoresOnline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(c *onCall) *onCall
		want      string   // the next event that the streams receive
		log       []string // newest first
		online    time.Duration
	}{
		"after a week": {func(c *onCall) *onCall {
			time.Sleep(7 * 24 * time.Hour)
			return c
		}, "ada activated, ada online", []string{"online", "activated", "deactivated", "online"}, 2 * time.Minute},
		"after a restart": {func(c *onCall) *onCall {
			c.stop()
			return startOnCall(c.T, c.Store, presence.Options{})
		}, "ada activated, ada online", []string{"online", "activated", "deactivated", "online"}, 2 * time.Minute},
		"after a reconciliation": {func(c *onCall) *onCall {
			time.Sleep(6 * time.Minute)
			return c
		}, "ada activated, ada online", []string{"online", "activated", "deactivated", "online"}, 2 * time.Minute},
		"after going offline": {func(c *onCall) *onCall {
			if _, err := c.Presence.GoOffline(c.T.Context(), "ada"); err != nil {
				c.T.Fatal(err)
			}
			return c
		}, "ada activated", []string{"activated", "offline", "deactivated", "online"}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "after a week" {
				clitest.OnlyInFull(t)
			}
			synctest.Test(t, func(t *testing.T) {
				c := newOnCall(t, presence.Options{}, "ada")
				c.online("ada")
				active := func(on bool) {
					t.Helper()
					if _, err := c.Clinic.UpdateSpecialist(t.Context(), "system", "ada", func(p *store.Specialist) {
						p.Active = on
					}); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				time.Sleep(time.Minute)
				active(false)
				c.wantOnline()
				c = test.meanwhile(c)
				c.wantOnline()
				events := c.Events(holds.EventPresence)
				active(true)
				if got := strings.Join(enginetest.Said(events()), ", "); got != test.want {
					t.Errorf("the streams received %q, want %q", got, test.want)
				}
				if strings.HasSuffix(test.want, "online") {
					c.wantOnline("ada")
					c.beating(time.Minute, "ada")
					c.wantOnline("ada")
				} else {
					c.wantOnline()
				}
				var log []string
				lines, _ := c.Store.PresenceLog(t.Context(), "ada", 10)
				for _, l := range lines {
					log = append(log, l.Change)
				}
				if !slices.Equal(log, test.log) {
					t.Errorf("the log says %q, want %q", log, test.log)
				}
				h, err := c.Presence.History(t.Context(), "ada", began.AddDate(0, 0, -1), time.Now().AddDate(0, 0, 1))
				var online time.Duration
				for _, d := range h.Days {
					online += d.Online
				}
				if err != nil || online.Round(time.Second) != test.online {
					t.Errorf("online for %v, %v; want %v", online, err, test.online)
				}
			})
		})
	}
}

func TestSnapshotIsAtMostTenSecondsOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newOnCall(t, presence.Options{}, "ada")
		want := func(want int) {
			t.Helper()
			if n, err := c.Presence.Beacon(t.Context()); err != nil || n != want {
				t.Errorf("got %d, %v; want %d", n, err, want)
			}
		}
		want(0)
		c.online("ada")
		time.Sleep(10*time.Second - time.Millisecond)
		want(0)
		time.Sleep(time.Millisecond)
		want(1)
	})
}

// TestSnapshotIsRenewedAfterOffline: when a specialist goes offline, the public count is correct immediately, not
// only after its cache has expired (10 s).
func TestSnapshotIsRenewedAfterOffline(t *testing.T) {
	t.Parallel()
	set := func(edit func(*store.Specialist)) func(*onCall) error {
		return func(c *onCall) error {
			_, err := c.Clinic.UpdateSpecialist(c.T.Context(), "system", "ada", edit)
			return err
		}
	}
	for name, goes := range map[string]func(*onCall) error{
		"silent": func(*onCall) error { time.Sleep(2 * time.Second); return nil },
		"offline": func(c *onCall) error {
			_, err := c.Presence.GoOffline(c.T.Context(), "ada")
			return err
		},
		"deactivated":            set(func(p *store.Specialist) { p.Active = false }),
		"with a maximum of none": set(func(p *store.Specialist) { p.MaxSessions = 0 }),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newOnCall(t, presence.Options{}, "ada", "bea")
				c.online("ada", "bea")
				c.beating(89*time.Second, "bea")
				if n, err := c.Presence.Beacon(t.Context()); n != 2 || err != nil {
					t.Fatalf("before: got %d, %v; want 2", n, err)
				}
				if err := goes(c); err != nil {
					t.Fatal(err)
				}
				if n, err := c.Presence.Beacon(t.Context()); n != 1 || err != nil {
					t.Errorf("after: got %d, %v; want 1", n, err)
				}
			})
		})
	}
}

package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"holdfast/store"
	"holdfast/store/storetest"
)

// pair holds two nodes on one database, as behind a load balancer. Writes go to the nodes in turn. Reads go to the
// first node, which waits for the change after each write, as the server does for its pages.
type pair struct {
	*Store
	second *Store
	turn   atomic.Int64
}

func (p *pair) Write(ctx context.Context, fn func(store.Tx) error) error {
	if p.turn.Add(1)%2 == 0 {
		return p.Store.Write(ctx, fn)
	}
	err := p.second.Write(ctx, fn)
	if late := p.Store.Await(context.WithoutCancel(ctx), p.second.LastChange()); late != nil && !errors.Is(late, store.ErrClosed) {
		return late
	}
	return err
}

func (p *pair) Close() error { return errors.Join(p.second.Close(), p.Store.Close()) }

// TestTwoNodesPassStoreSuite runs the suite on two nodes with one database. They must fulfil the same contract as a
// single store, above all in tests with concurrent writes.
func TestTwoNodesPassStoreSuite(t *testing.T) {
	t.Parallel()
	var all databases
	storetest.Run(t, storetest.Harness{Open: func(t testing.TB, dir string) store.Store {
		url := all.of(t, dir)
		return &pair{Store: mustOpen(t, Options{URL: url}), second: mustOpen(t, Options{URL: url})}
	}})
}

// journal is a follower that stores every change that it has received.
type journal struct {
	mu      sync.Mutex
	changes []store.Change
}

func (j *journal) take(changes []store.Change) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.changes = append(j.changes, changes...)
}

func (j *journal) all() []store.Change {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.changes)
}

// nodes opens n nodes on one new database that contains the clinic of the tests.
func nodes(t *testing.T, n int, o Options) []*Store {
	t.Helper()
	if o.URL == "" {
		o.URL = migrated(t)
	}
	var all []*Store
	for range n {
		s := mustOpen(t, o)
		t.Cleanup(func() { storetest.Verify(t, s) })
		all = append(all, s)
	}
	mustWrite(t, all[0], clinic)
	for _, s := range all {
		await(t, s, all[0].LastChange())
	}
	return all
}

func clinic(tx store.Tx) error {
	ctx := context.Background()
	var served []store.Assignment
	for i := range 4 {
		id := fmt.Sprintf("s%d", i)
		if err := tx.PutSpecialist(ctx, store.Specialist{ID: id, Name: "Dr", Timezone: "UTC", Active: true}); err != nil {
			return err
		}
		served = append(served, store.Assignment{SpecialistID: id})
	}
	return tx.PutAppointmentType(ctx, store.AppointmentType{ID: "checkup", Name: "Check-up", DurationMinutes: 30, SlotStepMinutes: 30,
		HorizonDays: 60, Capacity: 1, Active: true, Specialists: served})
}

var (
	monday = time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	serial atomic.Int64
)

// booking returns a confirmed appointment; from and to are minutes after monday.
func booking(specialist string, from, to int) store.Appointment {
	n := serial.Add(1)
	start, end := monday.Add(time.Duration(from)*time.Minute), monday.Add(time.Duration(to)*time.Minute)
	return store.Appointment{ID: fmt.Sprintf("a-%06d", n), AppointmentTypeID: "checkup", SpecialistID: specialist, Owner: "0123456789abcdef0123456789abcdef",
		Status: store.Confirmed, Attendance: store.Expected, SlotStart: start, SlotEnd: end, BusyStart: start, BusyEnd: end,
		Patient: store.Patient{Name: "Jo Doe"}, Source: store.SourceWeb, UpstreamState: store.UpstreamNone, CreatedAt: monday, UpdatedAt: monday, Version: 1}
}

func insert(s *Store, a store.Appointment) error {
	return s.Write(context.Background(), func(tx store.Tx) error { return tx.InsertAppointment(context.Background(), a) })
}

func mustWrite(t testing.TB, s *Store, fn func(store.Tx) error) {
	t.Helper()
	if err := s.Write(context.Background(), fn); err != nil {
		t.Fatalf("Write: %v", err)
	}
}

func await(t testing.TB, s *Store, number int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Await(ctx, number); err != nil {
		t.Fatalf("change %d did not arrive, the last one was %d: %v", number, s.LastChange(), err)
	}
}

// TestNodesFollowOneOrder writes from several nodes. Every node receives every change, once, in one order and with the
// same numbers.
func TestNodesFollowOneOrder(t *testing.T) {
	t.Parallel()
	all := nodes(t, 3, Options{})
	var heard [3]journal
	for i, s := range all {
		if err := s.Changes(t.Context(), s.LastChange(), heard[i].take); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for worker := range 12 {
		wg.Go(func() {
			s, own := all[worker%3], &heard[worker%3]
			for i := range 20 {
				a := booking(fmt.Sprintf("s%d", worker%4), (worker/4*20+i)*30, (worker/4*20+i+1)*30)
				if err := insert(s, a); err != nil {
					t.Errorf("worker %d: %v", worker, err)
				}
				if !slices.ContainsFunc(own.all(), func(c store.Change) bool { return c.ID == a.ID }) {
					t.Errorf("Write returned before its own node received %s", a.ID)
				}
			}
		})
	}
	wg.Wait()
	last := slices.MaxFunc(all, func(a, b *Store) int { return cmp.Compare(a.LastChange(), b.LastChange()) }).LastChange()
	for i, s := range all {
		await(t, s, last)
		got := heard[i].all()
		if len(got) != 240 {
			t.Errorf("node %d received %d changes, want 240", i, len(got))
		}
		for j := 1; j < len(got); j++ {
			if got[j].Number <= got[j-1].Number {
				t.Fatalf("node %d received change %d after %d", i, got[j].Number, got[j-1].Number)
			}
		}
		for j, c := range got {
			if want := heard[0].all()[j]; c.Number != want.Number || c.ID != want.ID || c.Owner != want.Owner || c.What != want.What ||
				c.Stands != want.Stands || *c.After != *want.After || c.Version != want.Version {
				t.Fatalf("node %d received\n%+v, node 0\n%+v", i, c, want)
			}
		}
	}
}

// TestWriteDeliversEarlierChanges checks that a node receives the earlier changes of other nodes before its own change,
// even without a notification.
func TestWriteDeliversEarlierChanges(t *testing.T) {
	t.Parallel()
	all := nodes(t, 2, Options{})
	all[1].stop()
	all[1].running.Wait()
	var heard journal
	if err := all[1].Changes(t.Context(), all[1].LastChange(), heard.take); err != nil {
		t.Fatal(err)
	}
	first, second := booking("s0", 0, 30), booking("s0", 30, 60)
	for i, a := range []store.Appointment{first, second} {
		if err := insert(all[i], a); err != nil {
			t.Fatal(err)
		}
	}
	if got := heard.all(); len(got) != 2 || got[0].ID != first.ID || got[1].ID != second.ID {
		t.Errorf("the feed delivered %+v, want %s and then %s", got, first.ID, second.ID)
	}
}

// TestChangeArrivesWithoutNotify checks that after a lost notification, a change arrives about one second late and is
// not lost.
func TestChangeArrivesWithoutNotify(t *testing.T) {
	t.Parallel()
	s := nodes(t, 1, Options{})[0]
	before := s.LastChange()
	err := s.server.with(t.Context(), func(ctx context.Context, c *conn) error {
		_, err := c.exchange(ctx, stmt(`INSERT INTO changes (change) VALUES ('{"noun":"clinic"}')`))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, s, before+1)
}

// TestNodeReceivesMissedChanges starts to follow late. The follower gets the missed changes from the database. If some
// of them have been deleted, a new follower gets ErrBehind, and a process that missed them must restart.
func TestNodeReceivesMissedChanges(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	lost := make(chan error, 1)
	s := nodes(t, 1, Options{URL: url, OnFatal: func(err error) { lost <- err }})[0]
	from := s.LastChange()
	again := mustOpen(t, Options{URL: url})
	defer storetest.Verify(t, again)
	if err := again.Changes(t.Context(), 0, func([]store.Change) {}); err != nil {
		t.Errorf("following from the beginning, which the log still has: %v", err)
	}
	for i := range 5 {
		if err := insert(s, booking("s0", i*30, i*30+30)); err != nil {
			t.Fatal(err)
		}
	}
	late := mustOpen(t, Options{URL: url})
	defer storetest.Verify(t, late)
	var j journal
	if err := late.Changes(t.Context(), from, j.take); err != nil || len(j.all()) != 5 {
		t.Errorf("a new node that follows from an earlier change: got %d changes, %v; want 5", len(j.all()), err)
	}

	// More than an hour passes; the server's clock decides.
	err := s.server.with(t.Context(), func(ctx context.Context, c *conn) error {
		_, err := c.exchange(ctx, stmt(`UPDATE changes SET committed_at = committed_at - 3600001`))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := insert(s, booking("s0", 300, 330)); err != nil {
		t.Fatal(err)
	}
	fresh := mustOpen(t, Options{URL: url})
	defer storetest.Verify(t, fresh)
	if err := fresh.Changes(t.Context(), from, func([]store.Change) {}); !errors.Is(err, store.ErrBehind) {
		t.Errorf("following from a deleted change: got %v, want ErrBehind", err)
	}
	if got := fresh.LastChange(); got != s.LastChange() {
		t.Errorf("after old changes were deleted, the last change is %d, want %d", got, s.LastChange())
	}

	// Simulate that s was disconnected since then.
	s.feed.mu.Lock()
	s.feed.last = from
	s.feed.mu.Unlock()
	select {
	case err := <-lost:
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
	case <-time.After(patience):
		t.Error("no node reported that changes were lost")
	}
}

// TestNodesRefuseOtherLiveState checks that nodes that store their live state in the same location can open one
// database, and that a node with a different location is refused.
func TestNodesRefuseOtherLiveState(t *testing.T) {
	t.Parallel()
	here := Options{URL: database(t), Live: "postgres"}
	there := here
	there.Live = "redis"
	a, b := mustOpen(t, here), mustOpen(t, here)
	if c, err := tryOpen(t, there); !errors.Is(err, ErrInUse) {
		t.Errorf("another data directory: got %v, want ErrInUse", err)
		if err == nil {
			c.Close()
		}
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Fatal(err)
	}
	c := mustOpen(t, there)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLoneNodeRefusesAnother checks that a node with Alone refuses other nodes until it stops, and that it calls
// OnFatal if another program has taken its lock.
func TestLoneNodeRefusesAnother(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	lost := make(chan error, 1)
	o := Options{URL: url, Alone: true, OnFatal: func(err error) { lost <- err }}
	first := mustOpen(t, o)
	if second, err := tryOpen(t, o); !errors.Is(err, ErrInUse) {
		t.Errorf("a second node: got %v, want ErrInUse", err)
		if err == nil {
			second.Close()
		}
	}
	many := o
	many.Alone = false
	if second, err := tryOpen(t, many); !errors.Is(err, ErrInUse) {
		t.Errorf("a second node that wants to share: got %v, want ErrInUse", err)
		if err == nil {
			second.Close()
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	shares, another := mustOpen(t, many), mustOpen(t, many)
	defer another.Close()
	if alone, err := tryOpen(t, o); !errors.Is(err, ErrInUse) {
		t.Errorf("an exclusive node next to two that share: got %v, want ErrInUse", err)
		if err == nil {
			alone.Close()
		}
	}
	if err := errors.Join(shares.Close(), another.Close()); err != nil {
		t.Fatal(err)
	}
	brief := o
	brief.Timeout = time.Second // the node waits that long for the lock before it gives up
	second := mustOpen(t, brief)
	defer second.Close()

	// The server ends the second node's connection. Another program takes the lock before the node has reconnected.
	thief, err := first.server.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer thief.close()
	_, err = thief.exchange(t.Context(),
		stmt(`SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE locktype = 'advisory' AND pid <> pg_backend_pid() AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`),
		stmt(`SELECT pg_advisory_lock($1)`, int64(aloneLock)))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-lost:
		if !errors.Is(err, ErrInUse) {
			t.Errorf("got %v, want ErrInUse", err)
		}
	case <-time.After(patience):
		t.Error("the node that lost its lease was not notified")
	}
}

// TestFollowClosesConnectionAfterStop checks that a store that is closed before it follows also closes its connection.
// That connection holds the lock of the only node, so no later node could open the database.
func TestFollowClosesConnectionAfterStop(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, Options{URL: migrated(t)})
	t.Cleanup(func() { _ = s.Close() })
	c, err := s.attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	s.follow(stopped, c)
	if !c.pg.IsClosed() {
		t.Error("the connection is still open")
	}
}

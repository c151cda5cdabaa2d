package engine_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/clinic"
	"holdfast/engine/enginetest"
	"holdfast/engine/message"
	"holdfast/engine/notice"
	"holdfast/engine/practice"
	"holdfast/engine/presence"
	"holdfast/engine/token"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/holds/home"
	postgresholds "holdfast/holds/postgres"
	"holdfast/holds/redis"
	"holdfast/holds/redis/redistest"
	"holdfast/store"
	"holdfast/store/postgres"
	"holdfast/store/postgres/postgrestest"
)

// These tests run several nodes on one PostgreSQL server and one Redis server. Each task that must run once runs once,
// on any node, and no task stays undone when a node stops.

// cluster is the PostgreSQL server that all tests here share. The first test that needs it starts it.
var cluster = sync.OnceValues(func() (*postgrestest.Server, error) { return postgrestest.Start() })

// clusterWanted reports whether cluster has been called.
var clusterWanted bool

func TestMain(m *testing.M) {
	code := m.Run()
	if clusterWanted {
		if s, err := cluster(); err == nil {
			s.Stop()
		}
	}
	os.Exit(code)
}

// node is one of several engines.
type node struct {
	*engine.Engine
	store *postgres.Store
	queue *postgres.Queue
	holds *home.Backend
	stop  func() // stops its background work
}

// nodes contains the setup that several engines share.
type nodes struct {
	t        testing.TB
	url      string // the database's URL
	redis    *redistest.Server
	keys     *token.Keyring
	upstream *upstreamtest.Server         // nil means that there is none
	options  func(o *engine.Options)      // edits the options of every engine
	queue    func(*postgres.QueueOptions) // edits the options of every queue
	all      []*node
	start    time.Time // the start of a slot: noon, two days ahead
}

// newNodes opens n engines on one new database and one new Redis server. change edits their shared setup. If change is
// nil, the setup is unchanged.
func newNodes(t testing.TB, n int, change func(*nodes)) *nodes {
	t.Helper()
	clusterWanted = true
	server, err := cluster()
	if errors.Is(err, postgrestest.ErrAbsent) {
		t.Skip("SKIPPED:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &nodes{t: t, redis: redistest.Start(t, redistest.Programs(t)[0]), url: server.CreatePrepared(t, migrate),
		keys: token.Generate(time.Now()), start: enginetest.Noon(time.UTC, 2)}
	if change != nil {
		change(c)
	}
	for range n {
		c.open()
	}
	return c
}

// migrate opens an empty database once, as the first node would. The tests use copies of the result.
func migrate(url string) error {
	ctx := context.Background()
	s, err := postgres.Open(ctx, postgres.Options{URL: url})
	if err != nil {
		return err
	}
	live, err := postgresholds.Open(ctx, postgresholds.Options{URL: url, Booked: booking.Booked(s)})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(live.Close(), s.Close())
}

// open starts one more node.
func (c *nodes) open() *node {
	c.t.Helper()
	ctx := context.Background()
	check := func(err error) {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
	}
	n, err := &node{}, error(nil)
	n.store, err = postgres.Open(ctx, postgres.Options{URL: c.url, OnFatal: func(err error) {
		c.t.Errorf("a node stopped: %v", err)
	}})
	check(err)
	c.t.Cleanup(func() {
		if err := errors.Join(n.store.Check(ctx), n.store.Close()); err != nil {
			c.t.Error(err)
		}
	})
	q := postgres.QueueOptions{URL: c.url}
	if c.queue != nil {
		c.queue(&q)
	}
	n.queue, err = postgres.OpenQueue(ctx, q)
	check(err)
	c.t.Cleanup(func() { _ = n.queue.Close() })
	booked := booking.Booked(n.store)
	shared, err := redis.Open(redis.Options{URL: c.redis.URL(), Booked: booked})
	check(err)
	database, err := postgresholds.Open(ctx, postgresholds.Options{URL: c.url, Booked: booked})
	check(err)
	n.holds = home.New(ctx, home.Options{Primary: shared, Database: database, Booked: booked, Lease: time.Minute})
	c.t.Cleanup(func() { _ = n.holds.Close() })
	o := engine.Options{
		Store: n.store, Holds: n.holds, Queue: n.queue, Keyring: c.keys, Shared: true,
		Pace:     practice.Pace{Reserve: n.queue.Pace, Again: n.queue.PaceAgain, Return: n.queue.PaceReturn},
		Presence: presence.Options{Sweep: time.Hour, Mirror: time.Hour, Reconcile: time.Hour},
	}
	if c.upstream != nil {
		o.Pacer = upstream.NewPacer(200 * time.Millisecond)
		o.Upstream, err = upstream.New(upstream.Options{
			URL: "https://pms.example/GetData.ashx", ClientID: "client", User: "user", Password: "secret",
			Pacer: o.Pacer, HTTP: &http.Client{Transport: c.upstream},
		})
		check(err)
	}
	if c.options != nil {
		c.options(&o)
	}
	n.Engine, err = engine.New(ctx, o)
	check(err)
	n.stop = enginetest.Run(c.t, n.Run)
	c.all = append(c.all, n)
	return n
}

// clinic creates the clinic of enginetest.ClinicFile with these specialists on the nodes. The upstream, if there is
// one, has a column for each specialist.
func (c *nodes) clinic(specialists ...string) {
	c.t.Helper()
	priorities := make(map[string]int)
	for _, id := range specialists {
		priorities[id] = 1
	}
	file := enginetest.ClinicFile(priorities)
	if c.upstream != nil {
		for i := range file.Specialists {
			file.Specialists[i].Upstream = &clinic.UpstreamSpecialist{ScheduleViewGUID: enginetest.ViewGUID,
				ScheduleColumnGUID: enginetest.ColumnGUID(i)}
		}
		for i := range file.AppointmentTypes {
			file.AppointmentTypes[i].Upstream = &clinic.UpstreamType{AppointmentTypeGUID: enginetest.ColumnGUID(100 +
				i)}
		}
	}
	if _, err := c.all[0].Clinic.Import(context.Background(), "system", file); err != nil {
		c.t.Fatal(err)
	}
	c.agree()
}

// agree waits until every node has received every committed change.
func (c *nodes) agree() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	for _, n := range c.all {
		for _, other := range c.all {
			if err := n.store.Await(ctx, other.store.LastChange()); err != nil {
				c.t.Fatal(err)
			}
		}
	}
}

// until waits until ok returns true, for at most limit.
func (c *nodes) until(limit time.Duration, what string, ok func() bool) {
	c.t.Helper()
	for began := time.Now(); !ok(); {
		if time.Since(began) > limit {
			c.t.Fatalf("%s: not within %v", what, limit)
		}
		pause := time.NewTimer(10 * time.Millisecond)
		<-pause.C
	}
}

// mustBook books a checkup at a start for client n.
func (n *node) mustBook(t testing.TB, client int, start time.Time) store.Appointment {
	t.Helper()
	r := enginetest.BookingOf(client, "checkup")
	r.SlotStart = start
	a, err := n.Booking.Book(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestStartKeepsOtherNodesOperations: a node that is starting does not take over an operation that another node is
// attempting.
func TestStartKeepsOtherNodesOperations(t *testing.T) {
	c := newNodes(t, 1, nil)
	c.clinic("ada")
	first := c.all[0]
	op := store.Operation{ID: "op-1-aaaaaa", Kind: store.Webhook, Status: store.OperationPending,
		NextAttemptAt: time.Now()}
	first.stop() // prevents it from delivering the operation that the test takes
	if err := first.queue.Add(t.Context(), op); err != nil {
		t.Fatal(err)
	}
	taken, err := first.queue.Take(t.Context(), time.Now().Add(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	second := c.open()
	pending := store.Operation{ID: "op-2-aaaaaa", Kind: store.UpstreamComment, Status: store.OperationPending,
		NextAttemptAt: time.Now().Add(time.Hour)}
	if err := second.store.Write(t.Context(), func(tx store.Tx) error {
		return tx.Promise(t.Context(), pending)
	}); err != nil {
		t.Fatal(err)
	}
	second.Outbound.Enqueue(booking.Promise{Operation: pending})
	c.until(time.Minute, "the second node's queue is recovered", func() bool {
		_, err := second.queue.Operation(t.Context(), pending.ID)
		return err == nil
	})
	known, err := second.queue.Operation(t.Context(), op.ID)
	if err != nil || known.Status != store.OperationProcessing || known.Unknown {
		t.Errorf("after the start of another node: got %+v, %v; want the first node's attempt unchanged", known, err)
	}
	taken.Status, taken.FinishedAt = store.OperationCompleted, time.Now()
	if err := first.queue.Change(t.Context(), taken, "completed", ""); err != nil {
		t.Errorf("the end of the first node's attempt: %v", err)
	}
}

// withUpstream adds a practice-management system to the nodes. decide decides the outcome of each call. If decide is
// nil, the system accepts every call.
func withUpstream(decide func(upstreamtest.Call) upstreamtest.Step) func(*nodes) {
	return func(c *nodes) { c.upstream = upstreamtest.New(upstreamtest.Options{Decide: decide}) }
}

// settled reports whether the outbox is empty.
func (n *node) settled(t testing.TB) bool {
	t.Helper()
	left, err := n.store.Outbox(t.Context(), "", 1)
	if err != nil {
		t.Fatal(err)
	}
	return len(left) == 0
}

// TestOperationOrderIgnoresClocks: a node whose clock is an hour ahead books, and another node cancels. The
// cancellation is queued behind the booking on both nodes, and the clock that is ahead does not affect the ids that the
// other node creates.
func TestOperationOrderIgnoresClocks(t *testing.T) {
	c := newNodes(t, 2, withUpstream(func(upstreamtest.Call) upstreamtest.Step {
		return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
	}))
	c.clinic("ada")
	c.all[0].Outbound.Outbox.Ids.Ahead = time.Hour
	for n := range 5 {
		a := c.all[0].mustBook(t, n, c.start.Add(time.Duration(n)*30*time.Minute))
		c.agree()
		if _, err := c.all[1].Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
			Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		list, err := c.all[1].Record.Deliveries(t.Context(), a.ID)
		if err != nil || len(list) != 2 || list[0].Notice != "book" || list[1].Notice != "cancel" {
			t.Fatalf("got %+v, %v; want the booking and then its cancellation", list, err)
		}
		book, cancel := list[0].OperationID, list[1].OperationID
		if cancel > book {
			t.Fatalf("the ids %s and %s are in the order of the operations: the test proves nothing", book, cancel)
		}
		blocked := store.Operation{ID: cancel, Kind: store.UpstreamCancel, AppointmentID: a.ID}
		c.until(time.Minute, "the cancellation waits for the booking", func() bool {
			waits, pending, err := c.all[1].Outbound.Earlier(t.Context(), &blocked, func(*store.Operation) bool {
				return true
			})
			return err == nil && !pending && len(waits) == 1 && waits[0].ID == book
		})
	}
	if id, limit := c.all[1].Outbound.Outbox.Ids.Next(time.Now()), "op-"+
		strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10); id > limit {
		t.Errorf("the second node follows the clock of the first: got %s, want an id before %s", id, limit)
	}
}

// TestWebhooksKeepTheirOrderUnderSkew: the ids of the node that books are 2 s ahead of those of the node that cancels,
// and there is no practice-management system. The receiver still gets appointment.created first.
func TestWebhooksKeepTheirOrderUnderSkew(t *testing.T) {
	// The cancellation is due before the next attempt at the booking.
	there, told := enginetest.HookReceiver(t, 503, 204)
	c := newNodes(t, 2, func(c *nodes) {
		c.options = func(o *engine.Options) {
			o.Notices = message.Transport{Hooks: notice.NewHooks(notice.HookOptions{AllowPrivate: true})}
		}
	})
	c.clinic("ada")
	if _, err := c.all[0].Clinic.UpdateSettings(t.Context(), "system", func(s *clinic.Settings) {
		s.Webhooks = []clinic.WebhookEndpoint{{ID: "first", URL: there, Active: true}}
	}); err != nil {
		t.Fatal(err)
	}
	c.agree()
	c.all[0].Outbound.Outbox.Ids.Ahead = 2 * time.Second
	var want []string
	for n := range 3 {
		a := c.all[0].mustBook(t, n, c.start.Add(time.Duration(n)*30*time.Minute))
		c.agree()
		if _, err := c.all[1].Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
			Actor: "system"}); err != nil {
			t.Fatal(err)
		}
		list, err := c.all[1].Record.Deliveries(t.Context(), a.ID)
		if err != nil || len(list) != 2 || list[0].Notice != "appointment.created" ||
			list[1].Notice != "appointment.cancelled" {
			t.Errorf("got %+v, %v; want the booking and then its cancellation", list, err)
		}
		want = append(want, "appointment.created", "appointment.cancelled")
		c.until(time.Minute, "both webhooks arrive", func() bool { return len(told()) >= len(want) })
	}
	if got := told(); !slices.Equal(got, want) {
		t.Errorf("the receiver got %v, want %v", got, want)
	}
}

// TestUnqueuedOutboxRowIsDelivered: a node that stops between the commit and the write to the queue leaves an outbox
// row behind. The node that attempts a later operation for the appointment finds the row and delivers it first.
func TestUnqueuedOutboxRowIsDelivered(t *testing.T) {
	c := newNodes(t, 2, withUpstream(nil))
	c.clinic("ada", "bob")
	first, second := c.all[0], c.all[1]
	first.stop()
	a := first.mustBook(t, 1, c.start)
	c.agree()
	if _, err := second.Booking.Reschedule(t.Context(), booking.RescheduleRequest{ID: a.ID,
		SlotStart: c.start.Add(time.Hour), Actor: "system"}); err != nil {
		t.Fatal(err)
	}
	c.until(time.Minute, "both are delivered", func() bool {
		done := 0
		for _, d := range enginetest.Must(second.Record.Deliveries(t.Context(), a.ID)) {
			if op, err := second.queue.Operation(t.Context(), d.OperationID); err == nil &&
				op.Status == store.OperationCompleted {
				done++
			}
		}
		return done == 2 && second.settled(t)
	})
	if s := c.upstream.Score(); s.Appointments != 1 || s.Duplicates != 0 {
		t.Errorf("practice system: got %+v, want one appointment", s)
	}
}

// TestNodesSharePacer: writes to the practice-management system keep their spacing, whichever node sends them.
func TestNodesSharePacer(t *testing.T) {
	c := newNodes(t, 2, withUpstream(nil))
	c.clinic("ada", "bob")
	began := time.Now()
	for i := range 8 {
		c.all[i%2].mustBook(t, i, c.start.Add(time.Duration(i)*30*time.Minute))
	}
	c.until(time.Minute, "all are written", func() bool { return c.upstream.Score().Appointments == 8 })
	// The turns are 200 ms apart. On a busy machine, a node may use its turn late, so two writes may be closer
	// together, but all eight still take at least seven intervals.
	if s, took := c.upstream.Score(), time.Since(began); took < 7*200*time.Millisecond || s.Writes != 8 {
		t.Errorf("got %+v in %v; want 8 writes in at least 1.4 s", s, took)
	}
}

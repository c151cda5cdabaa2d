package engine_test

import (
	"context"
	"os"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/booking"
	"holdfast/engine/enginetest"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
	"holdfast/store/postgres/postgrestest"
)

// An outcome that the queue cannot store is not lost: the operation leaves `processing` with the true outcome as soon
// as the queue can store again, and the operations behind it follow.

// fullQueue refuses every write while it is full, like a queue on a full disk.
type fullQueue struct {
	store.Queue
	full *atomic.Bool
}

func (q fullQueue) Add(ctx context.Context, ops ...store.Operation) error {
	if q.full.Load() {
		return store.ErrFull
	}
	return q.Queue.Add(ctx, ops...)
}

func (q fullQueue) Take(ctx context.Context, now time.Time, kinds ...store.OperationKind) (store.Operation, error) {
	if q.full.Load() {
		return store.Operation{}, store.ErrFull
	}
	return q.Queue.Take(ctx, now, kinds...)
}

func (q fullQueue) Change(ctx context.Context, op store.Operation, event, detail string) error {
	if q.full.Load() {
		return store.ErrFull
	}
	return q.Queue.Change(ctx, op, event, detail)
}

// TestFullDiskLeavesNoOperationProcessing: the disk is full for an hour, starting with the first write.
func TestFullDiskLeavesNoOperationProcessing(t *testing.T) {
	for name, outcome := range map[string]upstreamtest.Outcome{"delivered": upstreamtest.OK,
		"unknown": upstreamtest.LostApplied} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full, writes := &atomic.Bool{}, &atomic.Int32{}
				p := enginetest.NewPractice(t, enginetest.PracticeOptions{
					Upstream: &upstreamtest.Options{Decide: func(c upstreamtest.Call) upstreamtest.Step {
						if c.Procedure == "SetAppointment" && writes.Add(1) == 1 {
							full.Store(true)
							return upstreamtest.Step{Outcome: outcome}
						}
						return upstreamtest.Step{Outcome: upstreamtest.OK}
					}},
					Change: func(o *engine.Options) { o.Queue = fullQueue{o.Queue, full} },
				})
				r := enginetest.BookingOf(1, "cleaning")
				r.SlotStart = p.SlotAt(40)
				a, err := p.Booking.Book(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				p.Until(time.Minute, "sent", full.Load)
				if _, err := p.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID,
					Actor: "system"}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				if n, err := p.Queue.Counts(t.Context()); err != nil || n.Processing != 1 {
					t.Fatalf("on the full disk: got %+v, %v; want one operation processing", n, err)
				}
				showsStuckDelivery(t, p)
				full.Store(false)
				time.Sleep(10 * time.Second)
				if n, err := p.Queue.Counts(t.Context()); err != nil || n.Processing != 0 {
					t.Errorf("10 s after the disk has space: got %+v, %v; want none processing", n, err)
				}
				p.Until(10*time.Minute, "settled", p.Settled)
				if s := p.Upstream.Score(); s.Appointments != 0 || s.Writes != 1 {
					t.Errorf("practice system: got %+v, want one write, cancelled", s)
				}
			})
		})
	}
}

// showsStuckDelivery fails the test unless the metric behind the alert HoldfastDeliveryStuck is over its limit. The
// limit itself must be longer than the longest call (15 s) plus the lease of a lost node (15 s) and the time until
// other nodes next check (5 s).
func showsStuckDelivery(t *testing.T, p *enginetest.TestPractice) {
	t.Helper()
	rules, err := os.ReadFile("../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	rule := regexp.MustCompile(`(?s)alert: HoldfastDeliveryStuck\s+expr: holdfast_queue_attempt_seconds > (\d+)`).
		FindSubmatch(rules)
	if rule == nil {
		t.Fatal("alerts.yml: no alert HoldfastDeliveryStuck about holdfast_queue_attempt_seconds")
	}
	limit, err := time.ParseDuration(string(rule[1]) + "s")
	if err != nil || limit < time.Minute {
		t.Errorf("HoldfastDeliveryStuck: got a limit of %v, %v; want more than a call plus a lease", limit, err)
	}
	list, err := p.Outbound.Measure(t.Context(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range list {
		if g.Kind == store.UpstreamBook && g.Attempt <= limit {
			t.Errorf("the oldest attempt after an hour: got %v, want more than the alert's limit, %v", g.Attempt, limit)
		}
	}
}

// TestPostgresRestartLeavesNoOperationProcessing: PostgreSQL stops while writes to the practice-management system are
// in flight, and then restarts. Every outcome is stored, and the cancellations behind them follow.
func TestPostgresRestartLeavesNoOperationProcessing(t *testing.T) {
	server, err := postgrestest.Start("fsync=on")
	if err != nil {
		t.Skip("SKIPPED:", err)
	}
	t.Cleanup(server.Stop)
	sent, answer := make(chan struct{}, 1), make(chan struct{})
	var writes atomic.Int32
	c := newNodes(t, 2, func(c *nodes) {
		c.url = server.Create(t)
		withUpstream(func(call upstreamtest.Call) upstreamtest.Step {
			if call.Procedure == "SetAppointment" && writes.Add(1) == 1 {
				sent <- struct{}{}
				<-answer
			}
			return upstreamtest.Step{Outcome: upstreamtest.OK}
		})(c)
	})
	c.clinic("ada")
	n := c.all[0]
	a := n.mustBook(t, 1, c.start)
	<-sent
	c.agree()
	if _, err := n.Booking.Cancel(t.Context(), booking.CancelRequest{ID: a.ID, Actor: "system"}); err != nil {
		t.Fatal(err)
	}
	server.Crash()
	close(answer)
	c.until(time.Minute, "a node cannot store the outcome", func() bool {
		return slices.ContainsFunc(c.all, func(n *node) bool { return n.Outbound.Unsaved() > 0 })
	})
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	// Another node takes over an operation only after the longest call plus a lease, so one minute might not be enough.
	c.until(5*time.Minute, "no operation is processing and the outbox is empty", func() bool {
		counts, err := n.queue.Counts(t.Context())
		left, leftErr := n.store.Outbox(t.Context(), "", 1)
		return err == nil && leftErr == nil && counts.Processing == 0 && len(left) == 0
	})
	if s := c.upstream.Score(); s.Appointments != 0 || s.Writes != 1 {
		t.Errorf("practice system: got %+v, want one write, cancelled", s)
	}
}

// TestWaitIsStoredByCorrectedClock: the clock of one of several nodes is ten minutes ahead while the
// practice-management system limits the rate. It is corrected before the queue can store the wait.
func TestWaitIsStoredByCorrectedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clock settable
		full, writes := &atomic.Bool{}, &atomic.Int32{}
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{
			Upstream: &upstreamtest.Options{Decide: func(c upstreamtest.Call) upstreamtest.Step {
				if c.Procedure == "SetAppointment" && writes.Add(1) == 1 {
					full.Store(true)
					return upstreamtest.Step{Outcome: upstreamtest.RateLimited}
				}
				return upstreamtest.Step{Outcome: upstreamtest.OK}
			}},
			Change: func(o *engine.Options) {
				clock.with(o)
				o.Shared, o.Queue = true, fullQueue{o.Queue, full}
			},
		})
		clock.set(10 * time.Minute)
		r := enginetest.BookingOf(1, "cleaning")
		r.SlotStart = p.SlotAt(40)
		if _, err := p.Booking.Book(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		p.Until(time.Minute, "refused", full.Load)
		time.Sleep(time.Second)
		clock.set(-10 * time.Minute)
		time.Sleep(time.Second) // a write that began before the correction ends while the queue is still full
		full.Store(false)
		p.Until(time.Minute, "settled", p.Settled)
	})
}

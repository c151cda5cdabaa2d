package outbound_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// waiting returns an operation of a kind, created at one instant and with its next attempt at another.
func waiting(n int, kind store.OperationKind, created, next time.Time, attempted bool) store.Operation {
	op := store.Operation{
		ID: fmt.Sprintf("op-%d-%06d", created.UnixMilli(), n), Kind: kind, Status: store.OperationPending,
		MaxAttempts: 10, CreatedAt: created, NextAttemptAt: next,
	}
	if attempted {
		op.AttemptedAt, op.Attempts = created, 1
	}
	return op
}

// TestQueueMetricsByKind: the number of waiting operations, how long they have been waiting, and the number of failed
// ones. A reminder for tomorrow does not count as waiting.
func TestQueueMetricsByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		now := time.Now()
		failed := waiting(9, store.Webhook, now.Add(-time.Hour), now, true)
		failed.Status, failed.FinishedAt = store.OperationFailed, now
		err := p.Queue.Add(t.Context(),
			waiting(1, store.Webhook, now.Add(-3*time.Hour), now.Add(time.Minute), true),
			waiting(2, store.Webhook, now.Add(-time.Minute), now.Add(time.Minute), true), failed,
			waiting(3, store.Email, now.Add(-48*time.Hour), now.Add(24*time.Hour), false),
			waiting(4, store.Email, now.Add(-time.Minute), now.Add(time.Minute), true),
		)
		if err != nil {
			t.Fatal(err)
		}
		want := func(kind store.OperationKind, wantWaiting, wantFailed int, oldest time.Duration) {
			t.Helper()
			list, err := p.Outbound.Gauges(t.Context())
			if err != nil || len(list) != len(store.Kinds()) {
				t.Fatalf("got %+v, %v; want every kind", list, err)
			}
			for _, f := range list {
				if f.Kind == kind && (f.Waiting != wantWaiting || f.Failed != wantFailed ||
					f.Oldest.Round(time.Second) != oldest) {
					t.Errorf("got %+v, want %d waiting, %d failed, the oldest for %v", f, wantWaiting,
						wantFailed, oldest)
				}
			}
		}
		want(store.Webhook, 2, 1, 3*time.Hour)
		want(store.Email, 1, 0, time.Minute)
		want(store.UpstreamBook, 0, 0, 0)
		if err := p.Queue.Remove(t.Context(), failed.ID); err != nil {
			t.Fatal(err)
		}
		want(store.Webhook, 2, 1, 3*time.Hour) // at most ten seconds old
		time.Sleep(10 * time.Second)
		want(store.Webhook, 2, 0, 3*time.Hour+10*time.Second)
	})
}

// TestQueueStatusCountsScheduledMessagesByKind: the status of one kind counts only messages of that kind as scheduled,
// so a waiting email is counted as pending, however many text messages are scheduled.
func TestQueueStatusCountsScheduledMessagesByKind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{})
		now := time.Now()
		err := p.Queue.Add(t.Context(),
			waiting(1, store.Email, now, now.Add(time.Minute), true),
			waiting(2, store.Email, now, now.Add(24*time.Hour), false),
			waiting(3, store.SMS, now, now.Add(24*time.Hour), false),
			waiting(4, store.SMS, now, now.Add(48*time.Hour), false),
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			kinds              []store.OperationKind
			pending, scheduled int
		}{
			{nil, 1, 3},
			{[]store.OperationKind{store.Email}, 1, 1},
			{[]store.OperationKind{store.SMS}, 0, 2},
			{[]store.OperationKind{store.UpstreamBook}, 0, 0},
		} {
			s, err := p.Outbound.Status(t.Context(), outbound.QueueFilter{Kinds: tc.kinds})
			if err != nil || s.Pending != tc.pending || s.Scheduled != tc.scheduled {
				t.Errorf("Status of %v: got %d pending and %d scheduled, %v; want %d and %d", tc.kinds, s.Pending,
					s.Scheduled, err, tc.pending, tc.scheduled)
			}
		}
	})
}

// TestOutboundOutcomesAreCounted: the counters include delivered operations, each failed attempt and permanent
// failures.
func TestOutboundOutcomesAreCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPractice(t, enginetest.PracticeOptions{Upstream: &upstreamtest.Options{}})
		ends := func() (delivered, missed, failed uint64) {
			for _, e := range p.Outbound.Ends() {
				if e.Kind == store.UpstreamBook {
					return e.Delivered, e.Missed, e.Failed
				}
			}
			return 0, 0, 0
		}
		book := func(n int, outcomes ...upstreamtest.Outcome) {
			t.Helper()
			p.Upstream.Outcomes(outcomes...)
			p.Ask(p.Wish(n))
			time.Sleep(10 * time.Minute)
			synctest.Wait()
		}
		for _, step := range []struct {
			name     string
			outcomes []upstreamtest.Outcome
			want     [3]uint64
		}{
			{"confirmed at once", nil, [3]uint64{1, 0, 0}},
			{"after a rate limit and its quick retry", []upstreamtest.Outcome{upstreamtest.RateLimited,
				upstreamtest.RateLimited}, [3]uint64{2, 1, 0}},
			{"refused", []upstreamtest.Outcome{upstreamtest.SlotTaken}, [3]uint64{2, 2, 1}},
		} {
			book(int(step.want[0]+step.want[1])*3+1, step.outcomes...)
			delivered, missed, failed := ends()
			if got := [3]uint64{delivered, missed, failed}; got != step.want {
				t.Errorf("%s: got %v delivered, missed and failed; want %v", step.name, got, step.want)
			}
		}
	})
}

// BenchmarkQueueFigures measures computing the metrics for a queue with 2,000 scheduled reminders and 50 waiting
// operations. The server computes them at most once every ten seconds.
func BenchmarkQueueFigures(b *testing.B) {
	p := enginetest.NewPractice(b, enginetest.PracticeOptions{})
	now := time.Now()
	var ops []store.Operation
	for n := range 2000 {
		ops = append(ops, waiting(n, store.Email, now.Add(-48*time.Hour), now.Add(time.Duration(24+n)*time.Hour),
			false))
	}
	for n := range 50 {
		ops = append(ops, waiting(n, store.Webhook, now.Add(-time.Hour), now.Add(time.Minute), true))
	}
	if err := p.Queue.Add(b.Context(), ops...); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := p.Outbound.Measure(b.Context(), time.Now()); err != nil {
			b.Fatal(err)
		}
	}
}

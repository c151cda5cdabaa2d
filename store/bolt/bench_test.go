package bolt

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"holdfast/store"
)

// booking returns an operation of typical size.
func booking(n int64) store.Operation {
	return store.Operation{
		ID: fmt.Sprintf("op-%013d-a1b2c3", 1_780_000_000_000+n), Kind: store.UpstreamBook,
		AppointmentID: fmt.Sprintf("01978c3e-0000-7000-8000-%012d", n), Status: store.OperationPending, MaxAttempts: 10,
		CreatedAt: time.UnixMilli(1_780_000_000_000), NextAttemptAt: time.UnixMilli(1_780_000_000_000 + n),
		StartTime: time.UnixMilli(1_780_100_000_000),
		Payload:   []byte(`{"patientGUID":"6fd9f4a2-0000-4000-8000-000000000001","startTime":"01/20/2026 10:00 AM","scheduleViewGUID":"6fd9f4a2-0000-4000-8000-000000000002","scheduleColumnGUID":"6fd9f4a2-0000-4000-8000-000000000003","appointmentTypeGUID":"6fd9f4a2-0000-4000-8000-000000000004","minutes":30}`),
	}
}

// viaBatch adds an operation with bbolt's own batching.
func viaBatch(q *Queue, op store.Operation) error {
	sealed, err := stored{Operation: op}.encode()
	if err != nil {
		return err
	}
	now := time.Now()
	return q.db.Batch(func(tx *bbolt.Tx) error {
		t := view(tx)
		if t.bucket(operationTable, "").Get([]byte(op.ID)) != nil {
			return nil
		}
		if err := t.insert(op, sealed); err != nil {
			return err
		}
		if err := t.note(op.ID, now, "added", string(op.Kind)); err != nil {
			return err
		}
		return t.flush()
	})
}

// enqueue adds n operations in total from several goroutines and returns how long that took.
func enqueue(b *testing.B, callers, n int, add func(op store.Operation) error) time.Duration {
	b.Helper()
	var next atomic.Int64
	var wg sync.WaitGroup
	begun := time.Now()
	for range callers {
		wg.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				if err := add(booking(i)); err != nil {
					b.Errorf("add: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(begun)
}

// BenchmarkEnqueue compares durable enqueues with DB.Batch and its defaults. The two take turns on separate files. The
// median turn of each counts, so that one stall of the disk does not decide the result. x_batch is the rate relative to
// that of DB.Batch.
func BenchmarkEnqueue(b *testing.B) {
	for _, callers := range []int{1, 32, 256} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			const turns = 7
			var ours, batch []float64 // operations per second
			n := b.N/turns + 1
			for range turns {
				q := queueIn(b, Options{})
				ours = append(ours, float64(n)/enqueue(b, callers, n, func(op store.Operation) error {
					return q.Add(context.Background(), op)
				}).Seconds())
				peer := queueIn(b, Options{})
				batch = append(batch, float64(n)/enqueue(b, callers, n, func(op store.Operation) error {
					return viaBatch(peer, op)
				}).Seconds())
			}
			slices.Sort(ours)
			slices.Sort(batch)
			b.ReportMetric(ours[turns/2], "ops/s")
			b.ReportMetric(batch[turns/2], "batch_ops/s")
			b.ReportMetric(ours[turns/2]/batch[turns/2], "x_batch")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// waiting opens a queue with n pending and n completed operations.
func waiting(b *testing.B, n int) *Queue {
	b.Helper()
	q := queueIn(b, Options{})
	var ops []store.Operation
	for i := range 2 * n {
		op := booking(int64(i))
		op.Kind = []store.OperationKind{store.UpstreamBook, store.Webhook, store.Email}[i%3]
		if i >= n {
			op.Status, op.FinishedAt = store.OperationCompleted, op.CreatedAt
		}
		ops = append(ops, op)
	}
	if err := q.Add(context.Background(), ops...); err != nil {
		b.Fatal(err)
	}
	return q
}

// BenchmarkWaiting shows that the calls of the worker and the status page cost the same for any number of pending
// operations.
func BenchmarkWaiting(b *testing.B) {
	ctx := context.Background()
	kinds := []store.OperationKind{store.UpstreamBook, store.UpstreamCancel}
	late := time.UnixMilli(1_790_000_000_000)
	for _, n := range []int{100, 1_000, 10_000} {
		ask := func(what string, call func(q *Queue) error) {
			b.Run(fmt.Sprintf("%s/waiting=%d", what, n), func(b *testing.B) {
				q := waiting(b, n)
				for b.Loop() {
					if err := call(q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		ask("NextDue", func(q *Queue) error { _, err := q.NextDue(ctx, kinds...); return err })
		ask("Counts", func(q *Queue) error { _, err := q.Counts(ctx); return err })
		ask("status page", func(q *Queue) error {
			if _, err := q.Counts(ctx); err != nil {
				return err
			}
			_, err := q.Operations(ctx, store.OperationFilter{})
			return err
		})
		// A wake-up has two fsyncs: one records the attempt, and one puts the operation back.
		ask("wake-up", func(q *Queue) error {
			if _, err := q.NextDue(ctx, kinds...); err != nil {
				return err
			}
			op, err := q.Take(ctx, late, kinds...)
			if err != nil {
				return err
			}
			op.Status = store.OperationPending
			op.NextAttemptAt = op.NextAttemptAt.Add(time.Hour)
			return q.Change(ctx, op, "retried", "")
		})
	}
}

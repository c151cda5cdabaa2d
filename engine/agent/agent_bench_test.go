package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/agent"
	"holdfast/engine/enginetest"
	"holdfast/engine/outbound"
	"holdfast/engine/practice"
	"holdfast/engine/upstream"
	"holdfast/engine/upstream/upstreamtest"
	"holdfast/store"
)

// instant is an upstream that takes no time, so that a benchmark measures only Holdfast.
type instant struct{ practice.Upstream }

func (instant) SetAppointment(context.Context, upstream.NewAppointment) (upstream.Created, error) {
	return upstream.Created{GUID: enginetest.PatientGUID(1)}, nil
}

func (instant) SetPatientComment(context.Context, string, string) error { return nil }

func (instant) GetAppointmentListByPatient(context.Context, string, *time.Location) ([]upstream.Appointment, error) {
	return nil, errors.New("not asked")
}

// BenchmarkAgentBook measures createAppt without the upstream: the token, the fence and the result, each written
// durably. The target for p50-ms is 2 at most.
func BenchmarkAgentBook(b *testing.B) {
	for _, noted := range []bool{false, true} {
		b.Run(fmt.Sprintf("note=%v", noted), func(b *testing.B) {
			const chairs = 50
			p := enginetest.NewPractice(b, enginetest.PracticeOptions{Specialists: chairs,
				Upstream: &upstreamtest.Options{}, Change: func(o *engine.Options) {
					o.Upstream, o.Pacer = instant{}, upstream.NewPacer(time.Nanosecond)
				}})
			wishes := make([]agent.BookRequest, b.N)
			for n := range wishes {
				wishes[n] = p.WishFor(n, n%chairs, p.SlotAt(48+n/chairs))
				if noted {
					wishes[n].Note = "DOB: 02/03/2015"
				}
			}
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for _, w := range wishes {
				began := time.Now()
				if a := p.Ask(w); a.Outcome != agent.Confirmed {
					b.Fatalf("got %+v", a)
				}
				took = append(took, time.Since(began))
			}
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkQueueWaiting measures two operations on a queue that contains many waiting operations: waking the worker for
// the one that is due, and reading the status page. Neither should become slower as the number grows.
func BenchmarkQueueWaiting(b *testing.B) {
	for _, waiting := range []int{100, 1_000, 10_000} {
		p := enginetest.NewPractice(b, enginetest.PracticeOptions{})
		p.Stop() // the benchmark itself makes the calls to measure
		ctx := context.Background()
		ops := make([]store.Operation, waiting)
		for n := range ops {
			ops[n] = store.Operation{
				ID: fmt.Sprintf("op-1769335200000-%06d", n), Kind: store.UpstreamBook,
				AppointmentID: fmt.Sprintf("appointment-%d", n), Status: store.OperationPending, MaxAttempts: 10,
				CreatedAt: time.Now(), NextAttemptAt: time.Now().Add(time.Hour + time.Duration(n)*time.Second),
				StartTime: time.Now().Add(24 * time.Hour),
			}
		}
		for batch := range slices.Chunk(ops, 1000) {
			if err := p.Queue.Add(ctx, batch...); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(fmt.Sprintf("wake/waiting=%d", waiting), func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Queue.NextDue(ctx, store.UpstreamBook, store.UpstreamReschedule); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("take/waiting=%d", waiting), func(b *testing.B) {
			for b.Loop() {
				op, err := p.Queue.Take(ctx, time.Now().Add(2*time.Hour), store.UpstreamBook)
				if err != nil {
					b.Fatal(err)
				}
				op.Status, op.NextAttemptAt = store.OperationPending, time.Now().Add(time.Hour)
				if err := p.Queue.Change(ctx, op, "retried", ""); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("status/waiting=%d", waiting), func(b *testing.B) {
			for b.Loop() {
				if s, err := p.Outbound.Status(ctx, outbound.QueueFilter{}); err != nil || s.Pending != waiting ||
					len(s.Operations) != 100 {
					b.Fatalf("%d listed: %v", len(s.Operations), err)
				}
			}
		})
		p.Stop = func() {}
	}
}

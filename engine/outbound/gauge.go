package outbound

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/store"
)

// Gauge is the state of the queue for one kind of operation.
type Gauge struct {
	Kind    store.OperationKind
	Waiting int           // pending or processing, not counting scheduled emails such as reminders
	Failed  int           // failed permanently, but still listed
	Oldest  time.Duration // the age of the oldest waiting operation, among the first 500; 0 if none is waiting
	// Attempt is the age of the oldest attempt in progress among the first 500 operations, or 0 if there is none. A
	// high age means that the queue has not stored the outcome, because no call lasts for minutes.
	Attempt time.Duration
}

// gaugeAge is how long the gauges are reused, because finding the oldest operation can mean reading thousands of
// reminders.
const gaugeAge = 10 * time.Second

// gauges caches the most recent gauges of the queue.
type gauges struct {
	mu   sync.Mutex
	at   time.Time
	list []Gauge
}

// Gauges returns the state of the queue by kind, at most 10 seconds old. If there is no queue, it returns none.
func (out *Outbound) Gauges(ctx context.Context) ([]Gauge, error) {
	if out.Queue == nil {
		return nil, nil
	}
	out.gauges.mu.Lock()
	defer out.gauges.mu.Unlock()
	now := time.Now()
	if !out.gauges.at.IsZero() && now.Sub(out.gauges.at) < gaugeAge {
		return out.gauges.list, nil
	}
	list, err := out.Measure(ctx, now)
	if err == nil {
		out.gauges.at, out.gauges.list = now, list
	}
	return list, err
}

// Measure returns the state of the queue by kind at an instant.
func (out *Outbound) Measure(ctx context.Context, now time.Time) ([]Gauge, error) {
	list, q := make([]Gauge, len(store.Kinds())), out.Queue
	waiting := make(map[store.OperationKind]*Gauge)
	for i, kind := range store.Kinds() {
		n, err := q.Counts(ctx, kind)
		if err == nil && kind.IsMessage() {
			var scheduled int
			scheduled, err = q.Scheduled(ctx, now, kind)
			n.Pending = max(0, n.Pending-scheduled)
		}
		if err != nil {
			return nil, err
		}
		list[i] = Gauge{Kind: kind, Waiting: n.Pending + n.Processing, Failed: n.Failed}
		if list[i].Waiting > 0 {
			waiting[kind] = &list[i]
		}
	}
	// Operations are listed in order of creation, so the first of each kind is the oldest.
	for _, status := range []store.OperationStatus{store.OperationProcessing, store.OperationPending} {
		if len(waiting) == 0 {
			break
		}
		oldest, err := q.Operations(ctx, store.OperationFilter{
			Status: status, Kinds: slices.Collect(maps.Keys(waiting)), Due: now, Limit: 500,
		})
		if err != nil {
			return nil, err
		}
		for i := range oldest {
			f := waiting[oldest[i].Kind]
			f.Oldest = max(f.Oldest, now.Sub(oldest[i].CreatedAt))
			if status == store.OperationProcessing {
				f.Attempt = max(f.Attempt, now.Sub(oldest[i].AttemptedAt))
			}
		}
	}
	return list, nil
}

package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/engine/outbound"
	"holdfast/store"
)

// QueueFigures are what waits in the queue of one kind of operation.
type QueueFigures struct {
	Kind    store.OperationKind
	Waiting int           // pending or being tried; without mail for an instant that has not come
	Failed  int           // for good, and still listed
	Oldest  time.Duration // since the one that waits longest was promised, of the first 500 of all kinds; 0 if none does
	// Attempt is the age of the oldest running attempt, of the first 500; 0 if none is running. A long one
	// means that the queue has not stored the outcome: no call lasts minutes.
	Attempt time.Duration
}

// figuresAge is how old the figures of the queue may be: to find the oldest may take a look at thousands of reminders.
const figuresAge = 10 * time.Second

// queueFigures remembers the last answer.
type queueFigures struct {
	mu   sync.Mutex
	at   time.Time
	list []QueueFigures
}

// QueueFigures says what waits in the queue, by kind, at most ten seconds old. There are none without a queue.
func (e *Engine) QueueFigures(ctx context.Context) ([]QueueFigures, error) {
	if e.Outbound.Queue == nil {
		return nil, nil
	}
	e.figures.mu.Lock()
	defer e.figures.mu.Unlock()
	now := time.Now()
	if !e.figures.at.IsZero() && now.Sub(e.figures.at) < figuresAge {
		return e.figures.list, nil
	}
	list, err := e.measureQueue(ctx, now)
	if err == nil {
		e.figures.at, e.figures.list = now, list
	}
	return list, err
}

func (e *Engine) measureQueue(ctx context.Context, now time.Time) ([]QueueFigures, error) {
	list, q := make([]QueueFigures, len(store.Kinds())), e.Outbound.Queue
	waiting := make(map[store.OperationKind]*QueueFigures)
	for i, kind := range store.Kinds() {
		n, err := q.Counts(ctx, kind)
		if err == nil && kind == store.Email {
			var scheduled int
			scheduled, err = q.Scheduled(ctx, now)
			n.Pending = max(0, n.Pending-scheduled)
		}
		if err != nil {
			return nil, err
		}
		list[i] = QueueFigures{Kind: kind, Waiting: n.Pending + n.Processing, Failed: n.Failed}
		if list[i].Waiting > 0 {
			waiting[kind] = &list[i]
		}
	}
	// They are listed in the order in which they were promised, so the first of each kind is its oldest.
	for _, status := range []store.OperationStatus{store.OperationProcessing, store.OperationPending} {
		if len(waiting) == 0 {
			break
		}
		oldest, err := q.Operations(ctx, store.OperationFilter{Status: status, Kinds: slices.Collect(maps.Keys(waiting)), Due: now, Limit: 500})
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

// Measurements are what the store measures of itself; false if it does not.
func (e *Engine) Measurements() (store.Measurements, bool) {
	if m, ok := e.store.(store.Measured); ok {
		return m.Measurements(), true
	}
	return store.Measurements{}, false
}

// ErrNoBackup: no backup is known.
var ErrNoBackup = errors.New("no backup is known")

// LastBackup is when the last backup was made that this server knows of. ErrNoBackup.
func (e *Engine) LastBackup() (time.Time, error) {
	if e.options.LastBackup == nil {
		return time.Time{}, ErrNoBackup
	}
	return e.options.LastBackup()
}

// LastCopy is up to when a second place that follows the database has everything: the zero time if it has nothing yet, and false if there is
// none.
func (e *Engine) LastCopy() (time.Time, bool) {
	if e.options.LastCopy == nil {
		return time.Time{}, false
	}
	return e.options.LastCopy()
}

// Ends counts how outbound calls ended since the start, by kind. There are none without a queue.
func (e *Engine) Ends() []outbound.Ends {
	if e.Outbound.Queue == nil {
		return nil
	}
	return e.Outbound.Ends()
}

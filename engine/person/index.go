package person

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"holdfast/engine/timed"
	"holdfast/store"
)

// The index of people gets its new appointments in the background, many together, after a rush of bookings and not
// during it. So a booking does not wait for the index. A search also reads the appointments that are not in the index
// yet.

const (
	// indexAfter is the number of changed appointments after which Run looks for appointments to index.
	indexAfter = 256
	// Run waits until fewer than indexBusy appointments change in an indexPause, or until maxUnindexed have changed: a
	// search reads that many in about 30 ms.
	indexPause   = time.Second
	indexBusy    = 64
	maxUnindexed = 8192
	// indexBatch is the number of appointments of one transaction, which delays other writes.
	indexBatch = 100
	// longIndex is the number of appointments from which on Run logs its progress, every indexReport.
	longIndex   = 10_000
	indexReport = 10 * time.Second
	// longSearch is the number of appointments outside the index from which on only one search runs at a time.
	longSearch = 10_000
	// indexRetry is the pause after a failed transaction.
	indexRetry = 10 * time.Second
)

// index is the state of the index of people.
type index struct {
	changed atomic.Int64  // changes of appointments since the last Index began
	due     chan struct{} // receives a signal after indexAfter changes
	rest    atomic.Int64  // the approximate number of appointments that the index lacks
}

// FollowAppointment counts a change of an appointment.
func (pe *People) FollowAppointment() {
	if pe.index.changed.Add(1) < indexAfter {
		return
	}
	select {
	case pe.index.due <- struct{}{}:
	default:
	}
}

// Run adds appointments to the index until ctx ends: those that it lacks now, and later those of every indexAfter
// changes or more, when bookings are rare. It does nothing while no appointment changes.
func (pe *People) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pe.index.changed.Store(0)
		err := pe.Index(ctx, indexAfter)
		if err == nil {
			pe.awaitChanges(ctx)
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			pe.log.Warn("failed to index people; retrying in 10 s", "error", err)
		}
		timed.Sleep(ctx, indexRetry, nil)
	}
}

// awaitChanges returns when there are enough changes to index, and when the server has time for them.
func (pe *People) awaitChanges(ctx context.Context) {
	select {
	case <-pe.index.due:
	case <-ctx.Done():
		return
	}
	for ctx.Err() == nil {
		before := pe.index.changed.Load()
		if before >= maxUnindexed {
			return
		}
		timed.Sleep(ctx, indexPause, nil)
		if pe.index.changed.Load()-before < indexBusy {
			return
		}
	}
}

// Index adds appointments to the index of people until fewer than enough are left. It logs its progress.
func (pe *People) Index(ctx context.Context, enough int64) error {
	_, all, err := pe.store.PeopleIndexed(ctx)
	if err != nil {
		return err
	}
	pe.index.rest.Store(all)
	if all >= longIndex {
		pe.log.Info("indexing people; searches are slower until this ends", "appointments", all)
	}
	began := time.Now()
	reported := began
	for rest := all; rest > 0 && rest >= enough; {
		err := pe.store.Write(ctx, func(tx store.Tx) error { return tx.IndexPeople(ctx, indexBatch) })
		if err != nil {
			return err
		}
		if _, rest, err = pe.store.PeopleIndexed(ctx); err != nil {
			return err
		}
		pe.index.rest.Store(rest)
		if now := time.Now(); all >= longIndex && rest >= enough && now.Sub(reported) >= indexReport {
			reported = now
			pe.log.Info("indexing people", "indexed", all-rest, "of", all)
		}
	}
	if all >= longIndex {
		pe.log.Info("people indexed", "appointments", all,
			slog.Duration("took", time.Since(began).Round(time.Millisecond)))
	}
	return nil
}

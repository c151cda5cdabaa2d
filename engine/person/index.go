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

// New appointments are added to the index of people in the background, many at a time, after a rush of bookings rather
// than during it. So bookings do not wait for the index. A search also reads the appointments that are not in the index
// yet.

const (
	// indexAfter is the number of changed appointments after which Run looks for appointments to index.
	indexAfter = 256
	// Run waits until fewer than indexBusy appointments change within an indexPause, or until maxUnindexed have
	// changed: a search reads that many in about 30 ms.
	indexPause   = time.Second
	indexBusy    = 64
	maxUnindexed = 8192
	// indexBatch is the number of appointments per transaction, which delays other writes.
	indexBatch = 100
	// longIndex is the number of appointments above which Run logs its progress, every indexReport.
	longIndex   = 10_000
	indexReport = 10 * time.Second
	// longSearch is the number of unindexed appointments above which only one search runs at a time.
	longSearch = 10_000
	// indexRetry is the pause after a failed transaction.
	indexRetry = 10 * time.Second
)

// index is the state of the index of people.
type index struct {
	changed atomic.Int64  // changes to appointments since the last Index began
	due     chan struct{} // receives a signal after indexAfter changes
	rest    atomic.Int64  // the approximate number of appointments that are missing from the index
}

// FollowAppointment counts a change to an appointment.
func (pe *People) FollowAppointment() {
	if pe.index.changed.Add(1) < indexAfter {
		return
	}
	select {
	case pe.index.due <- struct{}{}:
	default:
	}
}

// Run adds appointments to the index until ctx is done. It first adds those that are missing from it. Later, after
// every indexAfter changes or more, it adds those that changed, when there are few bookings. While no appointment
// changes, it does nothing.
func (pe *People) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pe.index.changed.Store(0)
		err := pe.Index(ctx, indexAfter)
		if err == nil {
			pe.awaitChanges(ctx)
			continue
		}
		if ctx.Err() == nil && !errors.Is(err, store.ErrClosed) {
			pe.log.Warn("failed to index people; retrying in 10 seconds", "error", err)
		}
		timed.Sleep(ctx, indexRetry, nil)
	}
}

// awaitChanges returns when there are enough changes to index and the server has time for them.
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

// Index adds appointments to the index of people until fewer than enough are still missing. It logs its progress.
func (pe *People) Index(ctx context.Context, enough int64) error {
	_, all, err := pe.store.PeopleIndexed(ctx)
	if err != nil {
		return err
	}
	pe.index.rest.Store(all)
	if all >= longIndex {
		pe.log.Info("indexing people; searches are slower until indexing ends", "appointments", all)
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

package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"holdfast/store"
)

// A COMMIT whose answer was lost is neither done nor undone as far as this process knows. The server remembers what became of
// a transaction by its number, and says so on any other connection.

// resolve asks what became of transaction xid, whose COMMIT ended with cause. nil: it was committed. The error says whether
// nothing was written or the outcome is unknown, which it is when nobody can be asked in time.
func (s server) resolve(xid string, log *slog.Logger, cause error) error {
	ctx, cancel := s.bounded(context.Background())
	defer cancel()
	for {
		status, err := s.status(ctx, xid)
		switch {
		case err != nil:
			log.Warn("the answer to a COMMIT was lost, and the server cannot be asked yet", "error", err)
		case status == "committed":
			return nil
		case status == "aborted":
			return fmt.Errorf("%w: the connection broke before the commit, %s: %w", store.ErrUnavailable, nothingWasWritten, cause)
		case status == "":
			return fmt.Errorf("%w: %s: the server has forgotten the transaction: %w", store.ErrUnavailable, unknownOutcome, cause)
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%w: %s: the answer to the commit was lost and the server could not be asked: %w",
				store.ErrUnavailable, unknownOutcome, cause)
		}
	}
}

// status is "committed", "aborted", "in progress", or empty. One in progress has lost its client and is to end: who holds the
// number is asked to go, which a commit that has begun outlives.
func (s server) status(ctx context.Context, xid string) (status string, err error) {
	err = s.with(ctx, func(ctx context.Context, c *conn) error {
		status, err = oneOn(ctx, c, (*row).text, `SELECT COALESCE(pg_xact_status($1::xid8), '')`, xid)
		if err == nil && status == "in progress" {
			_, err = c.exchange(ctx, stmt(`
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE backend_xid = $1::xid8::xid AND usename = current_user`, xid))
		}
		return err
	})
	return status, err
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/store"
)

// A COMMIT whose answer was lost is neither done nor undone as far as this process knows. The server remembers what became of
// a transaction by its number, and says so on any other connection.

// resolve asks what became of transaction xid of a timeline, whose COMMIT ended with cause. nil: it was committed, and a standby
// that commits wait for has it. The error says whether nothing was written or the outcome is unknown, which it is when nobody can
// be asked in time, and after a failover or a crash: the server may not have had the transaction, and gives its number to
// another one.
func (s server) resolve(xid, timeline string, log *slog.Logger, cause error) error {
	ctx, cancel := s.bounded(context.Background())
	defer cancel()
	for {
		status, err := s.status(ctx, xid, timeline)
		switch {
		case errors.Is(err, errOtherHistory):
			return fmt.Errorf("%w: %s: %w: %w", store.ErrUnavailable, unknownOutcome, err, cause)
		case err != nil:
			log.Warn("answer to a COMMIT lost; server not reachable yet", "error", err)
		case status == "committed":
			if err := s.replicated(ctx, timeline); err != nil {
				return fmt.Errorf("%w: %s: it was committed, and may not be on a standby yet: %w", store.ErrUnavailable, unknownOutcome, err)
			}
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
func (s server) status(ctx context.Context, xid, timeline string) (status string, err error) {
	err = s.with(ctx, func(ctx context.Context, c *conn) error {
		if timelineOf(ctx, c) != timeline {
			return errOtherHistory
		}
		status, err = oneOn(ctx, c, (*row).Text, `SELECT COALESCE(pg_xact_status($1::xid8), '')`, xid)
		if err == nil && status == "in progress" {
			_, err = c.exchange(ctx, stmt(`
				SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE backend_xid = $1::xid8::xid AND usename = current_user`, xid))
		}
		return err
	})
	return status, err
}

// errOtherHistory: a standby was promoted since, or the server has restarted.
var errOtherHistory = errors.New("the server has restarted since, or another has taken over")

// timelineOf is the history that the server writes, and since when it does: the promotion of a standby begins another one, and after
// a crash the numbers of transactions that were not written yet are given away again. A crash that the postmaster outlives makes its
// statistics anew. Empty where the server does not say.
func timelineOf(ctx context.Context, c *conn) string {
	text, err := oneOn(ctx, c, (*row).Text, `
		SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' ' || pg_postmaster_start_time() || ' ' ||
			COALESCE((SELECT stats_reset::text FROM pg_stat_bgwriter), '')`)
	if err != nil {
		return ""
	}
	return text
}

// replicated returns when all that was committed until now is where commits wait for it to be. A COMMIT that waits for a standby
// and loses its client has happened on this server, and nobody knows how long it will take to be on another. What is committed
// after it is there after it.
func (s server) replicated(ctx context.Context, timeline string) error {
	return s.with(ctx, func(ctx context.Context, c *conn) error {
		if timelineOf(ctx, c) != timeline { // promoted between two connections
			return errOtherHistory
		}
		_, err := c.exchange(ctx, stmt(`UPDATE meta SET value = value WHERE key = 'database_id'`))
		return err
	})
}

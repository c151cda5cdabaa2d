package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/store"
)

// If the response to a COMMIT is lost, this process does not know its outcome. The server stores the outcome of a
// transaction under its number and returns it on any other connection.

// resolve looks up the outcome of transaction xid of a timeline, whose COMMIT ended with cause. If nil, it was
// committed, and a standby for which commits wait has it. Otherwise the error states whether nothing was written or
// the outcome is unknown. It is unknown if no server answers in time, and after a failover or a crash: the server may
// not have had the transaction, and then gives its number to a different one.
func (s server) resolve(xid, timeline string, log *slog.Logger, cause error) error {
	ctx, cancel := s.bounded(context.Background())
	defer cancel()
	for {
		status, err := s.status(ctx, xid, timeline)
		switch {
		case errors.Is(err, errOtherHistory):
			return fmt.Errorf("%w: %s: %w: %w", store.ErrUnavailable, unknownOutcome, err, cause)
		case err != nil:
			log.Warn("response to COMMIT lost; server not reachable yet", "error", err)
		case status == "committed":
			if err := s.replicated(ctx, timeline); err != nil {
				return fmt.Errorf("%w: %s: it was committed, but may not be on a standby yet: %w", store.ErrUnavailable,
					unknownOutcome, err)
			}
			return nil
		case status == "aborted":
			return fmt.Errorf("%w: the connection broke before the commit, %s: %w", store.ErrUnavailable,
				nothingWasWritten, cause)
		case status == "":
			return fmt.Errorf("%w: %s: the server has forgotten the transaction: %w", store.ErrUnavailable,
				unknownOutcome, cause)
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

// status returns "committed", "aborted", "in progress" or "". If the transaction is in progress, its client is lost,
// so status terminates its backend. A commit that has begun completes anyway.
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

// errOtherHistory: a standby was promoted in the meantime, or the server has restarted.
var errOtherHistory = errors.New("the server has restarted since, or another has taken over")

// timelineOf identifies the server's history: its timeline and its start. Promoting a standby begins a new timeline,
// and after a crash the server assigns the numbers of unwritten transactions again. After a crash that the postmaster
// survives, only its statistics start again. Empty if the server does not answer.
func timelineOf(ctx context.Context, c *conn) string {
	text, err := oneOn(ctx, c, (*row).Text, `
		SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' ' || pg_postmaster_start_time() || ' ' ||
			COALESCE((SELECT stats_reset::text FROM pg_stat_bgwriter), '')`)
	if err != nil {
		return ""
	}
	return text
}

// replicated returns when everything committed so far has reached the standby for which commits wait. A COMMIT that
// waits for a standby and loses its client is done on this server, but the time until it reaches the standby is
// unknown. A later commit reaches the standby after it.
func (s server) replicated(ctx context.Context, timeline string) error {
	return s.with(ctx, func(ctx context.Context, c *conn) error {
		if timelineOf(ctx, c) != timeline { // a standby was promoted between two connections
			return errOtherHistory
		}
		_, err := c.exchange(ctx, stmt(`UPDATE meta SET value = value WHERE key = 'database_id'`))
		return err
	})
}

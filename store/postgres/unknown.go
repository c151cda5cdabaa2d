package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"holdfast/store"
)

// If the response to a COMMIT is lost, the outcome is unknown to this process. The server stores the outcome under the
// number of the transaction, and this process reads it on another connection.

// resolve looks up the outcome of transaction xid on a timeline, whose COMMIT failed with cause. If resolve returns
// nil, the transaction was committed and has reached the standby that commits wait for, if there is one. Otherwise the
// error states that nothing was written, or that the outcome is unknown. The outcome is unknown if no server responds
// in time, and after a failover or a crash: the new server may not have the transaction and may give its number to a
// different one.
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
			return fmt.Errorf("%w: %w: %w", store.ErrUnavailable, errNotCommitted, cause)
		case status == "":
			return fmt.Errorf("%w: %s: the server no longer has the status of the transaction: %w",
				store.ErrUnavailable, unknownOutcome, cause)
		}
		pause := time.NewTimer(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("%w: %s: the response to the commit was lost and the server could not be queried: %w",
				store.ErrUnavailable, unknownOutcome, cause)
		}
	}
}

// status returns "committed", "aborted", "in progress", or "" if the server no longer has the outcome. If the
// transaction is in progress, its client is lost, so status terminates its backend. A commit that has begun completes
// anyway.
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

// errOtherHistory means that a standby was promoted in the meantime, or that the server has restarted.
var errOtherHistory = errors.New("the server has restarted since then, or another server has taken over")

// timelineOf identifies the server's history by its timeline, its start time and the last reset of its statistics. The
// promotion of a standby begins a new timeline. After a crash, the server assigns the numbers of unwritten transactions
// again. If the postmaster survives the crash, only the statistics are reset. timelineOf returns "" if the server does
// not respond.
func timelineOf(ctx context.Context, c *conn) string {
	text, err := oneOn(ctx, c, (*row).Text, `
		SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' ' || pg_postmaster_start_time() || ' ' ||
			COALESCE((SELECT stats_reset::text FROM pg_stat_bgwriter), '')`)
	if err != nil {
		return ""
	}
	return text
}

// replicated returns when everything committed so far has reached the standby that commits wait for. If a COMMIT that
// waits for a standby loses its client, it is complete on this server, but it may not have reached the standby yet. So
// replicated makes one more commit and waits for it: that commit reaches the standby after all earlier ones.
func (s server) replicated(ctx context.Context, timeline string) error {
	return s.with(ctx, func(ctx context.Context, c *conn) error {
		if timelineOf(ctx, c) != timeline { // a standby was promoted between two connections
			return errOtherHistory
		}
		_, err := c.exchange(ctx, stmt(`UPDATE meta SET value = value WHERE key = 'database_id'`))
		return err
	})
}

package postgres

import (
	"context"
	"time"
)

// scrubTime is the maximum time that Erase waits for the server to remove old row versions.
const scrubTime = time.Minute

// scrub makes PostgreSQL remove the old versions of the blanked rows. After that, no query finds them. Remnants can
// stay in the server's files, log, standbys and backups until they are overwritten. The operator is responsible for
// those (docs/cluster.md). If scrub fails, autovacuum removes the row versions later.
func (s *Store) scrub(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, scrubTime)
	defer cancel()
	err := s.server.with(ctx, func(ctx context.Context, c *conn) error {
		if err := c.script(ctx, `SET statement_timeout = 0`); err != nil {
			return err
		}
		return c.script(ctx,
			`VACUUM (SKIP_LOCKED) appointments, sessions, outbox, idempotency_records, audit_entries, nonce_uses,
			agent_sessions, booking_requests, waitlist_entries, undo_states, people, people_appointments, people_keys,
			people_terms, people_term_keys`)
	})
	if err != nil {
		s.log.Warn("old versions of erased rows left to autovacuum", "error", translate(err))
	}
}

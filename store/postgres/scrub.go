package postgres

import (
	"context"
	"time"
)

// scrubTime bounds how long Erase waits for the server to clean up behind it.
const scrubTime = time.Minute

// scrub has PostgreSQL remove the row versions from before they were blanked. No query finds them from then on; what
// the server's files, its log, its standbys and its backups hold until they write over it is the operator's, see
// docs/cluster.md. What fails is made up for by autovacuum.
func (s *Store) scrub(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, scrubTime)
	defer cancel()
	err := s.server.with(ctx, func(ctx context.Context, c *conn) error {
		if err := c.script(ctx, `SET statement_timeout = 0`); err != nil {
			return err
		}
		return c.script(ctx, `VACUUM (SKIP_LOCKED) appointments, sessions, outbox, idempotency_records, audit_entries, nonce_uses, agent_sessions, booking_requests, waitlist_entries`)
	})
	if err != nil {
		s.log.Warn("old versions of erased rows left to autovacuum", "error", translate(err))
	}
}

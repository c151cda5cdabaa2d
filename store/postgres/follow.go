package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/store"
)

// errLost is the fatal error of a process that was disconnected from the database for longer than changes are stored.
var errLost = fmt.Errorf(
	"%w: this node was disconnected from PostgreSQL for too long and missed changes that are no longer stored; "+
		"restart this node",
	store.ErrUnavailable,
)

// errRewound is the fatal error of a process that has received changes that the promoted server lacks.
var errRewound = fmt.Errorf("%w: the PostgreSQL server that is now in use lacks changes that this node has: a "+
	"standby without these changes was promoted. Restart this node", store.ErrUnavailable)

const (
	bell = "holdfast_changes" // the channel of NOTIFY; its payload is the number of the last change

	appendChanges = `
		WITH added AS (
			INSERT INTO changes (change)
			SELECT value FROM json_array_elements_text($1::json) WITH ORDINALITY AS given(value, place) ORDER BY place
			RETURNING number)
		SELECT number FROM added ORDER BY number`
	ringBell = `SELECT pg_notify('` + bell + `', max(number)::text) FROM changes`

	changesAfter = `SELECT number, change FROM changes WHERE number > $1 ORDER BY number`
	prunedAfter  = `SELECT 1 FROM meta WHERE key = 'changes_pruned' AND value::bigint > $1`

	// pruneChanges deletes at most 512 changes that are older than one hour. It never deletes the last change, because
	// the next start continues from its number.
	pruneChanges = `
		WITH old AS (
			SELECT number FROM changes
			WHERE number < (SELECT max(number) FROM changes) ORDER BY number LIMIT 2 * 256),
		gone AS (
			DELETE FROM changes WHERE number IN (SELECT number FROM old)
				AND committed_at < (extract(epoch FROM clock_timestamp()) * 1000)::bigint - 3600000
			RETURNING number)
		INSERT INTO meta (key, value)
		SELECT 'changes_pruned', max(number)::text FROM gone HAVING count(*) > 0
		ON CONFLICT (key) DO UPDATE SET value = excluded.value`
)

// followInterval is how often a node checks for changes even without a notification, because a broken connection can
// lose notifications.
const followInterval = time.Second

// ErrInUse means that another node uses the database and this one must not.
var ErrInUse = errors.New("another node is serving from this database")

// aloneLock is an advisory lock that a node holds for as long as its connection exists. A node that must be the only
// one takes it exclusively; other nodes share it.
const aloneLock = orderLock + 2

// liveLock is the class of the advisory locks that nodes use to publish where their live state is stored. Nodes with
// the same location share the same lock.
const liveLock = 1215261760

// A node takes its own lock first and then searches for nodes with a different one. If two nodes start at the same
// time, at least one finds the other.
const (
	takeLive  = `SELECT pg_try_advisory_lock_shared($1::int, hashtext($2))`
	leaveLive = `SELECT pg_advisory_unlock_shared($1::int, hashtext($2))`
	elsewhere = `SELECT EXISTS (SELECT 1 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint = $1::int AND objid::bigint <> hashtext($2)::bigint & 4294967295)`
)

// attach opens the connection that follows the changes. If the lock of a node that has just stopped is still held,
// attach waits for it.
func (s *Store) attach(ctx context.Context) (*conn, error) {
	c, err := s.server.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err = c.script(ctx, `LISTEN `+bell); err == nil && !s.alone {
		err = tellVersion(ctx, c)
	}
	if err == nil {
		err = s.takePlace(ctx, c)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	s.pid.Store(c.pg.PID())
	return c, nil
}

// takePlace takes aloneLock, exclusively if the node must be alone, otherwise shared. It returns ErrInUse if other
// nodes prevent this until the timeout.
func (s *Store) takePlace(ctx context.Context, c *conn) error {
	take := `SELECT pg_try_advisory_lock_shared($1)`
	if s.alone {
		take = `SELECT pg_try_advisory_lock($1)`
	}
	patience, cancel := context.WithTimeout(ctx, s.server.timeout)
	defer cancel()
	for {
		mine, err := oneOn(ctx, c, (*row).Bool, take, int64(aloneLock))
		if err == nil && mine {
			mine, err = s.agree(ctx, c)
		}
		if err != nil || mine {
			return err
		}
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-pause.C:
		case <-patience.Done():
			pause.Stop()
			return ErrInUse
		}
	}
}

// agree reports whether all other nodes store their live state in the same location as this one. If not, agree releases
// the locks that this node took.
func (s *Store) agree(ctx context.Context, c *conn) (bool, error) {
	if s.alone || s.live == "" {
		return true, nil
	}
	if _, err := oneOn(ctx, c, (*row).Bool, takeLive, int64(liveLock), s.live); err != nil {
		return false, err
	}
	others, err := oneOn(ctx, c, (*row).Bool, elsewhere, int64(liveLock), s.live)
	if err != nil || !others {
		return err == nil, err
	}
	_, err = c.exchange(ctx, stmt(leaveLive, int64(liveLock), s.live),
		stmt(`SELECT pg_advisory_unlock_shared($1)`, int64(aloneLock)))
	return false, err
}

// follow receives the changes of other nodes until ctx ends, first on the given connection. When it returns, other
// nodes no longer see this one.
func (s *Store) follow(ctx context.Context, c *conn) {
	defer func() {
		if c != nil { // ctx had ended before the first use of c; c holds aloneLock
			c.leave()
		}
	}()
	for failing := false; ctx.Err() == nil; {
		err := error(nil)
		if c == nil {
			c, err = s.attach(ctx)
		}
		if err == nil {
			if err = s.feed.confirm(ctx, c); err == nil {
				failing = false
				err = s.listen(ctx, c)
			}
			if ctx.Err() != nil {
				return
			}
			c.close()
		}
		c = nil
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrInvalid):
			s.feed.lost(fmt.Errorf(
				"%w: this node was disconnected from PostgreSQL, and a newer program has since changed its schema: %w",
				store.ErrUnavailable, err,
			))
			return
		case errors.Is(err, ErrInUse):
			s.feed.lost(fmt.Errorf("%w: this node was disconnected from PostgreSQL, and in the meantime %w",
				store.ErrUnavailable, ErrInUse))
			return
		case !failing:
			s.log.Warn("failed to receive changes from other nodes; retrying", "error", translate(err))
		}
		failing = true
		pause := time.NewTimer(followInterval / 4)
		select {
		case <-ctx.Done():
		case <-pause.C:
		}
		pause.Stop()
	}
}

// listen reads the changes after each notification, and at least once every followInterval.
func (s *Store) listen(ctx context.Context, c *conn) error {
	for {
		if err := s.feed.catchUp(); err != nil {
			return err
		}
		s.size.refresh(ctx, s.reads)
		wait, cancel := context.WithTimeout(ctx, followInterval)
		err := s.waitForBell(wait, c)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// waitForBell waits for a notification of a change that this node has not received yet.
func (s *Store) waitForBell(ctx context.Context, c *conn) error {
	for {
		if err := c.pg.WaitForNotification(ctx); err != nil {
			return err
		}
		last := s.feed.lastChange()
		news := false
		for _, number := range c.bells {
			news = news || number > last
		}
		if c.bells = c.bells[:0]; news {
			return nil
		}
	}
}

// bellNumber returns the number of the last change in a notification. If it cannot be parsed, the result counts as
// newer than any change.
func bellNumber(payload string) int64 {
	n, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return n
}

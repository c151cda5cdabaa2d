package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"holdfast/store"
)

// errLost ends a process that was cut off from the database for longer than changes are kept.
var errLost = fmt.Errorf("%w: this node was cut off from PostgreSQL for so long that changes it missed are gone; it must start again",
	store.ErrUnavailable)

// errRewound ends a process that knows of changes which the server that took over has not got.
var errRewound = fmt.Errorf("%w: the PostgreSQL that serves now lacks changes that this node knows of: a standby was promoted that did "+
	"not have them. This node must start again", store.ErrUnavailable)

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

	// What is older than an hour goes, a bounded number at a time, but never the last: its number is where the next start
	// goes on from.
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

// followInterval is how often changes are looked for without a bell, which a cut connection may swallow.
const followInterval = time.Second

// ErrInUse: another node has the database to itself.
var ErrInUse = errors.New("another node is serving from this database")

// aloneLock is the advisory lock of a node that is to be the only one, which others share, held for as long as its connection is.
const aloneLock = orderLock + 2

// liveLock is the class of the advisory locks that the nodes on a database share with those that name the same place for what is
// true only for now.
const liveLock = 1215261760

// With its own lock taken, a node looks for those who have another: of two that start at once at least one finds the other.
const (
	takeLive  = `SELECT pg_try_advisory_lock_shared($1::int, hashtext($2))`
	leaveLive = `SELECT pg_advisory_unlock_shared($1::int, hashtext($2))`
	elsewhere = `SELECT EXISTS (SELECT 1 FROM pg_locks
		WHERE locktype = 'advisory' AND objsubid = 2 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint = $1::int AND objid::bigint <> hashtext($2)::bigint & 4294967295)`
)

// attach opens the connection that a node follows on. Where it is to be the only one, that is decided here: the place of a node
// that has just gone is waited for.
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

// takePlace takes the database for this node alone, or one of many places on it. ErrInUse if others are in the way.
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

// agree reports whether nobody there keeps what is true only for now in another place. What it takes for nothing it leaves.
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
	_, err = c.exchange(ctx, stmt(leaveLive, int64(liveLock), s.live), stmt(`SELECT pg_advisory_unlock_shared($1)`, int64(aloneLock)))
	return false, err
}

// follow hears of what other nodes commit until ctx ends, first on the connection given.
func (s *Store) follow(ctx context.Context, c *conn) {
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
			c.close()
		}
		c = nil
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, store.ErrInvalid):
			s.feed.lost(fmt.Errorf("%w: this node was cut off from PostgreSQL, and meanwhile a newer program has changed its schema: %w", store.ErrUnavailable, err))
			return
		case errors.Is(err, ErrInUse):
			s.feed.lost(fmt.Errorf("%w: this node was cut off from PostgreSQL, and %w meanwhile", store.ErrUnavailable, ErrInUse))
			return
		case !failing:
			s.log.Warn("changes of other nodes not received; retrying", "error", translate(err))
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

// listen reads the changes at each bell and once a second besides.
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

// waitForBell returns when a change may be news.
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

// number of the last change that a bell tells of; one that cannot be read tells of all.
func bellNumber(payload string) int64 {
	n, err := strconv.ParseInt(payload, 10, 64)
	if err != nil {
		return 1<<63 - 1
	}
	return n
}

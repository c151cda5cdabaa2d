package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"holdfast/store"
)

// # Upgrading one node after the other
//
// A newer program brings the schema up to date while nodes of the version before go on, if what these write is right under the new
// schema as well. That is for the program that adds a migration to say, in oldestBeside below, and for the database to hold everybody to:
// each node has a lock that tells its schema, so a newer program that could not bear it refuses to begin; and the database says which
// is the oldest schema it is open to, so an older node that it could not bear refuses to start, or stops when it comes back.

// oldestBeside is the oldest schema whose programs may serve beside this one's: their statements work under this schema, and every row
// that they write is as this program would have it. Whoever adds a migration, or changes what a row, a script of the live state, a
// promise or a setting means, leaves it as it is if that is so, and otherwise sets it to the new schema, adding an empty migration
// if there is none.
const oldestBeside = 12

// openTo is the key in meta that says which is the oldest schema whose programs the database is open to.
const openTo = "open_to"

// versionLock is the class of the advisory locks by which nodes tell their schema.
const versionLock = liveLock + 1

// oldestNode is the oldest schema of the nodes that serve; 0 for one that tells none, NULL without any.
const oldestNode = `WITH here AS (
		SELECT * FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
	versions AS (SELECT pid, objid::bigint AS version FROM here WHERE objsubid = 2 AND classid::bigint = $1)
	SELECT min(version) FROM (
		SELECT version FROM versions
		UNION ALL SELECT 0 FROM here WHERE objsubid = 1 AND mode = 'ShareLock' AND (classid::bigint << 32) | objid::bigint = $2
			AND pid NOT IN (SELECT pid FROM versions)) AS nodes`

// ErrOldNodes: nodes serve from the database that have to be stopped before this program can. It is an ErrInUse.
var ErrOldNodes = fmt.Errorf("%w, of a version whose writes would not be right under the schema of this one: stop all nodes, and start this version then", ErrInUse)

// refuseOldNodes is ErrOldNodes where nodes serve that a schema open to this one and later could not bear.
func refuseOldNodes(ctx context.Context, c *conn, from int) error {
	oldest := from
	_, err := c.exchange(ctx, asks(func(r *row) {
		if value := r.next(); value != nil {
			n, _ := integer(value)
			oldest = int(n)
		}
	}, oldestNode, int64(versionLock), int64(aloneLock)))
	if err == nil && oldest < from {
		err = ErrOldNodes
	}
	return err
}

// tellVersion has the other nodes know this one's schema, and refuses one that the database is not open to. No schema is changed
// meanwhile. store.ErrInvalid.
//
// The connection that follows tells it, and those that write, the queue's too: any may break by itself, and while a node can write,
// nobody is to think that it is gone.
func tellVersion(ctx context.Context, c *conn) error {
	known := SchemaVersion()
	if _, err := c.exchange(ctx, stmt(`SELECT pg_advisory_lock_shared($1)`, int64(orderLock+1)),
		stmt(`SELECT pg_advisory_lock_shared($1::int, $2::int)`, int64(versionLock), known)); err != nil {
		return err
	}
	applied, err := oneOn(ctx, c, (*row).Int, `SELECT count(*) FROM schema_versions`)
	if err == nil {
		err = refuseNewer(ctx, c, applied, known)
	}
	_, undone := c.exchange(ctx, stmt(`SELECT pg_advisory_unlock_shared($1)`, int64(orderLock+1)))
	return errors.Join(err, undone)
}

// refuseNewer refuses a newer schema that is not open to programs of this one. store.ErrInvalid.
func refuseNewer(ctx context.Context, c *conn, applied, known int) error {
	if applied <= known {
		return nil
	}
	said, err := oneOn(ctx, c, (*row).Text, `SELECT COALESCE((SELECT value FROM meta WHERE key = '`+openTo+`'), '')`)
	if err != nil {
		return err
	}
	if open, err := strconv.Atoi(said); err == nil && open <= known {
		return nil
	}
	return fmt.Errorf("%w: the database has schema version %d, but this program knows only up to %d: run the newer program",
		store.ErrInvalid, applied, known)
}

package postgres

import (
	"context"
	"fmt"
	"strconv"

	"holdfast/store"
)

// # Rolling upgrades
//
// A newer program migrates the schema while nodes of the previous version run, if their writes are correct under the
// new schema too. The program that adds a migration declares this in oldestBeside below, and the database enforces
// it. Each node holds a lock that shows its schema, so a newer program refuses to start while an incompatible older
// node runs. The database stores the oldest schema whose programs may use it, so an incompatible older node refuses to
// start, or stops when it reconnects.

// oldestBeside is the oldest schema whose programs may serve at the same time as this one: their statements work
// under this schema, and every row that they write is valid for this program. If you add a migration, or change the
// meaning of a row, a live-state script, an outbox row or a setting, check whether that is still true. If it is not,
// set oldestBeside to the new schema, and add an empty migration if there is none.
const oldestBeside = 12

// openTo is the key in meta whose value is the oldest schema whose programs may use the database.
const openTo = "open_to"

// versionLock is the class of the advisory locks that nodes use to publish their schema.
const versionLock = liveLock + 1

// oldestNode selects the oldest schema of the running nodes: 0 if a node publishes none, NULL if there are no nodes.
const oldestNode = `WITH here AS (
		SELECT * FROM pg_locks WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())),
	versions AS (SELECT pid, objid::bigint AS version FROM here WHERE objsubid = 2 AND classid::bigint = $1)
	SELECT min(version) FROM (
		SELECT version FROM versions
		UNION ALL SELECT 0 FROM here WHERE objsubid = 1 AND mode = 'ShareLock' AND (classid::bigint << 32) | objid::bigint = $2
			AND pid NOT IN (SELECT pid FROM versions)) AS nodes`

// ErrOldNodes means that running nodes must be stopped before this program can start. It wraps ErrInUse.
var ErrOldNodes = fmt.Errorf(
	"%w, of a version whose writes would be incorrect under this version's schema: stop all nodes, then start this "+
		"version",
	ErrInUse,
)

// refuseOldNodes returns ErrOldNodes if a node with a schema older than from is running.
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

// tellVersion publishes this node's schema to the other nodes, and refuses a schema that is not open to this program.
// No program changes the schema during the call. Errors: store.ErrInvalid.
//
// Call it on the connection that follows changes and on every connection that writes, including those of the queue.
// Each of them can break on its own. While a node can still write, no other program may assume that the node has
// stopped. After an error, close the connection.
func tellVersion(ctx context.Context, c *conn) error {
	known := SchemaVersion()
	var applied int
	var open string
	// One transaction, sent in one piece: if this node stops responding, the lock that a starting node waits for is
	// released anyway.
	_, err := c.exchange(ctx, stmt(`BEGIN`), stmt(`SELECT pg_advisory_xact_lock_shared($1)`, int64(orderLock+1)),
		stmt(`SELECT pg_advisory_lock_shared($1::int, $2::int)`, int64(versionLock), known),
		asks(func(r *row) { applied = r.Int() }, `SELECT count(*) FROM schema_versions`),
		asks(func(r *row) { open = r.Text() }, openToValue), stmt(`COMMIT`))
	if err != nil {
		return err
	}
	return refuseNewer(applied, known, open)
}

// openToValue reads the value of openTo; empty if no program has stored it.
const openToValue = `SELECT COALESCE((SELECT value FROM meta WHERE key = '` + openTo + `'), '')`

// refuseNewer returns store.ErrInvalid if the database has a newer schema that is not open to this program. open is the
// value of openTo.
func refuseNewer(applied, known int, open string) error {
	if oldest, err := strconv.Atoi(open); applied <= known || err == nil && oldest <= known {
		return nil
	}
	return fmt.Errorf(
		"%w: the database has schema version %d, but this program supports versions up to %d: run the newer program",
		store.ErrInvalid, applied, known,
	)
}

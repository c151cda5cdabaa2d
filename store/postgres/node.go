package postgres

import (
	"context"
	"errors"

	"holdfast/store"
)

// Each node holds advisory locks on its database (follow.go) for as long as its connection exists. Other nodes find the
// node by these locks.

// other is the part of a subquery that selects the locks of the other nodes.
const other = `FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid::bigint = $1::int
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.pid <> $2::int`

// Nodes reports whether other nodes serve from the database, and whether any of them started before this one.
func (s *Store) Nodes(ctx context.Context) (others, before bool, err error) {
	return s.nodes(ctx, s.reads)
}

func (s *Store) nodes(ctx context.Context, r reads) (others, before bool, err error) {
	type seen struct{ others, before bool }
	found, err := one(ctx, r, func(r *row) seen { return seen{r.Bool(), r.Bool()} },
		`SELECT EXISTS (SELECT 1 `+other+`), EXISTS (SELECT 1 `+other+`
		AND (a.backend_start, a.pid) < (SELECT me.backend_start, me.pid FROM pg_stat_activity me WHERE me.pid = $2::int))`,
		int64(liveLock), int64(s.pid.Load()))
	return found.others, found.before, err
}

// signsWith is the key in meta whose value is the fingerprint of the nodes' signing key.
const signsWith = "signs_with"

// AgreeOnKeys makes all nodes sign with one key. decide receives the fingerprint of the last signing key, empty if
// there was none, and whether other nodes serve from the database now. decide returns the fingerprint of the key to use
// from now on. If decide returns an error, AgreeOnKeys returns it and records nothing. decide may run more than once.
func (s *Store) AgreeOnKeys(ctx context.Context, decide func(known string, others bool) (string, error)) error {
	return s.Write(ctx, func(x store.Tx) error {
		t := x.(*tx)
		known, err := one(ctx, t.reads, (*row).Text, `SELECT value FROM meta WHERE key = '`+signsWith+`'`)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		others, _, err := s.nodes(ctx, t.reads)
		if err != nil {
			return err
		}
		chosen, err := decide(known, others)
		if err != nil || chosen == known {
			return err
		}
		return t.run(`INSERT INTO meta (key, value) VALUES ('`+signsWith+
			`', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, chosen)
	})
}

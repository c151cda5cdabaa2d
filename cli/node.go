package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis"
	"holdfast/store/postgres"
)

// What the nodes on one database must have in common, or each would give away what the other holds, or refuse the links that the
// other hands out: the Redis and the secret.key. It is found out at the start, from who serves from the database already.

// sharedRedis is a Redis that is used only if it is the one of the nodes that serve from the database already: they ping it every
// second, and a ping leaves the name of the database there. A node that none was there before may use any. So nodes that were
// started while their Redis was away come to it one after the other, the first first.
type sharedRedis struct {
	*redis.Backend
	store  *postgres.Store
	joined atomic.Bool
}

// errElsewhere: no node of this database uses this Redis. It is a holds.ErrUnavailable.
var errElsewhere = fmt.Errorf("the other nodes on this database do not use this Redis: %w", holds.ErrUnavailable)

// Ping is the Redis's own once this node has joined the others there.
func (s *sharedRedis) Ping(ctx context.Context) error {
	if s.joined.Load() {
		return s.Backend.Ping(ctx)
	}
	there, err := s.HasLease(ctx)
	if err != nil {
		return err
	}
	if !there {
		if _, before, err := s.store.Nodes(ctx); err != nil {
			return err
		} else if before {
			return errElsewhere
		}
	}
	err = s.Backend.Ping(ctx)
	if err == nil {
		s.joined.Store(true)
	}
	return err
}

// joinPatience is how long the other nodes are waited for in a Redis: one that has just come back is used again after two seconds.
const joinPatience = 5 * time.Second

// join refuses a Redis that is not the one of the other nodes. One that does not answer may be, and is waited for by who serves.
func (s *sharedRedis) join(ctx context.Context) error {
	var err error
	for began := time.Now(); time.Since(began) < joinPatience; {
		if err = s.Ping(ctx); !errors.Is(err, errElsewhere) {
			return err
		}
		pause := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
	return err
}

// agreeOnKeys refuses a secret.key by which this node and the others would refuse each other's links and tokens. Who signs with a key
// that replaced theirs goes on: theirs is good until it has lapsed, and they are given the new one.
func (h *house) agreeOnKeys(ctx context.Context, s *postgres.Store) error {
	mine := h.dir.keys.Fingerprints()
	replaced := ""
	err := s.AgreeOnKeys(ctx, func(known string, others bool) (string, error) {
		replaced = ""
		if known != "" && !slices.Contains(mine, known) {
			if others {
				return "", fmt.Errorf("the other nodes on this database sign with another secret.key (key %s) than the one in %s (key %s), so each would "+
					"refuse the links and tokens that the other hands out. Copy secret.key from the data directory of a node that runs to %s, and start "+
					"again", known, h.dir.path, mine[0], h.dir.file(secretFile))
			}
			replaced = known
		}
		return mine[0], nil
	})
	if err == nil && replaced != "" {
		h.log.Warn("secret.key differs from the one this database was last served with; earlier links and tokens are invalid. If that is a "+
			"mistake, stop, and copy the right secret.key to the data directory", "before", replaced, "now", mine[0])
	}
	return err
}

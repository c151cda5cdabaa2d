package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"holdfast/holds"
	"holdfast/holds/redis"
	"holdfast/store/postgres"
)

// All nodes on one database must use the same Redis and the same secret.key. Otherwise one node could book times that
// another node holds, or refuse the links that another node signed. At its start, a node checks both against the
// nodes that already serve from the database.

// sharedRedis is a Redis that a node uses only if the nodes that already serve from the database use it too. They ping
// this Redis every second, and a ping writes the name of the database to it. A node that started before all others may
// use any Redis. So nodes that were started while their Redis was unreachable join it one after the other, in the order
// of their start.
type sharedRedis struct {
	*redis.Backend
	store  *postgres.Store
	joined atomic.Bool
}

// errElsewhere means that the other nodes on this database do not use this Redis. It wraps holds.ErrUnavailable.
var errElsewhere = fmt.Errorf("the other nodes on this database do not use this Redis: %w", holds.ErrUnavailable)

// Ping pings the Redis. Until this node has joined the other nodes there, it returns errElsewhere if they do not use
// this Redis.
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

// joinPatience is how long a node waits for the other nodes in a Redis, or for a response. The other nodes use a Redis
// again 2 seconds after it becomes reachable.
const joinPatience = 5 * time.Second

// joinTries is the maximum number of times that a node tries to reach a Redis that refuses the connection or the call.
const joinTries = 3

// join calls ping until this node may use a Redis. It returns errElsewhere if a ping within joinPatience returned it
// and none succeeded. Otherwise it returns a timeout after joinPatience, and other errors after joinTries: the Redis
// may be the right one, and the running server waits for it. Slow responses must not let a node with the wrong Redis
// start: it would make all nodes leave theirs.
func join(ctx context.Context, ping func(context.Context) error) error {
	var last, elsewhere error
	failed := 0
	for began := time.Now(); time.Since(began) < joinPatience; {
		last = ping(ctx)
		if last == nil {
			return nil
		}
		if errors.Is(last, errElsewhere) {
			elsewhere = last
		} else if failed++; elsewhere == nil && failed >= joinTries && !isTimeout(last) {
			return last
		}
		pause := time.NewTimer(100 * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
	if elsewhere != nil {
		return elsewhere
	}
	return last
}

// isTimeout reports whether a call failed because its response did not arrive in time.
func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// agreeOnKeys returns an error if this node and the other nodes would refuse each other's links and tokens. A node
// whose key was rotated from the other nodes' key is accepted: their key is valid until it expires, and the operator
// copies the new one to them. If no other node is running, this node's key replaces the key in the database, with a
// warning.
func (h *house) agreeOnKeys(ctx context.Context, s *postgres.Store) error {
	mine := h.dir.keys.Fingerprints()
	replaced := ""
	err := s.AgreeOnKeys(ctx, func(known string, others bool) (string, error) {
		replaced = ""
		if known != "" && !slices.Contains(mine, known) {
			if others {
				return "", fmt.Errorf("the other nodes on this database sign with a different secret.key (key %s) "+
					"from the one in %s (key %s), so they and this node would refuse each other's links and tokens. "+
					"Copy secret.key from the data directory of a running node to %s, and start again",
					known, h.dir.path, mine[0], h.dir.file(secretFile))
			}
			replaced = known
		}
		return mine[0], nil
	})
	if err == nil && replaced != "" {
		h.log.Warn("secret.key has changed since this database was last served; earlier links and tokens are invalid",
			"before", replaced, "now", mine[0])
	}
	return err
}

package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"holdfast/engine/booking"
	"holdfast/holds/failover"
	"holdfast/holds/home"
	"holdfast/holds/memory"
	"holdfast/holds/postgres"
	"holdfast/holds/redis"
	postgresstore "holdfast/store/postgres"
)

// openLive opens the live state: in this process, in the PostgreSQL database that contains the record, or in Redis.
// While Redis is unusable, the live state of all nodes is in that database; without a database, it is in this process.
// openLive refuses a Redis that nodes on another database use.
func (h *house) openLive(ctx context.Context, cfg config, o houseOptions) error {
	booked := booking.Booked(h.store)
	local := memory.New(memory.Options{Booked: booked})
	h.holds = local
	h.closing = append(h.closing, func() error { return h.holds.Close() })
	if o.local || cfg.redis == "" && cfg.database == "" {
		return nil
	}
	if cfg.database != "" {
		database, err := postgres.Open(ctx, postgres.Options{URL: cfg.database, Booked: booked, Logger: h.log})
		if err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		if cfg.redis == "" {
			h.holds = database
			return local.Close()
		}
		return errors.Join(h.openHome(ctx, cfg, o, home.Options{Database: database, Booked: booked, Logger: h.log}),
			local.Close())
	}
	lease, err := h.instance()
	if err != nil {
		return err
	}
	primary, err := redis.Open(redis.Options{URL: cfg.redis, Booked: booked, Lease: lease, Logger: h.log})
	if err != nil {
		return err
	}
	if err := refusedRedis(primary.Ping(ctx)); err != nil {
		return errors.Join(err, primary.Close())
	}
	h.holds = failover.New(ctx, failover.Options{Primary: primary, Fallback: local, Booked: booked, Logger: h.log})
	return nil
}

// openHome opens the live state that all nodes on one database share in Redis or in the database.
func (h *house) openHome(ctx context.Context, cfg config, o houseOptions, to home.Options) error {
	shared, err := redis.Open(redis.Options{URL: cfg.redis, Booked: to.Booked, Lease: h.store.ID(), Timeout: redisTime,
		Logger: h.log})
	if err != nil {
		return errors.Join(err, to.Database.Close())
	}
	if s, ok := h.store.(*postgresstore.Store); ok && !o.alone() {
		together := &sharedRedis{Backend: shared, store: s}
		to.Primary, err = together, join(ctx, together.Ping)
	} else {
		to.Primary, err = shared, shared.Ping(ctx)
	}
	if err := refusedRedis(err); err != nil {
		return errors.Join(err, shared.Close(), to.Database.Close())
	}
	h.holds = home.New(ctx, to)
	return nil
}

// redisTime is the timeout of a call to Redis if the nodes can move their live state from Redis to the database. A call
// without a response and the probe after it (100 ms) together take at most 250 ms.
const redisTime = 150 * time.Millisecond

// refusedRedis returns an error with an explanation if err means that this Redis must not be used. It returns nil for
// all other errors: a Redis that did not respond may be used later.
func refusedRedis(err error) error {
	var taken *redis.LeaseError
	switch {
	case errors.As(err, &taken):
		return fmt.Errorf("--redis: %w. Nodes that share one Redis must share one database. Give each node its own "+
			"Redis, or stop the other node. If the other node has stopped already, start this one again in %v", taken,
			taken.Left.Round(time.Second))
	case errors.Is(err, errElsewhere):
		return fmt.Errorf("--redis: %w. Nodes with different hold tables can hold the same time twice. Set --redis "+
			"to the same value as on the other nodes. To use a different Redis, stop all nodes first", err)
	}
	return nil
}

// instance identifies the database and its location. A restart on the same files is the same instance; a copy of the
// files in another directory or on another host is a different one.
func (h *house) instance() (string, error) {
	path, err := filepath.Abs(h.dir.path)
	if err != nil {
		return "", err
	}
	host, err := os.Hostname()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(host + "\x00" + path))
	return h.store.ID() + " " + hex.EncodeToString(sum[:8]), nil
}

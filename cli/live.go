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
	"holdfast/holds"
	"holdfast/holds/failover"
	"holdfast/holds/memory"
	"holdfast/holds/postgres"
	"holdfast/holds/redis"
	postgresstore "holdfast/store/postgres"
)

// openLive opens the live state: in this process, in the PostgreSQL that has the record, or in Redis. While Redis is away it is in
// that PostgreSQL, or in this process where there is none. A Redis that another node with a database of its own uses is
// refused; one that is not there is waited for while the server serves.
func (h *house) openLive(ctx context.Context, cfg config, o houseOptions) error {
	booked := booking.Booked(h.store)
	local := memory.New(memory.Options{Booked: booked})
	h.holds = local
	h.closing = append(h.closing, func() error { return h.holds.Close() })
	if o.local || cfg.redis == "" && cfg.database == "" {
		return nil
	}
	fallback := holds.Backend(local)
	if cfg.database != "" {
		inDatabase, err := postgres.Open(ctx, postgres.Options{URL: cfg.database, Booked: booked, Logger: h.log})
		if err != nil {
			return fmt.Errorf("--database: %w", err)
		}
		if cfg.redis == "" {
			h.holds = inDatabase
			return local.Close()
		}
		fallback = inDatabase
	}
	lease := h.store.ID() // the nodes on one database have it together
	if cfg.database == "" {
		var err error
		if lease, err = h.instance(); err != nil {
			return errors.Join(err, fallback.Close())
		}
	}
	shared, err := redis.Open(redis.Options{URL: cfg.redis, Booked: booked, Lease: lease, Logger: h.log})
	if err != nil {
		return errors.Join(err, fallback.Close())
	}
	primary, join := holds.Backend(shared), shared.Ping
	if s, ok := h.store.(*postgresstore.Store); ok && !o.alone() {
		together := &sharedRedis{Backend: shared, store: s}
		primary, join = together, together.join
	}
	var taken *redis.LeaseError
	switch err := join(ctx); {
	case errors.As(err, &taken):
		err = fmt.Errorf("--redis: %w. Two nodes on one Redis need one database; without one, give each a Redis of its own, "+
			"or stop the other. If it is gone already, start again in %v", taken, taken.Left.Round(time.Second))
		return errors.Join(err, shared.Close(), fallback.Close())
	case errors.Is(err, errElsewhere):
		err = fmt.Errorf("--redis: %w. Each node would give away what another one holds. Name the Redis that they were started with, "+
			"or stop them all to change it", err)
		return errors.Join(err, shared.Close(), fallback.Close())
	}
	h.holds = failover.New(ctx, failover.Options{Primary: primary, Fallback: fallback, Local: local, Booked: booked, Logger: h.log})
	return nil
}

// instance names the database and where this process keeps it. A start on the same files is the same instance; a copy of
// the files elsewhere is another.
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

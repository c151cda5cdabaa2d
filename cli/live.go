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
	"holdfast/holds/memory"
	"holdfast/holds/redis"
)

// openLive opens the live state: in this process, or in Redis with this process's memory while Redis is away. A Redis that
// another node with a database of its own uses is refused; one that is not there is waited for while the server serves.
func (h *house) openLive(ctx context.Context, cfg config, o houseOptions) error {
	booked := booking.Booked(h.store)
	local := memory.New(memory.Options{Booked: booked})
	h.holds = local
	h.closing = append(h.closing, func() error { return h.holds.Close() })
	if cfg.redis == "" || o.local {
		return nil
	}
	lease := h.store.ID() // the nodes on one database have it together
	if cfg.database == "" {
		var err error
		if lease, err = h.instance(); err != nil {
			return err
		}
	}
	shared, err := redis.Open(redis.Options{URL: cfg.redis, Booked: booked, Lease: lease, Logger: h.log})
	if err != nil {
		return err
	}
	if err := shared.Ping(ctx); err != nil {
		var taken *redis.LeaseError
		if errors.As(err, &taken) {
			return errors.Join(fmt.Errorf("--redis: %w. Two nodes on one Redis need one database; without one, give each a Redis of its own, "+
				"or stop the other. If it is gone already, start again in %v", taken, taken.Left.Round(time.Second)), shared.Close())
		}
	}
	h.holds = failover.New(ctx, failover.Options{Primary: shared, Fallback: local, Local: local, Booked: booked, Logger: h.log})
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

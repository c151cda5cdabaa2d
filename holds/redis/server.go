package redis

import (
	"context"
	"strconv"
	"strings"

	"holdfast/holds"
)

var _ holds.Served = (*Backend)(nil)

// Server implements holds.Served.
func (b *Backend) Server(ctx context.Context) (s holds.Server, err error) {
	if b.closed.Load() {
		return s, holds.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	info, err := b.client.Info(ctx).Result()
	if err != nil {
		return s, b.translate(err)
	}
	hits, misses := reported(info, "keyspace_hits"), reported(info, "keyspace_misses")
	s = holds.Server{UsedMemory: int64(reported(info, "used_memory")),
		ConnectedClients: int(reported(info, "connected_clients"))}
	if hits+misses > 0 {
		s.HitRate = hits / (hits + misses)
	}
	return s, nil
}

// reported returns a number from the INFO reply, or 0 if it is missing.
func reported(info, name string) float64 {
	_, rest, _ := strings.Cut(info, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\r\n")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0
	}
	return n
}

package failover

import (
	"context"
	"errors"
	"maps"
	"time"

	"holdfast/holds"
)

// ghost is a hold that nobody was told of: its claim was answered too late or not at all, and the fallback made another one. It
// would stand in everybody's way until it lapses, also when its owner has let go of the other one.
type ghost struct {
	owner     holds.Owner
	untouched time.Duration // from when it lapses to its maximum, as long as nobody has renewed it
	until     time.Time     // it is gone by then
}

// mayHave notes that the primary may have made a hold for this claim.
func (l *ledger) mayHave(id string, c holds.Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.ghosts, func(_ string, g ghost) bool { return now.After(g.until) })
	l.ghosts[id] = ghost{owner: c.Owner, untouched: max(c.MaxLife, c.TTL) - c.TTL, until: now.Add(2*max(c.MaxLife, c.TTL) + carryTime)}
}

// layGhosts ends them in the primary. One that has been renewed was found by its client at another process, and is a hold now;
// where that cannot be seen it is left to lapse.
// holds.ErrUnavailable; what was not reached stays for the next time.
func (l *ledger) layGhosts(ctx context.Context) error {
	l.mu.Lock()
	all := maps.Clone(l.ghosts)
	l.mu.Unlock()
	for id, g := range all {
		h, err := l.b.primary.Hold(ctx, id)
		if err == nil && !h.Pinned && g.untouched > 0 && (h.MaxExpiresAt.Sub(h.ExpiresAt)-g.untouched).Abs() < 2*time.Millisecond {
			_, err = l.b.primary.Release(ctx, id, g.owner, holds.ReasonReleased)
		}
		if errors.Is(err, holds.ErrUnavailable) {
			return err
		}
		l.mu.Lock()
		delete(l.ghosts, id)
		l.mu.Unlock()
	}
	return nil
}

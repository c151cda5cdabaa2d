package failover

import (
	"context"
	"errors"
	"maps"
	"time"

	"holdfast/holds"
)

// ghost is a hold in the primary that no client received: the response to its claim came too late or not at all, and
// the fallback created another hold. Until it expires it would block other clients, even after its owner has released
// the other hold.
type ghost struct {
	owner     holds.Owner
	untouched time.Duration // from its expiry to its maximum, if it has not been renewed
	until     time.Time     // by this time it has expired
}

// mayHave notes that the primary might have created a hold for this claim, and ended the one that it replaces. If the
// replaced hold turns out to live on in this process, it is copied to the primary again.
func (l *ledger) mayHave(id string, c holds.Claim) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(l.ghosts, func(_ string, g ghost) bool { return now.After(g.until) })
	l.ghosts[id] = ghost{owner: c.Owner, untouched: max(c.MaxLife, c.TTL) - c.TTL,
		until: now.Add(2*max(c.MaxLife, c.TTL) + carryTime)}
	if e := l.holds[l.outer(inPrimary, c.Replaces.ID)]; e != nil {
		e.carry = true
	}
}

// layGhosts releases the ghosts in the primary. A ghost that has been renewed was found by its client through another
// process, so it is now a normal hold. If a renewal could not be detected, the ghost is left to expire.
//
// On holds.ErrUnavailable, the remaining ghosts are left for the next call.
func (l *ledger) layGhosts(ctx context.Context) error {
	l.mu.Lock()
	all := maps.Clone(l.ghosts)
	l.mu.Unlock()
	for id, g := range all {
		h, err := l.b.primary.Hold(ctx, id)
		if err == nil && !h.Pinned && g.untouched > 0 &&
			(h.MaxExpiresAt.Sub(h.ExpiresAt)-g.untouched).Abs() < 2*time.Millisecond {
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

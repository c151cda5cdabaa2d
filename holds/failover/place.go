package failover

import (
	"context"
	"errors"
	"time"

	"holdfast/holds"
)

// toFallback copies the live state to the fallback, and publishes the changes that the primary did not publish.
func (l *ledger) toFallback(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forgetTerm()
	for _, e := range l.holds {
		e.carry = e.own
	}
	for _, x := range l.looks {
		x.carry = x.own
	}
	l.put(ctx)
}

// place is like toFallback, but runs during a term, after the fallback's event stream has broken off.
func (l *ledger) place(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(ctx)
}

// put copies all live state to the fallback. The lock is held.
func (l *ledger) put(ctx context.Context) {
	to, now := l.b.fallback.(holds.Restorer), time.Now()
	missed := 0
	for _, e := range l.newest() {
		if !now.Before(e.ExpiresAt) {
			continue
		}
		h, err := restore(ctx, l.b.fallback, e, e.ID)
		var held *holds.HeldError
		switch {
		case errors.As(err, &held):
			e.lost = true
		case err != nil:
			missed++
		default:
			l.name(inFallback, e, h.ID)
		}
	}
	for _, x := range l.looks {
		if now.Before(x.ExpiresAt) && to.RestoreSelection(ctx, x.Selection) != nil {
			missed++
		}
	}
	if missed > 0 {
		l.b.logger.Warn("failed to copy holds to the fallback", "count", missed)
	}
	l.settle()
}

// selected returns all selections in a backend.
func selected(ctx context.Context, of holds.Backend) ([]holds.Selection, error) {
	now := time.Now()
	return of.Selected(ctx, now.AddDate(-10, 0, 0), now.AddDate(100, 0, 0))
}

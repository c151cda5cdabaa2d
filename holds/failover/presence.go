package failover

import (
	"context"
	"time"

	"holdfast/holds"
)

// attend changes a specialist's presence in the serving backend, and also in this process.
func (b *Backend) attend(ctx context.Context, specialistID string,
	call func(live holds.Backend) (bool, error)) (changed bool, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		changed, err = call(live)
		return err
	}, func(at where) {
		if at == inPrimary {
			_, _ = call(b.fallback) // the fallback may lack earlier changes, and refuse
		} else {
			b.ledger.attended(specialistID, 0)
		}
	})
	return changed, err
}

// Online implements holds.Presence.
func (b *Backend) Online(ctx context.Context, specialistID string, max int) (bool, error) {
	return b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		return live.Online(ctx, specialistID, max)
	})
}

// Offline implements holds.Presence.
func (b *Backend) Offline(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		b.ledger.hide(specialistID, false)
		return live.Offline(ctx, specialistID)
	})
}

// OfflineUnheard implements holds.Presence. The serving backend decides, and then the copy in this process applies
// Offline.
func (b *Backend) OfflineUnheard(ctx context.Context, specialistID string,
	staleAfter time.Duration) (changed bool, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		if changed, err = live.OfflineUnheard(ctx, specialistID, staleAfter); changed {
			b.ledger.hide(specialistID, false)
		}
		return err
	}, func(at where) {
		switch {
		case changed && at == inPrimary:
			_, _ = b.fallback.Offline(ctx, specialistID)
		case changed:
			b.ledger.attended(specialistID, 0)
		}
	})
	return changed, err
}

// Deactivate implements holds.Presence.
func (b *Backend) Deactivate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		if live == b.fallback { // Activate has to restore in the primary what this call hides in the fallback
			if p, err := live.Present(ctx, specialistID); err == nil && p.Online {
				b.ledger.hide(specialistID, true)
			}
		}
		return live.Deactivate(ctx, specialistID)
	})
}

// Activate implements holds.Presence.
func (b *Backend) Activate(ctx context.Context, specialistID string) (bool, error) {
	return b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		return live.Activate(ctx, specialistID)
	})
}

// Beat implements holds.Presence.
func (b *Backend) Beat(ctx context.Context, specialistID string) error {
	_, err := b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		return false, live.Beat(ctx, specialistID)
	})
	return err
}

// SetMax implements holds.Presence.
func (b *Backend) SetMax(ctx context.Context, specialistID string, max int) error {
	_, err := b.attend(ctx, specialistID, func(live holds.Backend) (bool, error) {
		return false, live.SetMax(ctx, specialistID, max)
	})
	return err
}

// Load implements holds.Presence.
func (b *Backend) Load(ctx context.Context, specialistID string, delta int) (n int, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		n, err = live.Load(ctx, specialistID, delta)
		return err
	},
		func(at where) {
			if at == inPrimary { // other nodes may have changed it there
				if here, err := b.fallback.Load(ctx, specialistID, 0); err == nil {
					_, _ = b.fallback.Load(ctx, specialistID, n-here)
				}
			} else if delta != 0 {
				b.ledger.attended(specialistID, delta)
			}
		})
	return n, err
}

// SetLoads implements holds.Presence.
func (b *Backend) SetLoads(ctx context.Context, loads map[string]int) error {
	return b.do(ctx, func(live holds.Backend, _ where) error { return live.SetLoads(ctx, loads) }, func(at where) {
		if at == inPrimary {
			_ = b.fallback.SetLoads(ctx, loads)
		} else {
			b.ledger.loaded(loads)
		}
	})
}

// Present implements holds.Presence.
func (b *Backend) Present(ctx context.Context, specialistID string) (p holds.Present, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		p, err = live.Present(ctx, specialistID)
		return err
	}, nil)
	return p, err
}

// Available implements holds.Presence.
func (b *Backend) Available(ctx context.Context, staleAfter time.Duration,
	limit int) (list []holds.Present, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		list, err = live.Available(ctx, staleAfter, limit)
		return err
	}, nil)
	return list, err
}

// Everyone implements holds.Presence.
func (b *Backend) Everyone(ctx context.Context) (list []holds.Present, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) { list, err = live.Everyone(ctx); return err }, nil)
	return list, err
}

// Count implements holds.Presence.
func (b *Backend) Count(ctx context.Context, staleAfter time.Duration) (n int, err error) {
	err = b.do(ctx, func(live holds.Backend, _ where) (err error) {
		n, err = live.Count(ctx, staleAfter)
		return err
	}, nil)
	return n, err
}

// Seed implements holds.Presence.
func (b *Backend) Seed(ctx context.Context, all []holds.Present) error {
	return b.do(ctx, func(live holds.Backend, _ where) error { return live.Seed(ctx, all) }, func(at where) {
		for i := range all {
			if at == inFallback {
				b.ledger.attended(all[i].SpecialistID, 0)
			}
		}
		if at == inPrimary {
			_ = b.fallback.Seed(ctx, all)
		}
	})
}

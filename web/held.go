package web

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"holdfast/holds"
)

// Limits bound what the public may have at a time. They are meant to stop a machine, not a waiting room; the zero value
// of each is its default. Each node counts for itself.
type Limits struct {
	HoldsPerAddress   int // live holds of one address; default 200
	HoldsPerDay       int // live holds on one UTC day of one specialist; default 100
	Streams           int // live streams in all, with or without Options.RateLimit; default 20,000
	StreamsPerAddress int // live streams of one address; default 200
}

func (l Limits) withDefaults() Limits {
	for _, x := range []struct {
		to    *int
		value int
	}{{&l.HoldsPerAddress, 200}, {&l.HoldsPerDay, 100}, {&l.Streams, 20_000}, {&l.StreamsPerAddress, 200}} {
		if *x.to == 0 {
			*x.to = x.value
		}
	}
	return l
}

// heldTogether bounds the live holds that have something in common. It knows of each hold only when it was due to end
// at last sight; whether it still lives, the table of holds is asked when there seem to be too many. A nil one bounds
// nothing.
type heldTogether[K comparable] struct {
	max int
	end func(ctx context.Context, id string) (time.Time, bool) // of a live hold

	mu  sync.Mutex
	all map[K]*heldGroup
}

type heldGroup struct {
	ends   map[string]time.Time // by hold
	looked time.Time            // when the table was last asked
}

func newHeldTogether[K comparable](most int, end func(context.Context, string) (time.Time, bool)) *heldTogether[K] {
	return &heldTogether[K]{max: most, end: end, all: make(map[K]*heldGroup)}
}

// admit counts a hold, or says that there are as many as there may be. A hold that was counted before is not counted
// again.
func (h *heldTogether[K]) admit(ctx context.Context, key K, hold *holds.Hold, now time.Time) bool {
	if h == nil || h.count(key, hold) {
		return true
	}
	h.mu.Lock()
	g := h.all[key]
	ask := g != nil && now.Sub(g.looked) >= time.Second // or a flood of refusals would ask without end
	if ask {
		g.looked = now
	}
	h.mu.Unlock()
	if ask {
		h.refresh(ctx, key, time.Time{})
	}
	return h.count(key, hold)
}

func (h *heldTogether[K]) count(key K, hold *holds.Hold) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.all[key]
	if g == nil {
		g = &heldGroup{ends: make(map[string]time.Time)}
		h.all[key] = g
	}
	if _, known := g.ends[hold.ID]; !known && len(g.ends) >= h.max {
		return false
	}
	g.ends[hold.ID] = hold.ExpiresAt
	return true
}

// refresh asks the table about the holds of a group that were due to end before an instant, of all if it is zero, and
// forgets those that are gone. The lock is not held meanwhile.
func (h *heldTogether[K]) refresh(ctx context.Context, key K, before time.Time) {
	var due []string
	h.mu.Lock()
	if g := h.all[key]; g != nil {
		for id, end := range g.ends {
			if before.IsZero() || end.Before(before) {
				due = append(due, id)
			}
		}
	}
	h.mu.Unlock()
	for _, id := range due {
		end, live := h.end(ctx, id)
		h.mu.Lock()
		if g := h.all[key]; g != nil {
			if delete(g.ends, id); live {
				g.ends[id] = end
			}
			if len(g.ends) == 0 {
				delete(h.all, key)
			}
		}
		h.mu.Unlock()
	}
}

// forget lets go of holds that have lapsed, until ctx ends.
func (h *heldTogether[K]) forget(ctx context.Context) {
	tick := time.NewTicker(time.Minute)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			h.mu.Lock()
			keys := make([]K, 0, len(h.all))
			for key := range h.all {
				keys = append(keys, key)
			}
			h.mu.Unlock()
			for _, key := range keys {
				h.refresh(ctx, key, now)
			}
		}
	}
}

// heldDay is one specialist's UTC day.
type heldDay struct {
	specialistID string
	day          int64 // since 1970
}

// admitHold counts a hold that the public took, or gives it back and says that there are too many.
func (s *Server) admitHold(c *call, h *holds.Hold) error {
	if c.caller.trusted() || s.byAddress == nil {
		return nil
	}
	refusal := errRateLimited.with("As many times are held from this network as may be. Book one, give one back, or try again when Retry-After says.")
	ok := true
	if address := s.address(c.r); address.IsValid() {
		ok = s.byAddress.admit(c.ctx(), network(address), h, c.started)
	}
	if ok {
		refusal = errRateLimited.with("As many times of this day are held as may be. Choose another day, or try again when Retry-After says.")
		ok = s.byDay.admit(c.ctx(), heldDay{h.SpecialistID, h.SlotStart.Unix() / 86400}, h, c.started)
	}
	if ok {
		return nil
	}
	if err := s.engine.TakeBackHold(c.ctx(), h); err != nil {
		return err
	}
	return refusal.again(10 * time.Second)
}

// network is what counts as one address: of IPv6, a household or a server has a whole /64.
func network(address netip.Addr) netip.Addr {
	if address.Is6() && !address.Is4In6() {
		prefix, _ := address.WithZone("").Prefix(64)
		return prefix.Addr()
	}
	return address.Unmap()
}
